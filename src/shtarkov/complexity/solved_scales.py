"""The best noise scale of one data vector at each kappa, by solves: for any family.

At fixed kappa = lam / sigma the best sigma solves N lam^2 / kappa^2 = <y, r_lam> + z (see
`complexity.scale_profile`). The right side grows with lam, from less than the left at infinity; its
slope is norm + lam S, S minus the slope of the norm, and comes with every solve. Newton's steps,
kept inside a bracket that every solve narrows, find the root; it falls with kappa, so each kappa
starts from the last one's.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from shtarkov.errors import NotConverged
from shtarkov.families import protocol
from shtarkov.families.observables import ENVELOPE, FIT_RESIDUAL, NORM, RESIDUAL_SQ, SIGN_ENERGY, K
from shtarkov.families.solved_path import WarmSolver
from shtarkov.types import Floats

MAX_SOLVES = 100
# Relative accuracy of lam: the codelength is flat to second order there.
ACCURACY = 1e-10


class ScaleRow(NamedTuple):
    """The stationary penalty of one kappa and what is there."""

    lam: float
    envelope: float
    k: float
    norm: float


def stationary_row(
    solver: WarmSolver, kappa: float, n_dim: int, orthogonal_sq: float, start: float
) -> ScaleRow:
    """Solve N lam^2 / kappa^2 = <y, r_lam> + z for lam, starting from `start`."""
    per_square = n_dim / kappa**2
    low, high, lam = 0.0, math.inf, start
    for _ in range(MAX_SOLVES):
        row = solver.row(lam)
        pulled = row[RESIDUAL_SQ] + row[FIT_RESIDUAL] + orthogonal_sq
        excess = per_square * lam**2 - pulled
        low, high = (lam, high) if excess < 0.0 else (low, lam)
        slope = 2.0 * per_square * lam - row[NORM] - lam * row[SIGN_ENERGY]
        moved = lam - excess / slope if slope > 0.0 else math.nan
        if not low <= moved <= high:  # the right side lies between z and |y|^2 + z: never far
            moved = 0.5 * (low + high) if high < math.inf else 2.0 * lam
        if abs(moved - lam) <= ACCURACY * lam:
            return ScaleRow(lam, float(row[ENVELOPE]), float(row[K]), float(row[NORM]))
        lam = moved
    msg = f"no best noise scale found at kappa = {kappa:g}: rescale y or X"
    raise NotConverged(msg)


def solved_scales(
    family: Any, y: Floats, orthogonal_sq: float, n_dim: int, kappas: Floats
) -> Floats:
    """Give rows (lam, envelope, k, norm) for descending kappas."""
    solver = WarmSolver(family, y)
    empty_sigma = math.sqrt((float(y @ y) + orthogonal_sq) / n_dim)
    lam = max(float(protocol.lam_max(family, y)), float(kappas[0]) * empty_sigma)
    table = np.zeros((kappas.size, len(ScaleRow._fields)))
    for i, kappa in enumerate(kappas):
        start = min(lam, float(kappa) * empty_sigma)
        found = stationary_row(solver, float(kappa), n_dim, orthogonal_sq, start)
        table[i], lam = found, found.lam
    return table
