"""Collects the draws of several runs chunk by chunk: threads, progress, Ctrl-C, checkpoints.

Chunks have a fixed length, so neither the number of threads nor an interruption changes a draw.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any, Self

import numpy as np

from shtarkov.progress import Progress
from shtarkov.sampling.checkpoint import Checkpoint
from shtarkov.sampling.runs import Chunk, Run, Snapshot, joined
from shtarkov.settings import n_threads


class InterruptWatch:
    """Turns the first Ctrl-C into a request to stop after this chunk; the second one raises.

    A chunk thrown away half done would be lost, and an exception raised on the way into compiled
    code, where numba reads a generator, ends the process. A watch inside another one hears what was
    requested of that.
    """

    def __init__(self) -> None:
        self._noted = False
        self._previous: Any = None
        self._installed = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._note)
            self._installed = True
        return self

    def __exit__(self, *exception: object) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, self._previous)

    @property
    def _outer(self) -> InterruptWatch | None:
        owner = getattr(self._previous, "__self__", None)
        return owner if isinstance(owner, InterruptWatch) else None

    @property
    def requested(self) -> bool:
        """Say whether Ctrl-C was pressed and nobody has acted on it."""
        return self._noted or (self._outer is not None and self._outer.requested)

    def raise_if_requested(self) -> None:
        """Act on a request: raise, once, what Ctrl-C would have raised."""
        if self.requested:
            watch: InterruptWatch | None = self
            while watch is not None:
                watch._noted, watch = False, watch._outer
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self._noted = True


def collect(
    runs: Sequence[Run],
    n_draws: int,
    n_warmup: int,
    chunk_draws: int,
    *,
    n_jobs: int | None,
    bar: Progress,
    checkpoint: Checkpoint | None,
) -> tuple[list[Chunk], bool]:
    """Warm up, then draw until every run has `n_draws`; give each run's draws.

    The flag says whether Ctrl-C ended the run early. With a checkpoint, chunks already on disk are
    read instead of drawn.
    """
    parts: list[list[Chunk]] = [[] for _ in runs]
    done = _restore(runs, checkpoint, parts)
    n_workers = min(n_threads(n_jobs), len(runs))
    with InterruptWatch() as watch, ThreadPoolExecutor(n_workers) as pool:
        # One worker means the calling thread, which keeps tracebacks and profiles simple.
        each: Callable[..., Iterable[Any]] = map if n_workers == 1 else pool.map
        if done == 0:
            list(each(lambda run: run.warm_up(n_warmup), runs))
        while done < n_draws and not watch.requested:
            size = min(chunk_draws, n_draws - done)
            chunks = list(each(lambda run, size=size: run.advance(size), runs))
            for part, chunk in zip(parts, chunks, strict=True):
                part.append(chunk)
            if checkpoint is not None:
                checkpoint.append(chunks, [run.snapshot() for run in runs])
            done += size
            bar.advance(size * len(runs), accepted=float(np.mean([c.accepted for c in chunks])))
    if done == 0:
        raise KeyboardInterrupt
    return [_truncated(joined(part), n_draws) for part in parts], done < n_draws


def _restore(runs: Sequence[Run], checkpoint: Checkpoint | None, parts: list[list[Chunk]]) -> int:
    if checkpoint is None or checkpoint.n_chunks == 0:
        return 0
    snapshots: list[Snapshot] = []
    for index in range(checkpoint.n_chunks):
        chunks, snapshots = checkpoint.read(index)
        for part, chunk in zip(parts, chunks, strict=True):
            part.append(chunk)
    for run, snapshot in zip(runs, snapshots, strict=True):
        run.restore(snapshot)
    return sum(chunk.trace.shape[0] for chunk in parts[0])


def _truncated(chunk: Chunk, n_draws: int) -> Chunk:
    """Leave out draws beyond those asked for: a finished run may be asked for fewer."""
    extras = {name: array[:n_draws] for name, array in chunk.extras.items()}
    return chunk._replace(
        trace=chunk.trace[:n_draws], accepted=chunk.accepted[:n_draws], extras=extras
    )
