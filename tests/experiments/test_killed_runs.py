"""A run killed at random moments loses no finished cell, and ends at the same tables."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from shtarkov.experiments.grid import TARGETS, cells_of
from shtarkov.experiments.measures import is_timed
from shtarkov.experiments.results import collect
from shtarkov.experiments.runner import with_penalty
from shtarkov.experiments.store import Store
from shtarkov.experiments.tables import table_rows

pytestmark = [pytest.mark.slow, pytest.mark.needs_jit]
COMMAND = ["reproduce", "table1", "table2", "--preset", "smoke", "--json", "--jobs", "2", "--out"]


def start(folder):
    command = [sys.executable, "-m", "shtarkov", *COMMAND, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finish(folder):
    with start(folder) as process:
        try:
            _, complaint = process.communicate(timeout=900)  # the first one compiles
        finally:
            process.kill()
    assert process.returncode == 0, complaint


def finished_cells(folder):
    """Give what a reader would take for finished cells, by the time they were written."""
    found = [*(folder / "cells").glob("*.parquet"), *(folder / "cells").glob("*.csv")]
    return {path.name: path.stat().st_mtime_ns for path in found}


def lasting_columns(folder):
    """Give the tables without the columns that hold times."""
    store = Store(folder)
    cells = {block: [with_penalty(cell, store) for cell in cells_of(block, "smoke")]
             for block in TARGETS["table1"]}  # fmt: skip
    results = collect("smoke", cells, store)
    return [
        (row.block, row.model, row.n_features, name, value)
        for which in ("table1", "table2")
        for row in table_rows(results, which)
        for name, value in row.values.items()
        if not is_timed(name)
    ]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Run once to compile, and once for the tables and the time it takes."""
    finish(tmp_path_factory.mktemp("compiled"))
    folder = tmp_path_factory.mktemp("undisturbed")
    began = time.monotonic()
    finish(folder)
    return lasting_columns(folder), time.monotonic() - began


@pytest.mark.parametrize(
    "n_kills", [pytest.param(3, marks=pytest.mark.ci_sample), pytest.param(20)]
)
def test_killed_at_random_moments(undisturbed, tmp_path, n_kills):
    expected, seconds = undisturbed
    rng = np.random.default_rng(n_kills)
    killed = fresh = 0
    folder = tmp_path / "0"
    known = {}
    while killed < n_kills:
        process = start(folder)
        try:
            process.communicate(timeout=float(rng.uniform(0.0, seconds)))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            assert process.returncode == -signal.SIGKILL
            killed += 1
        else:  # it came to its end first: start again from nothing
            assert process.returncode == 0
            assert lasting_columns(folder) == expected
            fresh += 1
            folder, known = tmp_path / str(fresh), {}
            continue
        now = finished_cells(folder) if folder.exists() else {}
        assert known.items() <= now.items(), "a finished cell was lost, or run twice"
        known = now
    finish(folder)
    assert known.items() <= finished_cells(folder).items()
    assert not list((folder / "cells").glob("*.partial"))
    assert lasting_columns(folder) == expected


def children_of(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads /proc")
def test_a_killed_run_leaves_no_process_at_work(tmp_path):
    process = start(tmp_path)
    deadline = time.monotonic() + 60.0
    while len(children_of(process.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(2.0)
    children = children_of(process.pid)
    assert len(children) >= 2
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 120.0  # a process that still imports looks up afterwards
    while any(map(is_running, children)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(is_running, children))
