"""`stratum_spectrum`: exact where it can be, and consistent with itself where it is sampled."""

import numpy as np
import pytest

from shtarkov import ElasticNet, Lasso, stratum_spectrum
from shtarkov.complexity import closed_form
from shtarkov.errors import InvalidProblem


def design():
    return np.random.default_rng(2).standard_normal((6, 3)) / np.sqrt(6.0)


def test_orthogonal_columns_get_exact_weights():
    spectrum = stratum_spectrum(Lasso(2.0 * np.eye(4)), 1.5, sigma=0.5)
    norms = np.full(4, 2.0)
    assert spectrum.method == "closed_form"
    assert not spectrum.std_error.any()
    assert spectrum.ln_c(0.7) == pytest.approx((closed_form.lasso_ln_c(norms, 1.5, 0.7, 0.5), 0.0))
    assert spectrum.ln_c_restricted(3.0)[0] == pytest.approx(
        closed_form.lasso_ln_c_restricted(norms, 1.5, 3.0, 0.5)
    )
    assert spectrum.covers(tau=1e-9, radius=1e9)
    assert 0.0 < spectrum.mean_k(1.5) < spectrum.mean_k(0.1) < 4.0


def test_few_columns_are_enumerated():
    spectrum = stratum_spectrum(Lasso(design()), 1.0)
    assert spectrum.method == "enumerate"
    assert spectrum.ln_c(1.0)[1] < 1e-3
    assert spectrum.seed is None


def test_what_cannot_be_had_is_refused():
    with pytest.raises(InvalidProblem, match="orthogonal columns"):
        stratum_spectrum(Lasso(design()), 1.0, method="closed_form")
    with pytest.raises(InvalidProblem, match="method must be"):
        stratum_spectrum(Lasso(design()), 1.0, method="guess")
    with pytest.raises(InvalidProblem, match="for Lasso only"):
        stratum_spectrum(ElasticNet(design(), lam2=1.0), 1.0)


@pytest.mark.needs_jit
def test_sampled_weights_agree_with_enumeration_and_repeat():
    options = {"method": "sampled", "std_error": 0.03, "tau_min": 0.2, "seed": 5}
    found = stratum_spectrum(Lasso(design()), 1.0, **options)
    exact = stratum_spectrum(Lasso(design()), 1.0)
    assert np.all(np.abs(found.ln_a - exact.ln_a) < 4.0 * found.std_error)
    for tau in (1.0, 0.5, 0.2, 0.1):  # the last lies beyond the ladder, within what was visited
        value, error = found.ln_c(tau)
        assert abs(value - exact.ln_c(tau)[0]) < 4.0 * error
    again = stratum_spectrum(Lasso(design()), 1.0, n_jobs=2, **options)
    assert np.array_equal(again.ln_a, found.ln_a)
    assert found.n_draws > 0
    assert found.seed == 5


@pytest.mark.needs_jit
@pytest.mark.parametrize("sigma", [0.1, 4.0])
def test_units(sigma):
    options = {"method": "sampled", "std_error": 0.2, "seed": 5}
    one = {"tau_min": 0.3, "radius": 2.0}
    other = {"tau_min": 0.3 * sigma, "radius": 2.0 * sigma}
    unit = stratum_spectrum(Lasso(design()), 1.0, **one, **options)
    scaled = stratum_spectrum(Lasso(design()), sigma, sigma=sigma, **other, **options)
    assert scaled.ln_c(0.3 * sigma)[0] == pytest.approx(unit.ln_c(0.3)[0], rel=1e-6)
    assert scaled.ln_c_restricted(2.0 * sigma)[0] == pytest.approx(
        unit.ln_c_restricted(2.0)[0], rel=1e-6
    )


@pytest.mark.needs_jit
def test_a_radius_widens_the_ladder_until_it_is_covered():
    spectrum = stratum_spectrum(
        Lasso(np.eye(5)), 1.0, method="sampled", tau_min=1.0, radius=20.0, std_error=0.1, seed=6
    )
    assert spectrum.covers(radius=20.0)
    value, error = spectrum.ln_c_restricted(20.0)
    exact = closed_form.lasso_ln_c_restricted(np.ones(5), 1.0, 20.0)
    assert abs(value - exact) < 4.0 * error
