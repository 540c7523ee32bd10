"""What is drawn adds up, and drawing needs nothing but the report."""

import sys

import numpy as np
import pytest

from shtarkov import plots
from shtarkov.errors import InvalidProblem
from tests.reports import make_report


@pytest.fixture(autouse=True)
def _quiet_canvas():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_the_parts_add_up_to_the_total():
    report = make_report()
    series = plots.curve_series(report)
    assert np.all(np.diff(series.lams) > 0)
    np.testing.assert_allclose(series.data + series.complexity, series.total, atol=1e-12)
    assert series.total.min() == 0.0
    assert series.floor < 0.0 < series.total[0] < series.ceiling


def test_the_codes_near_the_least_are_levels():
    series = plots.curve_series(make_report())
    shown = {name for names, _ in series.levels for name in names.split(", ")}
    assert shown == {"free", "subset", "empty"}
    assert plots._share_labels({"a": 0.0, "b": 0.1, "c": 5.0}, 1.0) == [
        ("a, b", [0.0, 0.1]),
        ("c", [5.0]),
    ]


@pytest.mark.parametrize("winner", ["empty", "matched", "free", "subset"])
def test_both_panels_are_drawn_for_every_winner(winner):
    curve, path = make_report(winner).plot()
    assert winner in curve.get_title(loc="left")
    marked = winner in ("matched", "free")
    assert any("chosen" in str(line.get_label()) for line in curve.lines) == marked
    assert len(path.lines) == 1 + 4 + marked
    curve.figure.canvas.draw()


def test_the_curve_can_be_drawn_into_given_axes():
    import matplotlib.pyplot as plt

    axes = plt.subplots()[1]
    assert make_report().plot(ax=axes) is axes
    assert plots.plot_coefficients(make_report(), axes) is axes
    assert plots.plot_coefficients(make_report()) is not axes


def test_only_the_largest_columns_are_named():
    report = make_report(n_features=30)
    assert len(plots.labelled_columns(report.curve.coefs)) == plots.N_LABELLED
    assert plots.labelled_columns(np.zeros((3, 2))) == []


def test_without_a_curve_there_is_nothing_to_draw():
    with pytest.raises(InvalidProblem, match="no codelength curve"):
        make_report("no curve").plot()


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"shtarkov\[plots\]"):
        make_report().plot()
