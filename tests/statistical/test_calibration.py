"""Over many seeds, the spread of ln C is what its stated standard error says."""

import numpy as np
import pytest

from shtarkov import GroupLasso, Lasso
from shtarkov.complexity import closed_form
from shtarkov.complexity.enumeration import enumerate_strata
from shtarkov.complexity.path import penalty_path


def correlated_design():
    rng = np.random.default_rng(2)
    shared = rng.standard_normal((10, 1))
    return (rng.standard_normal((10, 6)) + 0.7 * shared) / np.sqrt(10.0)


def scores(problem, lams, exact, n_seeds):
    z = np.zeros((n_seeds, len(lams)))
    for seed in range(n_seeds):
        path = penalty_path(
            problem, lams, sigma=1.0, std_error=0.05, n_chains=4, n_jobs=None, seed=seed,
            progress=False, max_draws=200_000,
        )  # fmt: skip
        z[seed] = (path.ln_c - exact) / path.std_error
    return z


def orthonormal(n_seeds):
    lams = [0.7, 1.5]
    exact = [closed_form.lasso_ln_c(np.ones(20), lam) for lam in lams]
    return scores(Lasso(np.eye(20)), lams, exact, n_seeds)


def correlated(n_seeds):
    lams, X = [0.4, 0.9], correlated_design()
    exact = [enumerate_strata(X, lam, 1.0).ln_c(lam)[0] for lam in lams]
    return scores(Lasso(X), lams, exact, n_seeds)


def grouped(n_seeds):
    lams, problem = [0.6, 1.2], GroupLasso(np.eye(12), np.arange(12) // 4)
    groups = (np.ones(3), np.full(3, 4))
    exact = [closed_form.group_lasso_ln_c(*groups, lam, weights=problem.weights) for lam in lams]
    return scores(problem, lams, exact, n_seeds)


@pytest.mark.slow
@pytest.mark.parametrize("make", [orthonormal, correlated, grouped])
def test_two_standard_errors_hold_nineteen_times_in_twenty(make):
    z = make(200)
    share = (np.abs(z) < 2.0).mean(axis=0)
    assert np.all((share >= 0.90) & (share <= 0.99)), share
    assert np.abs(z.mean(axis=0)).max() < 0.35, z.mean(axis=0)


@pytest.mark.parametrize("make", [orthonormal, correlated, grouped])
def test_a_few_seeds(make):
    z = make(24)
    # The mean square of 24 standard normals exceeds 2.1 once in a thousand times.
    assert np.all((z**2).mean(axis=0) < 2.1)
    assert np.abs(z).max() < 4.0
