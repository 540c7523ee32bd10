"""Arithmetic of the stratum spectrum (ln a_k): from it every tau and every radius, in logarithms.

With a_k the weight of all strata with k active coefficients (THEORY section 3), in units where
coefficients carry the weight exp(-tau * norm / sigma^2):
C(tau) = sum_k a_k (sigma^2/tau)^k, and restricted to norm <= radius, sum_k a_k radius^k / k!.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, logsumexp, softmax

from shtarkov.types import Floats


def _powers(log_weights: Floats) -> Floats:
    return np.arange(log_weights.shape[-1], dtype=np.float64)


def log_luckiness(log_weights: Floats, tau: float, sigma: float = 1.0) -> Floats:
    """Give ln C(tau) along the last axis of `log_weights` (k = 0, 1, ...)."""
    exponent = 2.0 * np.log(sigma) - np.log(tau)
    return np.asarray(logsumexp(log_weights + _powers(log_weights) * exponent, axis=-1))


def log_restricted(log_weights: Floats, radius: float) -> Floats:
    """Give ln C restricted to norm <= radius along the last axis of `log_weights`."""
    return np.asarray(logsumexp(_restricted_terms(log_weights, radius), axis=-1))


def _restricted_terms(log_weights: Floats, radius: float) -> Floats:
    power = _powers(log_weights)
    return np.asarray(log_weights + power * np.log(radius) - gammaln(power + 1.0))


def restricted_law(log_weights: Floats, radius: float) -> Floats:
    """Give each k's share of the restricted integral."""
    return np.asarray(softmax(_restricted_terms(log_weights, radius), axis=-1))


def stratum_law(log_weights: Floats, tau: float, sigma: float = 1.0) -> Floats:
    """Give the law of k under the density with weight tau."""
    exponent = 2.0 * np.log(sigma) - np.log(tau)
    terms = log_weights + _powers(log_weights) * exponent
    return np.asarray(softmax(terms, axis=-1))


def mean_active(log_weights: Floats, tau: float, sigma: float = 1.0) -> Floats:
    """Give the expected number of active coefficients under the density with weight tau."""
    law = stratum_law(log_weights, tau, sigma)
    return np.asarray(law @ _powers(log_weights))


def log_polynomial_product(factors: list[Floats]) -> Floats:
    """Give the log coefficients of a product of polynomials with positive coefficients.

    All terms are positive, so nothing cancels and the logarithms keep full relative accuracy.
    """
    product = np.zeros(1)
    for factor in sorted(factors, key=len):
        widened = np.full(product.size + factor.size - 1, -np.inf)
        for power, log_coefficient in enumerate(factor):
            window = widened[power : power + product.size]
            np.logaddexp(window, product + log_coefficient, out=window)
        product = widened
    return product
