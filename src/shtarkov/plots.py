"""Pictures in matplotlib: a codelength along the penalty with its coefficients, and a path of ln C.

Codelengths are drawn as differences from the matched code's own minimum, so that the total is the
sum of its two parts everywhere: what the data lose by a larger penalty, and what complexity gains.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shtarkov.complexity.path_result import ComplexityPath
from shtarkov.errors import InvalidProblem
from shtarkov.selection.report import CodelengthCurve, SelectionReport
from shtarkov.types import Floats

BAND_ERRORS = 2.0
# The choice is at the bottom of a curve whose ends are hundreds of nats up: show the bottom, and
# all of the side of the small penalties, where the curve is flatter.
LOWEST_VIEW = 12.0
SMALL_SIDE = 1.6
# Codes closer than this share of the view get one label.
LABEL_GAP = 0.05
N_LABELLED = 8
COLOURS = {"total": "#1b3a57", "data": "#b4531a", "complexity": "#2a7f62", "choice": "#8a1538"}


class CurveSeries(NamedTuple):
    """A codelength curve ready to draw, penalties ascending, in nats above `reference`.

    Attributes
    ----------
    lams, total, error, data, complexity : (L,); total = data + complexity
    reference : least codelength of the curve
    chosen : the winner's penalty, None if it has none
    ties : penalties within two standard errors of the least
    floor, ceiling : ends of a view in which the minimum can be read
    levels : other codes within the view: names that share a label, and their codelengths
    """

    lams: Floats
    total: Floats
    error: Floats
    data: Floats
    complexity: Floats
    reference: float
    chosen: float | None
    ties: tuple[float, ...]
    floor: float
    ceiling: float
    levels: list[tuple[str, list[float]]]


def curve_of(report: SelectionReport) -> CodelengthCurve:
    """Give the report's curve, or say why there is none."""
    if report.curve is None:
        raise InvalidProblem(
            "there is no codelength curve to draw: no penalty could be tried, because no column of "
            "X has anything to do with y"
        )
    return report.curve


def curve_series(report: SelectionReport) -> CurveSeries:
    """Prepare the codelength curve of a report."""
    curve = curve_of(report)
    order = np.argsort(curve.lams)
    least = int(np.argmin(curve.codelengths))
    total = curve.codelengths - curve.codelengths[least]
    data = curve.data_nats - curve.data_nats[least]
    reference = float(curve.codelengths[least])
    ceiling = max(LOWEST_VIEW, SMALL_SIDE * float(total[order[0]]))
    lowest = min(float(data.min()), float((total - data).min()))
    floor = max(-ceiling, lowest - 0.05 * (ceiling - lowest))
    levels = {
        name: code.nats - reference
        for name, code in report.codelengths.items()
        if name != "matched" and floor < code.nats - reference < ceiling
    }
    return CurveSeries(
        lams=curve.lams[order],
        total=total[order],
        error=curve.std_errors[order],
        data=data[order],
        complexity=(total - data)[order],
        reference=reference,
        chosen=report.lam,
        ties=report.near_ties,
        floor=floor,
        ceiling=ceiling,
        levels=_share_labels(levels, LABEL_GAP * (ceiling - floor)),
    )


def _share_labels(levels: dict[str, float], gap: float) -> list[tuple[str, list[float]]]:
    """Put codes of about the same length under one label."""
    groups: list[tuple[str, list[float]]] = []
    for name, level in sorted(levels.items(), key=lambda item: item[1]):
        if groups and level - groups[-1][1][-1] < gap:
            names, members = groups.pop()
            groups.append((f"{names}, {name}", [*members, level]))
        else:
            groups.append((name, [level]))
    return groups


def curve_names(report: SelectionReport) -> list[str]:
    """Name the columns of the curve's coefficients: the penalised ones."""
    names, n_columns = report.names(), curve_of(report).coefs.shape[1]
    return names if len(names) == n_columns else [f"penalised {j}" for j in range(n_columns)]


def labelled_columns(coefs: Floats, limit: int = N_LABELLED) -> list[int]:
    """Pick the columns worth a name: those that ever count, largest first."""
    size = np.abs(coefs).max(axis=0, initial=0.0)
    return [int(place) for place in np.argsort(-size, kind="stable")[:limit] if size[place] > 0.0]


def plot_selection(report: SelectionReport, ax: Any = None) -> Any:
    """Draw the codelength curve and the coefficient path.

    Parameters
    ----------
    report : what `select` returned
    ax : Axes for the codelength curve alone; None makes a figure with both panels

    Returns
    -------
    Axes if `ax` was given, else an array of two Axes
    """
    series = curve_series(report)
    if ax is not None:
        _draw_curve(ax, report, series)
        return ax
    figure, panels = _pyplot().subplots(
        2, 1, figsize=(7.0, 7.0), sharex=True, height_ratios=(3, 2), layout="constrained"
    )
    _draw_curve(panels[0], report, series)
    panels[0].set_xlabel("")
    _draw_path(panels[1], report)
    figure.align_ylabels()
    return panels


