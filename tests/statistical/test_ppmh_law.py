"""PPMH leaves the luckiness law invariant, and a wrong ratio does not."""

import numpy as np
import pytest

import shtarkov
from shtarkov.complexity.enumeration import enumerate_strata
from shtarkov.diagnostics.convergence import mean_error
from shtarkov.families.compiled import family_of
from shtarkov.families.observables import ENVELOPE, OBSERVABLES
from shtarkov.families.problems import GroupLasso
from shtarkov.sampling.ppmh_run import PpmhOptions, PpmhRun, make_proposal
from shtarkov.sampling.runs import Request
from shtarkov.sampling.sample import sample
from tests.laws import law_of_k, law_scores, oracles, z_score

CASES = oracles("lasso_enumeration")


@pytest.mark.parametrize("epsilon", [1.0, 0.3, 0.05])
@pytest.mark.parametrize("oracle", CASES, ids=lambda oracle: f"lam{oracle['lam']}")
def test_law_of_k_is_that_of_enumeration(oracle, epsilon):
    chains = sample(
        shtarkov.Lasso(oracle["X"]),
        oracle["lam"],
        sampler="ppmh",
        epsilon=epsilon,
        n_draws=15_000,
        thin=2,
        seed=11,
    )
    assert 0.2 < chains.accepted.mean() < 0.5
    assert np.abs(law_scores(chains.k, law_of_k(oracle["a"], oracle["lam"]))).max() < 4.0
    # Quantities of equal mean: k, the penalty, and what the residual lacks of n.
    n = chains.n_dim
    assert abs(z_score(chains.penalty - chains.k, 0.0)) < 4.0
    assert abs(z_score(n - chains.residual_sq - chains.k, 0.0)) < 4.0
    assert not chains.failures


def test_group_lasso_has_the_law_of_hamiltonian_moves():
    oracle = oracles("group_lasso_quadrature")[0]
    problem = GroupLasso(np.array(oracle["X"]), oracle["groups"])
    chains = sample(
        problem, oracle["lam"], sampler="ppmh", epsilon=0.3, n_draws=15_000, thin=2, seed=12
    )
    other = sample(problem, oracle["lam"], n_draws=8000, seed=13)
    assert 0.2 < chains.accepted.mean() < 0.5
    # Quantities of equal mean under the law, whatever its normalising constant (THEORY section 4).
    assert abs(z_score(chains.penalty - chains.df, 0.0)) < 4.0
    assert abs(z_score(chains.n_dim - chains.residual_sq - chains.df, 0.0)) < 4.0
    for name in ("k", "df", "envelope"):
        mine, theirs = getattr(chains, name), getattr(other, name)
        error = np.hypot(mean_error(mine), mean_error(theirs))
        assert abs(mine.mean() - theirs.mean()) < 4.0 * error, name


def test_a_singular_proposal_keeps_the_active_set_it_starts_with():
    rng = np.random.default_rng(6)
    problem = shtarkov.Lasso(rng.standard_normal((12, 20)))
    chains = sample(
        problem,
        2.5,
        sampler="ppmh",
        epsilon=1e-12,
        step=1.0,
        start="target",
        n_draws=2000,
        n_warmup=100,
        n_chains=6,
        seed=3,
        record=("active",),
    )
    assert (np.ptp(chains.k, axis=1) == 0).all()
    assert np.ptp(chains.extras["active"].astype(int), axis=1).max() == 0
    assert chains.accepted.mean() > 0.05
    # Each chain began at its own draw of the target.
    assert np.ptp(chains.k) > 0


def run_with(oracle, **broken):
    family = family_of(shtarkov.Lasso(oracle["X"]), oracle["lam"])
    request = Request(
        family=family,
        weight=oracle["lam"],
        solver="schur",
        active=False,
        data=False,
        sigma=1.0,
        options={},
    )
    proposal = make_proposal(family, "schur", PpmhOptions(epsilon=0.3, step=3.0))
    rng = np.random.default_rng(5)
    start = rng.standard_normal(family.Xt.shape[1])
    run = PpmhRun(request, proposal._replace(**broken), rng, start, adapt=False)
    return run.advance(40_000)


def test_leaving_out_the_determinant_is_caught():
    oracle = CASES[-1]
    law = law_of_k(oracle["a"], oracle["lam"])
    k = OBSERVABLES.index("k")
    right = run_with(oracle)
    assert np.abs(law_scores(right.trace[None, :, k], law)).max() < 4.0
    wrong = run_with(oracle, log_epsilon=0.0)
    assert np.abs(law_scores(wrong.trace[None, :, k], law)).max() > 8.0
    assert wrong.accepted.mean() > 0.1


@pytest.mark.parametrize("covariance", ["projector", "d_en"])
@pytest.mark.parametrize("solver", ["schur", "qr"])
def test_elastic_net_law(covariance, solver):
    oracle = oracles("elastic_net_quadrature")[0]
    table = enumerate_strata(oracle["X"], oracle["lam1"], lam2=oracle["lam2"])
    law = law_of_k(np.exp(table.ln_a), oracle["lam1"])
    chains = sample(
        shtarkov.ElasticNet(oracle["X"], lam2=oracle["lam2"]),
        oracle["lam1"],
        sampler="ppmh",
        solver=solver,
        covariance=covariance,
        n_draws=15_000,
        thin=2,
        seed=2,
    )
    assert np.abs(law_scores(chains.k, law)).max() < 4.0
    assert abs(z_score(chains.k, oracle["mean_k"])) < 4.0
    assert chains.accepted.mean() > 0.1
    assert not chains.failures


def test_another_luckiness_weight():
    oracle = CASES[-2]
    tau = 0.6
    chains = sample(
        shtarkov.Lasso(oracle["X"]),
        oracle["lam"],
        tau=tau,
        sampler="ppmh",
        epsilon=0.5,
        n_draws=20_000,
        thin=4,
        seed=3,
    )
    assert np.abs(law_scores(chains.k, law_of_k(oracle["a"], tau))).max() < 4.0


def test_same_moments_as_hamiltonian_moves():
    X = np.random.default_rng(3).standard_normal((12, 20))
    problem, lam = shtarkov.Lasso(X), 4.0
    one = sample(problem, lam, n_draws=4000, seed=1)
    other = sample(problem, lam, sampler="ppmh", n_draws=8000, thin=10, seed=1)
    for name in ("k", "envelope", "residual_sq", "norm", "log_volume"):
        first, second = one.summary()[name], other.summary()[name]
        assert abs(first.mean - second.mean) < 4.0 * np.hypot(first.mcse, second.mcse), name


def test_large_steps_are_rejected_and_stay_right():
    oracle = CASES[-1]
    chunk = run_with(oracle, step=12.0)
    assert chunk.accepted.mean() < 0.1
    assert len(np.unique(chunk.trace[:, ENVELOPE])) == 1 + chunk.accepted[1:].sum()
