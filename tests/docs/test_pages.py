"""Every block of code in README and docs runs, and prints what the page says it prints."""

import importlib.util
import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from tests.architecture.sources import ROOT

pytestmark = pytest.mark.needs_jit

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NUMBER = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")
# Printed digits may differ in the last place between machines; times differ altogether.
TOLERANCE = 0.02
TIME = re.compile(r"\d+(\.\d+)? s\b")


def load_runner():
    spec = importlib.util.spec_from_file_location("run_page", ROOT / "docs" / "run_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


run_page = load_runner()
CODED = [page for page in PAGES if run_page.blocks_of(page.read_text(encoding="utf-8"))]


def name_of(page):
    return str(page.relative_to(ROOT))


def assert_same_output(printed, shown, where):
    """Compare words exactly and numbers to the printed precision."""
    printed, shown = TIME.sub("_ s", printed), TIME.sub("_ s", shown)
    words = [" ".join(NUMBER.sub("#", text).split()) for text in (printed, shown)]
    assert words[0] == words[1], f"{where} prints\n{printed}"
    values = [
        [float(number.replace(",", "")) for number in NUMBER.findall(text)]
        for text in (printed, shown)
    ]
    np.testing.assert_allclose(*values, rtol=TOLERANCE, atol=TOLERANCE, err_msg=where)


@pytest.mark.parametrize("page", CODED, ids=name_of)
def test_the_code_of_a_page_runs_and_prints_what_is_shown(page, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    run_page.quiet_settings()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    namespace = {"__name__": "page"}
    for block in run_page.blocks_of(page.read_text(encoding="utf-8")):
        printed = run_page.run_block(block, namespace, name_of(page))
        if block.shown is not None:
            assert_same_output(printed, block.shown, f"{name_of(page)}:{block.line}")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_other_blocks_are_marked_and_parse(page):
    for language, code in run_page.FENCE.findall(page.read_text(encoding="utf-8")):
        # sh: commands that need a cluster or hours
        assert language in {"python", "console", "sh", "text", "json", "toml"}, code
        if language == "json":
            json.loads(code)
        if language == "toml":
            tomllib.loads(code)


def test_quotations_stand_in_their_files():
    found = 0
    for page in PAGES:
        for language, code in run_page.FENCE.findall(page.read_text(encoding="utf-8")):
            quoted = run_page.QUOTED.match(code)
            if language != "python" or not quoted:
                continue
            found += 1
            source = (ROOT / quoted[1]).read_text(encoding="utf-8")
            assert code[quoted.end() :] in source, f"{name_of(page)}: {code}"
    assert found > 0


def test_pictures_shown_are_there():
    for page in PAGES:
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).stat().st_size > 1000, f"{name_of(page)}: {target}"


def test_the_comparison_notices_a_changed_word_and_a_changed_number():
    shown = "ln C = 3.20 ± 0.05 nats in 0.3 s"
    assert_same_output("ln C = 3.21 ± 0.05 nats in 9.9 s", shown, "here")
    for other in ("ln C = 3.90 ± 0.05 nats in 0.3 s", "ln C was 3.20 ± 0.05 nats in 0.3 s"):
        with pytest.raises(AssertionError):
            assert_same_output(other, shown, "here")


def test_a_traceback_names_the_line_of_the_page():
    block = run_page.Block("python", "1 / 0\n", 6, None, (0, 0))
    with pytest.raises(ZeroDivisionError) as caught:
        run_page.run_block(block, {}, "page.md")
    assert caught.traceback[-1].lineno + 1 == 7
    assert Path(str(caught.traceback[-1].path)).name == "page.md"


def test_the_reference_lists_every_public_name():
    import shtarkov

    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^::: shtarkov\.(\w+)$", page, re.MULTILINE))
    assert set(shtarkov.__all__) <= listed
