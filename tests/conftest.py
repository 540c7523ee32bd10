"""Fixtures shared by all tests; sets the kernel cache folder before anything is compiled."""

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

_TESTS = Path(__file__).resolve().parent
_PACKAGE = _TESTS.parent / "src" / "shtarkov"
# The rooms are KERNEL_ROOMS of shtarkov._jit, which cannot be imported before the folder is set.
KERNEL_ROOMS = ("linalg", "geometry", "families", "sampling", "complexity")
_KERNEL_SOURCES = ("_jit.py", "types.py", *KERNEL_ROOMS)
_PREFIX = "shtarkov-kernels-"
_KEEP_SECONDS = 24 * 3600.0


def _kernel_cache_folder() -> Path:
    """Name a folder by the hash of the kernel sources: runs on different code never share it."""
    digest = hashlib.sha256()
    for name in _KERNEL_SOURCES:
        source = _PACKAGE / name
        for path in [source] if source.is_file() else sorted(source.rglob("*.py")):
            digest.update(path.read_bytes())
    return Path(tempfile.gettempdir()) / f"{_PREFIX}{digest.hexdigest()[:16]}"


def _remove_old_folders(current: Path) -> None:
    for folder in current.parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # another run may remove it first
            if folder != current and time.time() - folder.stat().st_mtime > _KEEP_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


pytest.register_assert_rewrite("tests.checks")

if "NUMBA_CACHE_DIR" not in os.environ:
    _folder = _kernel_cache_folder()
    _remove_old_folders(_folder)
    os.environ["NUMBA_CACHE_DIR"] = str(_folder)


@pytest.hookimpl(tryfirst=True)  # before -m chooses by the marks that are set here
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests that run on every commit; skip what measures an absent compiler."""
    _sample_slow_tests(items)
    if os.environ.get("NUMBA_DISABLE_JIT", "0") == "0":
        return
    skip = pytest.mark.skip(reason="needs the compiler")
    for item in items:
        if item.get_closest_marker("needs_jit"):
            item.add_marker(skip)


def _sample_slow_tests(items: list[pytest.Item]) -> None:
    """Mark a folder's first slow test, where its author has not marked another one."""
    slow: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow"):
            slow.setdefault(item.path.relative_to(_TESTS).parts[0], []).append(item)
    for tests in slow.values():
        if not any(item.get_closest_marker("ci_sample") for item in tests):
            tests[0].add_marker(pytest.mark.ci_sample)


@pytest.fixture
def rng() -> np.random.Generator:
    """Give a generator with a fixed seed; a test that needs others names them itself."""
    return np.random.default_rng(20240501)
