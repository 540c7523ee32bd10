"""The coarea sampler leaves the luckiness law invariant, and broken versions do not."""

import math

import numpy as np
import pytest

import shtarkov
from shtarkov._jit import kernel
from shtarkov.complexity.enumeration import enumerate_strata
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of
from shtarkov.sampling.coarea import level_room, within_stratum
from shtarkov.sampling.ppmh import draw_step, log_density_ratio, new_state, place, propose
from shtarkov.sampling.ppmh_geometry import copy_geometry, prepare
from shtarkov.sampling.ppmh_run import PpmhOptions, make_proposal
from shtarkov.sampling.sample import sample
from tests.laws import law_of_k, law_scores, oracles, z_score

CASES = oracles("lasso_enumeration")
EXACT, NO_METROPOLIS, NO_DETERMINANT, WRONG_FIBRE = range(4)


@pytest.mark.parametrize("epsilon", [1.0, 0.3, 0.05])
@pytest.mark.parametrize("oracle", CASES, ids=lambda oracle: f"lam{oracle['lam']}")
def test_law_of_k_is_that_of_enumeration(oracle, epsilon):
    problem, lam = shtarkov.Lasso(oracle["X"]), oracle["lam"]
    chains = sample(problem, lam, sampler="coarea", epsilon=epsilon, n_draws=5000, seed=11)
    assert 0.2 < chains.accepted.mean() < 0.45
    assert np.abs(law_scores(chains.k, law_of_k(oracle["a"], lam))).max() < 4.0
    assert abs(z_score(chains.penalty - chains.k, 0.0)) < 4.0
    assert abs(z_score(chains.n_dim - chains.residual_sq - chains.k, 0.0)) < 4.0
    assert not chains.failures


def test_elastic_net_law():
    oracle = oracles("elastic_net_quadrature")[0]
    table = enumerate_strata(oracle["X"], oracle["lam1"], lam2=oracle["lam2"])
    problem = shtarkov.ElasticNet(oracle["X"], lam2=oracle["lam2"])
    chains = sample(problem, oracle["lam1"], sampler="coarea", n_draws=6000, seed=2)
    assert np.abs(law_scores(chains.k, law_of_k(np.exp(table.ln_a), oracle["lam1"]))).max() < 4.0
    assert abs(z_score(chains.k, oracle["mean_k"])) < 4.0
    assert chains.accepted.mean() > 0.1


def test_another_luckiness_weight():
    oracle, tau = CASES[-2], 0.6
    problem = shtarkov.Lasso(oracle["X"])
    chains = sample(problem, oracle["lam"], tau=tau, sampler="coarea", n_draws=6000, seed=3)
    assert np.abs(law_scores(chains.k, law_of_k(oracle["a"], tau))).max() < 4.0


def test_same_moments_as_hamiltonian_moves():
    X = np.random.default_rng(3).standard_normal((12, 20))
    problem, lam = shtarkov.Lasso(X), 4.0
    one = sample(problem, lam, n_draws=4000, seed=1)
    other = sample(problem, lam, sampler="coarea", n_draws=4000, seed=1)
    for name in ("k", "envelope", "residual_sq", "norm", "log_volume"):
        first, second = one.summary()[name], other.summary()[name]
        assert abs(first.mean - second.mean) < 4.0 * np.hypot(first.mcse, second.mcse), name


@kernel
def run_with_fault(family, weight, proposal, state, room, fault, rng, k_out, norm_out):
    """Run the chain of the library, leaving one thing out."""
    for t in range(k_out.size):
        draw_step(family, proposal, state, rng)
        protocol.copy_work(family, state.work, state.work_proposed)
        forward = propose(family, proposal, state)
        protocol.relax(family, state.y_proposed, state.work_proposed)
        state.counts[0] += 1
        state.counts[1] = 0
        prepare(proposal, family, state.work_proposed, state.there)
        log_ratio = log_density_ratio(family, proposal, state, forward)
        log_ratio += protocol.potential(family, weight, state.work)
        log_ratio -= protocol.potential(family, weight, state.work_proposed)
        if fault == NO_METROPOLIS or state.uniform[0] < math.exp(min(0.0, log_ratio)):
            state.y[:] = state.y_proposed
            protocol.copy_work(family, state.work_proposed, state.work)
            copy_geometry(state.there, state.here)
        rate = 2.0 * weight if fault == WRONG_FIBRE else weight
        within_stratum(family, rate, state, room, rng)
        k_out[t] = state.work.counts[0]
        norm_out[t] = np.sum(np.abs(state.work.coef[: state.work.counts[0]]))


def worst_score(fault):
    oracle = CASES[1]
    lam = oracle["lam"]
    family = family_of(shtarkov.Lasso(oracle["X"]), lam)
    proposal = make_proposal(family, "schur", PpmhOptions(epsilon=0.3, step=2.0))
    if fault == NO_DETERMINANT:
        proposal = proposal._replace(log_epsilon=0.0)
    k, norm = np.zeros((4, 20_000)), np.zeros((4, 20_000))
    for chain in range(4):
        rng = np.random.default_rng(chain)
        state = new_state(family, 4, 8, False, False)
        place(family, lam, rng.standard_normal(4), proposal, state)
        room = level_room(family, state)
        run_with_fault(family, lam, proposal, state, room, fault, rng, k[chain], norm[chain])
    assert np.ptp(k) > 1.0
    law = law_of_k(oracle["a"], lam)
    return max(np.abs(law_scores(k, law)).max(), abs(z_score(lam * norm - k, 0.0)))


def test_the_right_one_passes():
    assert worst_score(EXACT) < 4.0


@pytest.mark.parametrize("fault", [NO_METROPOLIS, NO_DETERMINANT, WRONG_FIBRE])
def test_a_broken_one_is_caught(fault):
    assert worst_score(fault) > 6.0
