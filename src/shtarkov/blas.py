"""One BLAS thread while chains run: they have threads of their own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

_lock = threading.Lock()
_users: list[Any] = []  # the first holds the limits, the others stand for calls at the same time


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread until the last of the calls that asked for it has ended.

    The limit is the process's own. Were each call to put back what it found, one of two threads
    would take the limit from the other, and the last would leave it behind for good.
    """
    with _lock:
        _users.append(None if _users else threadpool_limits(1))
    try:
        yield
    finally:
        with _lock:
            limits = _users[0]
            _users.pop()
            if not _users:
                limits.restore_original_limits()
