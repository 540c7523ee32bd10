"""Runs chains in threads, in chunks: between chunks progress is told and Ctrl-C is heard."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from shtarkov.progress import Progress
from shtarkov.sampling.collect import InterruptWatch
from shtarkov.settings import n_threads

# Multiplications in a chunk: about a fifth of a second. Counted, not timed, so that a seed repeats
# the chunks and with them every bit of the result.
CHUNK_WORK = 2e8


def advance_chains(
    tasks: Sequence[tuple[Any, int]], warm_up: int, multiple: int, n_jobs: int | None, bar: Progress
) -> None:
    """Make the wanted draws on each chain; the compiled loop holds no lock.

    Parameters
    ----------
    tasks : pairs of a chain and how many draws to make
    warm_up : steps of warm-up for a chain that has no draws yet
    multiple : a chunk is a multiple of this many draws
    n_jobs : threads; None means joblib's current setting
    """
    stop, watch = threading.Event(), InterruptWatch()

    def is_stopped() -> bool:
        return stop.is_set() or watch.requested

    def advance(chain: Any, n_left: int) -> None:
        if chain.n_draws == 0 and not is_stopped():
            chain.warm_up(warm_up)
        while n_left > 0 and not is_stopped():
            chunk = min(n_left, multiple * max(1, int(CHUNK_WORK / chain.work_per_draw / multiple)))
            chain.extend(chunk)
            bar.advance(chunk)
            n_left -= chunk

    n_workers = n_threads(n_jobs)
    with watch:
        if n_workers == 1:
            for chain, n_draws in tasks:
                advance(chain, n_draws)
        else:
            _in_threads(advance, tasks, n_workers, stop)
        watch.raise_if_requested()


def _in_threads(
    advance: Callable[[Any, int], None],
    tasks: Sequence[tuple[Any, int]],
    n_workers: int,
    stop: threading.Event,
) -> None:
    with ThreadPoolExecutor(n_workers) as pool:
        futures = [pool.submit(advance, *task) for task in tasks]
        try:
            for future in futures:
                future.result()
        finally:  # after an error or a second Ctrl-C no chain moves on
            stop.set()
