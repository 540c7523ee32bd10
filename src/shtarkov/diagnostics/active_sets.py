"""Do chains agree on which coefficients are active? Distances between supports, and memory.

A chain can have a good R-hat in the size of the active set and still sit on another support: these
compare the supports themselves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft

from shtarkov.errors import InvalidProblem
from shtarkov.types import Floats


def jaccard_distance(first: ArrayLike, second: ArrayLike) -> Floats:
    """Give 1 - |both| / |either| along the last axis of two boolean arrays; 0 if both are empty."""
    one, other = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    both = np.count_nonzero(one & other, axis=-1)
    either = np.count_nonzero(one | other, axis=-1)
    return np.asarray(np.where(either > 0, 1.0 - both / np.maximum(either, 1), 0.0))


def jaccard_between_chains(active: ArrayLike) -> Floats:
    """Give the mean Jaccard distance between the active sets of each pair of chains.

    Parameters
    ----------
    active : (chain, draw, D) booleans

    Returns
    -------
    (chain, chain) matrix. Off the diagonal: draws of one chain against draws of the other at the
    same time. On it: draws half a run apart in one chain, the distance to expect of chains that
    agree. Chains agree where the entries off the diagonal are no larger than those on it.
    """
    supports = _supports(active)
    n_chains, n_draws, _ = supports.shape
    half = n_draws // 2
    distance = np.zeros((n_chains, n_chains))
    for i in range(n_chains):
        distance[i, i] = jaccard_distance(supports[i, :half], supports[i, -half:]).mean()
        for j in range(i):
            distance[i, j] = distance[j, i] = jaccard_distance(supports[i], supports[j]).mean()
    return distance


def selection_probabilities(active: ArrayLike) -> Floats:
    """Give the share of draws in which each coefficient is active, per chain: (chain, D)."""
    return np.asarray(_supports(active).mean(axis=1))


def selection_distance(active: ArrayLike) -> Floats:
    """Give the total variation between the chains' marginal selection probabilities.

    Each coefficient's indicator is a coin, for which the total variation between two chains is
    |p - p'|; the entry for a pair of chains is the largest over coefficients, so that one
    coefficient on which they disagree is not averaged away.
    """
    share = selection_probabilities(active)
    if share.shape[1] == 0:
        return np.zeros((share.shape[0], share.shape[0]))
    return np.asarray(np.stack([np.abs(share - own).max(axis=1) for own in share]))


def autocorrelation(draws: ArrayLike, n_lags: int | None = None) -> Floats:
    """Give each chain's autocorrelation at lags 0, 1, ..., along the last axis.

    A chain that never moved repeats itself: its autocorrelation is 1 at every lag.
    """
    chains = np.asarray(draws, dtype=np.float64)
    n_draws = chains.shape[-1]
    keep = n_draws if n_lags is None else min(n_lags + 1, n_draws)
    centred = chains - chains.mean(axis=-1, keepdims=True)
    size = fft.next_fast_len(2 * n_draws, real=True)
    power = np.abs(fft.rfft(centred, n=size, axis=-1)) ** 2
    covariance = fft.irfft(power, n=size, axis=-1)[..., :keep]
    frozen = np.ptp(chains, axis=-1, keepdims=True) == 0.0
    variance = np.where(frozen, 1.0, covariance[..., :1])
    return np.asarray(np.where(frozen, 1.0, covariance / variance))


def _supports(active: ArrayLike) -> np.ndarray[tuple[int, int, int], np.dtype[np.bool_]]:
    supports = np.asarray(active, dtype=bool)
    if supports.ndim != 3 or supports.shape[1] < 2:
        msg = f"active must be (chain, draw, D) with at least 2 draws, got {supports.shape}"
        raise InvalidProblem(msg)
    return supports
