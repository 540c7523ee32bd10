"""Chains of labels against enumeration: every scan, loss and law, and a chain broken on purpose."""

import numpy as np
import pytest

from shtarkov.complexity.label_enumeration import label_table
from shtarkov.diagnostics.convergence import mean_error
from shtarkov.families.label_problems import SparseLogistic, SparseSVM
from shtarkov.families.sparse_svm import label_family, solve_labels
from shtarkov.sampling.label_chain import LabelChain
from shtarkov.sampling.label_loop import (
    ACTIVE,
    ENVELOPE,
    GAP,
    N_POSITIVE,
    N_SUPPORT,
    NORM_COLUMN,
    RESIDUAL,
)

N = 12
SCANS = [("random", False), ("random", True), ("systematic", False), ("systematic", True)]
SCANS.append(("blocks", False))


def problem_of(loss, intercept, ridge=0.0):
    X = np.random.default_rng(3).standard_normal((N, 6))
    if loss == "logistic":
        return SparseLogistic(X, fit_intercept=intercept, ridge=ridge)
    return SparseSVM(X, loss, fit_intercept=intercept, ridge=ridge)


def chains_of(problem, lam, eta, tau, scan, screen, n_draws=1200):
    chains = []
    for index in range(2):
        rng = np.random.default_rng([17, index])
        chain = LabelChain(label_family(problem, lam), eta, tau, rng, scan=scan, screen=screen)
        chain.warm_up(300)
        chain.extend(n_draws)
        chains.append(chain)
    return chains


def z_scores(chains, table, eta, tau):
    scores = []
    for column, values in ((ENVELOPE, table.envelope), (NORM_COLUMN, table.norm)):
        draws = np.stack([chain.column(column) for chain in chains])
        wanted = table.mean(values, eta, tau)
        scores.append((draws.mean() - wanted) / mean_error(draws))
    positive = np.stack([chain.column(N_POSITIVE) for chain in chains])
    scores.append((positive.mean() - 0.5 * N) / mean_error(positive))
    return np.array(scores)


@pytest.mark.parametrize(("scan", "screen"), SCANS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_means_are_those_of_enumeration(loss, scan, screen):
    problem = problem_of(loss, intercept=scan == "blocks")
    table = label_table(problem, 1.0)
    chains = chains_of(problem, 1.0, 1.5, 1.0, scan, screen)
    assert np.abs(z_scores(chains, table, 1.5, 1.0)).max() < 4.0


@pytest.mark.parametrize("tau", [0.0, 0.3])
@pytest.mark.parametrize(("scan", "screen"), [("systematic", True), ("blocks", False)])
def test_a_free_weight_of_the_norm(tau, scan, screen):
    problem = problem_of("squared_hinge", intercept=True, ridge=0.2)
    table = label_table(problem, 1.0)
    chains = chains_of(problem, 1.0, 2.0, tau, scan, screen)
    assert np.abs(z_scores(chains, table, 2.0, tau)).max() < 4.0


def test_equal_rows_do_not_confuse_the_hinge():
    X = np.random.default_rng(1).integers(-1, 2, (N, 3)).astype(float)
    problem = SparseSVM(X, "hinge", fit_intercept=True)
    table = label_table(problem, 0.8)
    chains = chains_of(problem, 0.8, 1.2, 0.8, "systematic", screen=False)
    assert np.abs(z_scores(chains, table, 1.2, 0.8)).max() < 4.0


def test_a_chain_of_another_law_is_caught():
    problem = problem_of("squared_hinge", intercept=False)
    table = label_table(problem, 1.0)
    chains = chains_of(problem, 1.0, 1.5, 1.0, "blocks", screen=False)
    assert np.abs(z_scores(chains, table, 1.3, 1.0)).max() > 4.0


def test_what_is_recorded_is_the_solution_at_the_labels():
    problem = problem_of("hinge", intercept=True)
    family = label_family(problem, 1.0)
    chain = LabelChain(family, 1.0, 1.0, np.random.default_rng(2), keep_labels=True)
    chain.warm_up(50)
    chain.extend(20)
    labels = chain.segments[0].labels.astype(float)
    assert len(np.unique(labels, axis=0)) > 5
    for draw in range(20):
        fit = solve_labels(problem, labels[draw], 1.0)
        assert chain.column(ENVELOPE)[draw] == pytest.approx(fit.objective, abs=1e-8)
        assert chain.column(N_POSITIVE)[draw] == np.count_nonzero(labels[draw] > 0.0)
    assert chain.column(GAP).max() < 1e-8
    assert chain.column(RESIDUAL).max() < 1e-7
    assert chain.column(N_SUPPORT).max() <= N
    assert chain.column(ACTIVE).max() <= 6


def test_a_chain_can_be_repeated_and_extended():
    problem = problem_of("logistic", intercept=False)
    once = chains_of(problem, 0.7, 1.0, 0.7, "blocks", screen=False, n_draws=30)[0]
    again = chains_of(problem, 0.7, 1.0, 0.7, "blocks", screen=False, n_draws=20)[0]
    again.extend(10)
    assert np.array_equal(once.column(ENVELOPE), again.column(ENVELOPE))


@pytest.mark.needs_jit
def test_more_active_columns_than_expected_find_room():
    X = np.random.default_rng(0).standard_normal((160, 400))
    problem = SparseSVM(X, "squared_hinge", ridge=1.0)
    chain = LabelChain(label_family(problem, 0.5), 1.0, 0.5, np.random.default_rng(1))
    chain.extend(3)
    assert chain.column(ACTIVE).max() > 128


def test_no_weight_draws_labels_afresh():
    problem = problem_of("squared_hinge", intercept=False)
    chain = LabelChain(label_family(problem, 1.0), 0.0, 1.0, np.random.default_rng(5), thin=1)
    chain.extend(2000)
    table = label_table(problem, 1.0)
    draws = chain.column(ENVELOPE)
    error = draws.std() / np.sqrt(draws.size)
    assert abs(draws.mean() - table.envelope.mean()) < 4.0 * error
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 0.1
