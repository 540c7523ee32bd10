"""Closed forms against the stored oracles and against quadrature in one dimension."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp

from shtarkov.complexity import closed_form, strata

ORACLES = json.loads((Path(__file__).parents[1] / "data" / "oracles.json").read_text())


def named(name: str) -> list[dict]:
    return [oracle for oracle in ORACLES if oracle["name"] == name]


@pytest.mark.parametrize("oracle", named("lasso_orthonormal"))
def test_lasso_orthonormal_oracle(oracle):
    norms = np.ones(oracle["D"])
    assert closed_form.lasso_ln_c(norms, oracle["lam"]) == pytest.approx(
        oracle["ln_C_luckiness"], abs=1e-10
    )
    assert closed_form.lasso_ln_c_restricted(norms, oracle["lam"], oracle["R"]) == pytest.approx(
        oracle["ln_C_restricted_R3"], abs=1e-10
    )


@pytest.mark.parametrize("oracle", named("group_lasso_orthonormal"))
def test_group_lasso_oracle(oracle):
    n_groups = oracle["n_groups"]
    ln_c = closed_form.group_lasso_ln_c(
        np.ones(n_groups), np.full(n_groups, oracle["group_size"]), oracle["lam"]
    )
    assert ln_c == pytest.approx(oracle["ln_C_luckiness"], abs=1e-10)


def one_column(norm, lam, tau, lam2, sigma, radius=np.inf):
    """Integrate the weighted density of one data value, estimate by estimate."""

    def density(y):
        coef = np.sign(y) * max(abs(y) * norm - lam, 0.0) / (norm**2 + lam2)
        if abs(coef) > radius:
            return 0.0
        energy = 0.5 * (y - norm * coef) ** 2 + tau * abs(coef) + 0.5 * lam2 * coef**2
        return np.exp(-energy / sigma**2) / np.sqrt(2 * np.pi) / sigma

    edge = lam / norm
    far = edge + min(radius * norm, 60 * sigma**2 * norm / max(tau, 1e-9))
    inside = quad(density, 0, edge, epsabs=1e-13)[0]
    return 2 * (inside + quad(density, edge, far, epsabs=1e-13, limit=400)[0])


@pytest.mark.parametrize("norm", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("sigma", [0.5, 2.0])
@pytest.mark.parametrize("tau_ratio", [1.0, 0.2])
def test_one_column_by_quadrature(norm, sigma, tau_ratio):
    lam = 1.3
    norms = np.array([norm, 0.0])
    expected = one_column(norm, lam, tau_ratio * lam, 0.0, sigma)
    assert np.exp(closed_form.lasso_ln_c(norms, lam, tau_ratio * lam, sigma)) == pytest.approx(
        expected, rel=1e-9
    )
    ridge = one_column(norm, lam, tau_ratio * lam, 0.7, sigma)
    assert np.exp(
        closed_form.elastic_net_ln_c(norms, lam, 0.7, tau_ratio * lam, sigma)
    ) == pytest.approx(ridge, rel=1e-9)
    radius = 0.8
    restricted = one_column(norm, lam, 0.0, 0.0, sigma, radius)
    assert np.exp(closed_form.lasso_ln_c_restricted(norms, lam, radius, sigma)) == pytest.approx(
        restricted, rel=1e-9
    )


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_one_group_by_quadrature(size):
    norm, sigma, lam, tau, weight, radius = 1.7, 0.8, 1.1, 0.4, 1.4, 0.9
    edge = lam * weight / norm
    sphere = 2 * np.pi ** (size / 2) / np.exp(closed_form.gammaln(size / 2))

    def shell(fitted, rate):
        energy = 0.5 * edge**2 + rate * weight * fitted / norm
        return (edge + fitted) ** (size - 1) * np.exp(-energy / sigma**2)

    scale = sphere * (2 * np.pi * sigma**2) ** (-size / 2)
    inside = scale * quad(lambda z: z ** (size - 1) * np.exp(-0.5 * (z / sigma) ** 2), 0, edge)[0]
    lucky = inside + scale * quad(shell, 0, 200, args=(tau,), limit=300)[0]
    ball = inside + scale * quad(shell, 0, radius * norm / weight, args=(0.0,))[0]
    args = (np.array([norm]), np.array([size]), lam)
    assert np.exp(
        closed_form.group_lasso_ln_c(*args, weights=[weight], tau=tau, sigma=sigma)
    ) == pytest.approx(lucky, rel=1e-8)
    assert np.exp(
        closed_form.group_lasso_ln_c_restricted(*args, radius, weights=[weight], sigma=sigma)
    ) == pytest.approx(ball, rel=1e-8)


def test_groups_of_one_are_the_lasso():
    norms = np.array([0.5, 1.0, 2.0, 1.0])
    assert closed_form.group_lasso_log_strata(norms, np.ones(4), 1.2, sigma=0.7) == pytest.approx(
        closed_form.lasso_log_strata(norms, 1.2, 0.7), abs=1e-12
    )


def test_no_ridge_is_the_lasso():
    norms = np.array([0.5, 1.0, 2.0])
    for lam2 in (0.0, 1e-14, 1e-9):
        assert closed_form.elastic_net_ln_c(norms, 1.2, lam2) == pytest.approx(
            closed_form.lasso_ln_c(norms, 1.2), abs=1e-7
        )


@pytest.mark.parametrize("n_features", [1, 40, 3000])
def test_strata_by_product_match_binomial_and_sum_to_ln_c(n_features):
    lam, tau = 1.5, 0.1
    equal = closed_form.lasso_log_strata(np.ones(n_features), lam)
    nudged = np.ones(n_features)
    nudged[0] += 1e-13
    assert closed_form.lasso_log_strata(nudged, lam) == pytest.approx(equal, rel=1e-9, abs=1e-8)
    assert strata.log_luckiness(equal, tau) == pytest.approx(
        closed_form.lasso_ln_c(np.ones(n_features), lam, tau), rel=1e-12
    )


def test_law_of_k_and_its_mean_follow_from_the_derivative():
    norms, lam, tau, step = np.array([0.5, 1.0, 1.0, 3.0]), 0.8, 0.5, 1e-5
    log_weights = closed_form.lasso_log_strata(norms, lam, 1.3)
    up = closed_form.lasso_ln_c(norms, lam, tau * np.exp(step), 1.3)
    down = closed_form.lasso_ln_c(norms, lam, tau * np.exp(-step), 1.3)
    assert strata.mean_active(log_weights, tau, 1.3) == pytest.approx(
        -(up - down) / (2 * step), abs=1e-8
    )
    assert logsumexp(np.log(strata.stratum_law(log_weights, tau, 1.3))) == pytest.approx(0.0)


def test_extreme_scales_stay_finite():
    norms = np.array([1e-6, 1.0, 1e6])
    for lam in (1e-6, 1.0, 1e6):
        assert np.isfinite(closed_form.lasso_ln_c(norms, lam))
        assert np.isfinite(closed_form.elastic_net_ln_c(norms, lam, 0.1))
        assert not np.isnan(closed_form.lasso_log_strata(norms, lam)).any()
