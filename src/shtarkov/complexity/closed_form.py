"""ln C in closed form for designs with orthogonal columns (or groups): exact at any size.

Objective: half the squared residual plus lam times the norm, no 1/n. With X'X = diag(d_j^2) the
integral is a product over columns of one-dimensional integrals in units of sigma,
Phi-mass inside the threshold plus the luckiness weight of what passes it, each a polynomial in
sigma^2/tau; the product's coefficients are the stratum spectrum (THEORY sections 4b and 5).
A zero column contributes the factor 1. Slow twin: one-dimensional quadrature in the tests, and
`complexity/enumeration.py` at any design.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf, erfc, erfcx, gammainc, gammaln

from shtarkov.complexity.strata import log_luckiness, log_polynomial_product, log_restricted
from shtarkov.types import Floats, Ints

_LOG_ROOT_2PI = 0.5 * np.log(2.0 * np.pi)
# Columns are called orthogonal up to rounding only: a correlation of 1e-10 moves ln C by less than
# 1e-10 per pair, below anything reported.
_ORTHOGONAL_TOLERANCE = 1e-10
_BLOCK = 256


def orthogonal_norms(X: ArrayLike, tolerance: float = _ORTHOGONAL_TOLERANCE) -> Floats | None:
    """Give the lengths of the columns if they are orthogonal, `None` if they are not.

    Lengths may differ and may be zero; `tolerance` is the largest correlation called zero.
    """
    design = np.asarray(X, dtype=np.float64)
    norms: Floats = np.linalg.norm(design, axis=0)
    used = norms > 0.0
    if np.count_nonzero(used) > design.shape[0]:
        return None
    scaled = design[:, used] / norms[used]
    for start in range(0, scaled.shape[1], _BLOCK):
        # In blocks: no D x D matrix is formed, and a correlated design is turned down by the first.
        correlation = scaled[:, start : start + _BLOCK].T @ scaled[:, start:]
        np.fill_diagonal(correlation, 0.0)
        if np.abs(correlation).max() > tolerance:
            return None
    return norms


def is_orthogonal(X: ArrayLike, tolerance: float = _ORTHOGONAL_TOLERANCE) -> bool:
    """Say whether the columns are orthogonal (their lengths may differ, and may be zero)."""
    return orthogonal_norms(X, tolerance) is not None


def orthogonal_group_norms(
    X: ArrayLike, groups: ArrayLike, tolerance: float = _ORTHOGONAL_TOLERANCE
) -> tuple[Floats, Ints] | None:
    """Give (length of a column, number of columns) of each group, `None` if no closed form holds.

    Parameters
    ----------
    X : (N, D) design; its columns must be orthogonal, and equally long within a group
    groups : (D,) label of each column's group; the answer follows the sorted labels
    tolerance : largest correlation, and largest relative difference of lengths, called zero
    """
    norms = orthogonal_norms(X, tolerance)
    if norms is None:
        return None
    _, members, sizes = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    longest = np.zeros(sizes.size)
    np.maximum.at(longest, members, norms)
    if np.any(norms < (1.0 - tolerance) * longest[members]):
        return None
    return longest, sizes.astype(np.int64)


def _positive_norms(column_norms: ArrayLike) -> Floats:
    """Drop zero columns: their coefficient is always 0 and their factor 1."""
    norms: Floats = np.asarray(column_norms, dtype=np.float64)
    return norms[norms > 0.0]


def _log_inside(threshold: Floats) -> Floats:
    """Give ln P(|z| <= threshold), z standard normal, accurate at both ends."""
    scaled = threshold / np.sqrt(2.0)
    return np.asarray(np.where(scaled < 1.0, np.log(erf(scaled)), np.log1p(-erfc(scaled))))


def lasso_log_strata(column_norms: ArrayLike, lam: float, sigma: float = 1.0) -> Floats:
    """Give ln a_k, k = 0..D, of the Lasso on orthogonal columns of these lengths.

    Parameters
    ----------
    column_norms : (D,) lengths of the columns; zeros are left out
    lam : penalty weight
    sigma : noise standard deviation

    Returns
    -------
    Log weights of k = 0 up to the number of non-zero columns, in units of coefficients: feed them
    to `complexity/strata.py`
    """
    norms = _positive_norms(column_norms)
    threshold = lam / (sigma * norms)
    log_zero = _log_inside(threshold)
    log_one = np.log(2.0 * norms / sigma) - 0.5 * threshold**2 - _LOG_ROOT_2PI
    if norms.size and np.all(norms == norms[0]):
        return _log_binomial(norms.size, log_zero[0], log_one[0])
    return log_polynomial_product(list(np.column_stack([log_zero, log_one])))


def _log_binomial(n_factors: int, log_zero: float, log_one: float) -> Floats:
    """Give the log coefficients of (p + q t)^n."""
    power = np.arange(n_factors + 1.0)
    count = gammaln(n_factors + 1.0) - gammaln(power + 1.0) - gammaln(n_factors - power + 1.0)
    return np.asarray(count + power * log_one + (n_factors - power) * log_zero)


def lasso_ln_c(
    column_norms: ArrayLike, lam: float, tau: float | None = None, sigma: float = 1.0
) -> float:
    """Give ln C(lam, tau) of the Lasso on orthogonal columns; `tau=None` means tau = lam."""
    norms = _positive_norms(column_norms)
    threshold = lam / (sigma * norms)
    rate = (lam if tau is None else tau) / (sigma * norms)
    log_outside = np.log(2.0 / rate) - 0.5 * threshold**2 - _LOG_ROOT_2PI
    return float(np.sum(np.logaddexp(_log_inside(threshold), log_outside)))


def lasso_ln_c_restricted(
    column_norms: ArrayLike, lam: float, radius: float, sigma: float = 1.0
) -> float:
    """Give ln C of the Lasso on orthogonal columns, restricted to sum |coef| <= radius."""
    return float(log_restricted(lasso_log_strata(column_norms, lam, sigma), radius))


def elastic_net_ln_c(
    column_norms: ArrayLike, lam: float, lam2: float, tau: float | None = None, sigma: float = 1.0
) -> float:
    """Give ln C of the Elastic Net, penalty lam |b|_1 + lam2 |b|^2 / 2, on orthogonal columns.

    The luckiness weight is exp(-(tau |b|_1 + lam2 |b|^2 / 2) / sigma^2); `tau=None` means lam.
    """
    norms = _positive_norms(column_norms)
    threshold = lam / (sigma * norms)
    rate = (lam if tau is None else tau) / (sigma * norms)
    ridge = lam2 / norms**2
    # Per coordinate, c = fitted value: the data density is (1 + ridge) exp(-curve c^2/2 - slope c).
    curve = ridge * (1.0 + ridge)
    slope = rate + ridge * threshold
    tail = _log_half_gaussian(curve, slope)
    log_outside = np.log(2.0 * (1.0 + ridge)) - 0.5 * threshold**2 - _LOG_ROOT_2PI + tail
    return float(np.sum(np.logaddexp(_log_inside(threshold), log_outside)))


def _log_half_gaussian(curve: Floats, slope: Floats) -> Floats:
    """Give the log of the integral over c > 0 of exp(-curve c^2/2 - slope c); curve may be 0."""
    # erfcx(x) is 1/(x sqrt(pi)) beyond 1e8 to machine precision: there curvature does not matter.
    plain = curve * 1e16 < slope**2
    safe = np.where(plain, 1.0, curve)
    bent = 0.5 * np.log(np.pi / (2.0 * safe)) + np.log(erfcx(slope / np.sqrt(2.0 * safe)))
    return np.asarray(np.where(plain, -np.log(slope), bent))


def group_lasso_log_strata(
    group_norms: ArrayLike,
    group_sizes: ArrayLike,
    lam: float,
    weights: ArrayLike | None = None,
    sigma: float = 1.0,
) -> Floats:
    """Give the log coefficients in powers of sigma^2/tau of the Group Lasso, group-orthonormal.

    Beyond its threshold a group of size p has radial density (threshold + rho)^(p-1), a polynomial:
    the power counts the dimensions its weight integrates, from 1 to p, and not the group alone.

    Parameters
    ----------
    group_norms : (G,) common length of the columns of each group
    group_sizes : (G,) number of columns of each group
    lam : penalty weight
    weights : (G,) weight of each group's norm in the penalty; ones by default
    sigma : noise standard deviation
    """
    norms = np.asarray(group_norms, dtype=np.float64)
    sizes: Ints = np.asarray(group_sizes, dtype=np.int64)
    weight = np.ones(norms.size) if weights is None else np.asarray(weights, dtype=np.float64)
    factors = [
        _group_polynomial(norm, int(size), lam, own, sigma)
        for norm, size, own in zip(norms, sizes, weight, strict=True)
        if norm > 0.0
    ]
    return log_polynomial_product(factors)


def _group_polynomial(norm: float, size: int, lam: float, weight: float, sigma: float) -> Floats:
    """Give one group's factor: ln P(inside) and the log coefficients of the powers 1..size."""
    threshold = lam * weight / (sigma * norm)
    power = np.arange(1.0, size + 1.0)
    log_sphere = np.log(2.0) - 0.5 * size * np.log(2.0) - gammaln(0.5 * size)
    log_terms = (
        log_sphere
        - 0.5 * threshold**2
        + gammaln(size)
        - gammaln(size - power + 1.0)
        + (size - power) * np.log(threshold)
        + power * np.log(norm / (sigma * weight))
    )
    with np.errstate(divide="ignore"):  # ln 0: the group is never inside a vanishing threshold
        log_inside = np.log(gammainc(0.5 * size, 0.5 * threshold**2))
    return np.concatenate([[log_inside], log_terms])


def group_lasso_ln_c(
    group_norms: ArrayLike,
    group_sizes: ArrayLike,
    lam: float,
    *,
    weights: ArrayLike | None = None,
    tau: float | None = None,
    sigma: float = 1.0,
) -> float:
    """Give ln C of the Group Lasso, group-orthonormal; `tau=None` means tau = lam."""
    log_weights = group_lasso_log_strata(group_norms, group_sizes, lam, weights, sigma)
    return float(log_luckiness(log_weights, lam if tau is None else tau, sigma))


def group_lasso_ln_c_restricted(
    group_norms: ArrayLike,
    group_sizes: ArrayLike,
    lam: float,
    radius: float,
    *,
    weights: ArrayLike | None = None,
    sigma: float = 1.0,
) -> float:
    """Give ln C of the Group Lasso, group-orthonormal, restricted to norm <= radius."""
    log_weights = group_lasso_log_strata(group_norms, group_sizes, lam, weights, sigma)
    return float(log_restricted(log_weights, radius))
