"""Reduced-rank regression with its penalty chosen by codelength: several targets share factors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, _fit_context
from sklearn.utils._param_validation import StrOptions

from shtarkov.estimators.callbacks import fit_progress
from shtarkov.estimators.regressor import PenalisedRegressor, TrainingData
from shtarkov.families.certificate import relative_gap
from shtarkov.families.matrix_problems import NuclearNorm
from shtarkov.selection.report import SelectionReport
from shtarkov.selection.select import select
from shtarkov.types import Floats

# Singular values of the coefficients below this share of the largest are rounding.
RANK_SHARE = 1e-8


class NuclearNormNML(MultiOutputMixin, PenalisedRegressor):
    """Several targets regressed together, with a low-rank matrix of coefficients.

    The objective is half the squared residual plus ``lam`` times the sum of the singular values of
    the coefficients. The penalty is that of the shortest code.

    Parameters
    ----------
    alphas, noise_scale, conservative, fit_intercept, tol_complexity : as for `LassoNML`
    criterion : "auto" and "prediction" both let the empty and the matched code compete
    n_jobs, random_state, verbose, standardize : as for `LassoNML`

    Attributes
    ----------
    coef_ : (q, D) coefficients, (D,) if y was one-dimensional
    intercept_ : (q,) intercepts, a number if y was one-dimensional
    rank_ : rank of the coefficients
    dual_gap_ : duality gap of the coefficients at `lambda_`, as a share of the objective: how far
        they can be from the best, whatever the solver did
    alpha_, lambda_, alphas_, codelengths_, codelength_errors_, ln_complexities_, noise_scale_,
    scale_, report_, n_features_in_, feature_names_in_ : as for `LassoNML`

    Examples
    --------
    >>> import numpy as np
    >>> from shtarkov import NuclearNormNML
    >>> rng = np.random.default_rng(0)
    >>> X, factor = rng.standard_normal((60, 6)), rng.standard_normal((6, 1))
    >>> Y = X @ factor @ rng.standard_normal((1, 4)) + 0.5 * rng.standard_normal((60, 4))
    >>> NuclearNormNML(random_state=0, noise_scale=0.5).fit(X, Y).coef_.shape
    (4, 6)
    """

    _several_targets = True
    _parameter_constraints = {  # noqa: RUF012 - scikit-learn's own idiom
        **PenalisedRegressor._parameter_constraints,
        "criterion": [StrOptions({"auto", "prediction"})],
    }

    def __init__(
        self,
        alphas: int | ArrayLike = 100,
        *,
        criterion: str = "auto",
        noise_scale: float | str = "unknown",
        conservative: float = 0.0,
        fit_intercept: bool = True,
        tol_complexity: float = 0.1,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
        standardize: bool = False,
    ) -> None:
        self.alphas = alphas
        self.criterion = criterion
        self.noise_scale = noise_scale
        self.conservative = conservative
        self.fit_intercept = fit_intercept
        self.tol_complexity = tol_complexity
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.standardize = standardize

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose the penalty and keep the winner's coefficients.

        Parameters
        ----------
        X : (N, D) array, DataFrame or sparse matrix
        y : (N, q) targets; (N,) is one target
        sample_weight : (N,) weights: whole numbers count rows, others are precisions
        """
        data = self._read(X, y, sample_weight)
        problem = NuclearNorm(
            data.X,
            n_targets=data.y.shape[1],
            fit_intercept=self.fit_intercept,
            sample_weight=data.weights,
        )
        with fit_progress(self, X, y) as progress:
            report = select(problem, data.y, **self._select_options(data, progress))
            self._take(report, data)
        self.dual_gap_ = relative_gap(problem, data.y, self.lambda_, report.coef)
        if np.ndim(y) == 1:
            self.coef_, self.intercept_ = self.coef_[0], float(np.ravel(self.intercept_)[0])
        return self

    def _as_target(self, y: Any) -> Floats:
        return np.asarray(y, dtype=np.float64).reshape(np.shape(y)[0], -1)

    def _take(self, report: SelectionReport, data: TrainingData) -> None:
        super()._take(report, data)
        self.coef_ = np.ascontiguousarray(self.coef_.reshape(-1, data.y.shape[1]).T)
        values = np.linalg.svd(self.coef_, compute_uv=False)
        self.rank_ = int(np.sum(values > RANK_SHARE * values[0])) if values[0] > 0.0 else 0
