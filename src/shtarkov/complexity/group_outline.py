"""The Group Lasso's path in closed form, as if groups and the columns in them were orthogonal.

For a group of d columns of length s, threshold c = lam w / s and rate a = tau w / s, the integral
is P(chi_d <= c) plus a polynomial in 1 / a (`closed_form.group_lasso_log_strata`); the mean of
tau * norm, which is that of df where tau = lam, is the mean power under its terms.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincc, gammaln, logsumexp

from shtarkov.complexity.quadrature import where_it_falls
from shtarkov.families.group_lasso import GroupLassoFamily
from shtarkov.types import Floats, Ints

# Singular values of a group below this share of its largest are rounding.
_RANK_SHARE = 1e-10
_LOG_2 = np.log(2.0)


def _log_terms(threshold: Floats, rate: Floats, size: int) -> Floats:
    """Give the log terms of the outside part for the powers 1 to `size`, along the last axis."""
    power = np.arange(1.0, size + 1.0)
    log_sphere = _LOG_2 - 0.5 * size * _LOG_2 - gammaln(0.5 * size)
    count = gammaln(size) - gammaln(size - power + 1.0)
    c, a = threshold[..., None], rate[..., None]
    shape = (size - power) * np.log(c) - power * np.log(a)
    return np.asarray(log_sphere - 0.5 * c * c + count + shape)


def _tail(threshold: Floats, size: int) -> Floats:
    """Give P(chi_size > threshold)."""
    return np.asarray(gammaincc(0.5 * size, 0.5 * threshold**2))


@dataclass(frozen=True, slots=True, eq=False)
class GroupOutline:
    """Groups that are orthogonal and whose columns are.

    Attributes
    ----------
    longest, typical : (G,) largest and root mean square singular value of each group
    ranks : (G,) dimensions of each group
    weights : (G,) weights in the norm
    n_dim : dimension of the data
    """

    longest: Floats
    typical: Floats
    ranks: Ints
    weights: Floats
    n_dim: int

    @property
    def is_empty(self) -> bool:
        """Say whether every group is zero."""
        return self.ranks.size == 0

    def first_order(self, lam: float) -> float:
        """Give the leading term of ln C for a large penalty, from above.

        A group of smaller singular values has a larger envelope, hence a smaller integral, than one
        with all of them equal to its largest.
        """
        total, threshold = 0.0, lam * self.weights / self.longest
        for size in np.unique(self.ranks):
            c = threshold[self.ranks == size]
            outside = np.exp(logsumexp(_log_terms(c, c, int(size)), axis=-1))
            total += float(np.sum(outside - _tail(c, int(size))))
        return total

    def start(self, negligible: float) -> float:
        """Find the penalty at which the first-order term has fallen to `negligible`."""
        scale = float(np.max(self.longest / self.weights * np.sqrt(self.ranks)))
        return where_it_falls(self.first_order, scale, negligible)

    def mean_df(self, log_lams: Floats) -> Floats:
        """Guess E[df] at each ln lam."""
        lams = np.exp(log_lams)
        return self._mean_power(lams, lams)

    def mean_norm(self, lam: float, taus: Floats) -> Floats:
        """Guess the mean of tau * norm at each tau."""
        return self._mean_power(np.full(taus.size, lam), taus)

    def ln_c(self, lam: float, tau: float) -> float:
        """Guess ln C(lam, tau)."""
        total, scale = 0.0, self.weights / self.typical
        for size in np.unique(self.ranks):
            c = lam * scale[self.ranks == size]
            a = tau * scale[self.ranks == size]
            outside = np.exp(logsumexp(_log_terms(c, a, int(size)), axis=-1))
            total += float(np.sum(np.log1p(outside - _tail(c, int(size)))))
        return total

    def _mean_power(self, lams: Floats, taus: Floats) -> Floats:
        """Add up the groups' mean powers, bent to saturate at the dimension of the data."""
        total, scale = np.zeros(lams.size), self.weights / self.typical
        for size in np.unique(self.ranks):
            c = lams[:, None] * scale[self.ranks == size]
            a = taus[:, None] * scale[self.ranks == size]
            terms = np.exp(_log_terms(c, a, int(size)))
            inside = 1.0 - _tail(c, int(size))
            power = np.arange(1.0, size + 1.0)
            total += np.sum((terms @ power) / (inside + terms.sum(axis=-1)), axis=1)
        return np.asarray(self.n_dim * -np.expm1(-total / self.n_dim))


@dataclass(frozen=True, slots=True, eq=False)
class SparseGroupOutline:
    """A sparse Group Lasso, between two families that bound it.

    |beta_g|_1 is at least |beta_g|, and |beta_g| at least |beta_g|_1 / sqrt(d): the norm is at
    least that of groups with weights w + l1, and that of columns with weights l1 + w / sqrt(d). A
    larger norm has a smaller integral: the lesser of the two bounds it above, and is the guess.

    Attributes
    ----------
    grouped, single : their outlines
    """

    grouped: GroupOutline
    single: GroupOutline

    @property
    def is_empty(self) -> bool:
        """Say whether every group is zero."""
        return self.grouped.is_empty

    def first_order(self, lam: float) -> float:
        """Bound the leading term of ln C for a large penalty."""
        return min(self.grouped.first_order(lam), self.single.first_order(lam))

    def start(self, negligible: float) -> float:
        """Find the penalty at which the bound has fallen to `negligible`."""
        return min(self.grouped.start(negligible), self.single.start(negligible))

    def mean_df(self, log_lams: Floats) -> Floats:
        """Guess E[df] at each ln lam."""
        return np.minimum(self.grouped.mean_df(log_lams), self.single.mean_df(log_lams))

    def mean_norm(self, lam: float, taus: Floats) -> Floats:
        """Guess the mean of tau * norm at each tau."""
        return np.minimum(self.grouped.mean_norm(lam, taus), self.single.mean_norm(lam, taus))

    def ln_c(self, lam: float, tau: float) -> float:
        """Guess ln C(lam, tau)."""
        return min(self.grouped.ln_c(lam, tau), self.single.ln_c(lam, tau))


def group_outline(family: GroupLassoFamily) -> GroupOutline | SparseGroupOutline:
    """Give the outline of a family's path."""
    grouped = _outline_of_groups(family.Xt, family.starts, family.weights + family.l1)
    if family.l1 == 0.0:
        return grouped
    sizes = np.diff(family.starts)
    each = np.repeat(family.l1 + family.weights / np.sqrt(sizes), sizes)
    single = _outline_of_groups(family.Xt, np.arange(family.Xt.shape[0] + 1), each)
    return SparseGroupOutline(grouped, single)


def _outline_of_groups(rows: Floats, starts: Ints, weights: Floats) -> GroupOutline:
    ends = itertools.pairwise(starts)
    values = [np.linalg.svd(rows[first:last], compute_uv=False) for first, last in ends]
    longest = np.array([value[0] for value in values])
    ranks = np.array([np.count_nonzero(value > _RANK_SHARE * value[0]) for value in values])
    squares = np.array([np.sum(value**2) for value in values])
    used = longest > 0.0
    return GroupOutline(
        longest[used],
        np.sqrt(squares[used] / ranks[used]),
        ranks[used],
        weights[used],
        rows.shape[1],
    )
