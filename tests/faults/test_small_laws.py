"""Laws of the samplers on the smallest designs: quick with the compiler, and quick enough without.

Without it they run on faulty sources (`test_planted_faults.py`), where each must fail. Steps are
coarse on purpose: an accept ratio that hardly matters could be wrong unseen.
"""

import numpy as np
import pytest
from scipy.stats import truncnorm

import shtarkov
from shtarkov.complexity.enumeration import enumerate_strata
from shtarkov.complexity.label_enumeration import label_table
from shtarkov.complexity.singular_values import nuclear_mean_norm, nuclear_rank_law
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of
from shtarkov.families.observables import FIT_RESIDUAL, NORM, RESIDUAL_SQ, K
from shtarkov.families.sparse_svm import label_family
from shtarkov.sampling.chain import Chain
from shtarkov.sampling.hmc import Tuning
from shtarkov.sampling.label_chain import LabelChain
from shtarkov.sampling.label_loop import ENVELOPE, NORM_COLUMN
from tests.laws import law_of_k, law_scores, z_score

X, LAM = np.array([[1.0, 0.6], [0.0, 0.8]]), 0.8
LAW = law_of_k(np.exp(enumerate_strata(X, LAM).ln_a), LAM)


def worst_score(chains):
    """Of the law of k, and of the three quantities of equal mean."""
    scores = list(law_scores(chains.k, LAW))
    scores.append(z_score(chains.penalty - chains.k, 0.0))
    scores.append(z_score(chains.n_dim - chains.residual_sq - chains.k, 0.0))
    return np.abs(scores).max()


def draws_of(sampler, n_draws, **options):
    chains = shtarkov.sample(
        shtarkov.Lasso(X), LAM, sampler=sampler, n_draws=n_draws, n_chains=2, n_jobs=1, seed=6,
        **options,
    )  # fmt: skip
    assert chains.accepted.mean() > 0.1
    return chains


def test_hamiltonian_moves():
    chain = Chain(family_of(shtarkov.Lasso(X), LAM), LAM, np.random.default_rng(1))
    chain.tuning = Tuning(1.6, 0.5, 2)
    chain.extend(3000)
    assert 0.3 < chain.segments[0].acceptance.mean() < 0.95
    k = chain.column(K)
    assert np.abs(law_scores(k[None], LAW)).max() < 4.0
    assert abs(z_score(LAM * chain.column(NORM) - k, 0.0)) < 4.0
    assert abs(z_score(2.0 - chain.column(RESIDUAL_SQ) - k, 0.0)) < 4.0


def test_the_fibre_law():
    # |beta_j| lam is Exponential(1): mean, mean square and the data that belong to it.
    family, rng = family_of(shtarkov.Lasso(X), LAM), np.random.default_rng(2)
    work, y = protocol.new_work(family, 4), np.array([2.5, -2.0])
    protocol.image(family, y, work.z)
    protocol.relax(family, y, work)
    residual, drawn = work.residual.copy(), np.zeros((1000, 2))
    assert work.counts[0] == 2
    for t in range(len(drawn)):
        protocol.refresh_fibre(family, LAM, y, work, rng)
        drawn[t] = LAM * np.abs(work.coef[:2])
    np.testing.assert_allclose(y - family.Xt[work.active[:2]].T @ work.coef[:2], residual)
    for power, mean, spread in [(1, 1.0, 1.0), (2, 2.0, 20.0**0.5)]:
        found = (drawn**power).mean()
        assert abs(found - mean) < 4.0 * spread / np.sqrt(drawn.size)


@pytest.mark.parametrize("epsilon", [0.3, 0.05])
def test_full_rank_proposals(epsilon):
    chains = draws_of("ppmh", 2500, epsilon=epsilon, step=2.5, thin=2)
    assert worst_score(chains) < 4.0


def test_the_elastic_nets_own_covariance():
    problem, lam2 = shtarkov.ElasticNet(X, lam2=0.9), 0.9
    table = enumerate_strata(X, LAM, lam2=lam2)
    chains = shtarkov.sample(
        problem, LAM, sampler="ppmh", covariance="d_en", step=2.5, thin=2, n_draws=2500, n_chains=2,
        n_jobs=1, seed=1,
    )  # fmt: skip
    assert np.abs(law_scores(chains.k, law_of_k(np.exp(table.ln_a), LAM))).max() < 4.0
    assert abs(z_score(chains.n_dim - chains.residual_sq - chains.df, 0.0)) < 4.0


def test_crossings_between_level_sets():
    assert worst_score(draws_of("coarea", 1200, step=2.5)) < 4.0


