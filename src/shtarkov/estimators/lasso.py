"""The Lasso with its penalty chosen by codelength, after scikit-learn's LassoLarsIC and LassoCV."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import _fit_context

from shtarkov.estimators.callbacks import fit_progress
from shtarkov.estimators.regressor import PenalisedRegressor
from shtarkov.families.problems import Lasso
from shtarkov.selection.select import select


class LassoNML(PenalisedRegressor):
    """Lasso whose penalty, and whose coefficients, are those of the shortest code.

    No cross-validation: one fit uses all rows, and every codelength has a standard error.

    Parameters
    ----------
    alphas : number of penalties on a grid, or the penalties, in scikit-learn's units
        (``alpha = lam / n_samples``)
    criterion : "auto" lets the empty, matched, free and subset codes compete; "prediction" is the
        matched code; "structure" the free code; "average" weighs the coefficients of all codes
        by exp(-codelength)
    noise_scale : standard deviation of the noise, or "unknown"
    conservative : take the largest penalty within this many standard errors of the least codelength
    fit_intercept : leave an intercept unpenalised
    tol_complexity : standard error wanted for the codelengths, in nats
    n_jobs : workers (joblib); the answer does not depend on it
    random_state : seed of the sampling; None draws one, recorded in ``report_.seed``
    verbose : show a progress bar on a terminal
    standardize : divide columns by their standard deviations first; ``coef_`` is for the columns as
        given, the penalties are for the divided ones

    Attributes
    ----------
    alpha_, lambda_ : chosen penalty in scikit-learn's and in the library's units; infinite if the
        empty model won, NaN if the subset code did, which has none
    alphas_ : penalties tried, from large to small
    coef_, intercept_ : the winner's coefficients
    codelengths_, codelength_errors_ : nats along `alphas_` (the matched code) and standard errors
    ln_complexities_ : the complexity's part of them
    noise_scale_ : the winner's standard deviation of the noise
    scale_ : what columns were divided by, with standardize=True
    report_ : the `SelectionReport`
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Notes
    -----
    Whole-number sample weights count rows; others multiply squared residuals.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from shtarkov import LassoNML
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoNML(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """

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
        y : (N,) target
        sample_weight : (N,) weights: whole numbers count rows, others are precisions
        """
        data = self._read(X, y, sample_weight)
        problem = Lasso(data.X, fit_intercept=self.fit_intercept, sample_weight=data.weights)
        with fit_progress(self, X, y) as progress:
            report = select(problem, data.y, **self._select_options(data, progress))
            self._take(report, data)
        return self
