"""ln C of labels by path and bridge against enumeration: oracles, random designs, calibration."""

import json
from pathlib import Path

import numpy as np
import pytest

from shtarkov import SparseLogistic, SparseSVM, complexity, complexity_path, sample
from shtarkov.complexity.label_enumeration import enumerate_labels, label_table
from shtarkov.complexity.label_ladder import LabelLadder
from shtarkov.complexity.label_law import Law, towards
from shtarkov.diagnostics.convergence import mean_error
from shtarkov.families.sparse_svm import label_family
from shtarkov.progress import resolve_progress
from shtarkov.sampling.label_loop import N_POSITIVE
from shtarkov.selection.label_laws import Reweighting

ORACLES = json.loads((Path(__file__).parents[1] / "data" / "oracles.json").read_text())
STORED = [entry for entry in ORACLES if entry["name"] == "svm_enumeration"]
N = 12


def random_problem(loss, seed, intercept=False, **options):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, int(rng.integers(2, 9))))
    if loss == "logistic":
        return SparseLogistic(X, fit_intercept=intercept, **options)
    return SparseSVM(X, loss, fit_intercept=intercept, **options)


def z_score(result, exact):
    return (result.ln_c - exact) / result.std_error


@pytest.mark.parametrize("method", ["path", "bridge"])
@pytest.mark.parametrize("entry", STORED, ids=lambda e: f"{e['loss']}-{e['lam']}")
def test_the_stored_values(entry, method):
    problem = SparseSVM(np.array(entry["X"]), entry["loss"])
    result = complexity(problem, entry["lam"], method=method, seed=4, std_error=0.03)
    assert result.method == method
    assert result.std_error < 0.04
    assert abs(z_score(result, entry["ln_C_luckiness"])) < 4.0


@pytest.mark.parametrize("entry", STORED, ids=lambda e: f"{e['loss']}-{e['lam']}")
def test_the_stored_mean_objective(entry):
    problem = SparseSVM(np.array(entry["X"]), entry["loss"])
    chains = sample(problem, entry["lam"], sampler="label_flips", n_draws=1500, seed=5)
    error = mean_error(chains.envelope)
    assert error < 0.1
    assert abs(chains.envelope.mean() - entry["mean_E"]) < 4.0 * error


@pytest.mark.parametrize("method", ["path", "bridge"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_random_designs(loss, intercept, method):
    problem = random_problem(loss, seed=11, intercept=intercept, eta=0.8)
    result = complexity(problem, 0.9, method=method, seed=2, std_error=0.04)
    assert abs(z_score(result, enumerate_labels(problem, 0.9).ln_c)) < 4.0


@pytest.mark.parametrize("tau", [0.05, 0.25, 1.2])
def test_other_weights_of_the_norm(tau):
    problem = random_problem("squared_hinge", seed=3, eta=1.4)
    exact = label_table(problem, 0.8).ln_c(1.4, tau)
    result = complexity(problem, 0.8, tau=tau, method="bridge", seed=6, std_error=0.04)
    assert abs(z_score(result, exact)) < 4.0


def test_a_path_has_every_penalty_in_the_order_given():
    problem = random_problem("squared_hinge", seed=7)
    lams = [0.5, 4.0, 1.5, 1e6]
    path = complexity_path(problem, lams, seed=1, std_error=0.04)
    exact = np.array([enumerate_labels(problem, lam).ln_c for lam in lams])
    assert np.abs((path.ln_c - exact) / np.maximum(path.std_error, 1e-9)).max() < 4.0
    bridge = np.array([enumerate_labels(problem, lam).ln_c for lam in path.node_lams])
    error = np.maximum(path.bridge_std_error, 1e-9)
    assert np.abs((path.bridge_ln_c - bridge) / error).max() < 4.0
    table = label_table(problem, 1.5)
    slope = 1.5 * table.mean(table.norm, 1.0)
    assert path.mean_df[2] == pytest.approx(slope, abs=0.15)
    assert path.mean_df[3] == 0.0


@pytest.mark.parametrize("n_positive", [2, 6, 9])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_labelings_with_a_given_number_of_positives(loss, n_positive):
    problem = random_problem(loss, seed=n_positive, intercept=True)
    table, ladder = label_table(problem, 0.7), counted_ladder(problem, 0.7, n_positive)
    matched, free = Law(1.5, 1.5 * 0.7), Law(1.4, 1.4 * 0.4)
    for law in (matched, free):
        ladder.climb(towards(law))
    ladder.settle()
    ln_c, covariance = ladder.refine([matched, free], 0.05, 5000)
    exact = [table.ln_c(law.a, law.tau, n_positive) for law in (matched, free)]
    assert np.abs((ln_c - exact) / np.sqrt(np.diag(covariance))).max() < 4.0
    moments = Reweighting(ladder).moments(matched)
    wanted = table.mean(table.norm, 1.5, None, n_positive)
    assert moments.mean[1] == pytest.approx(wanted, abs=0.1)
    for chain in ladder.rungs[-1].chains:
        assert set(chain.column(N_POSITIVE)) == {float(n_positive)}


def counted_ladder(problem, lam, n_positive, seed=8, n_chains=4):
    return LabelLadder(
        label_family(problem, lam),
        seed=seed,
        n_chains=n_chains,
        n_jobs=1,
        bar=resolve_progress(False),
        n_positive=n_positive,
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["path", "bridge"])
def test_stated_errors_are_those_observed(method):
    problem = random_problem("squared_hinge", seed=21, eta=1.3)
    exact = enumerate_labels(problem, 0.6).ln_c
    scores = np.array(
        [
            z_score(complexity(problem, 0.6, method=method, seed=seed, std_error=0.05), exact)
            for seed in range(60)
        ]
    )
    # Bounds of a chi-squared with 60 degrees of freedom at one in a thousand each side.
    assert 0.71 < np.sqrt(np.mean(scores**2)) < 1.31
    assert abs(scores.mean()) < 4.0 / np.sqrt(60.0)
