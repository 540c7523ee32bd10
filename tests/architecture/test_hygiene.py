"""No global randomness, no leftovers, no trace of one machine, no slow room the CI never enters."""

import ast
import re

import pytest

from tests.architecture.sources import ROOT, documents, package_files, parse, python_files, relative

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


def _markers(path) -> set[str]:
    return set(re.findall(r"pytest\.mark\.(\w+)", path.read_text(encoding="utf-8")))


def test_every_folder_with_slow_tests_has_one_that_runs_on_every_commit():
    folders: dict[str, set[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if path.parent.name != "architecture":
            folders.setdefault(relative(path.parent), set()).update(_markers(path))
    unsampled = [name for name, found in folders.items() if "slow" in found > {"ci_sample"}]
    assert not [name for name in unsampled if "ci_sample" not in folders[name]], (
        f"mark one short slow test in each of {unsampled} with @pytest.mark.ci_sample"
    )
