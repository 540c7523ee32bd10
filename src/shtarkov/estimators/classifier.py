"""What the classifiers share: input checks, scores, and a report turned into attributes."""

from __future__ import annotations

import dataclasses
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from shtarkov.errors import InvalidProblem
from shtarkov.estimators.callbacks import CallbackSupportMixin, fit_progress
from shtarkov.estimators.regressor import SPARSE_FORMATS, penalty_of, seed_of
from shtarkov.estimators.scaling import column_scales, scale_columns, unscale_report
from shtarkov.families.label_problems import LabelProblem
from shtarkov.selection.report import SelectionReport
from shtarkov.selection.select import select
from shtarkov.types import Floats


class SparseClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base of the binary classifiers whose penalty is chosen by codelength."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's own idiom
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "criterion": [StrOptions({"auto", "prediction", "structure"})],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "conservative": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "tol_complexity": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "standardize": ["boolean"],
    }

    def _problem(self, X: Any) -> LabelProblem:
        """Make the problem on the rows; by family."""
        raise NotImplementedError

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Choose the penalty and keep the winner's coefficients.

        Parameters
        ----------
        X : (N, D) array, DataFrame or sparse matrix
        y : (N,) labels of two values
        """
        rows, labels = validate_data(
            self, X, y, accept_sparse=SPARSE_FORMATS, dtype=np.float64, ensure_min_samples=2
        )
        labels = self._read_labels(labels)
        scales = None
        if self.standardize:
            scales = column_scales(rows, None, centred=self.fit_intercept)
            rows = scale_columns(rows, scales)
        with fit_progress(self, X, y) as progress:
            report = select(self._problem(rows), labels, **self._select_options(labels, progress))
        if scales is not None:
            report = unscale_report(report, scales)
            self.scale_ = scales
        self._take(report, labels.size)
        return self

    def _read_labels(self, y: Any) -> Any:
        """Check that there are two classes."""
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        if self.classes_.size > 2:
            msg = (
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(labels)}. Use sklearn.multiclass.OneVsRestClassifier for more"
            )
            raise InvalidProblem(msg)
        if self.classes_.size < 2:
            msg = "this classifier needs labels of two classes; y holds one class"
            raise InvalidProblem(msg)
        return labels

    def _select_options(self, labels: Any, progress: Any) -> dict[str, Any]:
        """Translate the parameters into those of `select`."""
        options: dict[str, Any] = {
            "criterion": self.criterion,
            "std_error": self.tol_complexity,
            "conservative": self.conservative,
            "n_jobs": self.n_jobs,
            "seed": seed_of(self.random_state),
            "progress": progress,
        }
        if isinstance(self.alphas, Integral):
            return {**options, "n_grid": int(self.alphas)}
        return {**options, "lams": np.asarray(self.alphas, dtype=np.float64) * labels.size}

    def _take(self, report: SelectionReport, n_samples: int) -> None:
        """Set the fitted attributes from a report."""
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            report = dataclasses.replace(report, feature_names=tuple(str(name) for name in names))
        self.report_ = report
        self.coef_ = np.array(report.coef, dtype=np.float64).reshape(1, -1)
        self.intercept_ = np.array([report.intercept], dtype=np.float64)
        self.eta_ = report.eta
        self.lambda_ = penalty_of(report)
        self.alpha_ = self.lambda_ / n_samples
        curve = report.curve
        nothing = np.empty(0)
        self.alphas_ = nothing if curve is None else curve.lams / n_samples
        self.codelengths_ = nothing if curve is None else curve.codelengths
        self.codelength_errors_ = nothing if curve is None else curve.std_errors
        self.ln_complexities_ = nothing if curve is None else curve.ln_c

    def decision_function(self, X: Any) -> Floats:
        """Score rows: positive for the second of `classes_`.

        Parameters
        ----------
        X : (N, D) array, DataFrame or sparse matrix

        Returns
        -------
        (N,) array
        """
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse=SPARSE_FORMATS, dtype=np.float64, reset=False)
        scores: Floats = safe_sparse_dot(rows, self.coef_[0]) + self.intercept_[0]
        return scores

    def predict(self, X: Any) -> Any:
        """Predict the class of rows.

        Parameters
        ----------
        X : (N, D) array, DataFrame or sparse matrix

        Returns
        -------
        (N,) array of values of `classes_`
        """
        positive = self.decision_function(X) > 0.0
        return self.classes_[positive.astype(np.int64)]

    def __sklearn_tags__(self) -> Any:
        """Declare two classes, and that sparse X is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags
