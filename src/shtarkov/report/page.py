"""Render a selection as one HTML file: no script, nothing loaded from elsewhere."""

from __future__ import annotations

import os
import platform
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from shtarkov.report.charts import WIDTH, codelength_chart, coefficient_chart
from shtarkov.selection.report import NATS_PER_BIT, SelectionReport

MEANINGS = {
    "empty": "no column is used",
    "matched": "one penalty is both the threshold and the scale of the coefficients",
    "free": "the penalty is the threshold, a second weight the scale of what passes it",
    "subset": "least squares on a stated set of columns, slightly shrunk",
}
LIBRARIES = ("shtarkov", "numpy", "scipy", "numba", "scikit-learn", "arviz-stats")
LARGEST_TABLE = 200


def render_html(report: SelectionReport) -> str:
    """Give the page as text."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("shtarkov.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    charts = []
    if report.curve is not None:
        charts = [codelength_chart(report), coefficient_chart(report)]
    return environment.get_template("page.html").render(
        report=report,
        width=WIDTH,
        bits=report.codelength / NATS_PER_BIT,
        meanings=MEANINGS,
        charts=charts,
        path=path_rows(report),
        coefficients=coefficient_rows(report),
        n_hidden=max(report.support.size - LARGEST_TABLE, 0),
        versions={name: version(name) for name in LIBRARIES},
        python=platform.python_version(),
    )


def write_html(report: SelectionReport, path: str | Path) -> Path:
    """Write the page; a file that was there is replaced only once the new one is whole."""
    return write_whole(path, render_html(report))


def write_whole(path: str | Path, text: str) -> Path:
    """Write text beside its destination and move it there, so that no half of it is ever seen."""
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target


def number(value: Any, digits: int = 4) -> str:
    """Write a number for reading; "none" where there is none, commas between several."""
    if np.ndim(value) > 0:
        return ", ".join(number(item, digits) for item in value)
    return "none" if value is None else f"{value:.{digits}g}"


def path_rows(report: SelectionReport) -> list[dict[str, Any]]:
    """List the penalties tried: codelengths above the least, parts, and marks."""
    curve = report.curve
    if curve is None:
        return []
    least = float(np.min(curve.codelengths))
    ties = set(report.near_ties)
    return [
        {
            "lam": float(curve.lams[i]),
            "excess": float(curve.codelengths[i]) - least,
            "std_error": float(curve.std_errors[i]),
            "data": float(curve.data_nats[i]),
            "ln_c": float(curve.ln_c[i]),
            "n_active": int(curve.n_active[i]),
            "mean_df": max(float(curve.mean_df[i]), 0.0),
            "chosen": float(curve.lams[i]) == report.lam,
            "tied": float(curve.lams[i]) in ties,
        }
        for i in range(curve.lams.size)
    ]


def coefficient_rows(report: SelectionReport) -> list[tuple[str, float, float]]:
    """List the columns used, largest first, with lengths of bars in percent."""
    names, support = report.names(), report.support
    order = support[np.argsort(-np.abs(report.coef[support]), kind="stable")][:LARGEST_TABLE]
    largest = float(np.abs(report.coef).max(initial=0.0)) or 1.0
    return [
        (names[j], float(report.coef[j]), 100.0 * abs(float(report.coef[j])) / largest)
        for j in order
    ]
