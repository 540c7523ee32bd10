"""What the winner's fit says against itself: too few rows, an exact fit, dependent columns."""

from __future__ import annotations

import math

import numpy as np

from shtarkov.families.reduce import Design
from shtarkov.selection.candidates import Candidate
from shtarkov.selection.data_part import DataPart
from shtarkov.selection.report import Code
from shtarkov.types import Floats

# Fewer dimensions than this hold no noise scale beside a signal.
FEWEST_DIMENSIONS = 3
# Least squares on the winner's columns leaves less than this share of y: an exact fit, up to the
# rounding of y itself.
EXACT = 1e-10
# Coefficients have lost half their digits.
BADLY_CONDITIONED = 1e7


def doubts_about_fit(data: DataPart, winner: Candidate) -> list[str]:
    """List what would make an expert distrust the winner whatever its codelength.

    Parameters
    ----------
    data : the data vector
    winner : its code, and its coefficients of the penalised columns
    """
    doubts, coef = [], winner.coef
    if data.sigma is None and data.n_dim < FEWEST_DIMENSIONS:
        doubts.append(
            f"the rows are too few to tell noise from signal ({data.n_dim} beyond the intercept): "
            "give sigma="
        )
    if not isinstance(data.problem.design, Design) or not np.any(coef):
        return doubts  # a matrix of coefficients chooses no columns
    columns = data.problem.design.X[:, np.flatnonzero(coef)]
    lengths = np.linalg.norm(columns, axis=0)
    # A ridge steadies the coefficients: it is so many rows more, one for each column.
    rows = math.sqrt(_ridge(data, winner.code)) * np.diag(1.0 / lengths)
    sizes = np.linalg.svd(np.vstack([columns / lengths, rows]), compute_uv=False)
    if sizes[0] > BADLY_CONDITIONED * sizes[-1]:
        doubts.append(
            "the chosen columns are nearly dependent and their coefficients unstable: keep fewer "
            "of them, or add a ridge"
        )
    left = _left_over(data, np.linalg.svd(columns / lengths, full_matrices=False)[0])
    if data.sigma is None and left < EXACT * data.total_sq**0.5:
        doubts.append(
            f"the {columns.shape[1]} chosen columns fit y exactly: with an unknown noise scale "
            "such a code has no shortest length; give sigma="
        )
    return doubts


def _ridge(data: DataPart, code: Code) -> float:
    """Weight of half the squared coefficients in the code's estimate; least squares has none."""
    if code.lam is None or code.sigma is None:
        return 0.0
    in_units_of = 1.0 if data.sigma is not None else code.sigma  # the ratio is of those
    return float(data.problem.penalties(code.lam / in_units_of)[1])


def _left_over(data: DataPart, basis: Floats) -> float:
    """Length of what least squares on the columns of `basis` leaves of y."""
    y = data.response.y
    residual = y - basis @ (basis.T @ y)
    return float(np.sqrt(residual @ residual + data.response.orthogonal_sq))
