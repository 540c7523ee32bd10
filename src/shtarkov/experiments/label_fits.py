"""Coefficients at recorded labels: the error and the active set of each draw of a label chain.

Chains of labels do not record them. Each distinct vector of labels is solved for once, and only
where the chain said that there is a coefficient; everywhere else they are zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shtarkov.errors import raise_for_status
from shtarkov.families.sparse_svm import label_family, solve_with_room
from shtarkov.families.svm_solve import coef_of
from shtarkov.sampling.label_chains import LabelChains
from shtarkov.types import Floats


def label_fits(
    problem: Any, chains: LabelChains, truth: Floats, most_supports: int
) -> tuple[Floats, np.ndarray]:
    """Give the mean squared error of every draw, and the active sets of some at equal distances.

    Parameters
    ----------
    problem : the chains' problem, without an intercept
    chains : draws with the labels recorded
    truth : (D,) coefficients the error is taken to
    most_supports : about how many active sets of a chain are given, as (chain, draw, D)
    """
    family = label_family(problem, chains.lam)
    labels, stride = chains.extras["data"], max(chains.n_draws // most_supports, 1)
    mse = np.full(chains.k.shape, float(np.mean(truth**2)))
    active = np.zeros((chains.n_chains, len(range(0, chains.n_draws, stride)), truth.size), bool)
    known: dict[bytes, tuple[float, np.ndarray]] = {}
    for chain, draw in zip(*np.nonzero(chains.k), strict=True):
        signs = labels[chain, draw].astype(np.float64)
        name = labels[chain, draw].tobytes()
        if name not in known:
            work, status = solve_with_room(family, signs)
            raise_for_status(status, "solving at recorded labels")
            coef = np.asarray(coef_of(family, work))
            known[name] = float(np.mean((coef - truth) ** 2)), np.flatnonzero(coef)
        mse[chain, draw], columns = known[name]
        if draw % stride == 0:
            active[chain, draw // stride, columns] = True
    return mse, active
