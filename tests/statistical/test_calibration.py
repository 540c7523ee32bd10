"""Over many seeds, the spread of every estimate is what its stated standard error says."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from tests.statistical.coverage_cases import CASES

MANY, FEWER = 200, 60
# Cases of a second or more a seed.
COSTLY = {"nuclear norm, free_weight", "nuclear norm, bridge", "nuclear norm, path"}
# The share of |z| < 2 among 200, and what fewer seeds must show to be as unlikely to fail.
SHARES = (0.90, 0.99)
TWO_ERRORS = 2.0 * norm.cdf(2.0) - 1.0


def bounds(n_seeds):
    if n_seeds == MANY:
        return SHARES
    low, high = binom.interval(0.999, n_seeds, TWO_ERRORS)
    return low / n_seeds, high / n_seeds


def scores(name, n_seeds):
    return np.array([np.ravel(CASES[name](1000 + seed)) for seed in range(n_seeds)])


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_two_standard_errors_hold_nineteen_times_in_twenty(name):
    n_seeds = FEWER if name in COSTLY else MANY
    z = scores(name, n_seeds)
    share = (np.abs(z) < 2.0).mean(axis=0)
    low, high = bounds(n_seeds)
    assert np.all((share >= low) & (share <= high)), share
    # A bias of a third of a standard error is four standard errors of the mean of 200.
    assert np.abs(z.mean(axis=0)).max() < 5.0 / np.sqrt(n_seeds), z.mean(axis=0)


@pytest.mark.parametrize("name", ["lasso orthonormal, path", "lasso, path", "group lasso, path"])
def test_a_few_seeds(name):
    z = scores(name, 24)
    # The mean square of 24 standard normals exceeds 2.1 once in a thousand times.
    assert np.all((z**2).mean(axis=0) < 2.1)
    assert np.abs(z).max() < 4.0
