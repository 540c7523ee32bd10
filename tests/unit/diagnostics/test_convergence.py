"""Summaries: agreement with arviz-stats, and states where it would give NaN or infinity."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from shtarkov.diagnostics.convergence import (
    State,
    effective_size,
    mean_error,
    rank_rhat,
    split_rhat,
    summarise,
)
from shtarkov.errors import InvalidProblem


def autoregressive(rng, shape, memory=0.7):
    noise = rng.standard_normal(shape)
    series = np.empty(shape)
    series[:, 0] = noise[:, 0]
    for draw in range(1, shape[1]):
        series[:, draw] = memory * series[:, draw - 1] + np.sqrt(1 - memory**2) * noise[:, draw]
    return series


def test_agrees_with_arviz(rng):
    draws = autoregressive(rng, (4, 500))
    found = summarise(draws)
    assert found.state is State.OK
    assert found.mean == pytest.approx(draws.mean())
    assert found.mcse == pytest.approx(float(array_stats.mcse(draws, method="mean")))
    assert found.ess_bulk == pytest.approx(float(array_stats.ess(draws, method="bulk")))
    assert found.rank_rhat == pytest.approx(float(array_stats.rhat(draws, method="rank")))
    assert split_rhat(draws) == pytest.approx(float(array_stats.rhat(draws, method="split")))


def test_error_of_the_mean_is_calibrated(rng):
    z = [
        chunk.mean() / mean_error(chunk)
        for chunk in autoregressive(rng, (4 * 300, 400)).reshape(300, 4, 400)
    ]
    assert 0.9 <= np.mean(np.abs(z) < 2) <= 0.99


def test_scale_and_offset_do_not_matter(rng):
    draws = autoregressive(rng, (4, 200))
    for scale in (1e-20, 1e20):
        assert effective_size(draws * scale) == pytest.approx(effective_size(draws))
        assert mean_error(draws * scale) == pytest.approx(mean_error(draws) * scale)


def test_constant():
    found = summarise(np.full((4, 50), 3.0))
    assert found == (3.0, 0.0, None, None, None, State.CONSTANT)


@pytest.mark.parametrize("n_draws", [50, 51])
def test_stuck(n_draws):
    draws = np.repeat([[1.0], [2.0], [2.0], [3.0]], n_draws, axis=1)
    found = summarise(draws)
    assert found.state is State.STUCK
    assert found.mcse == pytest.approx(np.std([1, 2, 2, 3], ddof=1) / 2)
    assert found.ess_bulk is None
    assert found.ess_tail is None
    assert found.rank_rhat is None
    assert rank_rhat(draws) is None


def test_one_jump_between_the_halves_is_stuck():
    assert summarise(np.r_[np.zeros(20), np.ones(20)][None]).mcse is None


def test_discrete_draws_never_give_nan(rng):
    for draws in (
        rng.integers(0, 2, (4, 100)),
        rng.integers(0, 2, (2, 4)),
        (rng.random((4, 100)) < 0.01) * 1.0,
        np.vstack([np.tile([-1.0, 1.0], 50), np.zeros(100)]),
        np.tile([-1.0, 1.0], (4, 50)),
    ):
        found = summarise(draws)
        for value in found[:5]:
            assert value is None or np.isfinite(value)


def test_one_chain_is_compared_with_itself(rng):
    drifting = np.linspace(0, 5, 200)[None] + rng.standard_normal((1, 200))
    assert summarise(drifting).rank_rhat > 1.2
    assert summarise(rng.standard_normal((1, 200))).rank_rhat < 1.05


@pytest.mark.parametrize("draws", [np.zeros((4, 3)), np.zeros((2, 4, 5)), np.full((2, 9), np.nan)])
def test_unusable_draws(draws):
    with pytest.raises(InvalidProblem):
        summarise(draws)
