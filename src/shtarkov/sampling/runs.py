"""What one chain of any sampler looks like to the loop that collects draws: a `Run`.

A run is advanced by chunks. After each chunk its state is made canonical (solved again from a cold
start at the present data vector), so that a run restored from a snapshot continues bit for bit as
the one that was never stopped.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from shtarkov.errors import InvalidProblem
from shtarkov.types import Floats, Ints

Snapshot = dict[str, Any]  # numpy arrays and, under "rng", the state of the stream


class Chunk(NamedTuple):
    """The draws of one chain between two returns to Python.

    Attributes
    ----------
    trace : (draws, observables) in units of the noise scale
    accepted : (draws,)
    failures : (statuses,) counts of moves by status
    seconds : (draws,) wall time of a draw, averaged over its chunk: compiled code has no clock
    extras : further arrays by name, one row per draw
    """

    trace: Floats
    accepted: Floats
    failures: Ints
    seconds: Floats
    extras: Mapping[str, Any]


class Run(Protocol):
    """One chain of a sampler."""

    def warm_up(self, n_steps: int) -> None:
        """Tune; draws are thrown away."""

    def advance(self, n_draws: int) -> Chunk:
        """Make draws, and leave the state canonical."""

    def snapshot(self) -> Snapshot:
        """Give what `restore` needs."""

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""


def chunk_of(recording: Any, seconds: float, extras: Mapping[str, Any]) -> Chunk:
    """Make a chunk of what a compiled loop recorded in `seconds` of wall time."""
    n_draws = recording.trace.shape[0]
    each = np.full(n_draws, seconds / n_draws)
    return Chunk(recording.trace, recording.acceptance, recording.failures, each, extras)


def joined(chunks: list[Chunk]) -> Chunk:
    """Put the chunks of one chain together."""
    extras = {
        name: np.concatenate([chunk.extras[name] for chunk in chunks]) for name in chunks[0].extras
    }
    return Chunk(
        np.concatenate([chunk.trace for chunk in chunks]),
        np.concatenate([chunk.accepted for chunk in chunks]),
        np.sum([chunk.failures for chunk in chunks], axis=0),
        np.concatenate([chunk.seconds for chunk in chunks]),
        extras,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked of a sampler, in units of the noise scale.

    Attributes
    ----------
    family : the compiled family at its penalty
    weight : tau, the weight of the norm in the target
    solver : name of the geometry
    active, data : also record the active sets, the data vectors
    sigma : the noise scale, to bring options in the user's units to these
    options : the sampler's own
    """

    family: Any
    weight: float
    solver: str
    active: bool
    data: bool
    sigma: float
    options: Mapping[str, Any]


class Plan(NamedTuple):
    """How a request is run.

    Attributes
    ----------
    n_warmup : the default warm-up
    chunk_draws : draws between two returns to Python
    make_run : gives one chain from its stream
    ladder : (R, 2) penalty and weight of each rung in units of the noise scale; None without rungs
    """

    n_warmup: int
    chunk_draws: int
    make_run: Callable[[np.random.Generator], Run]
    ladder: Floats | None = None


def digest(*values: Any) -> str:
    """Name arrays and plain values by their content."""
    total = hashlib.sha256()
    for value in values:
        if isinstance(value, np.ndarray):
            total.update(repr((value.shape, value.dtype.str)).encode())
            total.update(np.ascontiguousarray(value).tobytes())
        else:
            total.update(repr(value).encode())
    return total.hexdigest()[:16]


Options = TypeVar("Options")


def parse_options(kind: type[Options], request: Request, sampler: str) -> Options:
    """Make the sampler's options dataclass, or say which options there are."""
    known = [option.name for option in dataclasses.fields(kind)]  # type: ignore[arg-type]
    unknown = sorted(set(request.options) - set(known))
    if unknown:
        listed = ", ".join(known) or "none"
        msg = f"sampler {sampler!r} has no option {unknown[0]!r}; its options are: {listed}"
        raise InvalidProblem(msg)
    return kind(**request.options)
