"""ln C of the Group Lasso: quadrature, closed forms at any size, and identities on the way."""

import numpy as np
import pytest

from shtarkov import GroupLasso, Lasso, NormBall, complexity, complexity_path, sample
from shtarkov.complexity import closed_form, path
from shtarkov.complexity.outline import outline_of
from shtarkov.diagnostics.convergence import mean_error
from shtarkov.errors import InvalidProblem
from shtarkov.families.compiled import family_of
from tests.group_designs import correlated_groups
from tests.laws import oracles, z_score

pytestmark = pytest.mark.needs_jit


def orthonormal(n_groups, size, weights=None):
    return GroupLasso(np.eye(n_groups * size), np.arange(n_groups * size) // size, weights)


def exact(problem, lam, tau=None):
    sizes = problem.groups.sizes
    norms = np.ones(sizes.size)
    return closed_form.group_lasso_ln_c(norms, sizes, lam, weights=problem.weights, tau=tau)


@pytest.mark.parametrize("method", ["path", "bridge"])
@pytest.mark.parametrize("oracle", oracles("group_lasso_quadrature"), ids=lambda o: f"{o['lam']}")
def test_quadrature(oracle, method):
    problem = GroupLasso(oracle["X"], oracle["groups"], oracle["weights"])
    result = complexity(problem, oracle["lam"], method=method, seed=1)
    tolerance = 4.0 * result.std_error + oracle["tolerance"]
    assert abs(result.ln_c - oracle["ln_C_luckiness"]) < tolerance
    assert result.std_error <= 0.0525
    assert result.failures == 0


@pytest.mark.parametrize("oracle", oracles("group_lasso_orthonormal"), ids=lambda o: f"{o['lam']}")
def test_orthonormal_groups(oracle):
    n_groups, size = oracle["n_groups"], oracle["group_size"]
    problem = orthonormal(n_groups, size, np.ones(n_groups))
    closed = complexity(problem, oracle["lam"])
    assert closed.method == "closed_form"
    assert closed.ln_c == pytest.approx(oracle["ln_C_luckiness"], abs=1e-9)
    sampled = complexity(problem, oracle["lam"], method="path", seed=2)
    assert abs(sampled.ln_c - closed.ln_c) < 4.0 * sampled.std_error


@pytest.mark.parametrize(
    ("n_groups", "size"), [(1, 3), (7, 1), pytest.param(200, 5, marks=pytest.mark.slow)]
)
def test_orthonormal_paths_of_any_size(n_groups, size):
    problem, lams = orthonormal(n_groups, size), [0.6, 1.0, 1.4]
    found = complexity_path(problem, lams, seed=3)
    values = np.array([exact(problem, lam) for lam in lams])
    assert np.all(np.abs(found.ln_c - values) < 4.0 * found.std_error)
    assert np.all(found.std_error <= 0.0525)
    assert not found.warnings


def test_two_hundred_groups_of_five_in_closed_form():
    problem, lam, step = orthonormal(200, 5), 1.1, 1e-4
    result = complexity(problem, lam)
    assert (result.method, result.std_error) == ("closed_form", 0.0)
    assert result.ln_c == pytest.approx(200.0 * exact(orthonormal(1, 5), lam), rel=1e-12)
    outline = outline_of(family_of(problem, lam))
    slope = (exact(problem, lam * np.exp(-step)) - exact(problem, lam * np.exp(step))) / (2 * step)
    bent = 1000.0 * -np.expm1(-slope / 1000.0)
    assert outline.mean_df(np.log([lam])) == pytest.approx(np.array([bent]), rel=1e-6)
    assert outline.ln_c(lam, 0.4) == pytest.approx(exact(problem, lam, 0.4), rel=1e-9)


def test_another_luckiness_weight():
    problem = orthonormal(4, 3)
    result = complexity(problem, 1.0, tau=0.6, method="path", seed=4)
    assert abs(result.ln_c - exact(problem, 1.0, 0.6)) < 4.0 * result.std_error


def test_the_first_order_is_never_below_the_integral(rng):
    X, group_of = correlated_groups(rng, 4, (2, 2))
    problem = GroupLasso(X, group_of)
    outline = outline_of(family_of(problem, 1.0))
    start = outline.start(1e-2)
    assert outline.first_order(start) == pytest.approx(1e-2, rel=1e-4)
    below = complexity(problem, start, std_error=1e-3, seed=5)
    assert below.ln_c - 4.0 * below.std_error < 1e-2


def test_the_three_integrands_agree_on_a_correlated_design(rng):
    X, group_of = correlated_groups(rng, 12, (3, 4, 1, 5, 2))
    draws = sample(GroupLasso(X, group_of), 1.5, n_draws=1500, n_chains=4, seed=6)
    slope = draws.penalty - draws.df
    lost = 12 - draws.residual_sq - draws.df
    assert abs(z_score(slope, 0.0)) < 4.0
    assert abs(z_score(lost, 0.0)) < 4.0
    assert draws.k.mean() > draws.df.mean() + 10.0 * mean_error(draws.df)  # the curvature counts
    assert draws.kkt_residual.max() < 1e-9
    assert np.mean(draws.accepted) > 0.5


def test_groups_of_one_have_the_complexity_of_the_lasso(rng):
    X = rng.standard_normal((5, 4))
    assert complexity(GroupLasso(X, range(4)), 0.8).ln_c == pytest.approx(
        complexity(Lasso(X), 0.8).ln_c
    )
    weights = np.array([1.0, 2.0, 0.5, 1.0])
    weighted = complexity(GroupLasso(X, range(4), weights), 0.8)
    assert weighted.ln_c == pytest.approx(complexity(Lasso(X / weights), 0.8).ln_c)
    sampled = complexity(GroupLasso(X, range(4), weights), 0.8, method="path", seed=7)
    assert abs(sampled.ln_c - weighted.ln_c) < 4.0 * sampled.std_error + 1e-4


def test_solving_less_well_does_not_move_ln_c(monkeypatch, rng):
    X, group_of = correlated_groups(rng, 8, (3, 2, 3))
    problem, found = GroupLasso(X, group_of), []
    for accuracy in (1e-6, 5e-7, 1e-12):
        monkeypatch.setattr(
            path,
            "family_of",
            lambda *args, accuracy=accuracy: family_of(*args)._replace(accuracy=accuracy),
        )
        found.append(complexity(problem, 1.0, method="path", seed=8))
    for other in found[:2]:
        assert abs(other.ln_c - found[2].ln_c) < found[2].std_error
    assert found[2].std_error <= 0.0525


def test_restricted_integrals_only_in_closed_form(rng):
    problem, ball = orthonormal(3, 2), NormBall(2.0)
    value = complexity(problem, 1.0, region=ball)
    assert value.ln_c == pytest.approx(
        closed_form.group_lasso_ln_c_restricted(
            np.ones(3), np.full(3, 2), 1.0, 2.0, weights=problem.weights
        )
    )
    X, group_of = correlated_groups(rng, 8, (3, 2, 3))
    with pytest.raises(InvalidProblem, match="available for Lasso"):
        complexity(GroupLasso(X, group_of), 1.0, region=ball)
    for method in ("closed_form", "enumerate"):
        with pytest.raises(InvalidProblem, match=method):
            complexity(GroupLasso(X, group_of), 1.0, method=method)
