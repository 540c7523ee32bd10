"""The sparse Group Lasso: groups, and within active groups single columns, are left out."""

import numpy as np
import pytest

from shtarkov import GroupLasso
from shtarkov.complexity.outline import outline_of
from shtarkov.errors import InvalidProblem
from shtarkov.families import observables as obs
from shtarkov.families import protocol
from shtarkov.families.certificate import duality_gap
from shtarkov.families.compiled import family_of
from shtarkov.families.lasso import LassoFamily
from shtarkov.types import Status
from tests.checks import observed, solved_work
from tests.group_designs import correlated_groups, descend, make_family

CAPACITY = 64
DESIGNS = {"tall": (12, (3, 1, 4, 2)), "wide": (5, (3, 2, 5, 2)), "one group": (7, (3,))}


def solve(family, y):
    return protocol.solve(family, y, protocol.new_work(family, CAPACITY))


def thinned(rng, n=12, sizes=(4, 3, 4), lam=2.0, l1=0.8):
    """A family and data vector at which an active group has a coefficient at zero."""
    X, group_of = correlated_groups(rng, n, sizes, shared=0.3)
    family = make_family(X, group_of, lam, l1=l1)
    coef = np.where(np.arange(X.shape[1]) % 3 == 0, 0.0, 2.0 * rng.standard_normal(X.shape[1]))
    y = X @ coef + 0.3 * rng.standard_normal(n)
    fit = solve(family, y)
    per_group = [np.mean(fit.coef[group_of == g] != 0.0) for g in range(len(sizes))]
    assert any(0.0 < share < 1.0 for share in per_group)
    return X, group_of, family, y, fit


@pytest.mark.parametrize("case", DESIGNS.values(), ids=DESIGNS)
@pytest.mark.parametrize("l1", [0.2, 1.0])
def test_estimates_are_those_of_coordinate_descent(case, l1, rng):
    X, group_of = correlated_groups(rng, *case)
    y = X @ rng.standard_normal(X.shape[1]) + rng.standard_normal(case[0])
    weights = 0.5 + rng.random(len(case[1]))
    family = make_family(X, group_of, 1.0, weights, l1=l1)
    for share in (0.9, 0.4, 0.1):
        lam = share * protocol.lam_max(family, y)
        at_lam = family._replace(lam=float(lam))
        fit, slow = solve(at_lam, y), descend(X, y, group_of, weights, lam, 3000, l1)
        assert fit.status == Status.OK
        assert duality_gap(at_lam, y, fit.coef) / fit.envelope < 1e-10
        gap = max(duality_gap(at_lam, y, slow), 0.0)
        assert fit.residual == pytest.approx(y - X @ slow, abs=2.0 * np.sqrt(2.0 * gap) + 1e-9)
        assert fit.penalty == pytest.approx(protocol.penalty_value(at_lam, fit.coef))
        assert protocol.kkt_residual(at_lam, y, fit) < 1e-9
        assert set(fit.active) == set(np.flatnonzero(fit.coef))


def test_the_largest_penalty(rng):
    X, group_of = correlated_groups(rng, 8, (2, 3, 1))
    y, family = rng.standard_normal(8), make_family(X, group_of, 1.0, l1=0.5)
    top = float(protocol.lam_max(family, y))
    assert solve(family._replace(lam=1.0001 * top), y).active.size == 0
    assert solve(family._replace(lam=0.9999 * top), y).active.size >= 1


@pytest.mark.parametrize("n", [12, 4])
def test_df_and_norm_loss_are_slopes(n, rng):
    _, _, family, y, fit = thinned(rng, n)
    step, divergence = 1e-5, 0.0
    for i in range(n):
        shift = step * np.eye(n)[i]
        up, down = solve(family, y + shift), solve(family, y - shift)
        divergence -= (up.residual[i] - down.residual[i]) / (2.0 * step)
    row = observed(family, y)
    assert fit.df == pytest.approx(n + divergence, abs=1e-5)
    assert row[obs.DF] == pytest.approx(fit.df)
    assert row[obs.K] == fit.active.size
    assert row[obs.FIT_RESIDUAL] == pytest.approx((y - fit.residual) @ fit.residual, rel=1e-9)
    norms = [observed(family._replace(lam=family.lam + d), y)[obs.NORM] for d in (step, -step)]
    assert row[obs.SIGN_ENERGY] == pytest.approx((norms[1] - norms[0]) / (2 * step), rel=1e-4)
    assert row[obs.KKT_RESIDUAL] < 1e-9


