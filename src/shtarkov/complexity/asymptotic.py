"""Rissanen's asymptotic formula for ln C, for comparison with the exact integral.

ln C = (k/2) ln(N / 2 pi) + ln of the integral of sqrt(det I(theta)) over the region, with I the
Fisher information of one observation. For a Gaussian linear model I = X_A'X_A / (N sigma^2) does
not depend on theta: N cancels, and the integral is the region's volume (or the luckiness weight's).
The formula knows one fixed support and no threshold; it is the limit lam -> 0 of the exact one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from shtarkov.complexity.region import NormBall, Region
from shtarkov.errors import InvalidProblem, SingularGram


def rissanen_ln_c(
    X_active: ArrayLike, region: Region, *, lam: float | None = None, sigma: float = 1.0
) -> float:
    """Give Rissanen's ln C of least squares on the given columns.

    Parameters
    ----------
    X_active : (N, k) columns of the support
    region : where sum |coef| is at most the radius, or the weight exp(-tau sum |coef| / sigma^2)
    lam : the weight's rate when `region` is a matched luckiness (tau `None`)
    sigma : noise standard deviation
    """
    columns = np.asarray(X_active, dtype=np.float64)
    n_active = columns.shape[1]
    sign, log_det = np.linalg.slogdet(columns.T @ columns / sigma**2)
    if n_active and (sign <= 0 or np.linalg.matrix_rank(columns) < n_active):
        msg = "the Fisher information is singular; drop dependent columns from the support"
        raise SingularGram(msg)
    if isinstance(region, NormBall):
        log_volume = n_active * np.log(2.0 * region.radius) - gammaln(n_active + 1.0)
    else:
        tau = lam if region.tau is None else region.tau
        if tau is None:
            msg = "a matched luckiness weight needs lam; pass lam or Luckiness(tau)"
            raise InvalidProblem(msg)
        log_volume = n_active * np.log(2.0 * sigma**2 / tau)
    return float(0.5 * log_det - 0.5 * n_active * np.log(2.0 * np.pi) + log_volume)
