"""ln C of the sparse Group Lasso: quadrature, the derivative identity, and its two limits."""

import numpy as np
import pytest

from shtarkov import GroupLasso, Lasso, complexity, sample, select
from shtarkov.errors import InvalidProblem
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of
from tests.group_designs import correlated_groups
from tests.laws import oracles, z_score

pytestmark = pytest.mark.needs_jit

DESIGN = oracles("group_lasso_quadrature")[0]
REACH, SPACING = 11.0, 0.11


def quadrature(problem, lam):
    """ln of the integral of exp(-envelope) over half the plane, twice: midpoints of a grid."""
    family = family_of(problem, lam)
    work = protocol.new_work(family, 8)
    points = np.arange(-REACH, REACH, SPACING) + 0.5 * SPACING
    heights = [
        np.exp(-protocol.solve(family, np.array([a, b]), work).envelope)
        for a in points
        for b in points[points > 0.0]
    ]
    return np.log(2.0 * np.sum(heights) * SPACING**2 / (2.0 * np.pi))


@pytest.mark.parametrize("ratio", [0.3, 0.8])
def test_quadrature(ratio):
    problem = GroupLasso(DESIGN["X"], DESIGN["groups"], [1.0, 1.0], l1_ratio=ratio)
    result = complexity(problem, 2.0, std_error=0.02, seed=1)
    assert result.method == "path"
    assert abs(result.ln_c - quadrature(problem, 2.0)) < 4.0 * result.std_error + 1e-3
    assert result.failures == 0


def test_the_three_integrands_agree_on_a_correlated_design(rng):
    X, group_of = correlated_groups(rng, 12, (3, 4, 1, 5, 2))
    draws = sample(GroupLasso(X, group_of, l1_ratio=0.5), 1.5, n_draws=1500, n_chains=4, seed=6)
    assert abs(z_score(draws.penalty - draws.df, 0.0)) < 4.0
    assert abs(z_score(12 - draws.residual_sq - draws.df, 0.0)) < 4.0
    assert np.mean(draws.k) > np.mean(draws.df)
    assert draws.kkt_residual.max() < 1e-9
    assert not draws.failures


def test_between_the_group_lasso_and_the_lasso(rng):
    X, group_of = correlated_groups(rng, 6, (2, 3))
    near_lasso = complexity(GroupLasso(X, group_of, l1_ratio=1.0 - 1e-9), 1.0, seed=2)
    lasso = complexity(Lasso(X), 1.0)
    assert abs(near_lasso.ln_c - lasso.ln_c) < 4.0 * near_lasso.std_error
    ones = complexity(GroupLasso(X, range(5), l1_ratio=0.5), 1.0)
    assert ones.method == "enumerate"
    assert ones.ln_c == pytest.approx(lasso.ln_c)


def test_no_closed_form_for_wide_groups():
    with pytest.raises(InvalidProblem, match="closed_form"):
        complexity(GroupLasso(np.eye(4), [0, 0, 1, 1], l1_ratio=0.5), 1.0, method="closed_form")
    with pytest.raises(InvalidProblem, match="knows no l1_ratio"):
        sample(GroupLasso(np.eye(4), [0, 0, 1, 1], l1_ratio=0.5), 1.0, sampler="ppmh")


def test_selection_leaves_columns_of_an_active_group_out(rng):
    X = rng.standard_normal((60, 12))
    coef = np.zeros(12)
    coef[[0, 1]] = [1.5, -1.5]
    y = X @ coef + 0.5 * rng.standard_normal(60)
    options = {"std_error": 0.3, "n_grid": 30, "seed": 1}
    sparse, whole = (
        select(GroupLasso(X, np.arange(12) // 4, l1_ratio=ratio), y, **options)
        for ratio in (0.8, 0.0)
    )
    assert {0, 1} <= set(np.flatnonzero(sparse.coef)) < set(np.flatnonzero(whole.coef))
    assert sparse.codelength < whole.codelength
