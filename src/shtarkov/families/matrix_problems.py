"""The public problems whose data are a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from numpy.typing import ArrayLike

from shtarkov.errors import InvalidProblem
from shtarkov.families.build import check_lam
from shtarkov.families.matrix_design import MatrixDesign, diagonal_design, identity_design
from shtarkov.families.reduce import reduce_design


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class NuclearNorm:
    """Half the squared residual plus ``lam`` times the nuclear norm of a matrix of coefficients.

    The nuclear norm is the sum of the singular values: the estimate is a matrix of low rank.

    Parameters
    ----------
    X : (N, D) design of a regression with several targets, as for `Lasso`; the data are (N, q) and
        the coefficients (D, q). Left out for denoising a matrix, whose data are the matrix itself.
    n_targets : q, given with X
    shape : rows and columns of the matrix to denoise, given without X
    fit_intercept, unpenalised, sample_weight : as for `Lasso`, with X

    Attributes
    ----------
    design : the design brought to diagonal form
    """

    design: MatrixDesign

    def __init__(
        self,
        X: Any = None,
        *,
        n_targets: int | None = None,
        shape: tuple[int, int] | None = None,
        fit_intercept: bool = False,
        unpenalised: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        if (X is None) == (shape is None):
            raise InvalidProblem("give either a design X with n_targets, or shape=(m, n)")
        if shape is not None:
            if n_targets is not None or fit_intercept or unpenalised is not None:
                raise InvalidProblem(
                    "n_targets, fit_intercept and unpenalised belong to a design X; shape=(m, n) "
                    "says all there is to say of a matrix to denoise"
                )
            if sample_weight is not None:
                raise InvalidProblem("sample_weight belongs to a design X, not to shape=(m, n)")
            design = identity_design(_check_shape(shape))
        else:
            targets = _check_count(n_targets, "n_targets")
            rows = reduce_design(
                X, fit_intercept=fit_intercept, unpenalised=unpenalised, sample_weight=sample_weight
            )
            design = diagonal_design(rows, targets)
        object.__setattr__(self, "design", design)

    def __repr__(self) -> str:
        design = self.design
        if design.rows is None:
            return f"NuclearNorm(shape=({design.n_rows}, {design.n_targets}))"
        sizes = f"n_samples={design.n_rows}, n_features={design.basis.shape[0]}"
        return f"NuclearNorm({sizes}, n_targets={design.n_targets})"

    @property
    def name(self) -> str:
        """Name of the family in reports."""
        return "nuclear_norm"

    def penalties(self, lam: float) -> tuple[float, float]:
        """Weights of the norm and of half the squares at `lam`."""
        return check_lam(lam), 0.0


def _check_count(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        msg = f"{name} must be a positive whole number; got {value!r}"
        raise InvalidProblem(msg)
    return int(value)


def _check_shape(shape: Any) -> tuple[int, int]:
    try:
        rows, columns = shape
    except (TypeError, ValueError):
        msg = f"shape must be (rows, columns); got {shape!r}"
        raise InvalidProblem(msg) from None
    return _check_count(rows, "the number of rows"), _check_count(columns, "that of columns")
