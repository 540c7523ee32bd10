"""Enumeration of labels: the stored oracles, the symmetry, and the limit of a large penalty."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from shtarkov.complexity.label_enumeration import enumerate_labels, label_table
from shtarkov.errors import InvalidProblem
from shtarkov.families.label_problems import SparseLogistic, SparseSVM
from shtarkov.families.sparse_svm import largest_lam_max, solve_labels

ORACLES = json.loads((Path(__file__).parents[1] / "data" / "oracles.json").read_text())
STORED = [entry for entry in ORACLES if entry["name"] == "svm_enumeration"]


@pytest.mark.parametrize("entry", STORED, ids=lambda e: f"{e['loss']}-{e['lam']}")
def test_the_stored_values(entry):
    problem = SparseSVM(np.array(entry["X"]), entry["loss"])
    result = enumerate_labels(problem, entry["lam"])
    assert result.ln_c == pytest.approx(entry["ln_C_luckiness"], abs=1e-9)
    assert result.std_error < 1e-7
    table = label_table(problem, entry["lam"])
    assert table.mean(table.envelope, 1.0) == pytest.approx(entry["mean_E"], abs=1e-9)


def test_every_labeling_is_in_the_table_once(rng):
    X = rng.standard_normal((6, 3))
    problem = SparseLogistic(X, fit_intercept=True)
    table = label_table(problem, 0.4)
    every = []
    for code in range(2**6):
        signs = np.array([1.0 if code >> i & 1 else -1.0 for i in range(6)])
        every.append(solve_labels(problem, signs, 0.4).objective)
    assert np.sort(np.repeat(table.envelope, 2)) == pytest.approx(np.sort(every), abs=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_large_penalty_leaves_the_binomial_sum(rng, loss):
    X = rng.standard_normal((9, 2))
    problem = SparseSVM(X, loss, fit_intercept=True)
    lam = 1.01 * largest_lam_max(problem)
    total = 0.0
    for n_positive in range(10):
        if loss == "hinge":
            energy = 2.0 * min(n_positive, 9 - n_positive)
        else:
            energy = 2.0 * n_positive * (9 - n_positive) / 9
        total += math.comb(9, n_positive) * math.exp(-1.3 * energy)
    assert enumerate_labels(problem, lam, eta=1.3).ln_c == pytest.approx(math.log(total), abs=1e-9)


def test_eta_zero_counts_labelings(rng):
    table = label_table(SparseSVM(rng.standard_normal((7, 2))), 0.5)
    assert table.ln_c(0.0) == pytest.approx(7 * math.log(2.0))


def test_too_many_rows_and_a_missing_eta_are_refused(rng):
    with pytest.raises(InvalidProblem, match="at most 14"):
        enumerate_labels(SparseSVM(rng.standard_normal((15, 2))), 1.0)
    with pytest.raises(InvalidProblem, match="eta"):
        enumerate_labels(SparseSVM(rng.standard_normal((5, 2)), eta="unknown"), 1.0)
