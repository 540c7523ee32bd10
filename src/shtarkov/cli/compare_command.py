"""`shtarkov compare`: the same data coded by several families, in one currency."""

from __future__ import annotations

import dataclasses
import json
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

from rich.markup import escape

from shtarkov.cli.family_options import FamilyOptions, Problem, make_problem, of_labels
from shtarkov.cli.live import LiveStatus
from shtarkov.cli.select_command import parse_sigma
from shtarkov.cli.show import console, grid
from shtarkov.cli.table_file import Table, read_table
from shtarkov.errors import InvalidProblem, SamplingWarning
from shtarkov.seeds import resolve_seed
from shtarkov.selection.compare import ComparisonReport, compare

# What competes when no family is named: the Lasso beside two ridges.
DEFAULT_FAMILIES = ("lasso", "elastic-net")
DEFAULT_RATIOS = (0.01, 0.1)


class ComparisonRequest(NamedTuple):
    """The options of the command, in its order."""

    file: Path | None
    target: str | None
    demo: str | None
    drop: tuple[str, ...]
    families: tuple[str, ...]
    l2_ratios: tuple[float, ...]
    groups: str | None
    sigma: str
    criterion: str
    std_error: float
    intercept: bool
    json: bool
    seed: int | None
    jobs: int | None


def run(request: ComparisonRequest) -> None:
    """Run the command."""
    families = request.families or DEFAULT_FAMILIES
    labels = {of_labels(family) for family in families}
    if len(labels) > 1:
        raise InvalidProblem(
            "families for labels and families for continuous data code different things: "
            "compare like with like"
        )
    sigma = parse_sigma(request.sigma)
    table = read_table(
        request.file, request.demo, request.target, request.drop, labels=labels == {True}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplingWarning)  # they are among the reports' reasons
        report = compare(
            problems_of(request, families, table),
            table.y,
            sigma=sigma,
            criterion=request.criterion,
            std_error=request.std_error,
            n_jobs=request.jobs,
            seed=resolve_seed(request.seed),
            progress=LiveStatus("comparing families"),
        )
    report = ComparisonReport(
        {
            name: dataclasses.replace(item, feature_names=table.names)
            for name, item in report.reports.items()
        }
    )
    if request.json:
        sys.stdout.write(json.dumps(report.to_dict(), indent=2, allow_nan=False) + "\n")
        return
    show_comparison(report, table)


def problems_of(
    request: ComparisonRequest, families: tuple[str, ...], table: Table
) -> dict[str, Problem]:
    """Make the named problems; the Elastic Net once for every ratio."""
    problems = {}
    for family in families:
        is_net = family.replace("_", "-") == "elastic-net"
        for ratio in (request.l2_ratios or DEFAULT_RATIOS) if is_net else (0.0,):
            name = f"{family} {ratio:g}" if is_net else family
            groups = request.groups if family.replace("_", "-") == "group-lasso" else None
            options = FamilyOptions(family, ratio, groups, request.intercept)
            problems[name] = make_problem(options, table.X, table.names)
    return problems


def show_comparison(report: ComparisonReport, table: Table) -> None:
    """Print the ranking, the winner's columns and every doubt."""
    out = console()
    best = report.best
    shape = f"{best.n_samples} rows, {best.n_features} columns"
    out.print(
        f"{', '.join(map(escape, report.reports))} on {escape(table.source)}: {shape}, "
        f"explaining {escape(table.target or '')}"
    )
    out.print(
        f"[bold]{escape(report.winner)} is the shortest: {best.codelength:.2f} ± "
        f"{best.std_error:.2f} nats[/bold]"
    )
    rows = grid("problem", "nats", "error", "longer by", "code", "columns", "")
    for name, nats, error in report.ranking:
        item = report.reports[name]
        is_winner = name == report.winner
        mark = "" if is_winner or name not in report.near_ties else "tied"
        rows.add_row(
            escape(name),
            f"{nats:.2f}",
            f"{error:.2f}",
            f"{nats - best.codelength:.2f}",
            item.winner,
            str(item.support.size),
            mark,
            style="bold" if is_winner else None,
        )
    out.print(rows)
    names = best.names()
    out.print("columns chosen: " + (", ".join(escape(names[i]) for i in best.support) or "none"))
    for name, item in report.reports.items():
        for reason in item.reasons:
            out.print(f"[red]  warning, {escape(name)}: {escape(reason)}[/red]")
    out.print(f"seed {best.seed}")
