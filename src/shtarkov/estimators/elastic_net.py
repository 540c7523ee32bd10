"""The Elastic Net with both penalties chosen by codelength: a `LassoNML` over a grid of ratios."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions

from shtarkov.errors import InvalidProblem
from shtarkov.estimators.callbacks import fit_progress
from shtarkov.estimators.regressor import PenalisedRegressor, TrainingData
from shtarkov.families.problems import ElasticNet, Lasso
from shtarkov.seeds import resolve_seed
from shtarkov.selection.compare import compare
from shtarkov.selection.data_part import make_data_part

# Ridge weights at the largest penalty, as shares of the columns' mean squared length.
RIDGE_SHARES = (0.0, 0.1, 1.0)


class ElasticNetNML(PenalisedRegressor):
    """Elastic Net whose two penalties are those of the shortest code.

    The objective is half the squared residual plus ``lambda_`` times the absolute values plus half
    of ``lambda2_`` times the squares: scikit-learn's ``ElasticNet(alpha=alpha_ + alpha2_,
    l1_ratio=alpha_ / (alpha_ + alpha2_))``. A ratio ties the two: ``lambda2_ = l2_ratio * lambda_``
    where the noise scale is given, ``l2_ratio * lambda_ / noise_scale_`` where it is unknown.

    Parameters
    ----------
    alphas : number of penalties on a grid, or the weights of the absolute values divided by the
        number of rows
    l2_ratios : ratios to compare; "auto" takes 0 (the Lasso) and ridge weights of 0.1 and 1 times
        the columns' mean squared length at the largest penalty, which makes the choice independent
        of the units of X and y
    criterion, noise_scale, conservative, fit_intercept, tol_complexity : as for `LassoNML`; the
        free code of criterion="structure" exists at ratio 0 only
    n_jobs, random_state, verbose, standardize : as for `LassoNML`

    Attributes
    ----------
    l2_ratio_ : ratio of the shortest code
    l2_ratios_ : ratios compared
    comparison_ : the `ComparisonReport` over them, in the units that were fitted
    alpha_, lambda_ : chosen weight of the absolute values over the number of rows, and as it is
    alpha2_, lambda2_ : the same for half the squares; NaN where `lambda_` is not finite
    alphas_, coef_, intercept_, codelengths_, codelength_errors_, ln_complexities_, noise_scale_,
    scale_, report_, n_features_in_, feature_names_in_ : as for `LassoNML`, of the shortest code
    """

    _parameter_constraints = {  # noqa: RUF012 - scikit-learn's own idiom
        **PenalisedRegressor._parameter_constraints,
        "l2_ratios": [StrOptions({"auto"}), "array-like"],
    }

    def __init__(
        self,
        alphas: int | ArrayLike = 100,
        *,
        l2_ratios: str | ArrayLike = "auto",
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
        self.l2_ratios = l2_ratios
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
        """Choose both penalties and keep the winner's coefficients.

        Parameters
        ----------
        X : (N, D) array, DataFrame or sparse matrix
        y : (N,) target
        sample_weight : (N,) weights: whole numbers count rows, others are precisions
        """
        data = self._read(X, y, sample_weight)
        lasso = Lasso(data.X, fit_intercept=self.fit_intercept, sample_weight=data.weights)
        ratios = self._ratios(lasso, data)
        problems = {f"{ratio:g}": self._problem(lasso, ratio, data) for ratio in ratios}
        with fit_progress(self, X, y) as progress:
            options = self._select_options(data, progress)
            options["seed"] = resolve_seed(options["seed"])
            self.comparison_ = compare(problems, data.y, **options)
            self._take(self.comparison_.best, data)
        self.l2_ratios_ = np.array(ratios)
        self.l2_ratio_ = ratios[list(problems).index(self.comparison_.winner)]
        units = 1.0 if self.report_.sigma_known else self.noise_scale_
        finite = math.isfinite(self.lambda_)
        self.lambda2_ = self.l2_ratio_ * self.lambda_ / units if finite else math.nan
        self.alpha2_ = self.lambda2_ / data.total_weight
        return self

    def _ratios(self, lasso: Lasso, data: TrainingData) -> list[float]:
        """Give distinct ratios, ascending."""
        if not isinstance(self.l2_ratios, str):
            given = np.unique(np.asarray(self.l2_ratios, dtype=np.float64))
            if given.size == 0 or given[0] < 0.0 or not np.all(np.isfinite(given)):
                msg = f"l2_ratios must be non-negative numbers; got {self.l2_ratios!r}"
                raise InvalidProblem(msg)
            return [float(ratio) for ratio in given]
        known = None if isinstance(self.noise_scale, str) else self.noise_scale
        part = make_data_part(lasso, data.y, known)
        # The units the ratio is in: those of the data, or of the noise whose scale is unknown.
        largest = part.kappa_max * (1.0 if known is None else known)
        if largest == 0.0:
            return [0.0]
        unit = float(np.mean(np.sum(lasso.design.X**2, axis=0))) / largest
        return [share * unit for share in RIDGE_SHARES]

    def _problem(self, lasso: Lasso, ratio: float, data: TrainingData) -> Lasso | ElasticNet:
        if ratio == 0.0:
            return lasso
        return ElasticNet(
            data.X, l2_ratio=ratio, fit_intercept=self.fit_intercept, sample_weight=data.weights
        )
