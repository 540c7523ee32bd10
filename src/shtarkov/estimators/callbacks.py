"""Progress through scikit-learn's callbacks where it has them (1.9), or a bar of our own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["CallbackProgress", "CallbackSupportMixin", "fit_progress"]

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""


class CallbackProgress:
    """Reports every chunk of work as a finished subtask of the estimator's fit."""

    def __init__(self, estimator: Any, context: Any) -> None:
        self._estimator, self._context = estimator, context
        self._lock = threading.Lock()
        self._description = ""

    def start(self, total: int, description: str) -> None:
        """Name the work that follows."""
        self._description = description

    def advance(self, n: int, **numbers: float) -> None:
        """Call the hooks for one chunk; the numbers reach them as metadata."""
        with self._lock:
            chunk = self._context.subcontext(task_name=self._description)
            chunk.call_on_fit_task_begin(estimator=self._estimator, metadata=numbers)
            chunk.call_on_fit_task_end(estimator=self._estimator, metadata=numbers)

    def finish(self) -> None:
        """Leave the end of the fit to the estimator."""


@contextmanager
def fit_progress(estimator: Any, X: Any, y: Any) -> Iterator[Any]:
    """Give the `progress` argument of one fit, inside the root task of the callbacks."""
    if not getattr(estimator, "_skl_callbacks", None):
        yield bool(estimator.verbose)
        return
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    yield CallbackProgress(estimator, context)
    context.call_on_fit_task_end(estimator=estimator, X=X, y=y)
