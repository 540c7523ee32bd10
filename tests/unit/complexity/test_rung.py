"""The best combination of a rung's quantities is not moved by the fit of its coefficients."""

import numpy as np

from shtarkov.complexity.rung import Rung


def estimate(rng, n_chains, n_draws=10):
    """Skewed draws: the target's mean is two, and its control's zero."""
    draws = rng.standard_exponential((n_chains, n_draws))
    rung = Rung(list(draws), expected=2.0)
    rung.refresh(lambda chain: (chain**2, chain[None, :] - 1.0))
    return rung.mean, rung.variance


def test_the_mean_is_not_biased_by_its_control_variates(rng):
    found = np.array([estimate(rng, 4) for _ in range(500)])
    spread = found[:, 0].std()
    assert abs(found[:, 0].mean() - 2.0) < 4.0 * spread / np.sqrt(500)
    # Squares of an exponential have the variance twenty.
    assert spread < 0.7 * np.sqrt(20.0 / 40)
    assert 0.6 < found[:, 1].mean() / spread**2 < 1.4


def test_a_single_chain_has_only_itself_to_fit(rng):
    mean, variance = estimate(rng, 1, n_draws=400)
    assert abs(mean - 2.0) < 5.0 * np.sqrt(variance) + 0.5
