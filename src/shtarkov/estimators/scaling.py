"""Divide columns by their spread, and give the report back in the user's units.

The penalty is the same for every column, so the units of the columns decide who pays; the library
leaves them alone unless it is asked not to.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.sparsefuncs import inplace_column_scale, mean_variance_axis

from shtarkov.selection.report import SelectionReport
from shtarkov.types import Floats

# A spread below this share of the column's size is rounding, and the column is constant.
CONSTANT_SHARE = 1e-12


def column_scales(X: Any, weights: Floats | None, centred: bool) -> Floats:
    """Spread of every column: its standard deviation, about zero if not `centred`; 1 if constant.

    Parameters
    ----------
    X : (N, D) array or sparse matrix
    weights : (N,) weights of the rows, None for equal ones
    centred : whether an intercept takes the mean away
    """
    if scipy.sparse.issparse(X):
        mean, variance = mean_variance_axis(X, axis=0, weights=weights)
    else:
        mean = np.average(X, axis=0, weights=weights)
        variance = np.average((X - mean) ** 2, axis=0, weights=weights)
    size = np.sqrt(variance + mean**2)
    scales = np.sqrt(variance) if centred else size
    return np.where(scales > CONSTANT_SHARE * size, scales, 1.0)


def scale_columns(X: Any, scales: Floats) -> Any:
    """Divide the columns of a copy of X."""
    if not scipy.sparse.issparse(X):
        return X / scales
    scaled = X.astype(np.float64, copy=True)
    inplace_column_scale(scaled, 1.0 / scales)
    return scaled


def unscale_report(report: SelectionReport, scales: Floats) -> SelectionReport:
    """Write the coefficients for the columns as the user gave them, and say what was done.

    The penalties stay those of the scaled columns: for the user's there is one per column.
    """
    curve = report.curve
    if curve is not None:
        curve = dataclasses.replace(curve, coefs=curve.coefs / scales)
    note = (
        "columns were divided by their standard deviations "
        f"({scales.min():.3g} to {scales.max():.3g}) and coefficients multiplied back; "
        "penalties are those of the divided columns"
    )
    return dataclasses.replace(
        report, coef=report.coef / scales, curve=curve, notes=(*report.notes, note)
    )
