"""The nouns of the library: what a fit, a factored point and a chain state are. Read this first."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Status(IntEnum):
    """What a compiled kernel says of its own work; it never raises or prints."""

    OK = 0
    NOT_CONVERGED = 1
    SINGULAR_GRAM = 2
    LEFT_CELL = 3
    IRREVERSIBLE = 4
    NOT_FINITE = 5
    CAPACITY = 6


class Fit(NamedTuple):
    """The estimate at one data vector.

    Attributes
    ----------
    coef : (D,) coefficients
    active : (k,) indices of the active set, in the order in which they entered
    signs : (k,) their signs (for groups: the coefficients' directions)
    residual : (N,) y - X coef, the gradient of the envelope
    envelope : min over beta of half the squared residual plus the penalty (objective units, no 1/n)
    penalty : the penalty's value at coef
    df : Stein's degrees of freedom, the divergence of the fit
    status : `Status` of the solve
    """

    coef: Floats
    active: Ints
    signs: Floats
    residual: Floats
    envelope: float
    penalty: float
    df: float
    status: int


class ActiveFactor(NamedTuple):
    """Everything the geometry of a level set needs, factored once per point.

    Attributes
    ----------
    X_active : (N, k) columns of the active set
    chol_gram : (k, k) lower Cholesky factor of the active Gram matrix H
    chol_bent : (k, k) lower Cholesky factor of H plus the penalty curvature (THEORY section 5)
    status : `Status` of the factorisation
    """

    X_active: Floats
    chol_gram: Floats
    chol_bent: Floats
    status: int
