"""One sparse classifier, solved: from a problem, labels and a penalty to coefficients and a gap."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shtarkov.errors import raise_for_status
from shtarkov.families.build import check_lam
from shtarkov.families.label_family import DUAL, LOSS, NORM, PRIMAL, LabelFamily, new_label_work
from shtarkov.families.label_problems import LabelProblem
from shtarkov.families.svm_losses import LOSS_CODES, multiplier_at_zero
from shtarkov.families.svm_solve import coef_of, relax_labels, start_at_zero
from shtarkov.types import Floats, Ints, Status

# Room for this many active columns at first; doubled when a solve needs more.
FIRST_CAPACITY = 128
# A multiplier this far from both ends of the hinge's [0, 1] marks a margin vector.
INTERIOR = 1e-7


class LabelFit(NamedTuple):
    """The sparse classifier at one vector of labels.

    Attributes
    ----------
    coef, intercept : the minimiser
    objective, dual : the minimum and the value of the dual point that certifies it
    loss, norm : the summed loss and the l1 norm at the minimiser
    scores : (N,) x_i'w + b
    multipliers : (N,) the dual point: minus the derivatives of the loss in the margin
    margin_rows : rows on the margin (hinge: interior multipliers; squared hinge: positive ones)
    margin_residual : for the hinge, largest |y_i f_i - 1| of those rows (the paper's R_SVM)
    status : `Status` of the solve
    """

    coef: Floats
    intercept: float
    objective: float
    dual: float
    loss: float
    norm: float
    scores: Floats
    multipliers: Floats
    margin_rows: Ints
    margin_residual: float
    status: int

    @property
    def gap(self) -> float:
        """Objective minus dual: how far from the minimum this can be."""
        return self.objective - self.dual


def label_family(problem: LabelProblem, lam: float) -> LabelFamily:
    """Return the compiled family of `problem` at `lam`."""
    X = problem.design.X
    if problem.fit_intercept:
        X = np.column_stack([X, np.ones(X.shape[0])])
    Xt = np.ascontiguousarray(X.T)
    lengths_sq = np.einsum("ij,ij->i", Xt, Xt)
    loss = LOSS_CODES[problem.loss]
    return LabelFamily(
        Xt, loss, int(problem.fit_intercept), check_lam(lam), problem.ridge, lengths_sq
    )


def solve_with_room(family: LabelFamily, signs: Floats) -> Any:
    """Solve from w = 0, giving the work more room when it asks; return it and the status."""
    capacity = FIRST_CAPACITY
    while True:
        work = new_label_work(family, capacity)
        start_at_zero(family, signs, work)
        status = relax_labels(family, signs, np.inf, work)
        if status != Status.CAPACITY:
            return work, int(status)
        capacity *= 2


def margin_rows_of(loss: int, multipliers: Floats) -> Ints:
    """Return the rows on the margin."""
    inside = multipliers > INTERIOR
    if loss != LOSS_CODES["squared_hinge"]:
        inside &= multipliers < 1.0 - INTERIOR
    return np.flatnonzero(inside)


def solve_labels(problem: LabelProblem, signs: Floats, lam: float) -> LabelFit:
    """Solve the classifier at labels of -1.0 and +1.0.

    Parameters
    ----------
    problem : `SparseSVM` or `SparseLogistic`
    signs : (N,) labels (see `label_problems.check_labels`)
    lam : weight of the l1 norm
    """
    family = label_family(problem, lam)
    work, status = solve_with_room(family, np.asarray(signs, dtype=np.float64))
    raise_for_status(status, "solving the sparse classifier")
    return describe_fit(family, np.asarray(signs, dtype=np.float64), work, status)


def describe_fit(family: LabelFamily, signs: Floats, work: Any, status: int) -> LabelFit:
    """Read the solution out of a work."""
    coef = coef_of(family, work)
    intercept = float(coef[-1]) if family.n_free else 0.0
    rows = margin_rows_of(family.loss, work.multipliers)
    residual = 0.0
    if family.loss == LOSS_CODES["hinge"] and rows.size:
        residual = float(np.max(np.abs(signs[rows] * work.scores[rows] - 1.0)))
    return LabelFit(
        coef[: coef.size - family.n_free],
        intercept,
        float(work.values[PRIMAL]),
        float(work.values[DUAL]),
        float(work.values[LOSS]),
        float(work.values[NORM]),
        work.scores.copy(),
        work.multipliers.copy(),
        rows,
        residual,
        status,
    )


def label_lam_max(problem: LabelProblem, signs: Floats) -> float:
    """Return the smallest penalty at which w = 0, for these labels."""
    X = problem.design.X
    if not problem.fit_intercept:
        force = multiplier_at_zero(LOSS_CODES[problem.loss]) * signs
        return float(np.max(np.abs(X.T @ force)))
    if problem.loss != "hinge":
        share = float(np.mean(signs > 0.0))
        # At the best constant score the multipliers are (up to a factor) the other class's share.
        factor = 1.0 if problem.loss == "logistic" else 2.0
        force = factor * np.where(signs > 0.0, 1.0 - share, -share)
        return float(np.max(np.abs(X.T @ force)))
    return _hinge_lam_max(X, signs)


def _hinge_lam_max(X: Floats, signs: Floats) -> float:
    """Return a penalty at which w = 0 for the hinge with an intercept; the smallest may be less.

    At w = 0 the minority's multipliers are 1 and the majority's, not unique, sum to as many: this
    is the penalty at which even ones are feasible.
    """
    positive = float(np.mean(signs > 0.0))
    least = min(positive, 1.0 - positive)
    if least == 0.0:
        return 0.0
    force = np.where(signs > 0.0, least / positive, -least / (1.0 - positive))
    return float(np.max(np.abs(X.T @ force)))


def largest_lam_max(problem: LabelProblem) -> float:
    """Return a penalty at which w = 0 whatever the labels are.

    The signed multipliers are at most 1 (half for the logistic loss, 2 with an intercept for the
    squared hinge) in size and, with an intercept, sum to zero.
    """
    X = problem.design.X
    if not problem.fit_intercept:
        scale = multiplier_at_zero(LOSS_CODES[problem.loss])
        return float(scale * np.max(np.sum(np.abs(X), axis=0)))
    # X_j'v = (X_j - median)'v since v sums to zero, and |v_i| is at most `scale`.
    centred = np.abs(X - np.median(X, axis=0))
    scale = 2.0 if problem.loss == "squared_hinge" else 1.0
    return float(scale * np.max(np.sum(centred, axis=0)))
