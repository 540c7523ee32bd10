"""The ladder in the luckiness weight: its ends, its reference and its guess."""

import numpy as np
import pytest

from shtarkov import Lasso
from shtarkov.complexity import closed_form, ladder
from shtarkov.complexity.luckiness import luckiness_ladder
from shtarkov.complexity.quadrature import expected_active
from shtarkov.families.compiled import family_of
from shtarkov.progress import SilentProgress


def test_the_guess_is_exact_for_orthogonal_columns_far_from_the_rank():
    norms, kappa = np.array([0.5, 1.0, 2.0]), 1.2
    for tau in (0.1, 1.2, 3.0):
        up = closed_form.lasso_ln_c(norms, kappa, tau * np.exp(1e-5))
        down = closed_form.lasso_ln_c(norms, kappa, tau * np.exp(-1e-5))
        found = expected_active(norms, 10**7, kappa, np.array([tau]))[0]
        assert found == pytest.approx(-(up - down) / 2e-5, rel=1e-5)


def made(low, high, **options):
    settings = {"std_error": 0.1, "n_chains": 2, "n_jobs": None, "seed": 4, "max_draws": 10**5}
    family = family_of(Lasso(np.eye(3)), 1.0)
    return luckiness_ladder(family, low, high, bar=SilentProgress(), **{**settings, **options})


@pytest.mark.needs_jit
def test_ratios_run_both_ways_from_the_matched_weight():
    found = made(0.3, 2.0)
    assert found.holds(0.3)
    assert found.holds(2.0)
    assert not found.holds(0.2)
    assert found.relative_ln_c(1.0, 1.0) == pytest.approx((0.0, 0.0))
    for tau in (0.3, 0.6, 2.0):
        value, error = found.relative_ln_c(tau, 1.0)
        exact = closed_form.lasso_ln_c(np.ones(3), 1.0, tau) - closed_form.lasso_ln_c(
            np.ones(3), 1.0
        )
        assert abs(value - exact) < 4.0 * error
        assert 0.0 < error <= 0.105
        assert found.relative_ln_c(1.0, tau)[0] == pytest.approx(-value)
    assert not found.warnings


@pytest.mark.needs_jit
def test_the_matched_weight_is_always_held_and_may_be_all():
    assert made(0.4, 0.5).holds(1.0)
    alone = made(1.0, 1.0)
    assert alone.relative_ln_c(1.0, 1.0) == (0.0, 0.0)


@pytest.mark.needs_jit
def test_a_limit_on_draws_is_told_of():
    found = made(0.1, 1.0, std_error=1e-3, max_draws=60)
    assert ladder.UNREACHED in found.warnings
