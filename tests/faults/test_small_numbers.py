"""Numbers known exactly, on the smallest designs: see `test_small_laws.py`."""

import math

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import norm

import shtarkov
from shtarkov.complexity import closed_form
from shtarkov.complexity.enumeration import enumerate_strata
from shtarkov.complexity.label_enumeration import enumerate_labels
from shtarkov.complexity.path import penalty_path
from shtarkov.complexity.ray_chain import empty_model_ln_i
from shtarkov.complexity.spectrum import stratum_spectrum
from shtarkov.diagnostics.convergence import mean_error
from shtarkov.selection.data_part import make_data_part
from shtarkov.selection.matched import matched_curve

QUIET = {"n_jobs": 1, "progress": False, "max_draws": 2000}


def path_of(lams, std_error=0.15):
    return penalty_path(
        shtarkov.Lasso(np.eye(2)), lams, sigma=1.0, std_error=std_error, n_chains=2, seed=3, **QUIET
    )


def test_ln_c_along_the_penalty():
    lams = [0.8, 1.6]
    path = path_of(lams)
    exact = [closed_form.lasso_ln_c(np.ones(2), lam) for lam in lams]
    assert np.abs((path.ln_c - exact) / path.std_error).max() < 4.0
    assert path.std_error.max() < 0.17


def test_ln_c_of_the_largest_penalties():
    lams = [2.6, 3.0, 4.5]
    exact = [closed_form.lasso_ln_c(np.ones(2), lam) for lam in lams]
    # The first-order term is an upper bound of what it leaves out: a few parts in a hundred.
    np.testing.assert_allclose(path_of(lams, std_error=0.3).ln_c, exact, rtol=0.05)


def test_the_restricted_integral():
    lam, radius = 0.9, 1.7
    inside, edge = 2.0 * norm.cdf(lam) - 1.0, 2.0 * norm.pdf(lam) * radius
    exact = math.log(inside**2 + 2.0 * inside * edge + 0.5 * edge**2)
    spectrum = stratum_spectrum(shtarkov.Lasso(np.eye(2)), lam)
    assert spectrum.ln_c_restricted(radius)[0] == pytest.approx(exact, abs=1e-12)


def test_enumeration_of_an_orthonormal_design():
    lam = 0.9
    inside, edge = 2.0 * norm.cdf(lam) - 1.0, 2.0 * norm.pdf(lam)
    exact = np.array([inside**3, 3.0 * inside**2 * edge, 3.0 * inside * edge**2, edge**3])
    np.testing.assert_allclose(enumerate_strata(np.eye(3), lam).ln_a, np.log(exact), atol=1e-6)


def test_the_matched_code_ends_at_the_empty_one():
    # The empty code is the marginal likelihood of y under d sigma / sigma, exactly.
    rng = np.random.default_rng(4)
    problem, y = shtarkov.Lasso(rng.standard_normal((7, 2))), rng.standard_normal(7)
    data = make_data_part(problem, y, None)
    curve = matched_curve(
        data, np.array([30.0 * data.kappa_max]), std_error=0.05, extend=False, seed=1,
        bar=shtarkov.progress.resolve_progress(False), n_chains=2, n_jobs=1, max_draws=500,
    )  # fmt: skip
    marginal = math.log(0.5) - 3.5 * math.log(2.0 * math.pi) + gammaln(3.5)
    marginal -= 3.5 * math.log(0.5 * y @ y)
    assert curve.codelengths[0] - 0.5 * math.log(7.0) == pytest.approx(-marginal, abs=1e-3)
    assert data.empty_nats() + empty_model_ln_i(7) == pytest.approx(-marginal, abs=1e-9)


def test_ln_c_of_labels():
    problem = shtarkov.SparseSVM(np.random.default_rng(5).standard_normal((4, 2)), "squared_hinge")
    exact = enumerate_labels(problem, 0.7).ln_c
    found = shtarkov.complexity(
        problem, 0.7, method="path", n_chains=1, std_error=0.3, n_jobs=1, seed=2, max_draws=400
    )
    assert abs(found.ln_c - exact) < 4.0 * found.std_error


def test_the_error_of_a_mean_of_dependent_draws():
    rng, means, errors = np.random.default_rng(6), [], []
    for _ in range(60):
        series = np.zeros((2, 400))
        for t in range(1, 400):
            series[:, t] = 0.8 * series[:, t - 1] + rng.standard_normal(2)
        means.append(series.mean())
        errors.append(mean_error(series))
    # The mean square of 60 standard normals is within these bounds but twice in a thousand.
    assert 0.5 < np.mean(np.square(means)) / np.mean(np.square(errors)) < 1.7
