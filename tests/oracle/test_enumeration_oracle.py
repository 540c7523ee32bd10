"""Enumeration of all cells against the stored oracles and the closed forms."""

import json
from pathlib import Path

import numpy as np
import pytest

from shtarkov.complexity import closed_form
from shtarkov.complexity.enumeration import enumerate_strata

ORACLES = json.loads((Path(__file__).parents[1] / "data" / "oracles.json").read_text())
# The oracles were themselves integrated numerically, to about these errors.
TABLE_ERROR = 1e-6
QUADRATURE_ERROR = 1e-5
# The mean of k integrates a discontinuous function on a grid.
GRID_ERROR = 3e-4


def named(name):
    return [oracle for oracle in ORACLES if oracle["name"] == name]


def agrees(found, expected, tolerance):
    value, error = found
    assert abs(value - expected) < 4 * error + tolerance
    assert error < 1e-4


@pytest.mark.parametrize("oracle", named("lasso_enumeration"))
def test_lasso_table(oracle):
    table = enumerate_strata(oracle["X"], oracle["lam"], oracle["sigma"])
    gap = np.abs(table.ln_a - np.log(oracle["a"]))
    assert np.all(gap < 4 * table.std_error + TABLE_ERROR)
    agrees(table.ln_c(oracle["lam"]), oracle["ln_C_luckiness"], TABLE_ERROR)
    agrees(table.mean_k(oracle["lam"]), oracle["mean_k"], TABLE_ERROR)
    agrees(table.ln_c_restricted(oracle["R"]), oracle["ln_C_restricted"], TABLE_ERROR)


@pytest.mark.parametrize("oracle", named("lasso_wide_quadrature"))
def test_more_columns_than_rows(oracle):
    table = enumerate_strata(oracle["X"], oracle["lam"], oracle["sigma"])
    assert table.ln_a.size == 3
    agrees(table.ln_c(oracle["lam"]), oracle["ln_C_luckiness"], QUADRATURE_ERROR)
    agrees(table.mean_k(oracle["lam"]), oracle["mean_k"], GRID_ERROR)


@pytest.mark.parametrize("oracle", named("elastic_net_quadrature"))
def test_elastic_net(oracle):
    lam = oracle["lam1"]
    table = enumerate_strata(oracle["X"], lam, oracle["sigma"], oracle["lam2"])
    assert table.ln_a.size == 4  # more active coefficients than rows do occur here
    agrees(table.ln_c(lam), oracle["ln_C_luckiness"], QUADRATURE_ERROR)
    agrees(table.mean_k(lam), oracle["mean_k"], GRID_ERROR)


@pytest.mark.parametrize("sigma", [0.7, 2.0])
def test_orthogonal_designs(sigma, rng):
    lengths = np.array([0.3, 1.0, 1.0, 2.0, 3.0])
    X = np.linalg.qr(rng.standard_normal((9, 5)))[0] * lengths
    table = enumerate_strata(X, 1.2, sigma)
    assert table.ln_a == pytest.approx(closed_form.lasso_log_strata(lengths, 1.2, sigma), abs=1e-10)
    for tau in (1.2, 0.3):
        bent = enumerate_strata(X, 1.2, sigma, 0.5, tau=tau)
        assert bent.ln_c(tau)[0] == pytest.approx(
            closed_form.elastic_net_ln_c(lengths, 1.2, 0.5, tau, sigma), abs=1e-10
        )
