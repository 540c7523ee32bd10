"""Progress as an observer: the compute code calls three methods and does not know who listens."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

from shtarkov.errors import InvalidProblem

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichBar
    from rich.progress import TaskID

# A bar that flashes up for a short run says nothing; two seconds is when people start to wonder.
SHOW_AFTER_SECONDS = 2.0
# Between two lines of a log.
LINE_EVERY_SECONDS = 20.0
# The length of one `Meter`, whatever it counts.
METER_UNITS = 1000


class Progress(Protocol):
    """What a long computation reports between chunks of compiled work, possibly from threads."""

    def start(self, total: int, description: str) -> None:
        """Begin a run of `total` units of work."""

    def advance(self, n: int, **numbers: float) -> None:
        """Report `n` more units done, with named numbers worth showing (a standard error)."""

    def finish(self) -> None:
        """End the run, also after an error or Ctrl-C."""


class SilentProgress:
    """Reports to nobody."""

    def start(self, total: int, description: str) -> None:
        """Ignore the start."""

    def advance(self, n: int, **numbers: float) -> None:
        """Ignore the advance."""

    def finish(self) -> None:
        """Ignore the end."""


class InnerProgress:
    """Passes the advance on to a run that was started, and will be finished, by a caller."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def start(self, total: int, description: str) -> None:
        """Ignore the start."""

    def advance(self, n: int, **numbers: float) -> None:
        """Pass it on."""
        self._progress.advance(n, **numbers)

    def finish(self) -> None:
        """Ignore the end."""


class Meter(InnerProgress):
    """Reports a run whose length is only estimated, as it goes, in `METER_UNITS` steps.

    `plan` revises what is left; the bar behind the meter waits rather than go back.
    """

    def __init__(self, progress: Progress) -> None:
        super().__init__(progress)
        self._done = self._planned = self._told = 0
        self._numbers: dict[str, float] = {}
        self._lock = threading.Lock()

    def plan(self, n_left: int, **numbers: float) -> None:
        """Say how much is left, and the numbers worth showing until the next plan."""
        with self._lock:
            self._planned, self._numbers = self._done + n_left, numbers

    def advance(self, n: int, **numbers: float) -> None:
        """Count `n` more units of the plan."""
        with self._lock:
            self._done += n
            share = min(self._done / max(self._planned, 1), 1.0)
            steps = int(METER_UNITS * share) - self._told
            if steps > 0:
                self._told += steps
                self._progress.advance(steps, **self._numbers, **numbers)


class RichProgress:
    """A bar on standard error, only on a terminal and only if the run lasts longer than `delay`."""

    def __init__(self, delay: float = SHOW_AFTER_SECONDS, console: Console | None = None) -> None:
        self._delay = delay
        self._console = console
        self._lock = threading.Lock()
        self._bar: RichBar | None = None
        self._task: TaskID | None = None
        self._total = self._done = 0
        self._description = ""
        self._started_at = 0.0

    def start(self, total: int, description: str) -> None:
        """Remember when the run began; nothing is drawn yet."""
        with self._lock:
            self._total, self._done, self._description = total, 0, description
            self._started_at = time.monotonic()

    def advance(self, n: int, **numbers: float) -> None:
        """Count, and draw the bar once the run has lasted long enough."""
        with self._lock:
            self._done += n
            if self._bar is None and time.monotonic() - self._started_at >= self._delay:
                self._open()
            if self._bar is not None and self._task is not None:
                shown = "  ".join(f"{name} {value:.3g}" for name, value in numbers.items())
                self._bar.update(self._task, completed=self._done, numbers=shown)

    def finish(self) -> None:
        """Take the bar down; safe to call twice, or without a start."""
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
            self._bar = self._task = None

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichBar

        console = self._console or Console(stderr=True)
        if not (console.is_terminal or console.is_jupyter):
            return
        self._bar = RichBar(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[numbers]}"),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task(self._description, total=self._total, numbers="")
        self._bar.start()


class LineProgress:
    """A line of text now and then, for logs: share done and time left."""

    def __init__(self, stream: TextIO, every: float = LINE_EVERY_SECONDS) -> None:
        self._stream, self._every = stream, every
        self._lock = threading.Lock()
        self._total = self._done = 0
        self._description = ""
        self._started_at = self._told_at = 0.0

    def start(self, total: int, description: str) -> None:
        """Remember when the run began."""
        with self._lock:
            self._total, self._done, self._description = total, 0, description
            self._started_at = self._told_at = time.monotonic()

    def advance(self, n: int, **numbers: float) -> None:
        """Count, and say how far the run is if that was not said lately."""
        with self._lock:
            self._done += n
            now = time.monotonic()
            if now - self._told_at < self._every:
                return
            self._told_at = now
            left = (now - self._started_at) * (self._total / max(self._done, 1) - 1.0)
            share = 100.0 * self._done / max(self._total, 1)
            shown = "".join(f", {name} {value:.3g}" for name, value in numbers.items())
            text = f"{self._description}: {share:.0f} %, about {left / 60.0:.1f} min left{shown}\n"
            self._stream.write(text)
            self._stream.flush()

    def finish(self) -> None:
        """Say nothing more."""


def resolve_progress(progress: bool | Progress | None) -> Progress:
    """Turn the public argument into an observer.

    None: a bar if standard error is a terminal and the run is long; True: a bar from the start (on
    a terminal or in a notebook); False: silence; an object with start, advance, finish: itself.
    """
    if progress is None:
        return RichProgress() if sys.stderr.isatty() else SilentProgress()
    if progress is True:
        return RichProgress(delay=0.0)
    if progress is False:
        return SilentProgress()
    if hasattr(progress, "start") and hasattr(progress, "advance") and hasattr(progress, "finish"):
        return progress
    msg = (
        "progress must be None, True, False or an object with start, advance and finish; "
        f"got {progress!r}"
    )
    raise InvalidProblem(msg)


@contextmanager
def tracked(progress: Progress, total: int, description: str) -> Iterator[Progress]:
    """Run a block between `start` and `finish`, whatever happens inside it."""
    progress.start(total, description)
    try:
        yield progress
    finally:
        progress.finish()
