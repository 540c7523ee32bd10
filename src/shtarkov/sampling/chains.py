"""The draws of several chains with what is needed to read, check, keep and reopen them.

Arrays are (chain, draw) and in the user's units: objectives are half the squared residual plus the
penalty, no 1/n. `residual_sq` and `envelope` are those of the data vector within the column space
of the design; the `n_orthogonal` directions beyond it are pure noise and add sigma^2 each to the
mean squared residual.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shtarkov.diagnostics.convergence import Summary, summarise
from shtarkov.errors import InvalidProblem
from shtarkov.sampling.exchange import Exchange, exchange_of
from shtarkov.types import Floats, Ints

if TYPE_CHECKING:
    import xarray

# What `summary` looks at. The constraint residual is not a draw of anything.
QUANTITIES = ("k", "df", "penalty", "norm", "envelope", "residual_sq", "log_volume")
STATISTICS = ("kkt_residual", "accepted", "step_seconds")


@dataclass(frozen=True, slots=True, eq=False)
class Chains:
    """Draws of data vectors, described by their estimates.

    Attributes
    ----------
    problem, sampler, solver : names
    lam, tau, sigma : penalty, luckiness weight and noise scale
    seed, n_warmup : with the call's arguments they repeat the draws exactly
    n_dim : dimension of the reduced data vector
    n_orthogonal : directions of the data beyond it
    k : (chain, draw) active coefficients
    df : Stein's degrees of freedom
    penalty, norm : the penalty, and the norm without its weight
    envelope : least value of half the squared residual plus the penalty
    residual_sq : squared residual
    log_volume : -ln J_cons of the level set
    kkt_residual : largest violation of the optimality conditions, in units of lam
    accepted : 1 or 0; for Hamiltonian moves the acceptance probability
    step_seconds : wall time of a draw, averaged over its chunk
    failures : moves by status, other than "OK"
    interrupted : Ctrl-C ended the run before the draws asked for
    ladder : (R, 2) lam and tau of each rung of replica exchange; no rows for other samplers
    extras : further arrays by name: "active" (chain, draw, D), "data" (chain, draw, n), "mse",
        and what the sampler adds
    """

    problem: str
    sampler: str
    solver: str
    lam: float
    tau: float
    sigma: float
    seed: int
    n_warmup: int
    n_dim: int
    n_orthogonal: int
    k: Ints
    df: Floats
    penalty: Floats
    norm: Floats
    envelope: Floats
    residual_sq: Floats
    log_volume: Floats
    kkt_residual: Floats
    accepted: Floats
    step_seconds: Floats
    failures: Mapping[str, int] = field(default_factory=dict)
    interrupted: bool = False
    ladder: Floats = field(default_factory=lambda: np.zeros((0, 2)))
    extras: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return self.k.shape[0]

    @property
    def n_draws(self) -> int:
        """Draws per chain."""
        return self.k.shape[1]

    @property
    def codelength_part(self) -> Floats:
        """Codelength of each drawn data vector without ln C: n/2 ln(2 pi sigma^2) + E / sigma^2.

        E is half the squared residual plus the penalty with its norm weighted by tau.
        """
        energy = self.envelope + (self.tau - self.lam) * self.norm
        constant = 0.5 * self.n_dim * math.log(2.0 * math.pi * self.sigma**2)
        return np.asarray(constant + energy / self.sigma**2)

    @property
    def exchange(self) -> Exchange:
        """Swap rates and round trips of replica exchange."""
        if not self.ladder.size:
            msg = f"sampler {self.sampler!r} has no replicas; use sampler='tempering'"
            raise InvalidProblem(msg)
        return exchange_of(self.extras)

    def summary(self) -> dict[str, Summary]:
        """Summarise each quantity: mean, its error, effective sizes, R-hat and state."""
        table = {name: summarise(getattr(self, name)) for name in QUANTITIES}
        if "mse" in self.extras:
            table["mse"] = summarise(self.extras["mse"])
        return table

    def __repr__(self) -> str:
        cut = ", interrupted" if self.interrupted else ""
        tau = "" if self.tau == self.lam else f", tau={self.tau:.6g}"
        rate = 1e6 * float(self.step_seconds.mean())
        return (
            f"Chains({self.sampler}, {self.problem}, lam={self.lam:.6g}{tau}, sigma="
            f"{self.sigma:.6g}: {self.n_chains} chains of {self.n_draws} draws{cut}, mean k "
            f"{float(self.k.mean()):.3f}, acceptance {float(self.accepted.mean()):.2f}, "
            f"{rate:.3g} us a draw, seed {self.seed})"
        )

    def to_datatree(self) -> xarray.DataTree:
        """Give an xarray DataTree with groups posterior, sample_stats and constants.

        Needs ``pip install shtarkov[arviz]``.
        """
        from shtarkov.sampling import datatree  # xarray is optional

        return datatree.to_datatree(self)

    def save(self, path: str | Path) -> None:
        """Write a netCDF file, whole or not at all; `Chains.load` reads it back."""
        from shtarkov.sampling import datatree

        datatree.save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Chains:
        """Read what `save` wrote."""
        from shtarkov.sampling import datatree

        if not Path(path).exists():
            msg = f"there is no file {path}"
            raise InvalidProblem(msg)
        return datatree.load(Path(path))
