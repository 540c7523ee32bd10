"""The paper's R-hat, and what is made of chains that do not move."""

import math

import numpy as np
import pytest

from shtarkov import SparseSVM, sample
from shtarkov.experiments.label_fits import label_fits
from shtarkov.experiments.measures import (
    classic_rhat,
    clock,
    disagreement,
    is_timed,
    ranked_rhat,
    settled,
    size_per_chain,
    size_within_chains,
)


def test_the_papers_formula(rng):
    draws = rng.standard_normal((4, 500)) + np.array([[0.0], [0.1], [0.2], [1.0]])
    n = draws.shape[1]
    within = draws.var(axis=1, ddof=1).mean()
    between = n * draws.mean(axis=1).var(ddof=1)
    assert classic_rhat(draws) == pytest.approx(np.sqrt((n - 1) / n + between / (n * within)))
    assert classic_rhat(draws) > 1.1


def test_stuck_chains_are_infinite_and_constants_agree():
    stuck = np.repeat([[1.0], [2.0]], 50, axis=1)
    assert classic_rhat(stuck) == math.inf
    assert ranked_rhat(stuck) == math.inf
    assert size_per_chain(stuck) == 1.0
    same = np.ones((3, 50))
    assert classic_rhat(same) == 1.0
    assert ranked_rhat(same) == 1.0


def test_chains_apart_have_a_size_of_their_own(rng):
    draws = rng.standard_normal((3, 400)) + np.array([[0.0], [50.0], [100.0]])
    assert size_per_chain(draws) < 10.0
    assert size_within_chains(draws) > 200.0


def test_supports_that_differ():
    apart = np.zeros((2, 40, 6), bool)
    apart[0, :, :3] = apart[1, :, 3:] = True
    found = disagreement(apart)
    assert found == {"jaccard_between": 1.0, "jaccard_within": 0.0, "total_variation": 1.0}
    assert disagreement(apart[:1])["jaccard_between"] == 0.0


def test_an_infinite_score_counts_as_the_largest_finite_one():
    draws = np.array([[1.0, math.inf], [3.0, -2.0]])
    np.testing.assert_array_equal(settled(draws), [[1.0, 3.0], [3.0, -2.0]])


def test_rounding_is_no_movement():
    draws = np.array([[0.1 + 0.2, 0.3, 0.3, 0.3], [0.5, 0.5, 0.5, 0.5]])
    assert classic_rhat(draws) < math.inf
    assert classic_rhat(settled(draws)) == math.inf


def test_step_times_are_scaled_to_a_machine_without_other_work():
    columns, seconds = clock(np.full((2, 10), 0.004), 0.25)
    assert columns["step_ms"] == pytest.approx(1.0)
    assert columns["step_ms_sd"] == pytest.approx(0.0, abs=1e-12)
    assert seconds == pytest.approx(0.01)


def test_times_are_known_by_their_names():
    names = ("step_ms", "step_ms_sd", "ess_per_second", "ess", "mse")
    assert [is_timed(name) for name in names] == [
        True, True, True, False, False,
    ]  # fmt: skip


@pytest.mark.needs_jit
def test_coefficients_at_recorded_labels_are_those_of_the_chain(rng):
    problem = SparseSVM(rng.standard_normal((12, 4)))
    chains = sample(
        problem, 3.0, sampler="label_flips", n_draws=60, n_warmup=20, n_chains=2, seed=3,
        record=("data",), progress=False,
    )  # fmt: skip
    assert 0 < (chains.k > 0).mean() < 1
    mse, active = label_fits(problem, chains, np.zeros(4), 60)
    np.testing.assert_array_equal(active.sum(axis=2), chains.k)
    # With no true coefficients the error is the mean square, which the l1 norm bounds.
    assert (mse <= chains.norm**2 / 4 + 1e-9).all()
    assert (mse >= chains.norm**2 / 16 - 1e-9).all()
    assert label_fits(problem, chains, np.zeros(4), 30)[1].shape == (2, 30, 4)
