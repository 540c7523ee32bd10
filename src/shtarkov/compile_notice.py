"""Tell the user, once, when kernels are compiled for the first time: where the wait comes from.

A process that finds the kernels in numba's cache on disk says nothing.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event as numba_event
from numba.core.event import Event, Listener

logger = logging.getLogger(__name__)

# One small function that misses the cache is not worth a line.
NOTICE_AFTER_SECONDS = 1.0
_EVENT_KIND = "numba:compile"
_events: Any = numba_event  # its functions are untyped


class CompileWatch(Listener):
    """Counts what numba compiles and announces it once it is felt.

    Attributes
    ----------
    n_compiled : functions compiled so far, those called by others included
    seconds : wall time spent compiling
    folder : where numba keeps the last one's machine code, None if nowhere
    announced : whether the user has been told
    """

    def __init__(self) -> None:
        self.n_compiled = 0
        self.seconds = 0.0
        self.folder: str | None = None
        self.announced = False
        self._depth = 0
        self._since = 0.0

    def on_start(self, event: Event) -> None:
        """Start the clock at the outermost function; those it calls are compiled inside it."""
        if self._depth == 0:
            self._since = time.monotonic()
        self._depth += 1
        felt = self.seconds + time.monotonic() - self._since >= NOTICE_AFTER_SECONDS
        if felt and not self.announced:
            self.announced = True
            _tell("compiling its kernels; later runs load them from disk")

    def on_end(self, event: Event) -> None:
        """Count the function, and stop the clock at the outermost one."""
        self._depth -= 1
        self.n_compiled += 1
        self.folder = event.data["dispatcher"].stats.cache_path
        if self._depth == 0:
            self.seconds += time.monotonic() - self._since

    def summary(self) -> str:
        """Say how long it took, and where the result is kept."""
        text = f"compiled {self.n_compiled} functions in {self.seconds:.1f} s"
        if self.folder is None:
            return f"{text}; set NUMBA_CACHE_DIR to a writable folder to keep them"
        return f"{text}, kept in {self.folder}"


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"shtarkov: {text}\n")
        sys.stderr.flush()
    else:
        logger.info(text)


@contextmanager
def compile_notice() -> Iterator[CompileWatch]:
    """Watch what is compiled in the block, and say so if it takes long."""
    watch = CompileWatch()
    _events.register(_EVENT_KIND, watch)
    try:
        yield watch
    finally:
        _events.unregister(_EVENT_KIND, watch)
        if watch.announced:
            _tell(watch.summary())