def test_the_volume_is_that_of_the_dense_matrices(rng):
    X, _, family, y, fit = thinned(rng)
    active = X[:, fit.active]
    gram = active.T @ active
    bent = gram + protocol.penalty_curvature(family, fit)
    volume = np.linalg.slogdet(bent)[1] - 0.5 * np.linalg.slogdet(gram)[1]
    row = observed(family, y)
    assert row[obs.LOG_VOLUME] == pytest.approx(volume)
    assert row[obs.DF] == pytest.approx(np.trace(gram @ np.linalg.inv(bent)))
    marks = np.zeros(X.shape[1], np.uint8)
    protocol.mark_active(family, solved_work(family, y), marks)
    np.testing.assert_array_equal(marks, fit.coef != 0.0)


@pytest.mark.parametrize("weight", [2.0, 0.4])
def test_the_force_is_the_slope_of_the_potential(weight, rng):
    _, _, family, y, _ = thinned(rng)
    n, step = y.size, 1e-5
    work, force = solved_work(family, y), np.zeros(n)
    image = np.zeros(work.z.size)
    protocol.write_force(family, weight, y, work, force, image)
    slopes = np.zeros(n)
    for i in range(n):
        shift = step * np.eye(n)[i]
        up, down = (solved_work(family, y + s) for s in (shift, -shift))
        rise = protocol.potential(family, weight, up) - protocol.potential(family, weight, down)
        slopes[i] = rise / (2.0 * step)
    assert force == pytest.approx(slopes, abs=1e-4)
    assert image == pytest.approx(family.Xt @ force, abs=1e-9)


def test_the_fibre_move_keeps_the_residual_and_the_zeros(rng):
    _, _, family, y, fit = thinned(rng)
    work, before = solved_work(family, y), y.copy()
    protocol.refresh_fibre(family, family.lam, y, work, rng)
    after = solve(family, y)
    assert np.linalg.norm(y - before) > 0.1
    np.testing.assert_allclose(after.residual, fit.residual, atol=1e-8)
    assert set(after.active) == set(fit.active)


def test_groups_of_one_are_the_lasso(rng):
    X, y = rng.standard_normal((9, 6)), 3.0 * rng.standard_normal(9)
    Xt = np.ascontiguousarray(X.T)
    for lam in (3.0, 0.3):
        groups = make_family(X, np.arange(6), lam, np.full(6, 0.6), l1=0.4)
        single = LassoFamily(Xt, Xt @ Xt.T, lam, 0.0, 0.0)
        assert solve(groups, y).coef == pytest.approx(solve(single, y).coef, abs=1e-10)
        assert observed(groups, y) == pytest.approx(observed(single, y), abs=1e-8)


def test_no_share_of_absolute_values_is_the_group_lasso(rng):
    X, group_of = correlated_groups(rng, 9, (3, 2, 4))
    family = family_of(GroupLasso(X, group_of, l1_ratio=0.0), 1.0)
    tiny = family_of(GroupLasso(X, group_of, l1_ratio=1e-13), 1.0)
    y = 3.0 * rng.standard_normal(9)
    assert family.l1 == 0.0
    assert solve(tiny, y).coef == pytest.approx(solve(family, y).coef, abs=1e-9)
    assert observed(tiny, y) == pytest.approx(observed(family, y), rel=1e-8, abs=1e-9)


def test_the_outline_lies_between_groups_and_columns(rng):
    X, group_of = correlated_groups(rng, 9, (3, 2, 4))
    outlines = [
        outline_of(family_of(GroupLasso(X, group_of, l1_ratio=ratio), 1.0))
        for ratio in (0.0, 0.5, 0.999)
    ]
    for lam in (3.0, 6.0):
        assert outlines[1].first_order(lam) > 0.0
        assert outlines[1].first_order(lam) <= outlines[1].grouped.first_order(lam)
        assert outlines[1].ln_c(lam, lam) <= outlines[1].single.ln_c(lam, lam)
    lasso = outline_of(family_of(GroupLasso(X, range(9)), 1.0))
    assert outlines[2].first_order(4.0) == pytest.approx(lasso.first_order(4.0), rel=0.05)
    assert outlines[1].start(1e-3) <= outlines[1].single.start(1e-3)
    assert not outlines[1].is_empty
    logs = np.log([1.0, 2.0])
    assert np.all(np.diff(outlines[1].mean_df(logs)) < 0.0)
    assert np.all(np.diff(outlines[1].mean_norm(2.0, np.array([0.5, 1.0]))) < 0.0)


@pytest.mark.parametrize("ratio", [-0.1, 1.0, np.nan, "a"])
def test_shares_that_are_refused(ratio):
    with pytest.raises(InvalidProblem, match="l1_ratio"):
        GroupLasso(np.eye(3), [0, 0, 1], l1_ratio=ratio)


def test_what_it_says_of_itself():
    problem = GroupLasso(np.eye(3), [0, 0, 1], l1_ratio=0.25)
    assert "l1_ratio=0.25" in repr(problem)
    assert problem.group_weights == pytest.approx(0.75 * problem.weights)
