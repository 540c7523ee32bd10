"""Replica exchange: every rung keeps its law, ln C along the ladder, and what it buys."""

import math

import numpy as np
import pytest

import shtarkov
from shtarkov._jit import kernel
from shtarkov.complexity.enumeration import enumerate_strata
from shtarkov.complexity.tempered import ladder_complexity
from shtarkov.errors import InvalidProblem
from shtarkov.families.compiled import family_of
from shtarkov.sampling.sample import sample
from shtarkov.sampling.tempering import Rungs, log_swap_ratio, move, settled, swap
from tests.laws import law_of_k, law_scores, oracles, z_score

CASES = oracles("lasso_enumeration")


@pytest.mark.parametrize("oracle", CASES, ids=lambda oracle: f"lam{oracle['lam']}")
def test_law_of_k_is_that_of_enumeration(oracle):
    problem, lam = shtarkov.Lasso(oracle["X"]), oracle["lam"]
    chains = sample(problem, lam, sampler="tempering", n_draws=5000, seed=11)
    assert (chains.exchange.swap_rates > 0.3).all()
    assert (chains.exchange.round_trips > 100).all()
    assert np.abs(law_scores(chains.k, law_of_k(oracle["a"], lam))).max() < 4.0
    assert abs(z_score(chains.penalty - chains.k, 0.0)) < 4.0
    assert abs(z_score(chains.n_dim - chains.residual_sq - chains.k, 0.0)) < 4.0
    assert not chains.failures


@pytest.mark.parametrize(
    ("tau", "ladder"),
    [
        (0.5, {}),
        (0.5, {"lams": [0.3, 0.5, 0.9, 1.5]}),
        (0.1, {}),
        (0.1, {"lams": [0.5, 0.6, 0.7, 0.8], "taus": [0.1, 0.15, 0.3, 0.8]}),
    ],
    ids=["matched", "target inside", "free weight", "both"],
)
def test_ratios_of_ln_c_are_those_of_enumeration(tau, ladder):
    oracle = CASES[-1]
    problem, lam = shtarkov.Lasso(oracle["X"]), oracle["lam"]
    chains = sample(problem, lam, tau=tau, sampler="tempering", n_draws=4000, seed=7, **ladder)
    assert np.abs(law_scores(chains.k, law_of_k(oracle["a"], tau))).max() < 4.0
    found = ladder_complexity(chains)
    exact = np.array([enumerate_strata(oracle["X"], a).ln_c(t)[0] for a, t in chains.ladder])
    gap = (found.ln_ratio - (exact - exact[-1]))[:-1]
    assert np.abs(gap / found.std_error[:-1]).max() < 4.0
    assert found.std_error.max() < 0.1
    assert found.ln_ratio[-1] == 0.0


def test_elastic_net():
    oracle = oracles("elastic_net_quadrature")[0]
    table = enumerate_strata(oracle["X"], oracle["lam1"], lam2=oracle["lam2"])
    problem = shtarkov.ElasticNet(oracle["X"], lam2=oracle["lam2"])
    chains = sample(problem, oracle["lam1"], sampler="tempering", n_draws=5000, seed=2)
    assert np.abs(law_scores(chains.k, law_of_k(np.exp(table.ln_a), oracle["lam1"]))).max() < 4.0
    assert abs(z_score(chains.k, oracle["mean_k"])) < 4.0
    found = ladder_complexity(chains)
    exact = [
        enumerate_strata(oracle["X"], lam, lam2=oracle["lam2"]).ln_c(lam)[0]
        for lam in chains.ladder[:, 0]
    ]
    gap = found.ln_ratio[:-1] - np.subtract(exact[:-1], exact[-1])
    assert np.abs(gap / found.std_error[:-1]).max() < 4.0


def test_errors_of_the_ratios_match_their_spread():
    oracle = CASES[1]
    problem, lams = shtarkov.Lasso(oracle["X"]), [1.0, 1.5, 2.2]
    exact = [enumerate_strata(oracle["X"], lam).ln_c(lam)[0] for lam in lams]
    scores = []
    for seed in range(40):
        chains = sample(
            problem, 1.0, sampler="tempering", lams=lams, n_draws=400, n_chains=2, seed=seed
        )
        found = ladder_complexity(chains)
        scores.append((found.ln_ratio[0] - exact[0] + exact[-1]) / found.std_error[0])
    assert abs(np.mean(scores)) < 4.0 / np.sqrt(40)
    assert 0.7 < np.std(scores) < 1.4


