"""The public names, and what importing them costs."""

import ast
import importlib
import json
import subprocess
import sys

import pytest

import shtarkov
from tests.architecture.sources import PACKAGE, ROOT, parse

SNAPSHOT = ROOT / "tests" / "architecture" / "public_api.txt"
HEAVY = ("numba", "scipy", "sklearn", "arviz_stats", "matplotlib", "rich", "typer", "jinja2")


def type_checking_names() -> set[str]:
    """Read the names imported for type checkers in the package's `__init__`."""
    blocks = [node for node in parse(PACKAGE / "__init__.py").body if isinstance(node, ast.If)]
    return {
        alias.asname or alias.name
        for block in blocks
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_public_names_match_the_snapshot():
    names = SNAPSHOT.read_text(encoding="utf-8").split()
    assert sorted(shtarkov.__all__) == names, (
        "the public surface changed: if that is meant, edit tests/architecture/public_api.txt and "
        "CHANGELOG.md"
    )


def test_table_all_and_type_checkers_agree():
    assert set(shtarkov.__all__) == set(shtarkov._MODULE_OF) == type_checking_names()


@pytest.mark.parametrize("name", shtarkov.__all__)
def test_every_public_name_is_found_and_documented(name):
    value = getattr(shtarkov, name)
    assert value is getattr(importlib.import_module(shtarkov._MODULE_OF[name]), name)
    assert value.__doc__
    assert name in dir(shtarkov)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = shtarkov.nothing


def test_a_subpackage_does_not_hide_the_function_of_the_same_name():
    code = """
import sys, types, shtarkov
shtarkov._MODULE_OF["complexity"] = "shtarkov.stub"
sys.modules["shtarkov.stub"] = types.SimpleNamespace(complexity="the function")
import shtarkov.complexity
assert shtarkov.complexity == "the function"
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_import_is_quick_and_light():
    code = (
        "import sys, time; start = time.perf_counter(); import shtarkov; "
        "seconds = time.perf_counter() - start; dir(shtarkov); import shtarkov.errors, json; "
        f"heavy = [m for m in {HEAVY!r} if m in sys.modules]; print(json.dumps([seconds, heavy]))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, heavy = json.loads(run.stdout)
    assert heavy == []
    assert seconds < 1.0


def test_the_version_is_stated_once_and_everywhere_the_same():
    from importlib.metadata import version

    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert version("shtarkov") == shtarkov.__version__
    assert f"version: {shtarkov.__version__}\n" in citation
    assert f"## {shtarkov.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_lowest_pins_are_the_lower_bounds():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = (ROOT / "constraints" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in pins if line and not line.startswith("#"))
    extras = project["optional-dependencies"]
    for requirement in [
        *project["dependencies"],
        *extras["plots"],
        *extras["dask"],
        *extras["arviz"],
    ]:
        name, bound = requirement.split(">=")
        name = name.split("[")[0]
        assert pinned[name].startswith(bound), f"{name}: {bound} and {pinned[name]}"
