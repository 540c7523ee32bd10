"""The errors a user can meet, and the one place where a kernel's `Status` becomes one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shtarkov.types import Status

if TYPE_CHECKING:
    from shtarkov.sampling_warning import SamplingWarning as SamplingWarning


class ShtarkovError(Exception):
    """Base class of the library's errors."""


class InvalidProblem(ShtarkovError, ValueError):
    """The data, the design or an option cannot be used; the message says what to change."""


class NotConverged(ShtarkovError, RuntimeError):
    """A solver or a chain did not reach its stated accuracy."""


class SingularGram(ShtarkovError, ArithmeticError):
    """The Gram matrix of the active columns is numerically singular."""


class ChainStuck(ShtarkovError, RuntimeError):
    """A chain did not move: its averages mean nothing."""


class NotStored(ShtarkovError, OSError):
    """A file could not be written; what stood there before is untouched."""


class RegionRequired(InvalidProblem):
    """The integral is infinite without a region of integration or a luckiness weight."""


_ADVICE: dict[Status, tuple[type[ShtarkovError], str]] = {
    Status.NOT_CONVERGED: (
        NotConverged,
        "the solver used up its iterations; give the columns of X one scale, or raise the penalty",
    ),
    Status.SINGULAR_GRAM: (
        SingularGram,
        "the active columns are numerically dependent; use solver='qr', or drop duplicated columns",
    ),
    Status.LEFT_CELL: (ShtarkovError, "the point left its cell; use a smaller step"),
    Status.IRREVERSIBLE: (ShtarkovError, "the move has no reverse move; use a smaller step"),
    Status.CAPACITY: (
        ShtarkovError,
        "more coefficients are active than the solver has room for; raise its capacity",
    ),
    Status.NOT_FINITE: (
        InvalidProblem,
        "a value is not finite; look for NaN, infinity or extreme scales in X and y",
    ),
}


def __getattr__(name: str) -> Any:
    """Import `SamplingWarning` when it is asked for: its base class needs scikit-learn."""
    if name == "SamplingWarning":
        from shtarkov.sampling_warning import SamplingWarning

        return SamplingWarning
    msg = f"module 'shtarkov.errors' has no attribute {name!r}"
    raise AttributeError(msg)


def raise_for_status(status: int, context: str) -> None:
    """Raise the error that belongs to `status`, naming what was being done and what to change."""
    code = Status(status)
    if code is Status.OK:
        return
    error, advice = _ADVICE[code]
    msg = f"{context}: {advice} (status {code.name})"
    raise error(msg)
