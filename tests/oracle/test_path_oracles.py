"""Sampled ln C against the stored oracles and the closed forms, by each sampling method."""

import json
from pathlib import Path

import numpy as np
import pytest

from shtarkov import ElasticNet, Lasso, NormBall, complexity, complexity_path
from shtarkov.complexity import closed_form, strata

ORACLES = json.loads((Path(__file__).parents[1] / "data" / "oracles.json").read_text())
LAMS = [0.7, 1.5, 2.5]


def named(name):
    return [oracle for oracle in ORACLES if oracle["name"] == name]


def agrees(result, expected, tolerance=1e-5):
    assert abs(result.ln_c - expected) < 4.0 * result.std_error + tolerance
    assert 0.0 < result.std_error <= 0.0525
    assert result.failures == 0
    assert not result.warnings


@pytest.mark.parametrize("n_features", [1, 5, 40, 200, pytest.param(1000, marks=pytest.mark.slow)])
def test_orthonormal_path(n_features):
    path = complexity_path(Lasso(np.eye(n_features)), LAMS, seed=31)
    norms = np.ones(n_features)
    exact = np.array([closed_form.lasso_ln_c(norms, lam) for lam in LAMS])
    assert np.all(np.abs(path.ln_c - exact) < 4.0 * path.std_error)
    assert np.all(path.std_error <= 0.0525)
    mean_k = [strata.mean_active(closed_form.lasso_log_strata(norms, lam), lam) for lam in LAMS]
    assert path.mean_df == pytest.approx(np.array(mean_k), rel=0.1, abs=0.1)
    assert not path.warnings


@pytest.mark.parametrize("method", ["path", "bridge"])
@pytest.mark.parametrize("oracle", named("lasso_enumeration"), ids=lambda o: f"{o['lam']}")
def test_correlated(oracle, method):
    result = complexity(Lasso(oracle["X"]), oracle["lam"], method=method, seed=32)
    assert result.method == method
    agrees(result, oracle["ln_C_luckiness"])


@pytest.mark.parametrize("oracle", named("lasso_enumeration"), ids=lambda o: f"{o['lam']}")
def test_correlated_restricted(oracle):
    ball = NormBall(oracle["R"])
    result = complexity(Lasso(oracle["X"]), oracle["lam"], region=ball, method="path", seed=33)
    agrees(result, oracle["ln_C_restricted"])


@pytest.mark.parametrize("method", ["path", "bridge"])
@pytest.mark.parametrize("oracle", named("lasso_wide_quadrature"), ids=lambda o: f"{o['lam']}")
def test_more_columns_than_rows(oracle, method):
    result = complexity(Lasso(oracle["X"]), oracle["lam"], method=method, seed=34)
    agrees(result, oracle["ln_C_luckiness"])


@pytest.mark.parametrize("method", ["path", "bridge"])
@pytest.mark.parametrize("tied", [False, True], ids=["fixed", "tied"])
@pytest.mark.parametrize("oracle", named("elastic_net_quadrature"), ids=lambda o: f"{o['lam1']}")
def test_elastic_net(oracle, tied, method):
    lam, lam2 = oracle["lam1"], oracle["lam2"]
    ridge = {"l2_ratio": lam2 / lam} if tied else {"lam2": lam2}
    result = complexity(ElasticNet(oracle["X"], **ridge), lam, method=method, seed=35)
    agrees(result, oracle["ln_C_luckiness"])


@pytest.mark.parametrize("tau", [0.2, 3.0])
def test_elastic_net_at_another_weight(tau):
    X, lam, lam2 = np.eye(6), 1.2, 0.5
    result = complexity(ElasticNet(X, lam2=lam2), lam, tau=tau, method="path", seed=36)
    agrees(result, closed_form.elastic_net_ln_c(np.ones(6), lam, lam2, tau))


@pytest.mark.parametrize(
    "oracle",
    [o for o in named("lasso_orthonormal") if o["D"] <= 40],
    ids=lambda o: f"{o['D']}-{o['lam']}",
)
def test_orthonormal_restricted(oracle):
    problem, ball = Lasso(np.eye(oracle["D"])), NormBall(oracle["R"])
    result = complexity(problem, oracle["lam"], region=ball, method="path", seed=37)
    agrees(result, oracle["ln_C_restricted_R3"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "oracle", [o for o in named("lasso_orthonormal") if o["D"] == 200], ids=lambda o: f"{o['lam']}"
)
def test_wide_orthonormal_restricted(oracle):
    result = complexity(
        Lasso(np.eye(200)), oracle["lam"], region=NormBall(3.0), method="path", seed=37
    )
    agrees(result, oracle["ln_C_restricted_R3"])
