"""No global randomness, no leftovers, no trace of one machine."""

import ast
import re

import pytest

from tests.architecture.sources import documents, package_files, parse, python_files, relative

ALLOWED_RANDOM = {"default_rng", "Generator", "SeedSequence", "PCG64", "BitGenerator"}
# The root of a path that exists on one machine only. Split, so that this file does not match.
MACHINE_PATHS = re.compile(r"(?<![\w.])/(?:ho" + r"me|Us" + r"ers|ro" + r"ot|wo" + r"rk|opt)/\w")
LEFTOVERS = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")


@pytest.mark.parametrize("path", python_files(), ids=relative)
def test_no_global_random_state(path):
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in {
            "np.random",
            "numpy.random",
        }:
            assert node.attr in ALLOWED_RANDOM, (
                f"{relative(path)}:{node.lineno} np.random.{node.attr}"
            )
        if isinstance(node, ast.ImportFrom) and node.module == "numpy.random":
            assert {alias.name for alias in node.names} <= ALLOWED_RANDOM, relative(path)


@pytest.mark.parametrize("path", package_files(), ids=relative)
def test_the_standard_library_random_module_is_not_used(path):
    imports = [node for node in ast.walk(parse(path)) if isinstance(node, ast.Import)]
    assert all(alias.name != "random" for node in imports for alias in node.names), relative(path)


@pytest.mark.parametrize("path", [*python_files(), *documents()], ids=relative)
def test_nothing_is_left_for_later_and_no_machine_is_named(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        assert not LEFTOVERS.search(line), f"{relative(path)}:{number} {line.strip()}"
        assert not MACHINE_PATHS.search(line), f"{relative(path)}:{number} {line.strip()}"
