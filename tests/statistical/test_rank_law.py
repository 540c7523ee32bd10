"""Samplers of the nuclear norm against the exact law of the rank; a wrong ratio is caught."""

import numpy as np
import pytest

from shtarkov import NuclearNorm, sample
from shtarkov.complexity.path import penalty_path
from shtarkov.complexity.singular_values import (
    nuclear_ln_c,
    nuclear_mean_norm,
    nuclear_rank_law,
)
from shtarkov.errors import InvalidProblem
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of
from shtarkov.families.observables import NORM, K
from shtarkov.sampling.rank_ppmh_run import FullRankRun
from shtarkov.sampling.runs import Request
from tests.laws import law_scores, z_score

SHAPE, LAM = (3, 4), 2.0


@pytest.mark.parametrize("tau", [2.0, 1.0])
def test_hamiltonian_moves_with_the_fibre_move(tau):
    chains = sample(NuclearNorm(shape=SHAPE), LAM, tau=tau, n_draws=4000, seed=71)
    assert np.abs(law_scores(chains.k, nuclear_rank_law(SHAPE, LAM, tau))).max() < 4.0
    assert abs(z_score(chains.norm, nuclear_mean_norm(SHAPE, LAM, tau))) < 4.0
    assert chains.summary()["norm"].rank_rhat < 1.01


@pytest.mark.parametrize("epsilon", [1.0, 0.3, 0.05])
def test_full_rank_proposals(epsilon):
    chains = sample(
        NuclearNorm(shape=SHAPE), LAM, sampler="ppmh", epsilon=epsilon, n_draws=10_000, thin=3,
        seed=72,
    )  # fmt: skip
    assert 0.2 < chains.accepted.mean() < 0.5
    assert np.abs(law_scores(chains.k, nuclear_rank_law(SHAPE, LAM))).max() < 4.0
    assert abs(z_score(chains.norm, nuclear_mean_norm(SHAPE, LAM))) < 4.0
    assert abs(z_score(chains.penalty - chains.df, 0.0)) < 4.0


def test_both_samplers_agree_on_a_correlated_design():
    rng = np.random.default_rng(9)
    problem = NuclearNorm(rng.standard_normal((8, 4)) * [3.0, 1.0, 1.0, 0.3], n_targets=3)
    one = sample(problem, 4.0, n_draws=3000, seed=73).summary()
    other = sample(problem, 4.0, sampler="ppmh", n_draws=6000, thin=12, seed=73).summary()
    for name in ("k", "df", "norm", "envelope", "residual_sq", "log_volume"):
        first, second = one[name], other[name]
        assert abs(first.mean - second.mean) < 4.0 * np.hypot(first.mcse, second.mcse), name


def run_with(weight):
    family = family_of(NuclearNorm(shape=SHAPE), LAM)
    request = Request(
        family=family, weight=weight, solver="auto", active=False, data=False, sigma=1.0, options={}
    )  # fmt: skip
    run = FullRankRun(request, np.random.default_rng(5), epsilon=0.3, step=1.5, thin=3)
    return run.advance(15_000)


def test_another_weight_is_caught():
    law, mean = nuclear_rank_law(SHAPE, LAM), nuclear_mean_norm(SHAPE, LAM)
    right, wrong = run_with(LAM), run_with(0.6 * LAM)
    assert np.abs(law_scores(right.trace[None, :, K], law)).max() < 4.0
    assert abs(z_score(right.trace[None, :, NORM], mean)) < 4.0
    assert np.abs(law_scores(wrong.trace[None, :, K], law)).max() > 8.0


def ln_inside(shape, lam):
    """ln P(|G|_op <= lam) of a standard Gaussian matrix: that of rank zero."""
    return np.log(nuclear_rank_law(shape, lam)[0]) + nuclear_ln_c(shape, lam)


def test_level_set_is_a_gaussian_matrix_kept_inside():
    # Given rank one, the residual off the singular vectors is (m - 1) x (n - 1), norm at most lam;
    # E|W|^2 = size - lam d ln P / d lam by scaling.
    coef, step = np.outer([1.0, 2.0, 0.5], [1.0, 0.0, 1.0, -1.0]), 1e-4
    chains = sample(
        NuclearNorm(shape=SHAPE), LAM, sampler="level_set", coef=coef, n_draws=8000, thin=3, seed=74
    )
    inner = (SHAPE[0] - 1, SHAPE[1] - 1)
    rise = ln_inside(inner, LAM * (1 + step)) - ln_inside(inner, LAM * (1 - step))
    expected = inner[0] * inner[1] - rise / (2 * step)
    assert abs(z_score(chains.residual_sq - LAM**2, expected)) < 4.0
    assert 0.15 < chains.accepted.mean() < 0.5
    assert np.ptp(chains.norm) == 0.0
    assert chains.norm[0, 0] == pytest.approx(np.linalg.norm(coef, "nuc"), rel=1e-8)
    assert chains.kkt_residual.max() < 1e-9


def test_level_set_of_a_design():
    rng = np.random.default_rng(10)
    X, sigma = rng.standard_normal((6, 3)), 0.5
    coef = np.outer([1.0, -1.0, 0.5], [2.0, 1.0])
    chains = sample(
        NuclearNorm(X, n_targets=2), 1.5, sigma=sigma, sampler="level_set", coef=coef,
        n_draws=200, record="data", seed=75,
    )  # fmt: skip
    problem = NuclearNorm(X, n_targets=2)
    family = family_of(problem, 1.5 / sigma)
    y = chains.extras["data"][0, -1] / sigma
    fit = protocol.solve(family, y, protocol.new_work(family, 0))
    np.testing.assert_allclose(fit.coef.reshape(3, 2) * sigma, coef, atol=1e-7)
    for wrong, message in [(coef[:2], "shape"), (coef * np.nan, "finite")]:
        with pytest.raises(InvalidProblem, match=message):
            sample(problem, 1.5, sampler="level_set", coef=wrong, n_draws=10, seed=1)


@pytest.mark.slow
def test_stated_errors_hold():
    problem, lams, z = NuclearNorm(shape=(3, 4)), [1.2, 2.0], []
    exact = np.array([nuclear_ln_c((3, 4), lam) for lam in lams])
    for seed in range(60):
        path = penalty_path(
            problem, lams, sigma=1.0, std_error=0.05, n_chains=4, n_jobs=None, seed=seed,
            progress=False, max_draws=200_000,
        )  # fmt: skip
        z.append((path.ln_c - exact) / path.std_error)
    scores = np.array(z)
    # The mean square of 60 standard normals exceeds 1.7 once in a thousand times.
    assert np.all((scores**2).mean(axis=0) < 1.7), (scores**2).mean(axis=0)
    assert np.all((np.abs(scores) < 2.0).mean(axis=0) >= 0.85)
    assert np.abs(scores.mean(axis=0)).max() < 0.5
