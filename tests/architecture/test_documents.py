"""The documents name only what is there: files, commands, and names for the paper's symbols."""

import re

import pytest

from tests.architecture.sources import ROOT, documents, package_files, relative

PAGES = [path for path in documents() if path.suffix == ".md"]
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
REPOSITORY_FILE = re.compile(r"\b(?:src|tests|benchmarks|docs|constraints)/[\w/.-]+\.\w+\b")
MAKE_TARGET = re.compile(r"\bmake ([a-z]+(?:-[a-z]+)*)\b(?=[`\s]*(?:$|[`#]))", re.MULTILINE)
BENCHMARK = re.compile(r"\bbenchmarks[./]\w+(?:[./]\w+)*")


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_links_lead_somewhere(path):
    targets = [t for t in LINK.findall(path.read_text(encoding="utf-8")) if "://" not in t]
    assert [target for target in targets if not (path.parent / target).exists()] == []


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_files_named_exist(path):
    named = set(REPOSITORY_FILE.findall(path.read_text(encoding="utf-8")))
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_commands_named_exist(path):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(MAKE_TARGET.findall(path.read_text(encoding="utf-8")))
    assert sorted(t for t in targets if not re.search(rf"^{t}:", makefile, re.MULTILINE)) == []


def test_names_given_to_the_papers_symbols_are_in_the_code():
    page = (ROOT / "docs" / "developer" / "design.md").read_text(encoding="utf-8")
    table = page.split("## Names")[1].split("## Tests")[0]
    rows = [line.split("|")[2] for line in table.splitlines() if line.startswith("|")]
    names = {name for cell in rows for name in re.findall(r"`(\w+)`", cell)}
    words = {w for path in package_files() for w in re.findall(r"\w+", path.read_text())}
    assert len(names) > 20
    assert sorted(names - words) == []


def test_every_benchmark_has_a_row_and_every_row_a_benchmark():
    """A file that can be run is named where the published figures are said to come from."""
    folder = ROOT / "benchmarks"
    page = (folder / "README.md").read_text(encoding="utf-8")
    table = "".join(line for line in page.splitlines() if line.startswith("|"))
    named = {name.removesuffix(".py").replace(".", "/") for name in BENCHMARK.findall(table)}
    runnable = {
        relative(path).removesuffix(".py")
        for path in folder.rglob("*.py")
        if "__main__" in path.read_text(encoding="utf-8")
    }
    assert sorted(runnable - named) == []
    assert sorted(name for name in named if not (ROOT / f"{name}.py").exists()) == []
