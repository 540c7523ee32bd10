"""Distances between supports, and autocorrelation."""

import numpy as np
import pytest

from shtarkov.diagnostics.active_sets import (
    autocorrelation,
    jaccard_between_chains,
    jaccard_distance,
    selection_distance,
    selection_probabilities,
)
from shtarkov.errors import InvalidProblem


def test_jaccard_by_hand():
    assert jaccard_distance([1, 1, 0, 0], [1, 0, 1, 0]) == pytest.approx(2 / 3)
    assert jaccard_distance([0, 0], [0, 0]) == 0.0
    assert jaccard_distance([1, 0], [0, 1]) == 1.0


def test_chains_that_agree_and_chains_that_do_not(rng):
    agree = rng.random((3, 400, 12)) < np.linspace(0.05, 0.9, 12)
    distance = jaccard_between_chains(agree)
    assert distance == pytest.approx(distance.T)
    assert np.ptp(distance) < 0.05
    assert selection_distance(agree).max() < 0.15
    disagree = agree.copy()
    disagree[2] = ~disagree[2]
    distance = jaccard_between_chains(disagree)
    assert distance[0, 2] > distance[0, 0] + 0.2
    assert selection_distance(disagree)[0, 2] > 0.7


def test_selection_probabilities_are_shares():
    active = np.zeros((2, 4, 3))
    active[0, :3, 1] = 1
    assert selection_probabilities(active) == pytest.approx(np.array([[0, 0.75, 0], [0, 0, 0]]))
    assert selection_distance(active) == pytest.approx(np.array([[0, 0.75], [0.75, 0]]))


def test_no_columns():
    assert selection_distance(np.zeros((2, 4, 0))).max() == 0.0
    assert jaccard_between_chains(np.zeros((2, 4, 0))).max() == 0.0


def test_autocorrelation_matches_the_direct_sum(rng):
    draws = np.cumsum(rng.standard_normal((2, 50)), axis=1)
    centred = draws - draws.mean(axis=1, keepdims=True)
    direct = [(centred[:, : 50 - lag] * centred[:, lag:]).sum(axis=1) for lag in range(6)]
    expected = np.array(direct).T / (centred**2).sum(axis=1, keepdims=True)
    assert autocorrelation(draws, 5) == pytest.approx(expected)


def test_a_frozen_chain_repeats_itself():
    assert autocorrelation(np.full((1, 9), 2.0), 4) == pytest.approx(np.ones((1, 5)))


def test_wrong_shape():
    with pytest.raises(InvalidProblem, match="chain, draw, D"):
        jaccard_between_chains(np.zeros((3, 4)))
