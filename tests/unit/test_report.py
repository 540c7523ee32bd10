"""The page and the JSON: complete, escaped, self-contained, and whole or not there at all."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from shtarkov.report import page, render_html
from shtarkov.report.charts import Frame, round_step
from tests.reports import make_report

NASTY = ('<script>alert("x")</script>', "a & b", "'quoted'", "ü" * 80)
SCHEMA = Path(__file__).parents[2] / "docs" / "report-schema.md"


class Checker(HTMLParser):
    """Collects tags, references to other files, and whether tags close in order."""

    VOID = frozenset({"meta", "br", "link", "img"})

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.links, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def check(html):
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    return checker


@pytest.mark.parametrize("winner", ["empty", "matched", "free", "subset", "no curve"])
def test_the_page_is_complete_for_every_winner(winner):
    report = make_report(winner)
    html = render_html(report)
    checker = check(html)
    text = " ".join(checker.text)
    assert checker.links == []
    assert html.count("default-src 'none'") == 1  # nothing runs, nothing is fetched
    assert "script" not in checker.tags
    assert f"The {report.winner} code keeps" in text
    for wanted in (f"{report.codelength:.2f}", str(report.seed), "numba", "rank R-hat"):
        assert wanted in text
    assert ("svg" in checker.tags) == (winner != "no curve")


def test_what_the_user_wrote_is_escaped():
    report = make_report(names=NASTY, reasons=("<b>bad</b>",), notes=("<i>odd</i>",))
    html = render_html(report)
    checker = check(html)
    assert "script" not in checker.tags
    assert "<b>bad" not in html
    assert "<i>odd" not in html
    assert NASTY[0] in " ".join(checker.text)


def test_every_reason_and_note_is_shown():
    text = render_html(make_report(reasons=("first", "second"), notes=("third",)))
    assert "Do not rely on this answer yet" in text
    assert all(word in text for word in ("first", "second", "third"))


def test_a_failed_write_leaves_the_old_page(tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    make_report().to_html(target)
    before = target.read_text(encoding="utf-8")

    def refuse(self, target):
        raise OSError("disk full")

    monkeypatch.setattr(page.Path, "replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        make_report("free").to_html(target)
    assert target.read_text(encoding="utf-8") == before
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_places_in_the_frame():
    frame = Frame(np.array([1.0, 100.0]), -1.0, 3.0, 200.0)
    assert frame.x(1.0) < frame.x(10.0) < frame.x(100.0)
    assert frame.x(10.0) == pytest.approx((frame.x(1.0) + frame.x(100.0)) / 2, abs=0.1)
    assert frame.y(3.0) < frame.y(-1.0) == frame.bottom
    assert [tick.text for tick in frame.y_ticks()] == ["-1", "0", "1", "2", "3"]
    assert [tick.text for tick in frame.x_ticks()] == ["1", "2", "5", "10", "20", "50", "100"]
    one = Frame(np.array([5.0]), 0.0, 0.0, 200.0)
    assert np.isfinite(one.x(5.0))
    assert np.isfinite(one.y(0.0))


@pytest.mark.parametrize(("least", "step"), [(0.9, 1), (1.0, 1), (1.1, 2), (3, 5), (60, 100)])
def test_steps_are_round(least, step):
    assert round_step(least) == pytest.approx(step)


def documented_fields(heading):
    """Read the fields in the table under a heading of the schema's page."""
    section = SCHEMA.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


@pytest.mark.parametrize("winner", ["empty", "matched", "free", "subset", "no curve"])
def test_the_schema_names_every_field(winner):
    report = make_report(winner, names=("a", "b", "c", "d"))
    plain = json.loads(report.to_json())
    assert set(plain) == documented_fields("The report")
    for code in plain["codelengths"].values():
        assert set(code) == documented_fields("One code")
    if plain["curve"] is not None:
        assert set(plain["curve"]) == documented_fields("The curve")


def test_json_has_no_infinities():
    report = make_report(ess=-np.inf)
    assert json.loads(report.to_json())["ess"] is None
