"""Where cells run: processes of this machine, or a Dask or Ray cluster, through joblib."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import joblib

from shtarkov.errors import InvalidProblem
from shtarkov.experiments.cell_result import CellResult
from shtarkov.experiments.grid import Cell
from shtarkov.experiments.work import do

BACKENDS = ("local", "dask", "ray")
# Cells at a time where joblib cannot hand over results as they come in.
BATCH = 8
# Between two looks at whether the process that started this one is still there.
WATCH_SECONDS = 1.0

Finished = tuple[Cell, CellResult]


class Pool(NamedTuple):
    """Workers ready to run cells.

    Attributes
    ----------
    n_jobs : how many; None leaves it to the backend
    streams : whether results come back one by one, or a batch at a time
    owner : the process of which the workers are children, and without which they end
    """

    n_jobs: int | None
    streams: bool
    owner: int | None = None

    def results(self, cells: Sequence[Cell]) -> Iterator[Finished]:
        """Run cells; give each with its result, in the order in which they finish."""
        if not cells:
            return
        if self.streams:
            yield from self._parallel("generator_unordered")(self._tasks(cells))
            return
        for start in range(0, len(cells), BATCH):
            yield from self._parallel("list")(self._tasks(cells[start : start + BATCH]))

    def _tasks(self, cells: Sequence[Cell]) -> Iterator[Any]:
        return (joblib.delayed(_finish)(cell, self.owner) for cell in cells)

    def _parallel(self, return_as: str) -> Any:
        # One cell a task: a result is kept as soon as it is there.
        return joblib.Parallel(n_jobs=self.n_jobs, return_as=return_as, batch_size=1)


def _finish(cell: Cell, owner: int | None) -> Finished:
    if owner not in {None, os.getpid()}:
        _end_with(owner)
    return cell, do(cell)


@functools.cache
def _end_with(owner: int | None) -> None:
    """End this process soon after the one that started it was killed: nobody takes its result."""

    def watch() -> None:
        while os.getppid() == owner:
            time.sleep(WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def workers(backend: str, n_jobs: int, scheduler: str | None) -> Iterator[Pool]:
    """Open the workers of a backend.

    Parameters
    ----------
    backend : "local", "dask" or "ray"
    n_jobs : processes on this machine; a cluster brings its own number
    scheduler : address of a running cluster; None starts workers on this machine
    """
    if backend not in BACKENDS:
        msg = f"backend must be one of {', '.join(BACKENDS)}; got {backend!r}"
        raise InvalidProblem(msg)
    if backend == "local":
        if scheduler is not None:
            raise InvalidProblem("scheduler is for backend='dask' or 'ray'")
        with (
            warnings.catch_warnings(),
            joblib.parallel_config(backend="loky", inner_max_num_threads=1),
        ):
            # Said when a process grown by compiling is replaced by a fresh one.
            warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
            yield Pool(n_jobs, streams=True, owner=os.getpid())
        return
    connect = _dask if backend == "dask" else _ray
    with connect(n_jobs, scheduler), joblib.parallel_config(backend=backend):
        yield Pool(None, streams=backend == "dask")


def _imported(name: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        msg = f"{name} is not installed; pip install {extra}"
        raise ImportError(msg) from error


@contextlib.contextmanager
def _dask(n_jobs: int, scheduler: str | None) -> Iterator[None]:
    distributed = _imported("distributed", "'shtarkov[cluster]'")
    local = {"n_workers": n_jobs, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.Client(**({"address": scheduler} if scheduler else local)):
        yield


@contextlib.contextmanager
def _ray(n_jobs: int, scheduler: str | None) -> Iterator[None]:
    ray = _imported("ray", "ray")
    importlib.import_module("ray.util.joblib").register_ray()
    local = {"num_cpus": n_jobs, "include_dashboard": False}
    ray.init(**({"address": scheduler} if scheduler else local))
    try:
        yield
    finally:
        ray.shutdown()
