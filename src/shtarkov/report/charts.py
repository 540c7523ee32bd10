"""Charts as SVG elements: points in the units of a fixed view box, ticks with their texts.

The template draws what is prepared here; nothing is written as markup in Python, so every string
that comes from the user passes through the template's escaping.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shtarkov.plots import BAND_ERRORS, curve_names, curve_of, curve_series, labelled_columns
from shtarkov.selection.report import SelectionReport
from shtarkov.types import Floats

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 640.0, 62.0, 112.0, 14.0, 40.0
LARGEST_STEPS = 6
PALETTE = (
    "#1b6ca8", "#c8553d", "#2a7f62", "#8a1538", "#b08900", "#6a4c93", "#4d6a6d", "#d17a22",
)  # fmt: skip


class Tick(NamedTuple):
    """A mark on an axis: its place and its text."""

    place: float
    text: str


class Line(NamedTuple):
    """A polyline: its name, a CSS class, a colour (empty: the class's) and its points."""

    name: str
    kind: str
    colour: str
    points: str


class Chart(NamedTuple):
    """Everything the template needs to draw one chart.

    Attributes
    ----------
    height : of the view box, whose width is `WIDTH`
    left, right, top, bottom : the frame
    x_ticks, y_ticks : marks
    x_title, y_title, description : texts
    band : points of a filled polygon, empty for none
    lines : polylines
    labels : texts at the right or left of the frame
    circles : (x, y) of the near ties
    chosen : x of the chosen penalty, None for none
    """

    height: float
    left: float
    right: float
    top: float
    bottom: float
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    x_title: str
    y_title: str
    description: str
    band: str
    lines: list[Line]
    labels: list[tuple[float, str, str]]
    circles: list[tuple[float, float]]
    chosen: float | None


class Frame:
    """Maps penalties (logarithmic) and values (linear) to the view box, clipped to the frame."""

    def __init__(self, lams: Floats, low: float, high: float, height: float) -> None:
        self.height, self.bottom = height, height - BOTTOM
        self.right = WIDTH - RIGHT
        self._first, self._last = math.log(lams.min()), math.log(lams.max())
        self._low, self._high = low, high if high > low else low + 1.0

    def x(self, lam: float) -> float:
        """Place a penalty."""
        width = self._last - self._first
        share = (math.log(lam) - self._first) / width if width > 0.0 else 0.5
        return round(LEFT + (self.right - LEFT) * min(max(share, 0.0), 1.0), 1)

    def y(self, value: float) -> float:
        """Place a value; beyond the frame it stays on its edge, a little outside."""
        share = (value - self._low) / (self._high - self._low)
        return round(self.bottom - (self.bottom - TOP) * min(max(share, -1.0), 2.0), 1)

    def points(self, lams: Floats, values: Floats) -> str:
        """Write a polyline."""
        return " ".join(
            f"{self.x(lam)},{self.y(value)}"
            for lam, value in zip(lams.tolist(), values.tolist(), strict=True)
        )

    def x_ticks(self) -> list[Tick]:
        """Mark penalties at round numbers: 1, 2 and 5 times powers of ten if there is room."""
        decades = (self._last - self._first) / math.log(10.0)
        leads = (1.0, 2.0, 5.0) if decades < 3.2 else (1.0,)
        first, last = math.floor(self._first / math.log(10.0)), math.ceil(self._last / math.log(10))
        every = [lead * 10.0**power for power in range(first, last + 1) for lead in leads]
        inside = [lam for lam in every if self._first <= math.log(lam) <= self._last]
        return [Tick(self.x(lam), f"{lam:g}") for lam in inside]

    def y_ticks(self) -> list[Tick]:
        """Mark values at round steps."""
        step = round_step((self._high - self._low) / LARGEST_STEPS)
        count = range(math.ceil(self._low / step), math.floor(self._high / step) + 1)
        return [Tick(self.y(place * step), f"{place * step:.10g}") for place in count]


def round_step(least: float) -> float:
    """Smallest of 1, 2, 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(lead * power for lead in (1.0, 2.0, 5.0, 10.0) if lead * power >= least * 0.999)


def codelength_chart(report: SelectionReport) -> Chart:
    """Draw the codelength along the penalty, its error band and its two parts."""
    series = curve_series(report)
    frame = Frame(series.lams, series.floor, series.ceiling, 380.0)
    band = BAND_ERRORS * series.error
    outline = (
        frame.points(series.lams, series.total + band),
        frame.points(series.lams[::-1], (series.total - band)[::-1]),
    )
    ties = np.isin(series.lams, np.array(series.ties))
    lines = [
        Line("data", "data", "", frame.points(series.lams, series.data)),
        Line("complexity", "complexity", "", frame.points(series.lams, series.complexity)),
        Line("codelength", "total", "", frame.points(series.lams, series.total)),
    ]
    ends = series.lams[[0, -1]]
    for names, levels in series.levels:
        lines += [
            Line(names, "level", "", frame.points(ends, np.full(2, level))) for level in levels
        ]
    return Chart(
        frame.height, LEFT, frame.right, TOP, frame.bottom, frame.x_ticks(), frame.y_ticks(),
        "penalty lam", f"nats above {series.reference:.1f}",
        "Codelength of the matched code along the penalty, the data's part and the complexity's",
        " ".join(outline), lines,
        [(frame.y(sum(levels) / len(levels)), names, "") for names, levels in series.levels],
        [
            (frame.x(lam), frame.y(value))
            for lam, value in zip(series.lams[ties], series.total[ties], strict=True)
        ],
        None if series.chosen is None else frame.x(series.chosen),
    )  # fmt: skip


def coefficient_chart(report: SelectionReport) -> Chart:
    """Draw the coefficients along the penalty; the largest get a colour and a name."""
    curve = curve_of(report)
    order = np.argsort(curve.lams)
    lams, coefs = curve.lams[order], curve.coefs[order]
    low, high = min(float(coefs.min()), 0.0), max(float(coefs.max()), 0.0)
    room = 0.05 * (high - low)
    frame = Frame(lams, low - room, high + room, 320.0)
    names, named = curve_names(report), labelled_columns(coefs)
    others = [column for column in range(coefs.shape[1]) if column not in named]
    lines = [
        Line(names[column], "other", "", frame.points(lams, coefs[:, column]))
        for column in others
        if coefs[:, column].any()
    ]
    lines += [
        Line(names[column], "named", PALETTE[place], frame.points(lams, coefs[:, column]))
        for place, column in enumerate(named)
    ]
    return Chart(
        frame.height, LEFT, frame.right, TOP, frame.bottom, frame.x_ticks(), frame.y_ticks(),
        "penalty lam", "coefficient", "Coefficients along the penalty", "", lines,
        _column_labels(frame, [names[column] for column in named]), [],
        None if report.lam is None else frame.x(report.lam),
    )  # fmt: skip


def _column_labels(frame: Frame, names: list[str]) -> list[tuple[float, str, str]]:
    """Put the names one below the other at the right of the frame."""
    return [
        (TOP + 12.0 + 20.0 * place, name if len(name) < 12 else f"{name[:9]}…", PALETTE[place])
        for place, name in enumerate(names)
    ]
