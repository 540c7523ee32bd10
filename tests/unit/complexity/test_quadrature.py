"""Quadrature along the penalty path: exact for polynomials, and rules that nest."""

import numpy as np
import pytest
from scipy.integrate import quad

from shtarkov.complexity import closed_form
from shtarkov.complexity.quadrature import (
    NODE_COUNTS,
    chebyshev_nodes,
    first_order,
    integral_weights,
    interpolation_weights,
    rule_error,
    smallest_rule,
    stand_in,
    start_of_path,
    unresolved_part,
)


@pytest.mark.parametrize("count", NODE_COUNTS[:3])
def test_polynomials_are_integrated_and_interpolated_exactly(count):
    nodes, targets = chebyshev_nodes(-1.0, 2.0, count), np.array([-1.0, 0.3, 2.0])
    polynomial = np.polynomial.Polynomial(np.arange(1.0, count + 1.0))
    whole = polynomial.integ()
    assert integral_weights(nodes, targets) @ polynomial(nodes) == pytest.approx(
        whole(2.0) - whole(targets), rel=1e-9
    )
    assert interpolation_weights(nodes, targets) @ polynomial(nodes) == pytest.approx(
        polynomial(targets), rel=1e-9
    )


def test_a_path_of_no_length_has_no_integral():
    nodes = chebyshev_nodes(0.5, 0.5, 5)
    assert not integral_weights(nodes, np.array([0.5])).any()
    assert interpolation_weights(nodes, np.array([0.5])) @ np.full(5, 3.0) == pytest.approx(3.0)


def test_every_other_node_of_a_rule_is_a_rule():
    for count in NODE_COUNTS:
        assert chebyshev_nodes(-2.0, 1.0, count)[::2] == pytest.approx(
            chebyshev_nodes(-2.0, 1.0, (count + 1) // 2)
        )


def test_the_first_order_term_bounds_orthogonal_designs():
    norms = np.array([0.5, 1.0, 2.0])
    for lam in (2.0, 6.0, 10.0):
        exact = closed_form.lasso_ln_c(norms, lam)
        assert exact <= first_order(norms, lam) <= exact * (1.0 + exact) + 1e-15
    assert first_order(norms, start_of_path(norms, 1e-3)) == pytest.approx(1e-3, rel=1e-4)


def test_the_stand_in_is_exact_for_orthonormal_columns_far_from_the_rank():
    log_lams = np.log([0.8, 1.5, 3.0])
    active = stand_in(np.ones(5), 10**6, log_lams)
    for log_lam, found in zip(log_lams, active, strict=True):
        up = closed_form.lasso_ln_c(np.ones(5), np.exp(log_lam + 1e-5))
        down = closed_form.lasso_ln_c(np.ones(5), np.exp(log_lam - 1e-5))
        assert found == pytest.approx(-(up - down) / 2e-5, rel=1e-4)
    assert stand_in(np.ones(500), 20, np.log([1e-6])) == pytest.approx(20.0, rel=1e-3)


def test_the_smallest_rule_reaches_its_tolerance():
    def integrand(log_lams):
        return stand_in(np.ones(20), 20, log_lams)

    low, high = np.log(0.3), np.log(6.0)
    exact = quad(lambda x: float(integrand(np.array([x]))[0]), low, high)[0]
    counts = []
    for tolerance in (1e-1, 1e-3, 1e-5):
        count = smallest_rule(integrand, low, high, tolerance)
        nodes = chebyshev_nodes(low, high, count)
        found = (integral_weights(nodes, np.array([low])) @ integrand(nodes))[0]
        assert abs(found - exact) < tolerance
        counts.append(count)
    assert counts == sorted(counts)
    assert smallest_rule(integrand, low, high, 1e-300) == NODE_COUNTS[-1]


def test_an_unresolved_integrand_is_told_from_noise(rng):
    nodes, targets = chebyshev_nodes(-1.0, 1.0, 9), np.array([-1.0])
    step = (nodes > 0.1).astype(float)
    assert unresolved_part(nodes, targets, step, np.zeros(9)) > 0.005
    noise = 0.1 * rng.standard_normal(9)
    assert unresolved_part(nodes, targets, np.ones(9) + noise, np.full(9, 0.01)) == 0.0


def test_the_error_of_a_rule_is_known_from_a_stand_in():
    nodes, targets = chebyshev_nodes(-3.0, 0.0, 5), np.array([-3.0, -1.0])
    found = rule_error(lambda x: np.exp(-4.0 * x), nodes, targets)
    exact = 0.25 * (np.exp(-4.0 * targets) - 1.0)
    actual = np.abs(integral_weights(nodes, targets) @ np.exp(-4.0 * nodes) - exact)
    np.testing.assert_allclose(found, actual, rtol=1e-6)
    assert found.max() > 1.0
