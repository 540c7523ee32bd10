"""The folder of compiled kernels: damaged, full, or not there at all."""

import os
import tempfile

import pytest

from shtarkov import kernel_cache
from shtarkov._jit import kernel
from tests.toy_kernels import make_toy_package, measure

# Every write to a file fails as on a full disk, whoever the user is.
FULL_DISK = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
"""

# Somebody's own family, run by the library's compiled loop.
MINE = """
from typing import NamedTuple
import numpy as np
from shtarkov.sampling.outer import run_chain, solve

class Mine(NamedTuple):
    value: float

@solve.register(Mine)
def _solve_mine(family, y):
    return family.value

assert run_chain(Mine(1.0), np.ones(2), 10, np.random.default_rng(0)) == 20.0
"""


def cut(content):
    return content[: len(content) // 2]


def flip_one_bit(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def fill_with_zeros(content):  # what a power cut leaves on some file systems
    return bytes(len(content))


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("kind", "damages"),
    [(".nbi", (cut, fill_with_zeros)), (".nbc", (cut, flip_one_bit))],
    ids=["index", "code"],
)
def test_a_damaged_file_is_compiled_again(tmp_path, kind, damages):
    make_toy_package(tmp_path)
    assert measure(tmp_path)[:3] == (50.0, 0, 1)
    files = sorted((tmp_path / "cache").rglob(f"*{kind}"))
    for path, damage in zip(files, damages, strict=True):
        path.write_bytes(damage(path.read_bytes()))
    assert measure(tmp_path) == (50.0, 0, 1, "")
    assert measure(tmp_path) == (50.0, 1, 0, "")


@pytest.mark.needs_jit
def test_a_family_of_a_script_does_not_spoil_the_cache_for_others(tmp_path):
    make_toy_package(tmp_path)
    assert measure(tmp_path)[:3] == (50.0, 0, 1)
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "mine.py").write_text(MINE)
    own = f"import sys; sys.path.append({str(scripts)!r}); import mine\n"
    for hits in (1, 2):  # the second time its own code is found as well
        assert measure(tmp_path, own) == (50.0, hits, 2 - hits, "")
        assert measure(tmp_path) == (50.0, 1, 0, "")


@pytest.mark.needs_jit
def test_a_full_disk_costs_the_cache_and_not_the_answer(tmp_path):
    pytest.importorskip("resource")
    make_toy_package(tmp_path)
    full = measure(tmp_path, FULL_DISK)
    assert full[:3] == (50.0, 0, 1)
    assert full.complaints.count("\n") == 1
    assert "compiled kernels cannot be kept in" in full.complaints
    assert "set NUMBA_CACHE_DIR" in full.complaints
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


@pytest.mark.needs_jit
def test_a_read_only_home_leaves_the_temporary_files_and_one_notice(tmp_path):
    package = make_toy_package(tmp_path)
    # A file where a folder would have to be: that stops even the superuser.
    for room in (package, package / "linalg", package / "sampling"):
        (room / "__pycache__").touch()
    (tmp_path / "tmp").mkdir()
    closed = os.devnull + "/nowhere"
    place = {
        "NUMBA_CACHE_DIR": "",
        "HOME": closed,
        "XDG_CACHE_HOME": closed,
        "LOCALAPPDATA": closed,
        "TMPDIR": str(tmp_path / "tmp"),
    }
    for hits in (0, 1):
        found = measure(tmp_path, **place)
        assert found[:3] == (50.0, hits, 1 - hits)
        assert found.complaints.count("\n") == 1
        assert str(tmp_path / "tmp" / "shtarkov-cache-") in found.complaints


def test_a_folder_somebody_else_may_write_to_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    folder = kernel_cache.fallback_folder()
    assert folder is not None
    assert folder == kernel_cache.fallback_folder()
    if not hasattr(os, "getuid"):
        return
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    assert kernel_cache.fallback_folder() is None
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    assert kernel_cache.fallback_folder() is None
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "missing"))
    assert kernel_cache.fallback_folder() is None


@pytest.mark.needs_jit
@pytest.mark.parametrize("has_folder", [True, False])
def test_kernels_compile_where_nothing_can_be_kept(monkeypatch, caplog, tmp_path, has_folder):
    def refuse(*args, **options):
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr(kernel_cache.numba, "njit", refuse)
    monkeypatch.setattr(kernel_cache, "_told", set())
    folder = tmp_path if has_folder else None
    monkeypatch.setattr(kernel_cache, "fallback_folder", lambda: folder)
    assert kernel(max)(1, 2) == 2
    assert kernel(min)(1, 2) == 1
    assert [("kept nowhere" in line) for line in caplog.messages] == ([] if has_folder else [True])
