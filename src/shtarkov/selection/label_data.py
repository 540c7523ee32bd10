"""One vector of labels: its fits along the penalty, and what every code of it pays besides ln C.

With an intercept the number of positive labels is stated first, ln(N + 1) nats, and every code is
one of the labelings with that many: the count is to an intercept what the mean is to least squares,
and without it the sum of the SVM's losses is ruled by labelings that are all alike. So

* empty: ln(N + 1) + ln binom(N, n_positive), or N ln 2 without an intercept;
* others: eta (F(y) + tau |w(y)|_1) + ln C, plus half ln N for each continuous parameter stated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shtarkov.complexity.label_base import log_counts
from shtarkov.errors import raise_for_status
from shtarkov.families.label_problems import LabelProblem, Labels, check_labels
from shtarkov.families.sparse_svm import (
    describe_fit,
    label_family,
    label_lam_max,
    solve_labels,
    solve_with_room,
)
from shtarkov.seeds import rng_for
from shtarkov.selection.matched import statement_nats
from shtarkov.types import Floats, Ints

# Labelings drawn to see where columns begin to enter.
ENTRY_DRAWS = 200
ENTRY_INDEX = 30_000


@dataclass(frozen=True, slots=True, eq=False)
class LabelPoint:
    """The fit at one penalty.

    Attributes
    ----------
    lam : the penalty
    fit, norm : F, the loss with its ridge, and |w|_1
    coef, intercept : the classifier
    """

    lam: float
    fit: float
    norm: float
    coef: Floats
    intercept: float

    @property
    def support(self) -> Ints:
        """Columns with a coefficient."""
        return np.flatnonzero(self.coef)


@dataclass(frozen=True)
class LabelData:
    """One vector of labels and its problem.

    Attributes
    ----------
    problem : the problem it belongs to
    labels : signs and classes
    """

    problem: LabelProblem
    labels: Labels

    @property
    def n_samples(self) -> int:
        """N."""
        return self.problem.design.n_samples

    @property
    def eta(self) -> float | None:
        """The stated weight of the objective; None if it is to be chosen."""
        return None if isinstance(self.problem.eta, str) else self.problem.eta

    @property
    def n_positive(self) -> int | None:
        """The number of positive labels, if it is stated."""
        if not self.problem.fit_intercept:
            return None
        return int(np.count_nonzero(self.labels.signs > 0.0))

    @property
    def count_nats(self) -> float:
        """Cost of stating the number of positive labels."""
        return math.log(self.n_samples + 1.0) if self.problem.fit_intercept else 0.0

    @property
    def empty_nats(self) -> float:
        """Codelength without any column."""
        if self.n_positive is None:
            return self.n_samples * math.log(2.0)
        return self.count_nats + float(log_counts(self.n_samples)[self.n_positive])

    def stated_nats(self, n_parameters: int) -> float:
        """Cost of stating the count, eta if it is chosen, and `n_parameters` more."""
        chosen = n_parameters + (1 if self.eta is None else 0)
        return self.count_nats + chosen * statement_nats(self.n_samples)

    @cached_property
    def lam_max(self) -> float:
        """Smallest penalty without a column; zero if there is one class or no use in X."""
        if self.n_positive in (0, self.n_samples):
            return 0.0
        return label_lam_max(self.problem, self.labels.signs)

    def largest_lam(self, seed: int) -> float:
        """Give the largest penalty worth trying.

        Above half of all labelings' own largest penalties the sum is one of labelings without a
        column, and says little of those with one.
        """
        rng = rng_for(seed, ENTRY_INDEX, 0)
        entries = []
        for _ in range(ENTRY_DRAWS):
            signs = np.where(rng.random(self.n_samples) < 0.5, -1.0, 1.0)
            if self.n_positive is not None:
                signs = rng.permutation(self.labels.signs)
            entries.append(label_lam_max(self.problem, signs))
        return float(min(self.lam_max, np.median(entries)))

    def point(self, lam: float) -> LabelPoint:
        """Fit the labels at one penalty."""
        found = solve_labels(self.problem, self.labels.signs, lam)
        fit = found.objective - lam * found.norm
        return LabelPoint(lam, fit, found.norm, found.coef, found.intercept)

    def relaxed(self, point: LabelPoint, tau: float) -> LabelPoint:
        """Fit with penalty tau on the columns that penalty lam lets in."""
        family = label_family(self.problem, max(tau, 1e-300))
        rows = np.concatenate([point.support, np.arange(self.n_features, family.Xt.shape[0])])
        family = family._replace(
            Xt=np.ascontiguousarray(family.Xt[rows]), lengths_sq=family.lengths_sq[rows]
        )
        work, status = solve_with_room(family, self.labels.signs)
        raise_for_status(status, "fitting the labels on the chosen columns")
        found = describe_fit(family, self.labels.signs, work, status)
        coef = np.zeros(self.n_features)
        coef[point.support] = found.coef
        return LabelPoint(
            tau, found.objective - tau * found.norm, found.norm, coef, found.intercept
        )

    @property
    def n_features(self) -> int:
        """D."""
        return self.problem.design.n_features


def make_label_data(problem: LabelProblem, y: Any) -> LabelData:
    """Check the labels."""
    return LabelData(problem, check_labels(y, problem.design.n_samples))
