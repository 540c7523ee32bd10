"""Free-energy estimators on Gaussians of different scales: known ln Z, honest errors."""

import numpy as np
import pytest

from shtarkov.complexity.bridge import bar, bar_ladder
from shtarkov.complexity.mbar import block_labels, mbar
from shtarkov.errors import InvalidProblem, NotConverged

SCALES = np.array([1.0, 1.4, 2.0, 2.8])
DIMENSION = 5
TRUTH = DIMENSION * np.log(SCALES)


def chains(rng, n_chains=4, n_draws=200, memory=0.6):
    """Autoregressive draws of each state: (state, chain, draw, dimension)."""
    shape = (SCALES.size, n_chains, n_draws, DIMENSION)
    noise = rng.standard_normal(shape)
    for draw in range(1, n_draws):
        noise[:, :, draw] *= np.sqrt(1 - memory**2)
        noise[:, :, draw] += memory * noise[:, :, draw - 1]
    return noise * SCALES[:, None, None, None]


def energies(draws):
    """Energy of draws (state, chain, draw) in every state: (K, state, chain, draw)."""
    return np.array([(draws**2).sum(axis=-1) / (2 * scale**2) for scale in SCALES])


def works(energy):
    pairs = range(SCALES.size - 1)
    forward = [energy[s + 1, s] - energy[s, s] for s in pairs]
    reverse = [energy[s, s + 1] - energy[s + 1, s + 1] for s in pairs]
    return forward, reverse


def n_per_state(energy):
    return np.full(SCALES.size, energy[0, 0].size)


def test_ladder_and_mbar_reach_the_truth(rng):
    energy = energies(chains(rng, n_draws=2000))
    ladder = bar_ladder(*works(energy))
    labels = block_labels(SCALES.size, 4, 2000, 10)
    together = mbar(energy.reshape(SCALES.size, -1), n_per_state(energy), labels)
    for found in (ladder, together):
        assert found.ln_ratio[0] == 0.0
        assert np.all(np.abs(found.ln_ratio - TRUTH)[1:] < 4 * found.std_error[1:])
        assert np.all(found.std_error[1:] < 0.12)


def test_errors_are_calibrated_for_autocorrelated_draws(rng):
    labels = block_labels(SCALES.size, 4, 200, 5)
    z = {"ladder": [], "coupled": [], "mbar": [], "difference": []}
    for _ in range(150):
        energy = energies(chains(rng))
        ladder = bar_ladder(*works(energy))
        coupled = bar_ladder(*works(energy), coupled=True)
        together = mbar(energy.reshape(SCALES.size, -1), n_per_state(energy), labels)
        for name, found in (("ladder", ladder), ("coupled", coupled), ("mbar", together)):
            z[name].append((found.ln_ratio - TRUTH)[-1] / found.std_error[-1])
        contrast = np.array([0.0, -1.0, 0.0, 1.0])
        error = np.sqrt(contrast @ ladder.covariance @ contrast)
        z["difference"].append(contrast @ (ladder.ln_ratio - TRUTH) / error)
    for name, values in z.items():
        share = np.mean(np.abs(values) < 2)
        assert 0.89 <= share <= 0.99, (name, share)
        assert abs(np.mean(values)) < 0.35, name


def test_coupled_states_are_counted_as_such(rng):
    # One set of draws, rescaled: all states depend on each other completely.
    z_separate, z_coupled, z_mbar = [], [], []
    labels = block_labels(SCALES.size, 4, 100, 5)
    for _ in range(100):
        draws = rng.standard_normal((4, 100, DIMENSION)) * SCALES[:, None, None, None]
        energy = energies(draws)
        error = bar_ladder(*works(energy))
        z_separate.append((error.ln_ratio - TRUTH)[-1] / error.std_error[-1])
        error = bar_ladder(*works(energy), coupled=True)
        z_coupled.append((error.ln_ratio - TRUTH)[-1] / error.std_error[-1])
        found = mbar(energy.reshape(SCALES.size, -1), n_per_state(energy), labels)
        z_mbar.append((found.ln_ratio - TRUTH)[-1] / found.std_error[-1])
    assert 0.75 < np.std(z_coupled) < 1.35
    assert 0.75 < np.std(z_mbar) < 1.45
    assert not 0.75 < np.std(z_separate) < 1.35


