"""What a chain averages, with quantities whose mean is known to be zero (control variates).

In units of sigma, under q proportional to exp(-half |r|^2 - tau |beta|_1 - half lam2 |beta|^2):

* along the penalty path (tau = lam): -d ln C / d ln lam = E[slope of the envelope];
* along the luckiness weight: -d ln C / d ln tau = tau E|beta|_1 (Lasso: E[k]);
* at fixed tau: -d ln C / d ln lam = lam (lam - tau) E[s'(H + lam2 I)^-1 s].

Zero means: <X beta, r> - df and n - |r|^2 - df when tau = lam (THEORY 4); tau |beta|_1 - k for the
Lasso at any tau (fibre law); and from E<y, grad> = n, with M = H + lam2 I and
grad = r + (tau - lam) X_A M^-1 s, n - |r|^2 - <X beta, r> - (tau - lam)(|beta|_1 + lam s'M^-1 s).
"""

from __future__ import annotations

import numpy as np

from shtarkov.families.observables import (
    DF,
    FIT_RESIDUAL,
    NORM,
    RESIDUAL_SQ,
    SIGN_ENERGY,
    SLOPE,
    K,
)
from shtarkov.sampling.chain import Chain
from shtarkov.types import Floats


def slope_in_lam(chain: Chain) -> tuple[Floats, Floats]:
    """Give minus the derivative of ln C along the matched path, and two zero-mean controls."""
    df = chain.column(DF)
    fit_residual = chain.column(FIT_RESIDUAL)
    lost = chain.state.y.size - chain.column(RESIDUAL_SQ)
    return chain.column(SLOPE), np.stack([fit_residual - df, lost - df])


def slope_in_tau(chain: Chain) -> tuple[Floats, Floats]:
    """Give minus the derivative of ln C in ln tau at fixed lam, and its zero-mean controls."""
    weighted_norm = chain.weight * chain.column(NORM)
    controls = [virial(chain)]
    if chain.facts.norm_counts_active:
        controls.append(weighted_norm - chain.column(K))
    return weighted_norm, np.stack(controls)


def virial(chain: Chain) -> Floats:
    """Give n - <y, gradient of the potential>, whose mean is zero."""
    lam = chain.family.lam
    shift = (chain.weight - lam) * (chain.column(NORM) + lam * chain.column(SIGN_ENERGY))
    pulled = chain.column(RESIDUAL_SQ) + chain.column(FIT_RESIDUAL) + shift
    return np.asarray(chain.state.y.size - pulled)