def test_swaps_between_rungs():
    lams, n_draws = [LAM, 2.0], 1200
    chains = draws_of("tempering", n_draws, lams=lams, energies_every=1, n_warmup=60)
    assert worst_score(chains) < 4.0
    # The other rung has its own law too: its mean energy less that of the slope identity.
    energies = chains.extras["energies"][:, :, 1, 1]
    mean = 0.5 * 2 + 0.5 * enumerate_strata(X, 2.0).mean_k(2.0)[0]  # E = (|r|^2 + 2 lam |b|) / 2
    assert abs(z_score(energies, mean)) < 4.0


def test_warm_up_comes_before_the_draws():
    # The data are 1 / lam wide and the steps of the random walk about one: only after the warm-up
    # is the first draw of a chain one of the law. |beta| is exponential where it is not zero.
    lam, n_chains = 0.2, 40
    chains = shtarkov.sample(
        shtarkov.Lasso(np.eye(1)), lam, sampler="ppmh", step=6.0, n_warmup=400, n_draws=4,
        n_chains=n_chains, n_jobs=1, seed=2,
    )  # fmt: skip
    first = chains.norm[:, 0]
    wanted = enumerate_strata(np.eye(1), lam).mean_k(lam)[0] / lam
    assert abs(first.mean() - wanted) < 4.0 / lam / np.sqrt(n_chains)


@pytest.mark.parametrize("scan", ["random", "systematic", "blocks"])
@pytest.mark.parametrize("screen", [False, True])
def test_label_flips(scan, screen):
    if scan == "blocks" and screen:
        return
    rows = np.random.default_rng(3).standard_normal((5, 2))
    problem, lam, eta = shtarkov.SparseSVM(rows, "squared_hinge"), 0.5, 1.5
    table = label_table(problem, lam)
    rng = np.random.default_rng(7)
    family = label_family(problem, lam)
    chain = LabelChain(family, eta, lam, rng, scan=scan, screen=screen, thin=2)
    if scan == "blocks":
        chain.move = chain.move._replace(drift=-0.3)
    chain.extend(4000 if screen else 1500)
    for column, values in ((ENVELOPE, table.envelope), (NORM_COLUMN, table.norm)):
        assert abs(z_score(chain.column(column), table.mean(values, eta, lam))) < 4.0


def test_pairs_of_labels():
    rows, lam = np.random.default_rng(3).standard_normal((6, 2)), 0.5
    problem = shtarkov.SparseSVM(rows, "squared_hinge", fit_intercept=True)
    table, rng = label_table(problem, lam), np.random.default_rng(8)
    family = label_family(problem, lam)
    chain = LabelChain(family, 1.5, lam, rng, scan="pairs", n_positive=2, thin=2)
    chain.extend(1200)
    wanted = table.mean(table.envelope, 1.5, None, 2)
    assert abs(z_score(chain.column(ENVELOPE), wanted)) < 4.0


def test_proposals_across_ranks():
    shape, lam = (2, 2), 1.2
    chains = shtarkov.sample(
        shtarkov.NuclearNorm(shape=shape), lam, sampler="ppmh", epsilon=0.3, step=2.0, thin=2,
        n_draws=1500, n_chains=2, n_jobs=1, seed=9,
    )  # fmt: skip
    assert np.abs(law_scores(chains.k, nuclear_rank_law(shape, lam))).max() < 4.0
    assert abs(z_score(chains.norm, nuclear_mean_norm(shape, lam))) < 4.0


@pytest.mark.parametrize("move", ["bounce", "coordinate", "tangent", "tilting"])
def test_walls_of_a_level_set(move):
    # One direction is left of two: a normal cut off where |x_2'r| = lam.
    coef, n_draws = np.array([1.0, 0.0]), 1500
    chains = shtarkov.sample(
        shtarkov.Lasso(X), LAM, sampler="level_set", coef=coef, move=move, n_draws=n_draws,
        n_chains=2, n_jobs=1, seed=4, record="data",
    )  # fmt: skip
    residual = chains.extras["data"] - X @ coef
    pulls = residual @ X
    np.testing.assert_allclose(pulls[..., 0], LAM)
    low, high = ((side * LAM - 0.6 * LAM) / 0.8 for side in (-1.0, 1.0))
    law = truncnorm(low, high)
    assert abs(z_score(residual[..., 1], law.mean())) < 4.0
    assert abs(z_score(residual[..., 1] ** 2, law.moment(2))) < 4.0


def test_the_elastic_nets_identities():
    problem, lam2 = shtarkov.ElasticNet(X, lam2=0.9), 0.9
    chain = Chain(family_of(problem, LAM), LAM, np.random.default_rng(1))
    chain.warm_up(40)
    chain.extend(1500)
    shares = 2.0 - chain.column(RESIDUAL_SQ), chain.column(FIT_RESIDUAL)
    table = enumerate_strata(X, LAM, lam2=lam2)
    assert abs(z_score(chain.column(K), table.mean_k(LAM)[0])) < 4.0
    assert abs(z_score(shares[0] - shares[1], 0.0)) < 4.0
