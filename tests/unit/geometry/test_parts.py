"""The smaller parts: tangent basis, group blocks, the Elastic Net proposal, flops, the choice."""

import numpy as np
import pytest

from shtarkov.errors import InvalidProblem
from shtarkov.geometry import Rates, choose_route, make_active_factor, measure_rates, schur
from shtarkov.geometry import flops as fl
from shtarkov.geometry.elastic_net import draw_d_en, inverse_form_d_en
from shtarkov.geometry.group_blocks import block_cholesky, block_pattern, block_solve
from shtarkov.geometry.tangent_basis import tangent_basis
from shtarkov.types import Status


@pytest.mark.parametrize("k", [0, 1, 3, 7])
def test_tangent_basis_is_an_orthonormal_complement(rng, k):
    X = rng.standard_normal((7, k))
    basis = tangent_basis(X)
    assert basis.shape == (7, 7 - k)
    np.testing.assert_allclose(basis.T @ basis, np.eye(7 - k), atol=1e-14)
    np.testing.assert_allclose(X.T @ basis, 0.0, atol=1e-13)


def test_tangent_basis_stays_orthonormal_when_columns_repeat():
    basis = tangent_basis(np.ones((5, 2)))
    np.testing.assert_allclose(basis.T @ basis, np.eye(3), atol=1e-14)


def chain_gram(rng):
    """Groups 0-1 and 1-2 overlap, 0-2 do not, 3 is alone."""
    links = rng.standard_normal((4, 2, 30))
    X = np.zeros((30, 8))
    blocks = [slice(0, 10), slice(5, 20), slice(15, 25), slice(25, 30)]
    for g, rows in enumerate(blocks):
        X[rows, 2 * g : 2 * g + 2] = links[g][:, rows].T
    return X.T @ X, np.array([0, 2, 4, 6, 8])


def test_block_pattern_and_factor(rng):
    gram, starts = chain_gram(rng)
    pattern = block_pattern(gram, starts)
    expected = np.eye(4, dtype=bool)
    expected[1, 0] = expected[2, 1] = True
    np.testing.assert_array_equal(pattern, expected)
    chol = np.zeros((8, 8))
    assert block_cholesky(gram, starts, pattern, chol) == Status.OK
    np.testing.assert_allclose(chol, np.linalg.cholesky(gram), atol=1e-12)
    x = rng.standard_normal(8)
    rhs = gram @ x
    block_solve(chol, starts, pattern, rhs)
    np.testing.assert_allclose(rhs, x, rtol=1e-9)


def test_block_pattern_fills_where_elimination_does(rng):
    gram, starts = chain_gram(rng)
    order = np.array([2, 3, 0, 1, 4, 5, 6, 7])  # the middle of the chain first: 0 and 2 get linked
    gram = gram[np.ix_(order, order)]
    pattern = block_pattern(gram, starts)
    assert pattern[2, 1]
    chol = np.zeros((8, 8))
    assert block_cholesky(gram, starts, pattern, chol) == Status.OK
    np.testing.assert_allclose(chol, np.linalg.cholesky(gram), atol=1e-12)


def test_block_cholesky_reports_a_singular_group():
    gram = np.ones((2, 2))
    starts = np.array([0, 2])
    pattern = block_pattern(gram, starts)
    assert block_cholesky(gram, starts, pattern, np.zeros((2, 2))) == Status.SINGULAR_GRAM


@pytest.mark.parametrize("k", [0, 3])
def test_elastic_net_proposal_has_covariance_d_en(rng, k):
    n, lam2 = 6, 0.4
    factor = make_active_factor(rng.standard_normal((n, k)), lam2 * np.eye(k))
    inputs = np.eye(n + k)
    root = np.stack([draw_d_en(factor, lam2, row[:n].copy(), row[n:].copy()) for row in inputs], 1)
    d_en = np.stack([schur.apply_d_en(factor, lam2, e) for e in np.eye(n)], axis=1)
    np.testing.assert_allclose(root @ root.T, d_en, atol=1e-13)
    delta = rng.standard_normal(n)
    expected = delta @ np.linalg.solve(d_en, delta)
    assert inverse_form_d_en(factor, lam2, delta) == pytest.approx(expected, rel=1e-11)


def test_flop_ratio_is_below_one_and_five_eighths_at_one():
    rho = np.linspace(1e-4, 1.0, 1000)
    eta = fl.schur_to_kkt(rho)
    assert (eta < 1.0).all()
    assert fl.schur_to_kkt(1.0) == pytest.approx(5.0 / 8.0, rel=1e-15)
    np.testing.assert_allclose(
        fl.flops_schur(500.0, 500.0 * rho) / fl.flops_kkt(500.0, 500.0 * rho), eta
    )
    assert fl.schur_to_kkt(1e-6) == pytest.approx(3e-6, rel=1e-5)


def test_gram_pair_flops():
    assert fl.flops_gram_pair(6, 6) == 6**3 / 2
    assert fl.flops_gram_pair(6, 3) > fl.flops_gram_pair(3, 3)


def test_support_side_flops_are_smaller_on_the_smaller_side():
    assert fl.flops_support_side(3, 10) < fl.flops_support_side(10, 3)


def test_choice_by_accuracy_then_cost():
    easy = choose_route(500, 2000, 12, 10.0)
    assert easy.route == "schur"
    assert "cheapest" in easy.reason
    assert easy.seconds["dense"] > 100.0 * easy.seconds["schur"]
    hard = choose_route(500, 2000, 12, 1e6)
    assert hard.route == "qr"
    assert "exceeds the accuracy" in hard.reason
    assert choose_route(500, 2000, 12, 1e6, accuracy=1.0).route == "schur"
    assert choose_route(500, 2000, 12, np.inf).route == "qr"
    slow_schur = Rates(dense=1e12, schur=1.0, qr=1.0)
    assert choose_route(10, 20, 5, rates=slow_schur).route == "dense"


def test_the_papers_rule_is_one_policy():
    assert choose_route(100, 50, 60, policy="paper").route == "dense"
    assert choose_route(100, 2000, 100, policy="paper").route == "schur"
    assert choose_route(100, 2000, 60, 1e9, policy="paper").route == "schur"


@pytest.mark.parametrize("arguments", [(5, 3, 6), (5, 0, 0), (5, 3, -1)])
def test_impossible_sizes(arguments):
    with pytest.raises(InvalidProblem, match="need 0 <= k <= N"):
        choose_route(*arguments)
    with pytest.raises(InvalidProblem, match="policy"):
        choose_route(5, 3, 2, policy="best")


def test_rates_are_positive(rng):
    rates = measure_rates(rng, n_samples=10, n_active=2, n_repeats=1)
    assert all(np.isfinite(rate) and rate > 0.0 for rate in rates)
