"""Rooms import only rooms below them, and kernels are made in one way."""

import ast

import pytest

from shtarkov._jit import KERNEL_ROOMS
from tests import conftest
from tests.architecture.sources import (
    PACKAGE,
    functions,
    imported_modules,
    is_kernel,
    package_files,
    parse,
    relative,
)

# Lower rooms first. Those on one line may not import each other.
LAYERS = [
    {"types", "kernel_cache", "sampling_warning"},
    {"_jit"},
    {"errors"},
    {"seeds", "settings", "progress", "compile_notice", "blas"},
    {"linalg"},
    {"geometry"},
    {"families"},
    {"diagnostics"},
    {"sampling"},
    {"complexity"},
    {"selection"},
    {"plots"},
    {"estimators", "experiments", "report"},
    {"cli"},
    {"__main__"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def room_of_file(path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", package_files(), ids=relative)
def test_imports_point_down(path):
    room = room_of_file(path)
    if room == "__init__":
        return  # the table of public names points everywhere, lazily
    assert room in LEVEL, f"{room} has no place in the order of rooms: add it to LAYERS"
    for module in imported_modules(parse(path)):
        if not module.startswith("shtarkov."):
            continue
        other = room_of(module)
        if other in {room, "__version__"}:
            continue
        assert LEVEL[other] < LEVEL[room], f"{relative(path)} imports {module}, which is not below"


@pytest.mark.parametrize("path", package_files(), ids=relative)
def test_numba_is_used_through_jit_only(path):
    allowed = {"_jit.py", "kernel_cache.py", "compile_notice.py"}
    found = [name for name in imported_modules(parse(path)) if name.split(".")[0] == "numba"]
    assert not found or path.name in allowed, (
        f"{relative(path)} imports {found}: use kernel, reduction_kernel or generic"
    )


@pytest.mark.parametrize("path", package_files(), ids=relative)
def test_kernels_live_where_the_cache_looks_for_edits(path):
    kernels = [function.name for function in functions(path) if is_kernel(function)]
    assert not kernels or room_of_file(path) in KERNEL_ROOMS, (
        f"{relative(path)} has kernels {kernels}: move them to one of {KERNEL_ROOMS}, or add its "
        "room to KERNEL_ROOMS in _jit.py and in tests/conftest.py"
    )


def test_the_tests_hash_the_rooms_the_library_stamps():
    assert conftest.KERNEL_ROOMS == KERNEL_ROOMS


def test_kernels_do_not_raise_or_print():
    for path in package_files():
        for function in filter(is_kernel, functions(path)):
            loud = [
                node
                for node in ast.walk(function)
                if isinstance(node, ast.Raise | ast.Try)
                or (isinstance(node, ast.Name) and node.id == "print")
            ]
            assert loud == [], f"{relative(path)}: {function.name} must return a Status instead"


def test_there_is_no_drawer_for_odds_and_ends():
    drawers = {"utils", "util", "helpers", "misc", "common"}
    assert not [relative(path) for path in package_files() if path.stem in drawers]
