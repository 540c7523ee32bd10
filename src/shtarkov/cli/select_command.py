"""`shtarkov select`: read, choose, show, and write what was asked for, whole or not at all."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from shtarkov.cli.family_options import FamilyOptions, make_problem, of_labels
from shtarkov.cli.live import LiveStatus
from shtarkov.cli.show import show_selection
from shtarkov.cli.table_file import Table, read_table
from shtarkov.complexity.ladder import INTERRUPTED
from shtarkov.errors import InvalidProblem, SamplingWarning
from shtarkov.estimators.scaling import column_scales, scale_columns, unscale_report
from shtarkov.seeds import resolve_seed
from shtarkov.selection.report import SelectionReport
from shtarkov.selection.select import select

PICTURES = (".png", ".svg", ".pdf")
PICTURE_DPI = 150
# At a terminal a rough answer comes first, so that Ctrl-C always leaves one.
FIRST_LOOK = 5.0


class Request(NamedTuple):
    """The options of the command, in its order."""

    file: Path | None
    target: str | None
    demo: str | None
    drop: tuple[str, ...]
    family: str
    l2_ratio: float
    groups: str | None
    sigma: str
    criterion: str
    conservative: float
    std_error: float
    standardize: bool
    intercept: bool
    json: bool
    report: Path | None
    plot: Path | None
    path: bool
    seed: int | None
    jobs: int | None
    loss: str = "squared_hinge"


def run(request: Request) -> None:
    """Run the command."""
    check_outputs(request.report, request.plot)
    sigma = parse_sigma(request.sigma)
    labels = of_labels(request.family)
    table = read_table(request.file, request.demo, request.target, request.drop, labels=labels)
    report = choose(request, table, sigma)
    if request.report is not None:
        report.to_html(request.report)
    if request.plot is not None:
        write_picture(report, request.plot)
    if request.json:
        sys.stdout.write(report.to_json() + "\n")
        return
    show_selection(
        report, table, every_penalty=request.path, written=(request.report, request.plot)
    )


def parse_sigma(text: str) -> str | float:
    """Read the noise scale: a number, or the word."""
    if text == "unknown":
        return text
    try:
        return float(text)
    except ValueError:
        msg = f"--sigma must be unknown or a positive number; got {text!r}"
        raise InvalidProblem(msg) from None


def check_outputs(report: Path | None, plot: Path | None) -> None:
    """Complain about files that cannot be written before any time is spent."""
    for path in (report, plot):
        if path is not None and not path.parent.is_dir():
            msg = f"there is no folder {path.parent} to write {path.name} in; make it first"
            raise InvalidProblem(msg)
        if path is not None and path.is_dir():
            msg = f"{path} is a folder; name a file"
            raise InvalidProblem(msg)
    if plot is None:
        return
    if plot.suffix.lower() not in PICTURES:
        msg = f"--plot writes {', '.join(PICTURES)} files; got {plot.name}"
        raise InvalidProblem(msg)
    if importlib.util.find_spec("matplotlib") is None:
        raise InvalidProblem("--plot needs matplotlib: pip install 'shtarkov[plots]'")


def choose(request: Request, table: Table, sigma: str | float) -> SelectionReport:
    """Run the selection; at a terminal roughly first, which Ctrl-C leaves standing."""
    scales = column_scales(table.X, None, request.intercept) if request.standardize else None
    X = table.X if scales is None else scale_columns(table.X, scales)
    family = FamilyOptions(
        request.family, request.l2_ratio, request.groups, request.intercept, request.loss
    )
    problem = make_problem(family, X, table.names)
    options = {
        "sigma": sigma,
        "criterion": request.criterion,
        "conservative": request.conservative,
        "n_jobs": request.jobs,
        "seed": resolve_seed(request.seed),
        "progress": LiveStatus(f"choosing the penalty of the {request.family}"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplingWarning)  # they are among the report's reasons
        report = _staged(problem, table.y, request.std_error, options)
    if scales is not None:
        report = unscale_report(report, scales)
    return dataclasses.replace(report, feature_names=table.names)


def _staged(problem: Any, y: Any, std_error: float, options: dict[str, Any]) -> SelectionReport:
    if not is_watched():
        return select(problem, y, std_error=std_error, **options)
    rough = select(problem, y, std_error=FIRST_LOOK * std_error, **options)
    exact_enough = rough.std_error <= std_error and rough.ok
    if exact_enough or INTERRUPTED in rough.reasons:
        return rough
    try:
        return select(problem, y, std_error=std_error, **options)
    except KeyboardInterrupt:
        reason = f"stopped by Ctrl-C: the error asked for was {std_error:g} nats"
        return dataclasses.replace(rough, ok=False, reasons=(*rough.reasons, reason))


def is_watched() -> bool:
    """Say whether somebody can press Ctrl-C."""
    return sys.stderr.isatty()


def write_picture(report: SelectionReport, path: Path) -> None:
    """Draw without a display and move the finished file into place."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    if report.curve is None:
        raise InvalidProblem("there is no codelength curve to draw: no penalty could be tried")
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        whole = Path(folder) / path.name
        figure = report.plot()[0].figure
        figure.savefig(whole, dpi=PICTURE_DPI)
        plt.close(figure)
        whole.replace(path)
