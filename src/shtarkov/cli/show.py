"""Answers for people: plain text and tables on standard output."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from shtarkov.cli.table_file import Table
from shtarkov.selection.report import CodelengthCurve, SelectionReport
from shtarkov.types import Ints

N_PENALTIES = 15
N_COLUMNS = 20
# Wide enough for the widest table when the output is a pipe.
PIPE_WIDTH = 100


def console() -> Console:
    """Give a console on standard output that neither guesses at markup nor wraps in pipes."""
    plain = Console(highlight=False)
    return plain if plain.is_terminal else Console(highlight=False, width=PIPE_WIDTH)


def grid(*headings: str) -> RichTable:
    """Start a table; the first column is text, the others numbers."""
    table = RichTable(box=None, pad_edge=False, show_header=any(headings))
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place == 0 else "right")
    return table


def show_selection(
    report: SelectionReport,
    table: Table,
    *,
    every_penalty: bool = False,
    written: Iterable[Path | None] = (),
) -> None:
    """Print the choice, its error, the competitors, the path and the coefficients."""
    out = console()
    family = report.family.replace("_", " ")
    shape = f"{report.n_samples} rows, {report.n_features} columns"
    out.print(
        f"{family} on {escape(table.source)}: {shape}, explaining {escape(table.target or '')}"
    )
    out.print(
        f"[bold]The {report.winner} code is the shortest: {report.codelength:.2f} ± "
        f"{report.std_error:.2f} nats, {report.support.size} of {report.n_features} columns[/bold]"
    )
    out.print("  " + ", ".join(_parameters(report)))
    for reason in report.reasons:
        out.print(f"[red]  warning: {escape(reason)}[/red]")
    for note in report.notes:
        out.print(f"  note: {escape(note)}")
    out.print("\nCodes, shortest first")
    out.print(_competitors(report))
    if report.curve is not None:
        shown = np.arange(report.curve.lams.size) if every_penalty else rows_to_show(report)
        hidden = report.curve.lams.size - shown.size
        more = f", {hidden} more with --path" if hidden else ""
        out.print(f"\nMatched code along {shown.size} penalties{more}")
        out.print(_path(report, report.curve, shown))
    n_small = max(report.support.size - N_COLUMNS, 0)
    out.print(f"\nCoefficients{f', {n_small} smaller ones not shown' if n_small else ''}")
    out.print(_coefficients(report))
    out.print()
    out.print(f"seed {report.seed}, {report.n_draws} draws, {report.seconds:.1f} s")
    for path in written:
        if path is not None:
            out.print(f"written: {escape(str(path))}")


def _parameters(report: SelectionReport) -> list[str]:
    parts = []
    if report.lam is not None:
        alpha = report.lam / report.n_samples
        parts.append(f"penalty lam {report.lam:.4g} (scikit-learn alpha {alpha:.4g})")
    if report.tau is not None and report.tau != report.lam:
        parts.append(f"luckiness weight tau {report.tau:.4g}")
    if report.eta is not None:
        parts.append(f"weight of the objective eta {report.eta:.4g}")
    if report.sigma is not None:
        given = " (given)" if report.sigma_known else ""
        parts.append(f"noise scale {report.sigma:.4g}{given}")
    if report.classes is not None:
        parts.append(f"scores are positive for {escape(str(report.classes[-1]))}")
    return parts


def _competitors(report: SelectionReport) -> RichTable:
    table = grid("code", "nats", "error", "longer by", "columns")
    for name, code in report.ranking:
        table.add_row(
            name,
            f"{code.nats:.2f}",
            f"{code.std_error:.2f}",
            f"{code.nats - report.codelength:.2f}",
            str(code.n_nonzero),
            style="bold" if name == report.winner else None,
        )
    return table


def rows_to_show(report: SelectionReport, limit: int = N_PENALTIES) -> Ints:
    """Pick penalties spread over the grid, with the chosen one, the least and the ties."""
    curve = report.curve
    assert curve is not None
    spread = np.linspace(0, curve.lams.size - 1, min(limit, curve.lams.size)).round()
    special = np.flatnonzero(np.isin(curve.lams, [*report.near_ties[:limit], report.lam or -1.0]))
    least = [int(np.argmin(curve.codelengths))]
    return np.unique(np.concatenate((spread.astype(np.int64), special, least)))


def _path(report: SelectionReport, curve: CodelengthCurve, shown: Ints) -> RichTable:
    headings = ("lam", "nats", "error", "above least", "complexity", "columns", "expected df", "")
    table = grid(*headings)
    least = float(np.min(curve.codelengths))
    for place in shown:
        lam = float(curve.lams[place])
        marks = ["chosen"] if lam == report.lam else []
        marks += ["tied"] if lam in report.near_ties and lam != report.lam else []
        table.add_row(
            f"{lam:.4g}",
            f"{curve.codelengths[place]:.2f}",
            f"{curve.std_errors[place]:.2f}",
            f"{curve.codelengths[place] - least:.2f}",
            f"{curve.ln_c[place]:.2f}",
            str(curve.n_active[place]),
            f"{max(curve.mean_df[place], 0.0):.2f}",
            ", ".join(marks),
            style="bold" if marks else None,
        )
    return table


def _coefficients(report: SelectionReport) -> RichTable:
    support, names = report.support, report.names()
    order = support[np.argsort(-np.abs(report.coef[support]), kind="stable")]
    table = grid("column", "coefficient")
    for column in order[:N_COLUMNS]:
        table.add_row(escape(names[column]), f"{report.coef[column]:.6g}")
    table.add_row("intercept", f"{report.intercept:.6g}")
    return table
