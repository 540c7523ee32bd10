"""Makes an `ActiveFactor` from the active columns and the curvature of the penalty.

Forms H = X_A'X_A and its Cholesky factor, and the factor of H plus the curvature (the zero matrix
for the Lasso, lam2 I for the Elastic Net, THEORY section 5 for groups; units of 1/2 |y - X b|^2,
no 1/n). `factor_active` is the compiled form and answers with a status; `make_active_factor`
checks its input and raises. With route="qr" the factors come from orthonormalised columns, at
error eps * cond(X_A) instead of its square. Slow twin: `numpy.linalg.cholesky`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shtarkov._jit import kernel
from shtarkov.errors import InvalidProblem, SingularGram, raise_for_status
from shtarkov.linalg.cholesky import OK, cholesky
from shtarkov.linalg.orthonormal_basis import basis_of_columns
from shtarkov.types import ActiveFactor, Floats


@kernel
def factor_active(X_active, curvature):  # type: ignore[no-untyped-def]
    """Factor the active columns by their Gram matrix; the status is the first failure's."""
    k = X_active.shape[1]
    chol_gram = np.zeros((k, k))
    chol_bent = np.zeros((k, k))
    if k == 0:
        return ActiveFactor(X_active, chol_gram, chol_bent, OK)
    gram = X_active.T @ X_active
    status = cholesky(gram, k, chol_gram)
    bent_status = cholesky(gram + curvature, k, chol_bent)
    if status == OK:
        status = bent_status
    return ActiveFactor(X_active, chol_gram, chol_bent, status)


@kernel
def factor_active_qr(X_active, curvature_root):  # type: ignore[no-untyped-def]
    """Factor by orthonormalising X_active, and X_active on top of a root of the curvature."""
    n, k = X_active.shape
    chol_gram = np.zeros((k, k))
    chol_bent = np.zeros((k, k))
    status = basis_of_columns(X_active, np.zeros((k, n)), chol_gram)
    stacked = np.zeros((n + k, k))
    stacked[:n] = X_active
    stacked[n:] = curvature_root
    bent_status = basis_of_columns(stacked, np.zeros((k, n + k)), chol_bent)
    if status == OK:
        status = bent_status
    return ActiveFactor(X_active, chol_gram, chol_bent, status)


def checked_columns(X_active: ArrayLike, name: str = "X_active") -> Floats:
    """Give the columns as a finite (N, k) array of doubles with k <= N, or say what is wrong."""
    try:
        columns = np.ascontiguousarray(X_active, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{name} must be a matrix of real numbers"
        raise InvalidProblem(msg) from error
    if columns.ndim != 2:
        msg = f"{name} must be a matrix (N, k); got an array of shape {columns.shape}"
        raise InvalidProblem(msg)
    if not np.isfinite(columns).all():
        msg = f"{name} holds NaN or infinity; remove or impute those rows"
        raise InvalidProblem(msg)
    if columns.shape[1] > columns.shape[0]:
        msg = (
            f"{name} has more columns (k = {columns.shape[1]}) than rows (N = {columns.shape[0]}); "
            "an active set has at most N columns: increase lam or pass fewer columns"
        )
        raise InvalidProblem(msg)
    return columns


def refuse_duplicates(columns: Floats) -> None:
    """Raise `SingularGram` naming the first pair of equal columns, if there is one."""
    seen: dict[bytes, int] = {}
    for j in range(columns.shape[1]):
        # Adding zero turns -0.0 into 0.0, which is the same number with other bytes.
        first = seen.setdefault((columns[:, j] + 0.0).tobytes(), j)
        if first != j:
            msg = f"active columns {first} and {j} are duplicates; drop one of them"
            raise SingularGram(msg)


def checked_curvature(curvature: ArrayLike | None, k: int) -> Floats:
    """Give the penalty curvature as a symmetric (k, k) array; `None` is the Lasso's zero."""
    if curvature is None:
        return np.zeros((k, k))
    matrix = np.ascontiguousarray(curvature, dtype=np.float64)
    if matrix.shape != (k, k):
        msg = f"curvature must be a (k, k) = {(k, k)} matrix; got shape {matrix.shape}"
        raise InvalidProblem(msg)
    if not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T, rtol=1e-12, atol=0.0):
        raise InvalidProblem("curvature must be finite and symmetric")
    return matrix


def curvature_root_of(curvature: Floats) -> Floats:
    """Give a matrix K with K'K = curvature, which must be positive semidefinite."""
    values, vectors = np.linalg.eigh(curvature)
    if values.size and values[0] < -1e-12 * max(1.0, values[-1]):
        raise InvalidProblem("curvature must be positive semidefinite: the penalty is convex")
    root: Floats = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return root


def make_active_factor(
    X_active: ArrayLike, curvature: ArrayLike | None = None, *, route: str = "schur"
) -> ActiveFactor:
    """Check the active columns and factor them.

    Parameters
    ----------
    X_active : (N, k) columns of the active set
    curvature : (k, k) second derivative of the penalty there; `None` means zero (the Lasso)
    route : "schur" factors the Gram matrix; "qr" orthonormalises the columns, slower and accurate
        up to a condition number of about 1e13 instead of 1e7

    Returns
    -------
    ActiveFactor

    Raises
    ------
    InvalidProblem
        NaN, a wrong shape, k > N, or a curvature that is not symmetric positive semidefinite.
    SingularGram
        Duplicated or numerically dependent columns.
    """
    if route not in ("schur", "qr"):
        msg = f"route must be 'schur' or 'qr'; got {route!r}"
        raise InvalidProblem(msg)
    columns = checked_columns(X_active)
    matrix = checked_curvature(curvature, columns.shape[1])
    refuse_duplicates(columns)
    if route == "qr":
        factor = factor_active_qr(columns, curvature_root_of(matrix))
    else:
        factor = factor_active(columns, matrix)
    raise_for_status(factor.status, f"factoring {columns.shape[1]} active columns")
    return ActiveFactor(*factor)
