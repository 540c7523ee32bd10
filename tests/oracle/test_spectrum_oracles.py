"""The sampled stratum spectrum against enumeration and the orthonormal closed forms."""

import json
from pathlib import Path

import numpy as np
import pytest

from shtarkov import Lasso, NormBall, complexity, stratum_spectrum
from shtarkov.complexity import closed_form

ORACLES = json.loads((Path(__file__).parents[1] / "data" / "oracles.json").read_text())
TABLES = [oracle for oracle in ORACLES if oracle["name"] == "lasso_enumeration"]
RATIOS = [1.0, 0.5, 0.2, 0.1, 0.05, 0.02]


@pytest.mark.parametrize("oracle", TABLES, ids=lambda oracle: f"{oracle['lam']}")
def test_every_weight_of_the_spectrum(oracle):
    spectrum = stratum_spectrum(Lasso(oracle["X"]), oracle["lam"], method="sampled", seed=41)
    exact = np.log(oracle["a"])
    seen = np.isfinite(spectrum.std_error)
    assert seen[:4].all()
    assert np.all(np.abs(spectrum.ln_a - exact)[seen] < 4.0 * spectrum.std_error[seen])
    assert spectrum.std_error[:4].max() < 0.5
    assert not spectrum.warnings


@pytest.mark.parametrize("n_features", [20, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("lam", [1.0, 2.0])
def test_orthonormal_at_every_weight(n_features, lam):
    problem = Lasso(np.eye(n_features))
    spectrum = stratum_spectrum(problem, lam, method="sampled", seed=42)
    for ratio in RATIOS:
        value, error = spectrum.ln_c(ratio * lam)
        exact = closed_form.lasso_ln_c(np.ones(n_features), lam, ratio * lam)
        assert abs(value - exact) < 4.0 * error
        assert error <= 0.0525
    assert not spectrum.warnings


@pytest.mark.parametrize("radius", [0.1, 1.0, 10.0, 100.0])
def test_orthonormal_at_every_radius(radius):
    n_features, lam = 20, 1.0
    result = complexity(
        Lasso(np.eye(n_features)), lam, region=NormBall(radius), method="path", seed=43
    )
    exact = closed_form.lasso_ln_c_restricted(np.ones(n_features), lam, radius)
    assert abs(result.ln_c - exact) < 4.0 * result.std_error
    assert result.std_error < 0.15
    assert not result.warnings


def test_a_radius_out_of_reach_is_told():
    spectrum = stratum_spectrum(Lasso(np.eye(20)), 2.0, method="sampled", tau_min=1.0, seed=44)
    assert spectrum.covers(tau=2.0)
    assert not spectrum.covers(radius=1e4)
    with pytest.warns(UserWarning, match="extend the ladder"):
        spectrum.ln_c_restricted(1e4)
