"""Envelope HMC leaves its law invariant: enumeration, closed forms, exact starts."""

import numpy as np
import pytest
from scipy.stats import norm

from shtarkov import ElasticNet, Lasso
from shtarkov.complexity.enumeration import enumerate_strata
from shtarkov.families.compiled import family_of
from shtarkov.families.observables import DF, FIT_RESIDUAL, NORM, RESIDUAL_SQ, K
from shtarkov.sampling.chain import Chain
from shtarkov.sampling.hmc import place
from shtarkov.seeds import rng_for
from shtarkov.types import Status
from tests.laws import law_of_k, law_scores, oracles, z_score

CASES = oracles("lasso_enumeration")


def sampled(problem, lam, weight, n_draws=4000, n_chains=4, seed=17):
    chains = [Chain(family_of(problem, lam), weight, rng_for(seed, 0, c)) for c in range(n_chains)]
    for chain in chains:
        chain.warm_up(50)
        chain.extend(n_draws)
    assert np.mean([chain.segments[0].acceptance.mean() for chain in chains]) > 0.5
    assert sum(chain.failures[1:].sum() for chain in chains) == 0
    return lambda index: np.stack([chain.column(index) for chain in chains])


@pytest.mark.parametrize("ratio", [1.0, 0.3, 2.0])
@pytest.mark.parametrize("oracle", CASES, ids=lambda oracle: f"lam{oracle['lam']}")
def test_law_of_k_is_that_of_enumeration(oracle, ratio):
    lam = oracle["lam"]
    column = sampled(Lasso(oracle["X"]), lam, ratio * lam)
    assert np.abs(law_scores(column(K), law_of_k(oracle["a"], ratio * lam))).max() < 4.0
    assert abs(z_score(ratio * lam * column(NORM) - column(K), 0.0)) < 4.0


@pytest.mark.parametrize("oracle", oracles("lasso_wide_quadrature"), ids=lambda o: f"{o['lam']}")
def test_more_columns_than_rows(oracle):
    column = sampled(Lasso(oracle["X"]), oracle["lam"], oracle["lam"])
    assert abs(z_score(column(K), oracle["mean_k"])) < 4.0
    n = len(oracle["X"])
    assert abs(z_score(n - column(RESIDUAL_SQ) - column(K), 0.0)) < 4.0


@pytest.mark.parametrize("oracle", oracles("elastic_net_quadrature"), ids=lambda o: f"{o['lam1']}")
def test_elastic_net(oracle):
    problem, lam = ElasticNet(oracle["X"], lam2=oracle["lam2"]), oracle["lam1"]
    column = sampled(problem, lam, lam)
    assert abs(z_score(column(K), oracle["mean_k"])) < 4.0
    assert abs(z_score(column(FIT_RESIDUAL) - column(DF), 0.0)) < 4.0
    tilted = sampled(problem, lam, 0.4 * lam, n_draws=8000)
    table = enumerate_strata(oracle["X"], lam, 1.0, oracle["lam2"], tau=0.4 * lam)
    assert abs(z_score(tilted(K), table.mean_k(0.4 * lam)[0])) < 4.0


@pytest.mark.parametrize("sigma", [0.2, 5.0])
def test_only_the_ratio_of_penalty_and_noise_matters(sigma):
    oracle = CASES[1]
    problem = Lasso(oracle["X"])
    chain = Chain(
        family_of(problem, sigma * oracle["lam"], sigma), oracle["lam"], rng_for(17, 0, 0)
    )
    twin = Chain(family_of(problem, oracle["lam"]), oracle["lam"], rng_for(17, 0, 0))
    for each in (chain, twin):
        each.extend(50)
    assert chain.segments[0].trace == pytest.approx(twin.segments[0].trace, abs=1e-9)


def exact_start(lam, n, rng):
    """Draw from the law itself: orthonormal columns are independent mixtures."""
    outside = 2.0 * np.exp(-0.5 * lam**2) / np.sqrt(2.0 * np.pi) / lam
    inside = 1.0 - 2.0 * norm.sf(lam)
    active = rng.random(n) < outside / (outside + inside)
    y = rng.standard_normal(n)
    while np.any(far := (np.abs(y) > lam) & ~active):
        y[far] = rng.standard_normal(far.sum())
    signs = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    return np.where(active, signs * (lam + rng.standard_exponential(n) / lam), y)


def test_one_move_from_the_law_itself_is_reversible_and_stays_in_it():
    lam, n, n_pairs = 1.0, 6, 3000
    rng = np.random.default_rng(8)
    chain = Chain(family_of(Lasso(np.eye(n)), lam), lam, rng, keep_data=True)
    chain.warm_up(100)
    starts, ends = np.zeros((n_pairs, n)), np.zeros((n_pairs, n))
    for i in range(n_pairs):
        starts[i] = exact_start(lam, n, rng)
        assert place(chain.family, starts[i], chain.state) == Status.OK
        chain.segments.clear()
        chain.extend(1)
        ends[i] = chain.gathered("data")[0]
    moved = np.abs(ends - starts).max(axis=1) > 0.0
    assert moved.mean() > 0.5

    def scores(f, g):
        crossed = f(starts) * g(ends) - g(starts) * f(ends)
        drift = f(ends) - f(starts)
        return [x.mean() / (x.std() / np.sqrt(n_pairs)) for x in (crossed, drift)]

    functions = (
        lambda y: np.abs(y).sum(axis=1),
        lambda y: (np.abs(y) > lam).sum(axis=1),
        lambda y: (y**2).sum(axis=1),
        lambda y: np.maximum(np.abs(y) - lam, 0.0).sum(axis=1),
        lambda y: y[:, 0] ** 3,
    )
    for i, f in enumerate(functions):
        for g in functions[:i]:
            assert np.abs(scores(f, g)).max() < 4.0
