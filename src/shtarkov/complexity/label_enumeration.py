"""All labelings of a small design: ln C by summing, the oracle of everything else about labels.

C(lam, eta, tau) = sum over y in {-1, +1}^N of exp(-eta (F(y) + tau |w(y)|_1)), with w the minimiser
at penalty lam and F its loss and ridge. Half the labelings suffice: y and -y have the same
objective. They are visited in Gray's order, one flip apart, so that every solve starts warm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from shtarkov._jit import kernel
from shtarkov.complexity.region import Luckiness
from shtarkov.complexity.result import ComplexityResult
from shtarkov.errors import InvalidProblem, raise_for_status
from shtarkov.families.build import check_non_negative
from shtarkov.families.label_family import NORM, PRIMAL, new_label_work
from shtarkov.families.label_problems import LabelProblem, stated_eta
from shtarkov.families.sparse_svm import label_family
from shtarkov.families.svm_solve import relax_labels, start_at_zero
from shtarkov.types import Floats, Ints, Status

LARGEST_N = 14
OK = int(Status.OK)
# Relative accuracy of a solve (`svm_solve`), with a margin.
SOLVE_ACCURACY = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class LabelTable:
    """Objective and norm of every labeling up to sign, at one penalty.

    Attributes
    ----------
    lam : the penalty
    n_samples : N
    envelope, norm : (2^(N-1),) objective and |w|_1
    n_positive : (2^(N-1),) positive labels; the labeling of opposite sign has the others
    """

    lam: float
    n_samples: int
    envelope: Floats
    norm: Floats
    n_positive: Ints

    def _weights(self, eta: float, tau: float | None, n_positive: int | None) -> Floats:
        """Give the log-weight of every pair of labelings of opposite sign."""
        luckiness = self.lam if tau is None else tau
        weights = -eta * (self.envelope - (self.lam - luckiness) * self.norm)
        if n_positive is None:
            return np.asarray(weights + math.log(2.0))
        wanted = (self.n_positive == n_positive).astype(float)
        wanted += self.n_samples - self.n_positive == n_positive
        with np.errstate(divide="ignore"):
            return np.asarray(weights + np.log(wanted))

    def ln_c(self, eta: float, tau: float | None = None, n_positive: int | None = None) -> float:
        """Give ln C; `tau` is the penalty itself unless given.

        With `n_positive` over the labelings with as many positive labels only.
        """
        return float(logsumexp(self._weights(eta, tau, n_positive)))

    def mean(
        self, values: Floats, eta: float, tau: float | None = None, n_positive: int | None = None
    ) -> float:
        """Give the mean of `values` (one per labeling of the table) under q."""
        weights = self._weights(eta, tau, n_positive)
        return float(np.exp(weights - logsumexp(weights)) @ values)


@kernel
def fill_table(
    family: Any, y: Floats, work: Any, envelope: Floats, norm: Floats, n_positive: Ints
) -> int:
    """Solve every labeling with the last label fixed, in Gray's order."""
    start_at_zero(family, y, work)
    for step in range(envelope.size):
        if step > 0:
            row, rest = 0, step
            while rest % 2 == 0:
                rest //= 2
                row += 1
            y[row] = -y[row]
        status = relax_labels(family, y, np.inf, work)
        if status != OK:
            return int(status)
        envelope[step] = work.values[PRIMAL]
        norm[step] = work.values[NORM]
        n_positive[step] = np.sum(y > 0.0)
    return OK


def label_table(problem: LabelProblem, lam: float) -> LabelTable:
    """Solve all labelings of a design with at most 14 rows."""
    n = problem.design.n_samples
    if n > LARGEST_N:
        msg = f"enumeration is for at most {LARGEST_N} rows, X has {n}; use method='path'"
        raise InvalidProblem(msg)
    family = label_family(problem, lam)
    count = 2 ** (n - 1)
    envelope, norm, n_positive = np.zeros(count), np.zeros(count), np.zeros(count, np.int64)
    work = new_label_work(family, family.Xt.shape[0])
    status = fill_table(family, np.ones(n), work, envelope, norm, n_positive)
    raise_for_status(status, "enumerating labelings")
    return LabelTable(float(lam), n, envelope, norm, n_positive)


def enumerate_labels(
    problem: LabelProblem, lam: float, *, eta: float | None = None, tau: float | None = None
) -> ComplexityResult:
    """Give ln C of the labels by enumeration.

    Parameters
    ----------
    problem : `SparseSVM` or `SparseLogistic` with at most 14 rows
    lam : penalty
    eta : weight of the objective; the problem's own unless given
    tau : luckiness weight of |w|_1; lam unless given
    """
    weight = stated_eta(problem, eta)
    luckiness = None if tau is None else check_non_negative(tau, "tau")
    table = label_table(problem, lam)
    error = SOLVE_ACCURACY * weight * (1.0 + float(table.envelope.max()))
    return ComplexityResult(
        table.ln_c(weight, luckiness), error, "enumerate", Luckiness(luckiness or None)
    )
