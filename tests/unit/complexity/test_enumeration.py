"""Invariants of the enumeration: scale, rotation, duplicated and dependent columns, bad input."""

import numpy as np
import pytest

from shtarkov.complexity.cells import sign_patterns
from shtarkov.complexity.enumeration import cell_mass, enumerate_strata
from shtarkov.errors import InvalidProblem


@pytest.fixture
def design(rng):
    return rng.standard_normal((6, 4)) + 0.5 * rng.standard_normal((6, 1))


def close(table, other, lam):
    one, error = table.ln_c(lam)
    two, another = other.ln_c(lam)
    assert abs(one - two) < 4 * np.hypot(error, another) + 1e-9


def test_sign_patterns_are_half_of_all():
    patterns = sign_patterns(4)
    both = np.vstack([patterns, -patterns])
    assert np.unique(both, axis=0).shape == (16, 4)
    assert sign_patterns(0).shape == (1, 0)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_scales(design, scale):
    base = enumerate_strata(design, 0.9).ln_c(0.9)[0]
    assert enumerate_strata(design * scale, 0.9 * scale).ln_c(0.9 * scale)[0] == pytest.approx(base)
    wide = enumerate_strata(design, 0.9 * scale, scale).ln_c(0.9 * scale)[0]
    assert wide == pytest.approx(base)


def test_rows_beyond_the_rank_do_not_matter(design, rng):
    turned = np.linalg.qr(rng.standard_normal((40, 40)))[0][:, :6] @ design
    close(enumerate_strata(turned, 0.9), enumerate_strata(design, 0.9), 0.9)


def test_data_with_several_solutions_are_counted_once(design):
    base = enumerate_strata(design, 0.9)
    copies = {
        "duplicate": design[:, 0],
        "mirror image": -design[:, 1],
        "on a face": 0.5 * (design[:, 0] + design[:, 1]),
        "never active": 0.2 * (design[:, 0] + design[:, 1]),
        "zero": 0.0 * design[:, 0],
    }
    for name, column in copies.items():
        for wider in (np.c_[design, column], np.c_[column, design]):
            table = enumerate_strata(wider, 0.9)
            gap = np.abs(table.ln_a[:5] - base.ln_a)
            assert np.all(gap < 5 * np.hypot(table.std_error[:5], base.std_error) + 1e-9), name


def test_collinear_columns_tend_to_the_dependent_design(design, rng):
    base = enumerate_strata(design, 0.9)
    near = enumerate_strata(np.c_[design, design[:, 0] + 1e-6 * rng.standard_normal(6)], 0.9)
    assert near.ln_c(0.9)[0] == pytest.approx(base.ln_c(0.9)[0], abs=2e-4)


def test_elastic_net_tends_to_the_lasso(design):
    lasso = enumerate_strata(design, 0.9)
    bent = enumerate_strata(design, 0.9, lam2=1e-3)
    assert bent.ln_c(0.9)[0] == pytest.approx(lasso.ln_c(0.9)[0], abs=0.02)
    assert bent.mean_k(0.9)[0] == pytest.approx(lasso.mean_k(0.9)[0], abs=0.02)


def test_errors_are_those_of_the_seeds():
    X = np.linalg.cholesky(0.6 + 0.4 * np.eye(4)).T
    tables = [enumerate_strata(X, 1.0, accuracy=3e-3, seed=seed) for seed in range(40)]
    values = np.array([table.ln_c(1.0) for table in tables])
    truth = enumerate_strata(X, 1.0, accuracy=1e-5).ln_c(1.0)[0]
    z = (values[:, 0] - truth) / values[:, 1]
    assert np.mean(np.abs(z) < 2) > 0.85
    assert np.abs(z).max() < 5


def test_mean_k_is_the_derivative(design):
    table = enumerate_strata(design, 0.9)
    step = 1e-4
    up, down = table.ln_c(0.5 * np.exp(step))[0], table.ln_c(0.5 * np.exp(-step))[0]
    assert table.mean_k(0.5)[0] == pytest.approx(-(up - down) / (2 * step), abs=1e-6)


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 3), (2, 6)])
def test_small_shapes(shape, rng):
    table = enumerate_strata(rng.standard_normal(shape), 1.0)
    assert table.ln_a.size == min(shape) + 1
    assert np.isfinite(table.ln_c(1.0)).all()


def test_no_columns():
    assert enumerate_strata(np.zeros((3, 2)), 1.0).ln_c(1.0) == (0.0, 0.0)


def test_bad_input(design):
    with pytest.raises(InvalidProblem, match="method='path'"):
        enumerate_strata(np.ones((3, 20)), 1.0)
    with pytest.raises(InvalidProblem, match="finite"):
        enumerate_strata(np.array([[np.nan]]), 1.0)
    table = enumerate_strata(design, 0.9, lam2=1.0)
    with pytest.raises(InvalidProblem, match="tau"):
        table.ln_c(0.5)
    with pytest.raises(InvalidProblem, match="restricted"):
        table.ln_c_restricted(1.0)


def test_masses_of_cells_add_up_to_the_stratum(design):
    lam, sigma = 0.9, 0.8
    table = enumerate_strata(design, lam, sigma)
    total = 0.0
    for j in range(4):
        gram = design[:, j] @ design[:, j]
        weight = np.sqrt(gram / (2 * np.pi)) / sigma * np.exp(-(lam**2) / (2 * gram * sigma**2))
        for sign in (-1.0, 1.0):
            total += weight * np.exp(cell_mass(design, lam, [j], [sign], sigma)[0])
    assert np.log(total) == pytest.approx(table.ln_a[1], abs=4e-4)
    assert cell_mass(design, lam, [], [], sigma)[0] == pytest.approx(table.ln_a[0], abs=4e-4)
    assert cell_mass(design, lam, [0, 1, 2, 3], np.ones(4), sigma) == (0.0, 0.0)


def test_mass_of_cells_that_cannot_occur(design):
    doubled = np.c_[design, 3 * design[:, 0]]
    assert cell_mass(doubled, 0.9, [0], [1.0]) == (-np.inf, 0.0)
    with pytest.raises(InvalidProblem, match="dependent"):
        cell_mass(doubled, 0.9, [0, 4], [1.0, 1.0])


@pytest.mark.slow
def test_twelve_columns_reach_their_accuracy(rng):
    X = rng.standard_normal((100, 12)) / 10
    table = enumerate_strata(X, 1.0)
    assert table.ln_a.size == 13
    assert np.all(table.std_error < 1.1e-4)
