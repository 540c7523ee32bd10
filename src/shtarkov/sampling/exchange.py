"""What replica exchange did: how often neighbours swapped, and how often replicas went round."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shtarkov.types import Floats, Ints


class Exchange(NamedTuple):
    """Swaps and round trips of a run of ``sampler="tempering"``.

    Attributes
    ----------
    swap_rates : (R - 1,) mean probability of a swap between neighbours, where it was tried
    round_trips : (chain,) times a replica went from the first rung to the last and back
    draws_per_round_trip : draws of one chain over its round trips; infinite if there was none
    """

    swap_rates: Floats
    round_trips: Ints
    draws_per_round_trip: float


def count_round_trips(replicas: Any) -> int:
    """Count the returns to the first rung by way of the last, over all replicas.

    Parameters
    ----------
    replicas : (draw, R) which replica is at each rung
    """
    trips = 0
    last = replicas.shape[1] - 1
    for replica in range(replicas.shape[1]):
        at_first = replicas[:, 0] == replica
        at_last = replicas[:, last] == replica
        ends = (at_last.astype(int) - at_first.astype(int))[at_first | at_last]
        turns = ends[np.append(True, ends[1:] != ends[:-1])]  # -1 at the first rung, 1 at the last
        trips += max(int((turns == -1).sum()) - 1, 0)
    return trips


def exchange_of(extras: Any) -> Exchange:
    """Summarise the extras of a tempered run."""
    replicas, swaps = extras["replica"], extras["swap_probability"]
    tried = np.isfinite(swaps)
    total = np.where(tried, swaps, 0.0).sum(axis=(0, 1))
    rates = total / np.maximum(tried.sum(axis=(0, 1)), 1)
    trips = np.array([count_round_trips(chain) for chain in replicas])
    mean = float(trips.mean())
    period = replicas.shape[1] / mean if mean > 0.0 else np.inf
    return Exchange(rates, trips, period)
