"""Families in one currency: every problem's shortest code for the same y, in nats.

The constants left out (the cost of the intercept and of unpenalised columns, and naming one of the
problems, ln of their number) are the same for all of them, provided all project the same columns
out: that is checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from shtarkov.errors import InvalidProblem
from shtarkov.families.build import check_problem
from shtarkov.families.label_problems import LabelProblem
from shtarkov.selection.report import SelectionReport
from shtarkov.selection.select import select


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonReport:
    """The result of `compare`.

    Attributes
    ----------
    reports : one `SelectionReport` per problem, in the order given
    """

    reports: dict[str, SelectionReport]

    @property
    def winner(self) -> str:
        """Name of the problem with the shortest code."""
        return min(self.reports, key=lambda name: self.reports[name].codelength)

    @property
    def best(self) -> SelectionReport:
        """Report of the winner."""
        return self.reports[self.winner]

    @property
    def ranking(self) -> list[tuple[str, float, float]]:
        """Name, codelength in nats and its standard error, shortest first."""
        rows = [(name, item.codelength, item.std_error) for name, item in self.reports.items()]
        return sorted(rows, key=lambda row: row[1])

    @property
    def near_ties(self) -> tuple[str, ...]:
        """Names whose codelength is within two standard errors of the least, the winner's first."""
        _, least, error = self.ranking[0]
        return tuple(
            name
            for name, nats, other in self.ranking
            if nats - least <= 2.0 * (error**2 + other**2) ** 0.5
        )

    def summary(self) -> str:
        """Say the ranking in one line a problem."""
        _, least, _ = self.ranking[0]
        lines = []
        for name, nats, error in self.ranking:
            code = self.reports[name].winner
            lines.append(
                f"{name:20s} {nats:10.2f} ± {error:.2f} nats ({nats - least:+.2f}, {code})"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Give plain values."""
        reports = {name: report.to_dict() for name, report in self.reports.items()}
        return {"winner": self.winner, "near_ties": list(self.near_ties), "reports": reports}


def compare(problems: Mapping[str, Any], y: ArrayLike, **options: Any) -> ComparisonReport:
    """Let several problems code the same data.

    Parameters
    ----------
    problems : name to problem: families, designs or ridge ratios to compare
    y : (N,) data
    options : as for `select`; a seed makes all selections repeatable

    Examples
    --------
    >>> from shtarkov import ElasticNet, Lasso, compare
    >>> report = compare({"lasso": Lasso(X), "ridge 0.1": ElasticNet(X, l2_ratio=0.1)}, y, seed=1)
    """
    if not isinstance(problems, Mapping) or not problems:
        raise InvalidProblem("give at least one problem to compare, as {name: problem}")
    for problem in problems.values():
        check_problem(problem)
    of_labels = {name: isinstance(item, LabelProblem) for name, item in problems.items()}
    if len(set(of_labels.values())) > 1:
        named = ", ".join(repr(name) for name, holds in of_labels.items() if holds)
        msg = f"{named} code labels and the others continuous data: compare like with like"
        raise InvalidProblem(msg)
    first_name, first = next(iter(problems.items()))
    for name, problem in problems.items():
        if problem.design.n_dim != first.design.n_dim:
            msg = (
                f"{name!r} leaves {problem.design.n_dim} dimensions to code and {first_name!r} "
                f"{first.design.n_dim}: give all of them the same rows, fit_intercept and "
                "unpenalised columns"
            )
            raise InvalidProblem(msg)
    return ComparisonReport({name: select(item, y, **options) for name, item in problems.items()})
