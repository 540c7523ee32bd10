"""Logistic regression with an l1 penalty chosen by codelength."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from shtarkov.estimators.classifier import SparseClassifier
from shtarkov.families.label_problems import SparseLogistic
from shtarkov.types import Floats


class SparseLogisticNML(SparseClassifier):
    """Sparse logistic regression whose penalty and coefficients are those of the shortest code.

    No cross-validation: one fit uses all rows. Two classes; for more, wrap it in
    ``sklearn.multiclass.OneVsRestClassifier``.

    Parameters
    ----------
    alphas : number of penalties on a grid (at most 14 are tried), or the penalties divided by the
        number of rows; scikit-learn's ``C`` is ``1 / lam``
    ridge, criterion, conservative, fit_intercept, tol_complexity, n_jobs, random_state, verbose,
    standardize : as for `SparseSVMNML`

    Attributes
    ----------
    classes_, coef_, intercept_, alpha_, lambda_, eta_, alphas_, codelengths_, codelength_errors_,
    ln_complexities_, scale_, report_, n_features_in_, feature_names_in_ : as for `SparseSVMNML`;
        ``eta_`` is 1, the model's own likelihood

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from shtarkov import SparseLogisticNML
    >>> X, y = make_classification(60, 5, n_informative=2, n_redundant=0, random_state=0)
    >>> model = SparseLogisticNML(random_state=0, tol_complexity=1.0).fit(X, y)
    >>> model.predict_proba(X[:3]).shape
    (3, 2)
    """

    def __init__(
        self,
        alphas: int | ArrayLike = 14,
        *,
        ridge: float = 0.0,
        criterion: str = "auto",
        conservative: float = 0.0,
        fit_intercept: bool = True,
        tol_complexity: float = 0.3,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
        standardize: bool = False,
    ) -> None:
        self.alphas = alphas
        self.ridge = ridge
        self.criterion = criterion
        self.conservative = conservative
        self.fit_intercept = fit_intercept
        self.tol_complexity = tol_complexity
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.standardize = standardize

    def _problem(self, X: Any) -> SparseLogistic:
        return SparseLogistic(X, ridge=self.ridge, fit_intercept=self.fit_intercept)

    def predict_proba(self, X: Any) -> Floats:
        """Give the probability of each class.

        Parameters
        ----------
        X : (N, D) array, DataFrame or sparse matrix

        Returns
        -------
        (N, 2) array, columns in the order of `classes_`
        """
        positive = expit(self.decision_function(X))
        return np.column_stack([1.0 - positive, positive])

    def predict_log_proba(self, X: Any) -> Floats:
        """Give the logarithm of `predict_proba`, without underflow.

        Parameters
        ----------
        X : (N, D) array, DataFrame or sparse matrix

        Returns
        -------
        (N, 2) array
        """
        scores = self.decision_function(X)
        return np.column_stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)])