def test_what_has_no_energies_is_refused():
    problem = shtarkov.Lasso(CASES[0]["X"])
    with pytest.raises(InvalidProblem, match="has no ladder"):
        ladder_complexity(sample(problem, 1.0, n_draws=5, n_chains=1, seed=0))
    few = sample(problem, 1.0, sampler="tempering", lams=[1.0, 2.0], n_draws=10, n_chains=1, seed=0)
    with pytest.raises(InvalidProblem, match="lower energies_every"):
        ladder_complexity(few)


@kernel
def run_with_sign(family, rungs, sign, rng, k_out):
    """Run the chain of the library with the swap's exponent times `sign`; k at both rungs."""
    state, _ = settled(family, rungs, 0)
    states = [state]
    state, _ = settled(family, rungs, 1)
    states.append(state)
    for t in range(k_out.shape[1]):
        for rung in range(2):
            move(family, rungs, states, rung, t % 64 == 0, rng)
        log_ratio, _ = log_swap_ratio(family, rungs, states, 0)
        if rng.random() < math.exp(min(0.0, sign * log_ratio)):
            swap(family, rungs, states, 0)
        for rung in range(2):
            k_out[rung, t] = states[rung].work.counts[0]


@pytest.mark.parametrize(("sign", "least", "most"), [(1.0, 0.0, 4.0), (-1.0, 8.0, np.inf)])
def test_the_sign_of_the_swap(sign, least, most):
    oracle, lams = CASES[1], np.array([1.0, 2.0])
    family = family_of(shtarkov.Lasso(oracle["X"]), 1.0)
    k = np.zeros((4, 2, 5000))
    for chain in range(4):
        rng = np.random.default_rng(chain)
        rungs = Rungs(
            lams=lams,
            weights=lams,
            tuning=np.tile([0.7, 0.7, 2.0], (2, 1)),
            points=rng.standard_normal((2, 4)),
            replicas=np.arange(2),
            room=np.full(2, 8),
            n_draws=np.zeros(1, np.int64),
        )
        run_with_sign(family, rungs, sign, rng, k[chain])
    scores = [
        np.abs(law_scores(k[:, rung], law_of_k(CASES[1 - rung]["a"], lam))).max()
        for rung, lam in enumerate(lams)
    ]
    assert least <= max(scores) <= most


def test_where_single_chains_are_trapped_replicas_are_not():
    oracle, tau = CASES[0], 0.002
    problem, lam = shtarkov.Lasso(oracle["X"]), oracle["lam"]
    law = law_of_k(oracle["a"], tau)
    replicas = sample(problem, lam, tau=tau, sampler="tempering", n_draws=1500, seed=1)
    n_rungs = replicas.ladder.shape[0]
    alone = sample(problem, lam, tau=tau, n_draws=1500 * n_rungs, seed=1)
    # As many Hamiltonian moves in all; coefficients of length 1 / tau cross zero hardly ever.
    together, single = replicas.summary()["k"], alone.summary()["k"]
    assert np.abs(law_scores(replicas.k, law)).max() < 4.0
    assert together.rank_rhat < 1.05
    assert single.rank_rhat > 1.1
    assert together.ess_bulk > 5.0 * single.ess_bulk


def test_on_the_matched_target_no_chain_is_trapped():
    X = np.random.default_rng(0).standard_normal((20, 40))
    chains = sample(shtarkov.Lasso(X), 8.0, sampler="tempering", n_draws=1000, seed=4)
    alone = sample(shtarkov.Lasso(X), 8.0, n_draws=1000, seed=4)
    one, other = chains.summary()["k"], alone.summary()["k"]
    assert max(one.rank_rhat, other.rank_rhat) < 1.02
    assert abs(one.mean - other.mean) < 4.0 * np.hypot(one.mcse, other.mcse)