def test_two_states_of_mbar_are_bar(rng):
    energy = energies(chains(rng, memory=0.0))[:2, :2]
    pair = bar(
        energy[1, 0] - energy[0, 0], energy[0, 1] - energy[1, 1], size_forward=1, size_reverse=1
    )
    together = mbar(energy.reshape(2, -1), [energy[0, 0].size] * 2)
    assert together.ln_ratio[1] == pytest.approx(pair.ln_ratio, abs=1e-9)
    assert together.std_error[1] == pytest.approx(pair.std_error, rel=0.15)


def test_influence_is_the_derivative_of_the_answer(rng):
    energy = energies(chains(rng, n_draws=50))
    flat, counts = energy.reshape(SCALES.size, -1), n_per_state(energy)
    found = mbar(flat, counts)
    # Leave out one draw of state 1 and compare with the linear prediction.
    drop = counts[0] + 3
    fewer = counts.copy()
    fewer[1] -= 1
    without = mbar(np.delete(flat, drop, axis=1), fewer)
    assert without.ln_ratio - found.ln_ratio == pytest.approx(-found.influence[:, drop], abs=3e-4)


def test_states_without_draws_are_reweighted(rng):
    energy = energies(chains(rng, n_draws=2000))
    kept = energy[:, [0, 1, 3]].reshape(SCALES.size, -1)
    counts = n_per_state(energy)
    counts[2] = 0
    found = mbar(kept, counts, block_labels(3, 4, 2000, 10))
    assert np.all(np.abs(found.ln_ratio - TRUTH)[1:] < 4 * found.std_error[1:])


def test_identical_states():
    zero = np.zeros((2, 50))
    pair = bar(zero, zero)
    assert pair.ln_ratio == 0.0
    assert pair.std_error == 0.0
    assert pair.overlap == pytest.approx(1.0)


def test_large_offsets_and_forbidden_draws(rng):
    energy = energies(chains(rng))
    forward, reverse = energy[1, 0] - energy[0, 0], energy[0, 1] - energy[1, 1]
    base = bar(forward, reverse)
    moved = bar(forward + 1e4, reverse - 1e4)
    assert moved.ln_ratio == pytest.approx(base.ln_ratio - 1e4)
    assert moved.std_error == pytest.approx(base.std_error, rel=1e-6)
    # State 1 restricted to a set that state 0 leaves half of the time: infinite energy outside.
    inside = rng.random((4, 500)) < 0.5
    half = bar(np.where(inside, 0.0, np.inf), np.zeros((4, 500)))
    assert abs(half.ln_ratio - np.log(0.5)) < 4 * half.std_error


def test_unequal_sizes(rng):
    big, small = rng.standard_normal((4, 3000)), 2 * rng.standard_normal((4, 100))
    pair = bar(big**2 * (1 / 8 - 1 / 2), small**2 * (1 / 2 - 1 / 8))
    assert abs(pair.ln_ratio - np.log(2)) < 4 * pair.std_error


def test_distant_states_have_no_overlap(rng):
    draws = rng.standard_normal((2, 100))
    apart = 30.0
    work = 0.5 * (draws - apart) ** 2 - 0.5 * draws**2
    assert bar(work, work).overlap < 1e-3


def test_states_too_distant_for_double_precision_are_refused(rng):
    work = 800.0 + rng.standard_normal((2, 50))
    with pytest.raises(NotConverged, match="do not overlap"):
        bar(work, work)


@pytest.mark.parametrize("bad", [np.full((2, 9), np.nan), np.zeros((0, 4)), np.zeros((1, 2, 3))])
def test_bad_work(bad):
    with pytest.raises(InvalidProblem, match="work_forward"):
        bar(bad, np.zeros((2, 9)))


def test_bad_ladder_and_mbar():
    with pytest.raises(InvalidProblem, match="K - 1"):
        bar_ladder([np.zeros((2, 9))], [])
    with pytest.raises(InvalidProblem, match="n_total"):
        mbar(np.zeros((2, 9)), [4, 4])
    with pytest.raises(InvalidProblem, match="NaN"):
        mbar(np.full((2, 8), np.nan), [4, 4])
