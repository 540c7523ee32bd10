"""The l1-norm support vector machine with its penalty chosen by codelength."""

from __future__ import annotations

from numbers import Real
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from shtarkov.estimators.classifier import SparseClassifier
from shtarkov.families.label_problems import SparseSVM


class SparseSVMNML(SparseClassifier):
    """Sparse linear SVM whose penalty, and whose coefficients, are those of the shortest code.

    No cross-validation: one fit uses all rows. Two classes; for more, wrap it in
    ``sklearn.multiclass.OneVsRestClassifier``.

    Parameters
    ----------
    alphas : number of penalties on a grid (at most 14 are tried), or the penalties divided by the
        number of rows; scikit-learn's ``C`` is ``1 / (2 lam)`` with the squared hinge
    loss : "squared_hinge" (half the square) or "hinge"
    eta : weight of the objective in the codelength, or "unknown": chosen with the penalty
    ridge : weight of half the squared coefficients
    criterion : "auto" lets the empty, matched and free codes compete; "prediction" is the matched
        code; "structure" the free code
    conservative : take the largest penalty within this many standard errors of the least codelength
    fit_intercept : leave an intercept unpenalised
    tol_complexity : standard error wanted for the codelengths, in nats
    n_jobs : threads; the answer does not depend on it
    random_state : seed of the sampling; None draws one, recorded in ``report_.seed``
    verbose : show a progress bar on a terminal
    standardize : divide columns by their standard deviations first; ``coef_`` is for the columns as
        given, the penalties are for the divided ones

    Attributes
    ----------
    classes_ : the two labels
    coef_, intercept_ : (1, D) and (1,) the winner's coefficients
    alpha_, lambda_ : chosen penalty over the number of rows, and as it is; infinite if the empty
        model won
    eta_ : weight of the objective of the winner; None if the empty model won
    alphas_ : penalties tried, from large to small
    codelengths_, codelength_errors_ : nats along `alphas_` (the matched code) and standard errors
    ln_complexities_ : the complexity's part of them
    scale_ : what columns were divided by, with standardize=True
    report_ : the `SelectionReport`
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from shtarkov import SparseSVMNML
    >>> X, y = make_classification(60, 5, n_informative=2, n_redundant=0, random_state=0)
    >>> model = SparseSVMNML(random_state=0, tol_complexity=1.0).fit(X, y)
    >>> bool(model.score(X, y) > 0.7)
    True
    """

    _parameter_constraints = {  # noqa: RUF012 - scikit-learn's own idiom
        **SparseClassifier._parameter_constraints,
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "eta": [StrOptions({"unknown"}), Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        alphas: int | ArrayLike = 14,
        *,
        loss: str = "squared_hinge",
        eta: float | str = "unknown",
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
        self.loss = loss
        self.eta = eta
        self.ridge = ridge
        self.criterion = criterion
        self.conservative = conservative
        self.fit_intercept = fit_intercept
        self.tol_complexity = tol_complexity
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.standardize = standardize

    def _problem(self, X: Any) -> SparseSVM:
        loss: Any = self.loss
        eta: Any = self.eta
        return SparseSVM(X, loss, ridge=self.ridge, eta=eta, fit_intercept=self.fit_intercept)
