"""The checked, Python-facing form of the geometry: one function per operator, the route by name.

Input is validated, a bad status becomes an error that says what to change. Compiled code calls the
kernels of `dense`, `schur`, `qr` and `pair_volume` directly.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike

from shtarkov.errors import InvalidProblem, raise_for_status
from shtarkov.geometry import dense, pair_volume, qr, schur
from shtarkov.geometry.active_factor import checked_columns, make_active_factor
from shtarkov.types import ActiveFactor, Floats, Ints, Status

ROUTES: dict[str, ModuleType] = {"dense": dense, "schur": schur, "qr": qr}
PAIR_ROUTES: dict[str, ModuleType] = {
    "gram": pair_volume,
    "sylvester": schur,
    "dense": dense,
    "qr": qr,
}


def pick(routes: dict[str, ModuleType], route: str) -> ModuleType:
    """Look up a route by name."""
    if route not in routes:
        msg = f"route must be one of {sorted(routes)}; got {route!r}"
        raise InvalidProblem(msg)
    return routes[route]


def checked_vector(z: ArrayLike, length: int) -> Floats:
    """Give z as a finite vector of the stated length, or say what is wrong."""
    vector = np.ascontiguousarray(z, dtype=np.float64)
    if vector.shape != (length,):
        msg = f"z must be a vector of length {length}; got shape {vector.shape}"
        raise InvalidProblem(msg)
    if not np.isfinite(vector).all():
        raise InvalidProblem("z holds NaN or infinity")
    return vector


def checked_ridge(value: float, name: str) -> float:
    """Give a positive, finite ridge weight, or say what is wrong."""
    if not (np.isfinite(value) and value > 0.0):
        msg = f"{name} must be positive and finite; got {value!r}"
        raise InvalidProblem(msg)
    return float(value)


def refuse_nan(value: Floats, context: str) -> Floats:
    """Turn the kernels' nan, with which they refuse a singular matrix, into an error."""
    if np.isnan(value).any():
        raise_for_status(Status.SINGULAR_GRAM, context)
    return value


def tangent_project(factor: ActiveFactor, z: ArrayLike, *, route: str = "schur") -> Floats:
    """Project z on the tangent space null X_A' of the level set at a point.

    Parameters
    ----------
    factor : from `make_active_factor`
    z : (N,) vector
    route : "schur", "qr" or "dense"
    """
    vector = checked_vector(z, factor.X_active.shape[0])
    return refuse_nan(pick(ROUTES, route).tangent_project(factor, vector), "projecting")


def log_volume(factor: ActiveFactor, *, route: str = "schur") -> float:
    """Find -ln J of the level set: ln det(H + curvature) - 1/2 ln det H, in nats."""
    value = pick(ROUTES, route).log_volume(factor)
    refuse_nan(np.array([value]), "finding the volume factor")
    return float(value)


def log_pair_volume(current: ActiveFactor, proposed: ActiveFactor, *, route: str = "gram") -> float:
    """Find 1/2 ln det of the tangent basis at `current` projected at `proposed`, in nats.

    Zero when the column spaces agree, -inf when `proposed` has more columns.

    Parameters
    ----------
    current, proposed : from `make_active_factor`, with the same N
    route : "gram" (O(k^3) from inner products), "sylvester" (the paper's, with an explicit basis),
        "dense" (a determinant of size N - k) or "qr" (best conditioned)
    """
    if current.X_active.shape[0] != proposed.X_active.shape[0]:
        shapes = f"{current.X_active.shape[0]} and {proposed.X_active.shape[0]}"
        msg = f"the two points must have the same number of rows; got {shapes}"
        raise InvalidProblem(msg)
    value = pick(PAIR_ROUTES, route).log_pair_volume(current, proposed)
    refuse_nan(np.array([value]), "finding the pair volume")
    return float(value)


def apply_d_en(X_active: ArrayLike, lam2: float, z: ArrayLike, *, route: str = "schur") -> Floats:
    """Apply the Elastic Net's D_EN, (z - X_A (H + lam2 I)^-1 X_A'z) / (1 + lam2).

    Parameters
    ----------
    X_active : (N, k) columns of the active set
    lam2 : ridge weight of lam2 / 2 |b|^2 beside 1/2 |y - X b|^2
    z : (N,) vector
    route : "schur", "qr" or "dense"
    """
    ridge = checked_ridge(lam2, "lam2")
    columns = checked_columns(X_active)
    factor = make_active_factor(columns, ridge * np.eye(columns.shape[1]))
    vector = checked_vector(z, columns.shape[0])
    return refuse_nan(pick(ROUTES, route).apply_d_en(factor, ridge, vector), "applying D_EN")


def checked_support(X_support: ArrayLike) -> Floats:
    """Give the margin rows as a finite (k, D) array; k may exceed D and rows may repeat."""
    rows = np.ascontiguousarray(X_support, dtype=np.float64)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise InvalidProblem("X_support must be a finite matrix (k, D) of margin rows")
    return rows


def apply_m11(X_support: ArrayLike, ridge: float, z: ArrayLike, *, route: str = "schur") -> Floats:
    """Apply the sparse SVM's M11 = (I + X_S X_S'/ridge)^-1, on the cheaper of its two sides.

    Parameters
    ----------
    X_support : (k, D) rows on the margin
    ridge : the paper's barrier epsilon
    z : (k,) vector
    route : "schur", "qr" or "dense"
    """
    weight = checked_ridge(ridge, "ridge")
    rows = checked_support(X_support)
    vector = checked_vector(z, rows.shape[0])
    return refuse_nan(pick(ROUTES, route).apply_m11(rows, weight, vector), "applying M11")


def checked_starts(starts: ArrayLike, k: int) -> Ints:
    """Give the group bounds 0 = s_0 < s_1 < ... < s_m = k, or say what is wrong."""
    bounds = np.ascontiguousarray(starts, dtype=np.int64)
    if bounds.ndim != 1 or bounds.size == 0 or bounds[0] != 0 or bounds[-1] != k:
        msg = f"starts must run from 0 to k = {k}; got {bounds.tolist()}"
        raise InvalidProblem(msg)
    if (np.diff(bounds) <= 0).any():
        msg = f"starts must increase: every group has a column; got {bounds.tolist()}"
        raise InvalidProblem(msg)
    return bounds


def group_tangent_project(
    X_groups: ArrayLike, starts: ArrayLike, z: ArrayLike, *, route: str = "schur"
) -> Floats:
    """Project z on null X_G', group by group where groups are orthogonal.

    Parameters
    ----------
    X_groups : (N, k) columns of the active groups, one group after another
    starts : (m + 1,) bounds: group a has the columns starts[a] to starts[a + 1]
    z : (N,) vector
    route : "schur", "qr" or "dense"
    """
    columns = checked_columns(X_groups, "X_groups")
    make_active_factor(columns, route="qr" if route == "qr" else "schur")  # refuses dependence
    bounds = checked_starts(starts, columns.shape[1])
    vector = checked_vector(z, columns.shape[0])
    projected = pick(ROUTES, route).group_tangent_project(columns, bounds, vector)
    return refuse_nan(projected, "projecting on the groups' tangent space")
