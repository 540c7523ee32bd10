"""The public problems: an estimator and its design, without a penalty or a data vector.

A problem holds the reduced design and says which penalties a value of ``lam`` stands for; it knows
no solver. Objectives carry no 1/n: half the (weighted) squared residual plus the penalty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from shtarkov.errors import InvalidProblem
from shtarkov.families.build import check_lam, check_non_negative
from shtarkov.families.groups import Groups, check_group_weights, check_l1_ratio, read_groups
from shtarkov.families.reduce import Design, reduce_design
from shtarkov.types import Floats


def _describe(name: str, design: Design, *options: str) -> str:
    sizes = f"n_samples={design.n_samples}, n_features={design.n_features}"
    return f"{name}({', '.join((sizes, *options))})"


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Lasso:
    """The Lasso: half the squared residual plus ``lam`` times the sum of absolute coefficients.

    Parameters
    ----------
    X : (N, D) array, list, pandas or polars DataFrame (column names are kept), scipy sparse matrix,
        or Dask array of row chunks. Read once; it must not change afterwards.
    fit_intercept : leave an intercept unpenalised and project it out
    unpenalised : indices, names or a boolean mask of columns of X to leave unpenalised
    sample_weight : (N,) weights of the squared residuals; not rescaled, so that integer weights
        give the estimates of repeated rows

    Attributes
    ----------
    design : the reduced design
    """

    design: Design

    def __init__(
        self,
        X: Any,
        *,
        fit_intercept: bool = False,
        unpenalised: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        design = reduce_design(
            X, fit_intercept=fit_intercept, unpenalised=unpenalised, sample_weight=sample_weight
        )
        object.__setattr__(self, "design", design)

    def __repr__(self) -> str:
        return _describe("Lasso", self.design)

    @property
    def name(self) -> str:
        """Name of the family in reports."""
        return "lasso"

    def penalties(self, lam: float) -> tuple[float, float]:
        """Weights of the absolute values and of half the squares at `lam`."""
        return check_lam(lam), 0.0


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class ElasticNet:
    """The Elastic Net: the Lasso plus half of ``lam2`` times the sum of squared coefficients.

    Parameters
    ----------
    X : (N, D) as for `Lasso`
    l2_ratio : ``lam2 = l2_ratio * lam``: both weights move together along a path; where the noise
        scale is unknown, ``lam`` is in units of it here: ``lam2 = l2_ratio * lam / sigma``
    lam2 : a fixed weight of the squares; give exactly one of `l2_ratio` and `lam2`
    fit_intercept, unpenalised, sample_weight : as for `Lasso`

    Attributes
    ----------
    design : the reduced design
    l2_ratio, lam2 : the one that was given; the other is None
    """

    design: Design
    l2_ratio: float | None
    lam2: float | None

    def __init__(
        self,
        X: Any,
        *,
        l2_ratio: float | None = None,
        lam2: float | None = None,
        fit_intercept: bool = False,
        unpenalised: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        if (l2_ratio is None) == (lam2 is None):
            raise InvalidProblem("give exactly one of l2_ratio (lam2 / lam) and lam2 (fixed)")
        ratio = None if l2_ratio is None else check_non_negative(l2_ratio, "l2_ratio")
        fixed = None if lam2 is None else check_non_negative(lam2, "lam2")
        design = reduce_design(
            X, fit_intercept=fit_intercept, unpenalised=unpenalised, sample_weight=sample_weight
        )
        object.__setattr__(self, "design", design)
        object.__setattr__(self, "l2_ratio", ratio)
        object.__setattr__(self, "lam2", fixed)

    def __repr__(self) -> str:
        is_ratio = self.l2_ratio is not None
        option = f"l2_ratio={self.l2_ratio!r}" if is_ratio else f"lam2={self.lam2!r}"
        return _describe("ElasticNet", self.design, option)

    @property
    def name(self) -> str:
        """Name of the family in reports."""
        return "elastic_net"

    def penalties(self, lam: float) -> tuple[float, float]:
        """Weights of the absolute values and of half the squares at `lam`."""
        checked = check_lam(lam)
        if self.l2_ratio is not None:
            return checked, self.l2_ratio * checked
        assert self.lam2 is not None  # the constructor set exactly one
        return checked, self.lam2


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class GroupLasso:
    """The Group Lasso: half the squared residual plus ``lam * sum_g w_g |beta_g|``.

    |beta_g| is the Euclidean length of a group's coefficients: groups enter and leave as a whole.
    With groups of one column and weights of one it is the Lasso. With `l1_ratio` it is the sparse
    Group Lasso, ``lam * sum_g ((1 - l1_ratio) w_g |beta_g| + l1_ratio |beta_g|_1)``: single columns
    of an active group may then be left out.

    Parameters
    ----------
    X : (N, D) as for `Lasso`
    groups : a partition of the penalised columns: a label for each column of X (those of
        unpenalised columns are ignored), or lists of columns, by number or name.
        `groups_by_prefix` makes labels from column names.
    weights : positive w_g, in the order of the lists or of the labels' first appearance; by
        default the square root of the group's size
    l1_ratio : share of the absolute values in the penalty, at least 0 and below 1 (that is `Lasso`)
    fit_intercept, unpenalised, sample_weight : as for `Lasso`

    Attributes
    ----------
    design : the reduced design
    groups : the partition of its columns
    weights : w_g
    l1_ratio : as given
    """

    design: Design
    groups: Groups
    weights: Floats
    l1_ratio: float

    def __init__(
        self,
        X: Any,
        groups: Any,
        weights: ArrayLike | None = None,
        *,
        l1_ratio: float = 0.0,
        fit_intercept: bool = False,
        unpenalised: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        design = reduce_design(
            X, fit_intercept=fit_intercept, unpenalised=unpenalised, sample_weight=sample_weight
        )
        n_columns = design.penalised.size + design.unpenalised.size
        partition = read_groups(groups, n_columns, design.penalised, design.layout.names)
        object.__setattr__(self, "design", design)
        object.__setattr__(self, "groups", partition)
        object.__setattr__(self, "weights", check_group_weights(weights, partition.sizes))
        object.__setattr__(self, "l1_ratio", check_l1_ratio(l1_ratio))

    def __repr__(self) -> str:
        options = [f"n_groups={len(self.groups.names)}"]
        if self.l1_ratio > 0.0:
            options.append(f"l1_ratio={self.l1_ratio!r}")
        return _describe("GroupLasso", self.design, *options)

    @property
    def group_weights(self) -> Floats:
        """Weights of the groups' lengths in the norm, `l1_ratio` being that of absolute values."""
        return (1.0 - self.l1_ratio) * self.weights

    @property
    def name(self) -> str:
        """Name of the family in reports."""
        return "group_lasso"

    def penalties(self, lam: float) -> tuple[float, float]:
        """Weights of the groups' norm and of half the squares at `lam`."""
        return check_lam(lam), 0.0
