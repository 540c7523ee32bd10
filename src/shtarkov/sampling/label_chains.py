"""The draws of several chains of labels, described by the classifiers they are fitted by."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from shtarkov.diagnostics.convergence import Summary, summarise
from shtarkov.types import Floats, Ints

# What `summary` looks at.
LABEL_QUANTITIES = ("k", "envelope", "norm", "n_support", "n_margin", "n_positive")
LABEL_STATISTICS = ("kkt_residual", "gap", "accepted", "step_seconds")


@dataclass(frozen=True, slots=True, eq=False)
class LabelChains:
    """Draws of labels from q(y) ~ exp(-eta (E(y) - (lam - tau) |w(y)|_1)); arrays (chain, draw).

    Attributes
    ----------
    problem, sampler : names
    lam, eta, tau : penalty, weight of the objective, and of the norm within it
    seed, n_warmup : with the call's arguments they repeat the draws exactly
    k : columns with a coefficient, without the intercept
    envelope, norm : least value E of the objective, and |w|_1
    n_support : rows whose margin is below one (for the logistic loss all rows)
    n_margin : margin vectors: rows on the margin (hinge), or with a multiplier
    n_positive : labels +1
    kkt_residual : for the hinge the largest |y_i f_i - 1| of the rows on the margin (the paper's
        R_SVM = y_S * (X_S w) - 1); else zero
    gap : objective minus the dual value that certifies it
    accepted : share of moves accepted in the draw's chunk
    step_seconds : wall time of a draw, averaged over its chunk
    failures : moves by status, other than "OK"
    interrupted : Ctrl-C ended the run before the draws asked for
    extras : "data" (chain, draw, N), the labels, if they were recorded
    """

    problem: str
    sampler: str
    lam: float
    eta: float
    tau: float
    seed: int
    n_warmup: int
    k: Ints
    envelope: Floats
    norm: Floats
    n_support: Ints
    n_margin: Ints
    n_positive: Ints
    kkt_residual: Floats
    gap: Floats
    accepted: Floats
    step_seconds: Floats
    failures: Mapping[str, int] = field(default_factory=dict)
    interrupted: bool = False
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
    def penalty(self) -> Floats:
        """The penalty lam |w|_1."""
        return self.lam * self.norm

    @property
    def codelength_part(self) -> Floats:
        """Codelength of each drawn vector of labels without ln C."""
        return self.eta * (self.envelope + (self.tau - self.lam) * self.norm)

    def summary(self) -> dict[str, Summary]:
        """Summarise each quantity: mean, its error, effective sizes, R-hat and state."""
        return {name: summarise(getattr(self, name)) for name in LABEL_QUANTITIES}

    def __repr__(self) -> str:
        cut = ", interrupted" if self.interrupted else ""
        tau = "" if self.tau == self.lam else f", tau={self.tau:.6g}"
        return (
            f"LabelChains({self.problem}, lam={self.lam:.6g}, eta={self.eta:.6g}{tau}: "
            f"{self.n_chains} chains of {self.n_draws} draws{cut}, mean k "
            f"{float(self.k.mean()):.3f}, acceptance {float(self.accepted.mean()):.2f}, "
            f"{1e6 * float(self.step_seconds.mean()):.3g} us a draw, seed {self.seed})"
        )

    def to_datatree(self) -> Any:
        """Give an xarray DataTree with groups posterior, sample_stats and constants.

        Needs ``pip install shtarkov[arviz]``.
        """
        xr = importlib.import_module("shtarkov.sampling.datatree").xarray_module()
        posterior = {name: getattr(self, name) for name in LABEL_QUANTITIES} | dict(self.extras)
        statistics = {name: getattr(self, name) for name in LABEL_STATISTICS}
        arrays = {*LABEL_QUANTITIES, *LABEL_STATISTICS, "extras", "failures"}
        constants = {
            item.name: getattr(self, item.name) for item in fields(self) if item.name not in arrays
        }
        constants |= {f"failures_{name}": count for name, count in self.failures.items()}

        def dataset(values: dict[str, Any]) -> Any:
            names = ("chain", "draw", "row")
            return xr.Dataset({name: (names[: a.ndim], a) for name, a in values.items()})

        return xr.DataTree.from_dict(
            {
                "/posterior": dataset(posterior),
                "/sample_stats": dataset(statistics),
                "/constants": xr.Dataset({k: np.asarray(v) for k, v in constants.items()}),
            }
        )
