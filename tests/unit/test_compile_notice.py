"""The one line that says where the wait of a first use comes from."""

import io
import logging

import numba
import pytest

from shtarkov import compile_notice as module
from shtarkov.compile_notice import compile_notice

pytestmark = pytest.mark.needs_jit


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def compile_something() -> None:
    numba.njit(lambda x: x + 1)(1)


def test_terminal_is_told_once_with_the_time(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(module, "NOTICE_AFTER_SECONDS", 0.0)
    with compile_notice() as watch:
        compile_something()
        compile_something()
    lines = terminal.getvalue().splitlines()
    assert lines[0] == "shtarkov: compiling its kernels; later runs load them from disk"
    assert len(lines) == 2
    assert lines[1].startswith("shtarkov: compiled 2 functions in ")
    assert watch.n_compiled == 2
    assert watch.seconds > 0.0


def test_elsewhere_it_goes_to_the_log(monkeypatch, caplog):
    monkeypatch.setattr(module, "NOTICE_AFTER_SECONDS", 0.0)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with caplog.at_level(logging.INFO, logger="shtarkov"), compile_notice():
        compile_something()
    assert len(caplog.messages) == 2


def test_a_short_compilation_and_a_finished_block_say_nothing(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with compile_notice() as watch:
        compile_something()
    compile_something()
    assert terminal.getvalue() == ""
    assert watch.n_compiled == 1
