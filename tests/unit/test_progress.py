"""Progress observers: who is told, when, and that the end always comes."""

import io
import threading

import pytest
from rich.console import Console

from shtarkov.errors import InvalidProblem
from shtarkov.progress import RichProgress, SilentProgress, resolve_progress, tracked


class Recorder:
    def __init__(self):
        self.calls = []

    def start(self, total, description):
        self.calls.append(("start", total, description))

    def advance(self, n, **numbers):
        self.calls.append(("advance", n, numbers))

    def finish(self):
        self.calls.append(("finish",))


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=100)


def test_a_long_run_on_a_terminal_draws_a_bar_with_the_numbers():
    console = terminal()
    progress = RichProgress(delay=0.0, console=console)
    with tracked(progress, 10, "sampling"):
        progress.advance(5, std_error=0.125)
        progress.advance(5, std_error=0.0625)
    drawn = console.file.getvalue()
    assert "sampling" in drawn
    assert "std_error 0.0625" in drawn
    assert "100%" in drawn


def test_a_short_run_draws_nothing():
    console = terminal()
    progress = RichProgress(delay=60.0, console=console)
    with tracked(progress, 10, "sampling"):
        progress.advance(10)
    assert console.file.getvalue() == ""


def test_a_file_gets_no_bar():
    console = Console(file=io.StringIO(), force_terminal=False, force_jupyter=False)
    progress = RichProgress(delay=0.0, console=console)
    with tracked(progress, 10, "sampling"):
        progress.advance(10)
    assert console.file.getvalue() == ""


def test_threads_may_report_at_once():
    progress = RichProgress(delay=0.0, console=terminal())
    with tracked(progress, 400, "sampling"):
        threads = [
            threading.Thread(target=lambda: [progress.advance(1) for _ in range(100)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert progress._done == 400


def test_tracked_finishes_after_an_error():
    recorder = Recorder()

    def interrupted():
        with tracked(recorder, 3, "sampling"):
            recorder.advance(1, k=2.0)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert recorder.calls == [("start", 3, "sampling"), ("advance", 1, {"k": 2.0}), ("finish",)]


def test_finish_is_safe_twice_and_without_a_start():
    progress = RichProgress()
    progress.finish()
    progress.finish()


def test_resolve_progress(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert isinstance(resolve_progress(None), SilentProgress)
    assert isinstance(resolve_progress(False), SilentProgress)
    assert isinstance(resolve_progress(True), RichProgress)
    recorder = Recorder()
    assert resolve_progress(recorder) is recorder
    with tracked(resolve_progress(False), 1, "nothing") as progress:
        progress.advance(1, error=0.1)
    with pytest.raises(InvalidProblem, match="progress must be"):
        resolve_progress("yes")
