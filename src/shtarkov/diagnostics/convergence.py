"""Mean, Monte Carlo error, effective sample size and R-hat of draws, with states instead of NaN.

The numbers are those of Vehtari et al. (2021) as arviz-stats computes them on plain arrays. Around
them stands what a discrete quantity needs: draws that never move within a chain have no effective
sample size, and say so by their state.
"""

from __future__ import annotations

import functools
import importlib
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from shtarkov.errors import InvalidProblem
from shtarkov.types import Floats

_TAIL = (0.05, 0.95)
_MIN_DRAWS = 4


class State(StrEnum):
    """What kind of draws these are."""

    OK = "OK"
    STUCK = "STUCK"  # no chain moved, yet the chains differ
    CONSTANT = "CONSTANT"  # one value everywhere


class Summary(NamedTuple):
    """What the draws of one quantity say.

    Attributes
    ----------
    mean : mean over all draws
    mcse : its Monte Carlo standard error; for stuck chains, from the spread of the chains alone
        (`None` with one chain), and 0 for a constant
    ess_bulk, ess_tail : effective sample sizes; `None` unless the state is OK
    rank_rhat : rank-normalised split R-hat; `None` unless the state is OK
    state : OK, STUCK or CONSTANT
    """

    mean: float
    mcse: float | None
    ess_bulk: float | None
    ess_tail: float | None
    rank_rhat: float | None
    state: State


@functools.cache
def _array_stats() -> Any:
    # Imported at first use: it costs about a second, more than the rest of the package.
    return importlib.import_module("arviz_stats.base").array_stats


def _as_chains(draws: ArrayLike) -> Floats:
    """Return draws as a finite (chain, draw) array."""
    chains = np.atleast_2d(np.asarray(draws, dtype=np.float64))
    if chains.ndim != 2 or chains.shape[1] < _MIN_DRAWS:
        msg = f"draws must be (chain, draw) with at least {_MIN_DRAWS} draws, got {chains.shape}"
        raise InvalidProblem(msg)
    if not np.isfinite(chains).all():
        msg = "draws contain NaN or infinity; look for a failed solve or extreme scales in X"
        raise InvalidProblem(msg)
    return chains


def _split(chains: Floats) -> Floats:
    """Cut each chain in two halves (the middle draw of an odd number is left out)."""
    half = chains.shape[1] // 2
    return np.vstack([chains[:, :half], chains[:, -half:]])


def state_of(draws: ArrayLike) -> State:
    """Say whether the draws moved."""
    chains = _as_chains(draws)
    if np.ptp(chains) == 0.0:
        return State.CONSTANT
    # On half chains, as R-hat is: a single jump between the halves leaves no variance within.
    return State.STUCK if np.all(np.ptp(_split(chains), axis=1) == 0.0) else State.OK


def rank_rhat(draws: ArrayLike) -> float | None:
    """Give the rank-normalised split R-hat with folding; `None` for draws that did not move."""
    chains = _as_chains(draws)
    return None if state_of(chains) is not State.OK else _rhat(chains, "rank")


def split_rhat(draws: ArrayLike) -> float | None:
    """Give the plain split R-hat; `None` for draws that did not move."""
    chains = _as_chains(draws)
    return None if state_of(chains) is not State.OK else _rhat(chains, "split")


def _rhat(chains: Floats, method: str) -> float | None:
    # One chain is compared with itself, half against half.
    pair = _split(chains) if chains.shape[0] == 1 else chains
    if pair.shape[1] < _MIN_DRAWS:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(_array_stats().rhat(pair, method=method))
    return value if np.isfinite(value) else None


def effective_size(draws: ArrayLike) -> float | None:
    """Give the effective sample size for the mean; `None` for draws that did not move."""
    chains = _as_chains(draws)
    if state_of(chains) is not State.OK:
        return None
    return float(_array_stats().ess(_unit_range(chains), method="mean"))


def mean_error(draws: ArrayLike) -> float:
    """Give the Monte Carlo standard error of the mean over all draws.

    Stuck chains: the spread of the chain means (infinite for a single chain, which holds no
    information on its own error). A constant has error 0.
    """
    chains = _as_chains(draws)
    size = effective_size(chains)
    if size is not None:
        return float(np.std(chains, ddof=1) / np.sqrt(size))
    if np.ptp(chains) == 0.0:
        return 0.0
    if chains.shape[0] == 1:
        return float("inf")
    return float(np.std(chains.mean(axis=1), ddof=1) / np.sqrt(chains.shape[0]))


def _unit_range(chains: Floats) -> Floats:
    """Rescale: arviz-stats takes a range below 1e-15 for a constant, whatever the units."""
    return np.asarray((chains - chains.mean()) / np.ptp(chains))


def summarise(draws: ArrayLike) -> Summary:
    """Summarise the (chain, draw) array of one quantity."""
    chains = _as_chains(draws)
    mean, state = float(chains.mean()), state_of(chains)
    error = mean_error(chains)
    if state is not State.OK:
        known = error if np.isfinite(error) else None
        return Summary(mean, known, None, None, None, state)
    stats = _array_stats()
    rhat = _rhat(chains, "rank")
    bulk = float(stats.ess(chains, method="bulk"))
    tail = float(stats.ess(chains, method="tail", prob=_TAIL))
    if rhat is None and chains.shape[0] > 1:
        # Some chains frozen at the centre of the others: no variance within once folded.
        return Summary(mean, error, None, None, None, State.STUCK)
    return Summary(mean, error, bulk, tail, rhat, state)
