"""Which problem a command's options name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from shtarkov.cli.group_option import read_labels
from shtarkov.errors import InvalidProblem
from shtarkov.families.label_problems import SparseLogistic, SparseSVM
from shtarkov.families.problems import ElasticNet, GroupLasso, Lasso

FAMILIES = ("lasso", "elastic-net", "group-lasso", "sparse-svm", "sparse-logistic")
LABEL_FAMILIES = FAMILIES[3:]
Problem = Lasso | ElasticNet | GroupLasso | SparseSVM | SparseLogistic


class FamilyOptions(NamedTuple):
    """Which family, and what only some families need."""

    family: str
    l2_ratio: float
    groups: str | None
    intercept: bool
    loss: str = "squared_hinge"
    eta: Any = "unknown"


def of_labels(family: str) -> bool:
    """Say whether a family explains labels."""
    return family.replace("_", "-") in LABEL_FAMILIES


def make_problem(options: FamilyOptions, X: Any, names: Sequence[str]) -> Problem:
    """Make the problem a command names."""
    family, intercept = options.family.replace("_", "-"), options.intercept
    if options.groups is not None and family != "group-lasso":
        raise InvalidProblem("--groups goes with --family group-lasso")
    if family == "lasso":
        return Lasso(X, fit_intercept=intercept)
    if family == "elastic-net":
        return ElasticNet(X, l2_ratio=options.l2_ratio, fit_intercept=intercept)
    if family == "group-lasso":
        return GroupLasso(X, read_labels(options.groups, names), fit_intercept=intercept)
    if family == "sparse-svm":
        loss: Any = options.loss.replace("-", "_")
        return SparseSVM(X, loss, eta=options.eta, fit_intercept=intercept)
    if family == "sparse-logistic":
        return SparseLogistic(X, fit_intercept=intercept)
    msg = f"--family must be one of {', '.join(FAMILIES)}; got {options.family!r}"
    raise InvalidProblem(msg)
