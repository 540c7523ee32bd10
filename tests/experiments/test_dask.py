"""The same cells on a Dask cluster, one of whose workers is killed in the middle of a cell."""

import os
import signal
import threading
import time

import pytest

from shtarkov.experiments.grid import cells_of
from shtarkov.experiments.measures import is_timed
from shtarkov.experiments.runner import run_cells
from shtarkov.experiments.store import Store
from shtarkov.progress import SilentProgress

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.ci_sample,
    pytest.mark.needs_jit,
    # Said by dask of the worker that dies here, and of sockets that close later than the test.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def long_cells():
    cells = [cell for cell in cells_of("tables", "smoke") if cell["method"] == "default"]
    return [cell.replace(n_draws=4000) for cell in cells[:3]]


def kill_a_busy_worker(address, killed):
    """Wait until a worker has a cell, let it get into it, and kill the process."""
    with distributed.Client(address, set_as_default=False) as client:
        deadline = time.monotonic() + 120.0
        while time.monotonic() < deadline:
            pids = client.run(os.getpid)
            busy = [worker for worker, tasks in client.processing().items() if tasks]
            if busy:
                time.sleep(0.3)
                os.kill(pids[busy[0]], signal.SIGKILL)
                killed.append(pids[busy[0]])
                return
            time.sleep(0.02)


def lasting(row):
    return {name: value for name, value in row.items() if not is_timed(name)}


def test_a_worker_that_dies_costs_nothing_but_time(tmp_path):
    cells = long_cells()
    here = Store(tmp_path / "here")
    alone = run_cells(cells, here, SilentProgress())
    there, killed = Store(tmp_path / "there"), []
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        killer = threading.Thread(target=kill_a_busy_worker, args=(address, killed))
        killer.start()
        done = run_cells(cells, there, SilentProgress(), backend="dask", scheduler=address)
        killer.join()
    assert len(killed) == 1
    assert done == alone
    for cell in cells_and_penalties(done):
        assert lasting(there.row(cell)) == lasting(here.row(cell))


def cells_and_penalties(cells):
    from shtarkov.experiments.runner import penalty_cell

    return [*cells, *(penalty_cell(cell) for cell in cells)]
