"""The Group Lasso's path in closed form, as if groups and the columns in them were orthogonal.

For a group of d columns of length s, threshold c = lam w / s and rate a = tau w / s, the integral
is P(chi_d <= c) plus a polynomial in 1 / a (`closed_form.group_lasso_log_strata`); the mean of
tau * norm, which is that of df where tau = lam, is the mean power under its terms.
"""

from __future__ import annotations

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


def group_outline(family: GroupLassoFamily) -> GroupOutline:
    """Give the outline of a family's path."""
    ends = zip(family.starts[:-1], family.starts[1:], strict=True)
    values = [np.linalg.svd(family.Xt[first:last], compute_uv=False) for first, last in ends]
    longest = np.array([value[0] for value in values])
    ranks = np.array([np.count_nonzero(value > _RANK_SHARE * value[0]) for value in values])
    squares = np.array([np.sum(value**2) for value in values])
    used = longest > 0.0
    return GroupOutline(
        longest[used],
        np.sqrt(squares[used] / ranks[used]),
        ranks[used],
        family.weights[used],
        family.Xt.shape[1],
    )
