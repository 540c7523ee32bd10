"""The demonstration: both routes agree on what it prints, and it prints it."""

import numpy as np
import pytest

from shtarkov import __main__ as demo


def test_routes_agree_on_every_row(monkeypatch, rng):
    monkeypatch.setattr(demo, "TIMING_SECONDS", 1e-6)
    X, y = rng.standard_normal((20, 6)), rng.standard_normal(20)
    rows = demo.measure(X, y, np.array([0, 2, 3]), np.array([1, 2, 5]))
    assert [row.name for row in rows] == [
        "tangent projection of y",
        "log volume",
        "log pair volume",
    ]
    assert all(row.difference < 1e-12 for row in rows)


@pytest.mark.needs_jit
def test_main_prints_the_comparison(monkeypatch, capsys):
    monkeypatch.setattr(demo, "TIMING_SECONDS", 1e-3)
    monkeypatch.setattr(demo.logging, "basicConfig", lambda **options: None)
    demo.main()
    printed = capsys.readouterr().out
    assert "442 patients" in printed
    assert "log pair volume" in printed


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.0, "2 s"), (0.0157, "16 ms"), (1.11e-6, "1.1 µs"), (3e-8, "30 ns")]
)
def test_readable(seconds, text):
    assert demo.readable(seconds) == text
