"""Every planted fault of `registry.toml` is caught by the test it names.

A fault is one edit of a copy of the sources. The test named runs there without the compiler, and
must fail in an assertion or with an error of the library's own: a fault nobody notices would pass.
"""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "shtarkov"
FAULTS = tomllib.loads((Path(__file__).parent / "registry.toml").read_text())["fault"]
# What a reader would look for first.
KINDS = (
    "no accept step", "wrong sign", "missing determinant", "off by one in the fibre law",
    "no warm-up", "stale active set", "wrong swap ratio", "wrong proposal ratio",
    "missing curvature", "wrong wall", "dropped Jacobian", "dropped ln I",
)  # fmt: skip
# Planted on every commit: the quickest.
SAMPLE = {"off by one in the fibre law", "stale active set in the solver"}


def marks_of(fault):
    return [pytest.mark.slow, *([pytest.mark.ci_sample] if fault["name"] in SAMPLE else [])]


def run_without_compiler(source, tests):
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(source)}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False
    )


def functions_of(path):
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_the_registry_is_complete():
    names = [fault["name"] for fault in FAULTS]
    assert len(set(names)) == len(names)
    assert set(names) >= SAMPLE
    for kind in KINDS:
        assert any(kind in name for name in names), kind


@pytest.mark.parametrize("fault", [pytest.param(f, id=f["name"]) for f in FAULTS])
def test_the_fault_can_be_planted_and_its_test_exists(fault):
    assert set(fault) == {"name", "file", "find", "replace", "caught_by"}
    assert (PACKAGE / fault["file"]).read_text().count(fault["find"]) == 1
    path, function = fault["caught_by"].split("::")
    assert function in functions_of(path)


@pytest.mark.parametrize(
    "fault", [pytest.param(f, id=f["name"], marks=marks_of(f)) for f in FAULTS]
)
def test_the_fault_is_caught(fault, tmp_path):
    copy = tmp_path / "shtarkov"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    broken = copy / fault["file"]
    broken.write_text(broken.read_text().replace(fault["find"], fault["replace"]))
    done = run_without_compiler(tmp_path, [fault["caught_by"]])
    assert done.returncode == 1, done.stdout[-3000:]
    assert "1 failed" in done.stdout
    # A name that no longer exists, or a wrong number of arguments, would be no such fault.
    for accident in ("NameError", "ImportError", "TypeError", "AttributeError", "SyntaxError"):
        assert accident not in done.stdout, done.stdout[-3000:]


@pytest.mark.slow
def test_without_a_fault_all_of_them_pass():
    tests = sorted({fault["caught_by"] for fault in FAULTS})
    done = run_without_compiler(ROOT / "src", tests)
    assert done.returncode == 0, done.stdout[-3000:]
