"""What the estimators share: input checks, prediction, and a report turned into attributes."""

from __future__ import annotations

import dataclasses
import math
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from shtarkov.estimators.callbacks import CallbackSupportMixin
from shtarkov.estimators.sample_weight import apply_weights
from shtarkov.estimators.scaling import column_scales, scale_columns, unscale_report
from shtarkov.selection.report import SelectionReport
from shtarkov.types import Floats

SPARSE_FORMATS = ("csr", "csc")
LARGEST_SEED = 2**31 - 1


class TrainingData(NamedTuple):
    """Rows ready for a family.

    Attributes
    ----------
    X, y : rows after weights that count and after scaling
    weights : precisions, or None
    total_weight : what turns scikit-learn's alpha into lam
    scales : spread of every column if they were divided by it, else None
    """

    X: Any
    y: Floats
    weights: Floats | None
    total_weight: float
    scales: Floats | None


class PenalisedRegressor(CallbackSupportMixin, RegressorMixin, BaseEstimator):
    """Base of the regressors whose penalty is chosen by codelength."""

    _several_targets = False

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's own idiom
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "criterion": [StrOptions({"auto", "prediction", "structure", "average"})],
        "noise_scale": [StrOptions({"unknown"}), Interval(Real, 0, None, closed="neither")],
        "conservative": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "tol_complexity": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "standardize": ["boolean"],
    }

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        """Check the input as scikit-learn does; weights and scaling are applied to copies."""
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse=SPARSE_FORMATS,
            dtype=np.float64,
            y_numeric=True,
            multi_output=self._several_targets,
            ensure_min_samples=2,
        )
        target = self._as_target(y)
        rows, target, weights = apply_weights(X, target, sample_weight)
        scales = None
        if self.standardize:
            scales = column_scales(rows, weights, centred=self.fit_intercept)
            rows = scale_columns(rows, scales)
        total = float(target.shape[0] if weights is None else weights.sum())
        return TrainingData(rows, target, weights, total, scales)

    def _as_target(self, y: Any) -> Floats:
        """Give y in the shape the family takes."""
        return np.asarray(column_or_1d(y, warn=True), dtype=np.float64)

    def _select_options(self, data: TrainingData, progress: Any) -> dict[str, Any]:
        """Translate the parameters into those of `select` and `compare`."""
        is_count = isinstance(self.alphas, Integral)
        options: dict[str, Any] = {
            "sigma": self.noise_scale,
            "criterion": self.criterion,
            "std_error": self.tol_complexity,
            "conservative": self.conservative,
            "n_jobs": self.n_jobs,
            "seed": seed_of(self.random_state),
            "progress": progress,
        }
        if is_count:
            options["n_grid"] = int(self.alphas)
        else:
            options["lams"] = np.asarray(self.alphas, dtype=np.float64) * data.total_weight
        return options

    def _take(self, report: SelectionReport, data: TrainingData) -> None:
        """Set the fitted attributes from a report."""
        n_targets = 1 if data.y.ndim == 1 else data.y.shape[1]
        if data.scales is not None:
            report = unscale_report(report, np.repeat(data.scales, n_targets))
            self.scale_ = data.scales
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            labels = [str(name) for name in names]
            if n_targets > 1:
                labels = [f"{name}:{target}" for name in labels for target in range(n_targets)]
            report = dataclasses.replace(report, feature_names=tuple(labels))
        self.report_ = report
        self.coef_ = np.array(report.coef, dtype=np.float64)
        several = np.ndim(report.intercept) > 0
        self.intercept_ = report.intercept if several else float(report.intercept)
        assert report.sigma is not None  # only labels have none
        self.noise_scale_ = float(report.sigma)
        self.lambda_ = penalty_of(report)
        self.alpha_ = self.lambda_ / data.total_weight
        curve = report.curve
        nothing = np.empty(0)
        self.alphas_ = nothing if curve is None else curve.lams / data.total_weight
        self.codelengths_ = nothing if curve is None else curve.codelengths
        self.codelength_errors_ = nothing if curve is None else curve.std_errors
        self.ln_complexities_ = nothing if curve is None else curve.ln_c

    def predict(self, X: Any) -> Floats:
        """Predict the target with the winner's coefficients.

        Parameters
        ----------
        X : (N, D) array, DataFrame or sparse matrix

        Returns
        -------
        (N,) array, (N, q) where the model was fitted to several targets
        """
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse=SPARSE_FORMATS, dtype=np.float64, reset=False)
        predicted: Floats = safe_sparse_dot(rows, self.coef_.T) + self.intercept_
        return predicted

    def __sklearn_tags__(self) -> Any:
        """Declare that sparse X is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def seed_of(random_state: Any) -> int | None:
    """Turn scikit-learn's random_state into a seed; for None, `select` draws one and records it."""
    if random_state is None or isinstance(random_state, Integral):
        return None if random_state is None else int(random_state)
    return int(check_random_state(random_state).randint(LARGEST_SEED))


def penalty_of(report: SelectionReport) -> float:
    """Penalty of the winner: infinite for the empty model, NaN for the subset code, with none."""
    if report.winner == "empty":
        return math.inf
    return math.nan if report.lam is None else float(report.lam)
