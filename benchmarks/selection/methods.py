"""Groups of methods by name: each takes a data set and gives one or more named choices.

A group is the unit of work of the runner, so that methods can share a path or folds. What a group
needs is imported when it is run: opponents run without this library, and abess in an environment
of its own. To add one, write such a function and name it in `GROUPS`.
"""

import time
from collections.abc import Callable

import numpy as np
from benchmarks.selection.choice import Choice
from benchmarks.selection.criteria import criteria
from benchmarks.selection.cross_validated import cross_validated
from benchmarks.selection.simulated import DataSet

Group = Callable[[DataSet, np.random.Generator], dict[str, Choice]]


def codes(data: DataSet, rng: np.random.Generator) -> dict[str, Choice]:
    """Run all codes in one race."""
    from benchmarks.selection.codes import codes

    return codes(data, rng)


def abess(data: DataSet, rng: np.random.Generator) -> dict[str, Choice]:
    """Run best subsets by splicing with the library's default criterion (EBIC) and with GIC."""
    del rng
    from abess.linear import LinearRegression

    answers = {}
    for name in ("ebic", "gic"):
        start = time.perf_counter()
        fitted = LinearRegression(ic_type=name, thread=1).fit(data.X, data.y)
        seconds = time.perf_counter() - start
        coef = np.asarray(fitted.coef_, dtype=float).reshape(-1)
        intercept = float(np.asarray(fitted.intercept_).reshape(-1)[0])
        answers[f"abess_{name}"] = Choice(coef, intercept, seconds)
    return answers


GROUPS: dict[str, Group] = {
    "cv": cross_validated,
    "criteria": criteria,
    "codes": codes,
    "abess": abess,
}
# Methods that are told the truth: compared, but no user could run them.
TOLD = ("oracle", "bic_known", "ebic_known")
