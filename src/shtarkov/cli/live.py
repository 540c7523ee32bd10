"""What a person at a terminal sees while a command runs, and what Ctrl-C leaves."""

from __future__ import annotations

import sys
import threading
from typing import Any


class LiveStatus:
    """A line on standard error with the best codelength so far; silent unless it is a terminal.

    Attributes
    ----------
    known : the numbers reported last, by name
    """

    def __init__(self, heading: str) -> None:
        self.known: dict[str, float] = {}
        self._heading, self._lock = heading, threading.Lock()
        self._status: Any = None

    def start(self, total: int, description: str) -> None:
        """Show the line, or change its text."""
        if not sys.stderr.isatty():
            return
        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status(self.text())
            self._status.start()

    def advance(self, n: int, **numbers: float) -> None:
        """Take note of new numbers."""
        with self._lock:
            self.known.update(numbers)
            if self._status is not None:
                self._status.update(self.text())

    def finish(self) -> None:
        """Take the line down."""
        if self._status is not None:
            self._status.stop()
        self._status = None

    def text(self) -> str:
        """Say what is going on, with the best so far and its error."""
        if "nats" not in self.known:
            return f"{self._heading} … (Ctrl-C stops)"
        best = f"{self.known['nats']:.2f} ± {self.known.get('error', 0.0):.2f} nats"
        return f"{self._heading}: best so far {best} … (Ctrl-C stops with what is known)"
