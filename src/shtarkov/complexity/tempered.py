"""Ratios of ln C along the ladder of a replica exchange run, by MBAR from its recorded energies.

C(lam, tau) is the integral of exp(-E) with density exp(-E_i)/C_i at rung i (THEORY section 8), so
that the energies of every draw at every rung are all it takes. No quadrature and no derivative:
an independent check of the path, and the only way along ladders in lam and tau together.
Slow twin: `enumeration`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shtarkov.complexity.mbar import block_labels, mbar
from shtarkov.errors import InvalidProblem
from shtarkov.types import Floats

if TYPE_CHECKING:
    from shtarkov.sampling.chains import Chains

# Groups of draws taken as independent for the error, over all chains: their number sets how well
# the error itself is known (40 groups: to a ninth), their length must exceed a chain's memory.
N_GROUPS = 40
MIN_DRAWS = 4


@dataclass(frozen=True, slots=True, eq=False)
class LadderComplexity:
    """ln C along a ladder, relative to its last rung.

    Attributes
    ----------
    ladder : (R, 2) lam and tau of each rung
    ln_ratio : (R,) ln C of each rung minus that of the last one
    std_error : (R,) its standard error
    covariance : (R, R) of `ln_ratio`
    n_draws : draws of each rung whose energies were used
    seed : of the run
    method : "mbar"
    """

    ladder: Floats
    ln_ratio: Floats
    std_error: Floats
    covariance: Floats
    n_draws: int
    seed: int
    method: str = "mbar"


def ladder_complexity(chains: Chains) -> LadderComplexity:
    """Estimate ln C of all rungs of ``sample(..., sampler="tempering")`` from all its draws.

    Parameters
    ----------
    chains : the run; its option `energies_every` says how many draws bring their energies
    """
    if not chains.ladder.size:
        msg = f"sampler {chains.sampler!r} has no ladder; use sampler='tempering'"
        raise InvalidProblem(msg)
    energies = chains.extras["energies"]  # chain, draw, rung drawn from, rung evaluated at
    usable = np.isfinite(energies).all(axis=(0, 2, 3))
    n_draws, n_rungs = int(usable.sum()), chains.ladder.shape[0]
    if n_draws < MIN_DRAWS:
        msg = f"only {n_draws} draws brought their energies; lower energies_every or draw more"
        raise InvalidProblem(msg)
    # MBAR answers relative to its first state and wants the draws in the order of their states.
    flipped = energies[:, usable, ::-1, ::-1]
    at_rungs = np.transpose(flipped, (3, 2, 0, 1)).reshape(n_rungs, -1)
    n_blocks = max(1, min(N_GROUPS // chains.n_chains, n_draws // 2))
    labels = block_labels(n_rungs, chains.n_chains, n_draws, n_blocks)
    states = mbar(at_rungs, np.full(n_rungs, chains.n_chains * n_draws), labels)
    return LadderComplexity(
        ladder=chains.ladder,
        ln_ratio=states.ln_ratio[::-1].copy(),
        std_error=states.std_error[::-1].copy(),
        covariance=states.covariance[::-1, ::-1].copy(),
        n_draws=chains.n_chains * n_draws,
        seed=chains.seed,
    )
