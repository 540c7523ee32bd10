"""The numbers recorded of one state of a chain, and their places in a row of the trace."""

from __future__ import annotations

from typing import Final

OBSERVABLES: Final = (
    "k",  # active columns (groups, ranks)
    "df",  # Stein's degrees of freedom
    "penalty",  # the penalty at the estimate
    "slope",  # d envelope / d ln lam along the family's path
    "fit_residual",  # <X coef, r>: its mean is that of df (THEORY section 4)
    "residual_sq",
    "envelope",
    "norm",  # the family's own norm of coef, without lam
    "sign_energy",  # s'(H + curvature)^-1 s: minus d norm / d lam at fixed y
    "log_volume",  # -ln J_cons
    "kkt_residual",
)
K, DF, PENALTY, SLOPE, FIT_RESIDUAL, RESIDUAL_SQ, ENVELOPE, NORM = range(8)
SIGN_ENERGY, LOG_VOLUME, KKT_RESIDUAL = range(8, len(OBSERVABLES))
