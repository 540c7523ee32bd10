"""Addressed randomness: every chain's stream is named by (seed, lam_index, chain_index)."""

from __future__ import annotations

import numpy as np

from shtarkov.errors import InvalidProblem


def resolve_seed(seed: int | np.random.SeedSequence | None) -> int:
    """Return an integer seed; `None` draws entropy once, to be recorded with the result."""
    if seed is None:
        return int(np.random.SeedSequence().generate_state(2, np.uint64)[0] >> np.uint64(1))
    if isinstance(seed, np.random.SeedSequence):
        return int(seed.generate_state(1, np.uint64)[0] >> np.uint64(1))
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        msg = f"seed must be a non-negative integer, a SeedSequence or None; got {seed!r}"
        raise InvalidProblem(msg)
    return int(seed)


def rng_for(seed: int, lam_index: int, chain_index: int) -> np.random.Generator:
    """Give the generator of one chain: the same whatever else runs, and in whatever order."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(lam_index, chain_index)))
