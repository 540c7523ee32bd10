"""Public problems whose data are labels: the sparse SVM and the l1-regularised logistic regression.

A problem holds the design, the loss and eta, the weight of the loss in the codelength
(exp(-eta * objective) is what is summed over all labelings); it knows no penalty and no solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shtarkov.errors import InvalidProblem
from shtarkov.families.build import (
    LARGEST_PENALTY,
    SMALLEST_PENALTY,
    check_column_scale,
    check_finite_block,
    check_non_negative,
)
from shtarkov.families.rows import read_rows
from shtarkov.types import Floats

SvmLoss = Literal["hinge", "squared_hinge"]
Eta = float | Literal["unknown"]


@dataclass(frozen=True, slots=True, eq=False)
class LabelDesign:
    """A design for labels: rows matter one by one, so nothing is reduced.

    Attributes
    ----------
    X : (N, D) float64, a copy
    feature_names : the column names, when X has names
    """

    X: Floats
    feature_names: tuple[str, ...] | None

    @property
    def n_samples(self) -> int:
        """N."""
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        """D."""
        return self.X.shape[1]

    @property
    def n_dim(self) -> int:
        """Number of labels to code: all of them, with or without an intercept."""
        return self.X.shape[0]


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class SparseSVM:
    """The l1-norm SVM: sum_i loss(y_i f_i) + ``lam`` * sum |w| + half ``ridge`` * sum w^2.

    Parameters
    ----------
    X : (N, D) array, list, pandas or polars DataFrame, scipy sparse matrix, or Dask array
    loss : "hinge", max(0, 1 - m), or "squared_hinge", **half** of its square (liblinear has no
        half: its ``C`` is ``1 / (2 lam)`` here)
    ridge : weight of half the squared coefficients
    eta : weight of the objective in the codelength, or "unknown": chosen together with lam
    fit_intercept : an intercept that carries no penalty
    """

    design: LabelDesign
    loss: str
    ridge: float
    eta: Eta
    fit_intercept: bool

    def __init__(
        self,
        X: Any,
        loss: SvmLoss = "hinge",
        *,
        ridge: float = 0.0,
        eta: Eta = 1.0,
        fit_intercept: bool = False,
    ) -> None:
        if loss not in ("hinge", "squared_hinge"):
            msg = f'loss must be "hinge" or "squared_hinge"; got {loss!r}'
            raise InvalidProblem(msg)
        object.__setattr__(self, "design", read_label_design(X))
        object.__setattr__(self, "loss", loss)
        object.__setattr__(self, "ridge", check_non_negative(ridge, "ridge"))
        object.__setattr__(self, "eta", check_eta(eta))
        object.__setattr__(self, "fit_intercept", bool(fit_intercept))

    def __repr__(self) -> str:
        return _describe(self, f"loss={self.loss!r}")

    @property
    def name(self) -> str:
        """Name of the family in reports."""
        return f"sparse_svm_{self.loss}"


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class SparseLogistic:
    """Logistic regression with an l1 penalty: sum_i ln(1 + exp(-y_i f_i)) + ``lam`` * sum |w|.

    Parameters
    ----------
    X : as for `SparseSVM`
    ridge : weight of half the squared coefficients
    eta : weight of the objective in the codelength; at 1, the default, it is the model's own
        log-likelihood
    fit_intercept : an intercept that carries no penalty
    """

    design: LabelDesign
    ridge: float
    eta: Eta
    fit_intercept: bool

    def __init__(
        self, X: Any, *, ridge: float = 0.0, eta: Eta = 1.0, fit_intercept: bool = False
    ) -> None:
        object.__setattr__(self, "design", read_label_design(X))
        object.__setattr__(self, "ridge", check_non_negative(ridge, "ridge"))
        object.__setattr__(self, "eta", check_eta(eta))
        object.__setattr__(self, "fit_intercept", bool(fit_intercept))

    def __repr__(self) -> str:
        return _describe(self)

    @property
    def loss(self) -> str:
        """Name of the loss."""
        return "logistic"

    @property
    def name(self) -> str:
        """Name of the family in reports."""
        return "sparse_logistic"


LabelProblem = SparseSVM | SparseLogistic


def _describe(problem: LabelProblem, *options: str) -> str:
    design = problem.design
    parts = [f"n_samples={design.n_samples}", f"n_features={design.n_features}", *options]
    if problem.ridge > 0.0:
        parts.append(f"ridge={problem.ridge!r}")
    parts += [f"eta={problem.eta!r}", f"fit_intercept={problem.fit_intercept!r}"]
    return f"{type(problem).__name__}({', '.join(parts)})"


def read_label_design(X: Any) -> LabelDesign:
    """Read all rows of X, checked."""
    source = read_rows(X)
    rows = np.array(source.dense(), dtype=np.float64)
    check_finite_block(rows, 0, source.names)
    check_column_scale(np.max(np.abs(rows), axis=0), source.names)
    return LabelDesign(rows, source.names)


def check_eta(eta: Any) -> Eta:
    """Return eta as a positive float or "unknown"."""
    if isinstance(eta, str):
        if eta != "unknown":
            msg = f'eta must be a positive number or "unknown"; got {eta!r}'
            raise InvalidProblem(msg)
        return "unknown"
    number = check_non_negative(eta, "eta")
    if not SMALLEST_PENALTY <= number <= LARGEST_PENALTY:
        msg = f'eta must be a positive number or "unknown"; got {eta!r}'
        raise InvalidProblem(msg)
    return number


def stated_eta(problem: LabelProblem, eta: float | None = None) -> float:
    """Return the eta a calculation at a given eta is to use, or say that one is needed."""
    chosen = problem.eta if eta is None else check_eta(eta)
    if isinstance(chosen, str):
        msg = 'the problem has eta="unknown": make it with a number, or use select, which chooses'
        raise InvalidProblem(msg)
    return chosen


def refuse_sigma(sigma: object) -> None:
    """Complain about a noise scale, which labels have not."""
    if sigma not in (1.0, "unknown"):
        msg = f"labels have no noise scale (the problem's eta takes its place); got sigma={sigma!r}"
        raise InvalidProblem(msg)


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Labels as signs, and what the signs stand for.

    Attributes
    ----------
    signs : (N,) -1.0 for the first class, +1.0 for the second
    classes : the two values, sorted; the second may be missing
    """

    signs: Floats
    classes: np.ndarray


def check_labels(y: Any, n_samples: int) -> Labels:
    """Turn a column of any two values into signs; the larger value is +1."""
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if values.ndim != 1 or values.size != n_samples:
        msg = f"y must be one label for each of the {n_samples} rows of X; got shape {values.shape}"
        raise InvalidProblem(msg)
    if values.dtype.kind in "fc" and not np.isfinite(values).all():
        raise InvalidProblem("y holds NaN or infinity; drop or fill in those labels first")
    try:
        classes = np.unique(values)
    except TypeError:
        msg = "y mixes values that cannot be compared (missing ones?); clean the labels first"
        raise InvalidProblem(msg) from None
    if classes.size > 2:
        shown = ", ".join(map(repr, classes[:4].tolist()))
        msg = (
            f"y has {classes.size} distinct values ({shown}, ...); labels take two. For more "
            "classes use one-vs-rest, for a continuous response use Lasso or ElasticNet"
        )
        raise InvalidProblem(msg)
    if classes.size == 1 and set(classes.tolist()) <= {-1, 1}:
        classes = np.array([-1, 1], dtype=classes.dtype)
    signs = np.where(values == classes[-1], 1.0, -1.0)
    return Labels(signs, classes)
