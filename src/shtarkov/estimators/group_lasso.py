"""The Group Lasso with its penalty chosen by codelength: groups of columns enter as a whole."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from shtarkov.errors import InvalidProblem
from shtarkov.estimators.callbacks import fit_progress
from shtarkov.estimators.regressor import PenalisedRegressor
from shtarkov.families.certificate import relative_gap
from shtarkov.families.groups import groups_by_prefix
from shtarkov.families.problems import GroupLasso
from shtarkov.selection.select import select


class GroupLassoNML(PenalisedRegressor):
    """Group Lasso whose penalty, and whose coefficients, are those of the shortest code.

    The objective is half the squared residual plus ``lam`` times the sum over groups of the group's
    weight times the Euclidean length of its coefficients.

    Parameters
    ----------
    groups : a label for each column of X, or lists of columns by number or, for DataFrames, name;
        "prefix" takes what a DataFrame's column names have before the last "_"; None makes every
        column a group, which is the Lasso
    weights : positive weight of each group, in the order of the lists or of the labels' first
        appearance; None takes the square root of its size
    l1_ratio : share of the absolute values in the penalty, at least 0 and below 1; with it single
        columns of an active group may be left out (the sparse Group Lasso)
    alphas, noise_scale, conservative, fit_intercept, tol_complexity : as for `LassoNML`
    criterion : "auto" and "prediction" both let the empty and the matched code compete, the two
        there are for groups
    n_jobs, random_state, verbose, standardize : as for `LassoNML`

    Attributes
    ----------
    active_groups_ : names of the groups with a coefficient other than zero
    groups_ : (D,) number of each column's group
    dual_gap_ : duality gap of the coefficients at `lambda_`, as a share of the objective: how far
        they can be from the best, whatever the solver did
    alpha_, lambda_, alphas_, coef_, intercept_, codelengths_, codelength_errors_, ln_complexities_,
    noise_scale_, scale_, report_, n_features_in_, feature_names_in_ : as for `LassoNML`

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from shtarkov import GroupLassoNML
    >>> X, y = load_diabetes(return_X_y=True)
    >>> groups = ["age", "sex", "bmi", "bp", *["serum"] * 6]
    >>> model = GroupLassoNML(groups, random_state=0, criterion="prediction").fit(X, y)
    >>> "bmi" in model.active_groups_
    True
    """

    _parameter_constraints = {  # noqa: RUF012 - scikit-learn's own idiom
        **PenalisedRegressor._parameter_constraints,
        "groups": [None, StrOptions({"prefix"}), "array-like"],
        "weights": [None, "array-like"],
        "l1_ratio": [Interval(Real, 0, 1, closed="left")],
        "criterion": [StrOptions({"auto", "prediction"})],
    }

    def __init__(
        self,
        groups: Any = None,
        *,
        weights: ArrayLike | None = None,
        l1_ratio: float = 0.0,
        alphas: int | ArrayLike = 100,
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
        self.groups = groups
        self.weights = weights
        self.l1_ratio = l1_ratio
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
        problem = GroupLasso(
            data.X,
            self._numbered_groups(data.X.shape[1]),
            self.weights,
            l1_ratio=self.l1_ratio,
            fit_intercept=self.fit_intercept,
            sample_weight=data.weights,
        )
        with fit_progress(self, X, y) as progress:
            report = select(problem, data.y, **self._select_options(data, progress))
            self._take(report, data)
        self.dual_gap_ = relative_gap(problem, data.y, self.lambda_, report.coef)
        self.groups_ = problem.groups.group_of
        active = np.unique(self.groups_[self.coef_ != 0.0])
        self.active_groups_ = [problem.groups.names[number] for number in active]
        return self

    def _numbered_groups(self, n_columns: int) -> Any:
        """Give groups that need no column names: what reaches the family is an array."""
        if self.groups is None:
            return np.arange(n_columns)
        names = getattr(self, "feature_names_in_", None)
        if isinstance(self.groups, str):
            if names is None:
                raise InvalidProblem('X has no column names for groups="prefix" to read')
            return groups_by_prefix(names)
        known = {} if names is None else {str(name): j for j, name in enumerate(names)}
        return [_numbered(item, known) for item in self.groups]


def _numbered(item: Any, known: dict[str, int]) -> Any:
    """Turn the column names in a list into numbers; a label is left alone."""
    if isinstance(item, str) or np.ndim(item) == 0:
        return item
    return [known.get(member, member) if isinstance(member, str) else member for member in item]