def plot_coefficients(report: SelectionReport, ax: Any = None) -> Any:
    """Draw the coefficients of the matched code along the penalty; returns Axes."""
    curve_of(report)
    axes = _pyplot().subplots(layout="constrained")[1] if ax is None else ax
    _draw_path(axes, report)
    return axes


def plot_complexity(path: ComplexityPath, ax: Any = None) -> Any:
    """Draw ln C with its error band, and the mean degrees of freedom, along the penalty.

    Parameters
    ----------
    path : what `complexity_path` returned
    ax : Axes for ln C alone; None makes a figure with both panels

    Returns
    -------
    Axes if `ax` was given, else an array of two Axes
    """
    order = np.argsort(path.lams)
    lams, ln_c = path.lams[order], path.ln_c[order]
    band = BAND_ERRORS * path.std_error[order]
    panels = None
    if ax is None:
        figure, panels = _pyplot().subplots(
            2, 1, figsize=(7.0, 6.0), sharex=True, height_ratios=(3, 2), layout="constrained"
        )
        panels[1].plot(lams, path.mean_df[order], color=COLOURS["data"])
        panels[1].set_xlabel("penalty lam")
        panels[1].set_ylabel("mean degrees of freedom")
        figure.align_ylabels()
    top = ax if panels is None else panels[0]
    top.fill_between(
        lams, ln_c - band, ln_c + band, color=COLOURS["complexity"], alpha=0.25, linewidth=0
    )
    top.plot(lams, ln_c, color=COLOURS["complexity"], linewidth=2, label="ln C ± 2 standard errors")
    if path.bridge_ln_c is not None:
        top.plot(
            path.node_lams,
            path.bridge_ln_c,
            "x",
            color=COLOURS["choice"],
            label="by Bennett ratios",
        )
    top.set_xscale("log")
    top.set_ylabel("nats")
    top.set_title("stochastic complexity along the penalty", loc="left")
    top.legend(frameon=False, fontsize="small")
    return ax if panels is None else panels


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        msg = "plots need matplotlib: pip install 'shtarkov[plots]'"
        raise ImportError(msg) from error
    return plt


def _draw_curve(ax: Any, report: SelectionReport, series: CurveSeries) -> None:
    """Draw the total with its band, its two parts, the choice, its ties, and the other codes."""
    band = BAND_ERRORS * series.error
    ax.fill_between(
        series.lams,
        series.total - band,
        series.total + band,
        color=COLOURS["total"],
        alpha=0.2,
        linewidth=0,
    )
    ax.plot(series.lams, series.data, "--", color=COLOURS["data"], label="data")
    ax.plot(series.lams, series.complexity, ":", color=COLOURS["complexity"], label="complexity")
    ax.plot(series.lams, series.total, color=COLOURS["total"], linewidth=2, label="codelength")
    for names, levels in series.levels:
        for level in levels:
            ax.axhline(level, color="0.6", linewidth=0.8)
        middle = sum(levels) / len(levels)
        ax.annotate(
            names, (1.0, middle), xycoords=("axes fraction", "data"), xytext=(4, 0),
            textcoords="offset points", va="center", fontsize="small", color="0.35",
        )  # fmt: skip
    ties = np.isin(series.lams, np.array(series.ties))
    ax.plot(
        series.lams[ties], series.total[ties], "o", color=COLOURS["choice"], mfc="white",
        markersize=5, label="within 2 standard errors",
    )  # fmt: skip
    if series.chosen is not None:
        label = f"chosen by the {report.winner} code: {series.chosen:.3g}"
        ax.axvline(series.chosen, color=COLOURS["choice"], linewidth=1, label=label)
    ax.set_xscale("log")
    ax.set_ylim(series.floor, series.ceiling)
    ax.set_xlabel("penalty lam")
    ax.set_ylabel(f"nats above {series.reference:.1f}")
    ax.set_title(f"{report.family.replace('_', ' ')}: the {report.winner} code wins", loc="left")
    ax.legend(frameon=False, fontsize="small")


def _draw_path(ax: Any, report: SelectionReport) -> None:
    """Draw every coefficient; those that count most are named at the left, where they end."""
    curve = curve_of(report)
    names = curve_names(report)
    ax.axhline(0.0, color="0.6", linewidth=0.8)
    order = np.argsort(curve.lams)
    labelled = labelled_columns(curve.coefs)
    for column in range(curve.coefs.shape[1]):
        is_named = column in labelled
        ax.plot(
            curve.lams[order],
            curve.coefs[order, column],
            color=f"C{labelled.index(column)}" if is_named else "0.8",
            linewidth=1.4 if is_named else 0.7,
            label=names[column] if is_named else None,
        )
    if report.lam is not None:
        ax.axvline(report.lam, color=COLOURS["choice"], linewidth=1)
    ax.set_xscale("log")
    ax.set_xlabel("penalty lam")
    ax.set_ylabel("coefficient")
    if labelled:
        ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
