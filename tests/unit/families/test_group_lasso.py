"""The Group Lasso family: estimates to a certified gap, and the numbers and forces at them."""

import numpy as np
import pytest

from shtarkov.families import observables as obs
from shtarkov.families import protocol
from shtarkov.families.certificate import duality_gap
from shtarkov.families.lasso import LassoFamily
from shtarkov.types import Status
from tests.checks import observed, solved_work
from tests.group_designs import correlated_groups, descend, make_family

CAPACITY = 64


def solve(family, y, capacity=CAPACITY):
    return protocol.solve(family, y, protocol.new_work(family, capacity))


def relative_gap(family, y, fit):
    return duality_gap(family, y, fit.coef) / fit.envelope


DESIGNS = {
    "tall": (12, (3, 1, 4, 2)),
    "wide": (5, (3, 2, 5, 2)),
    "one row": (1, (2, 2)),
    "one group": (7, (3,)),
    "one number": (1, (1,)),
}


@pytest.mark.parametrize("case", DESIGNS.values(), ids=DESIGNS)
@pytest.mark.parametrize("gram", [True, False])
def test_estimates_are_those_of_coordinate_descent(case, gram, rng):
    X, group_of = correlated_groups(rng, *case)
    y = X @ rng.standard_normal(X.shape[1]) + rng.standard_normal(case[0])
    weights = 0.5 + rng.random(len(case[1]))
    family = make_family(X, group_of, 1.0, weights, gram)
    for share in (0.9, 0.4, 0.1):
        lam = share * protocol.lam_max(family, y)
        at_lam = family._replace(lam=float(lam))
        fit, slow = solve(at_lam, y), descend(X, y, group_of, weights, lam, 3000)
        assert fit.status == Status.OK
        assert relative_gap(at_lam, y, fit) < 1e-10
        gap = max(duality_gap(at_lam, y, slow), 0.0)
        assert fit.residual == pytest.approx(y - X @ slow, abs=2.0 * np.sqrt(2.0 * gap) + 1e-9)
        assert fit.penalty == pytest.approx(protocol.penalty_value(at_lam, fit.coef))
        assert protocol.kkt_residual(at_lam, y, fit) < 1e-9


def test_nothing_is_active_above_the_largest_penalty(rng):
    X, group_of = correlated_groups(rng, 8, (2, 3, 1))
    y = rng.standard_normal(8)
    top = protocol.lam_max(make_family(X, group_of, 1.0), y)
    assert solve(make_family(X, group_of, 1.0001 * top), y).active.size == 0
    assert solve(make_family(X, group_of, 0.9999 * top), y).active.size in {1, 2, 3}


def test_a_warm_start_ends_where_a_cold_one_does(rng):
    X, group_of = correlated_groups(rng, 8, (3, 2, 4, 1, 2))
    family = make_family(X, group_of, 2.0)
    work, y = protocol.new_work(family, CAPACITY), rng.standard_normal(8)
    for _ in range(50):
        y += 1.5 * rng.standard_normal(8)
        warm, cold = protocol.solve(family, y, work), solve(family, y)
        assert set(warm.active) == set(cold.active)
        assert warm.coef == pytest.approx(cold.coef, abs=1e-8)
        assert relative_gap(family, y, warm) < 1e-10


def test_groups_of_one_are_the_lasso(rng):
    X, y = rng.standard_normal((9, 6)), 3.0 * rng.standard_normal(9)
    Xt = np.ascontiguousarray(X.T)
    for lam in (3.0, 1.0, 0.1):
        groups = make_family(X, np.arange(6), lam)
        single = LassoFamily(Xt, Xt @ Xt.T, lam, 0.0, 0.0)
        assert solve(groups, y).coef == pytest.approx(solve(single, y).coef, abs=1e-10)
        assert observed(groups, y) == pytest.approx(observed(single, y), abs=1e-8)


@pytest.mark.parametrize("duplicate", ["column", "group", "multiple"])
def test_dependent_columns(duplicate, rng):
    base = rng.standard_normal((6, 4))
    extra = {
        "column": (base[:, :1], [0]),
        "group": (base[:, :2], [2, 2]),
        "multiple": (-2.0 * base[:, 2:], [2, 2]),
    }[duplicate]
    X = np.column_stack([base, extra[0], np.zeros(6)])
    group_of = np.array([0, 0, 1, 1, *extra[1], 1])
    y = 4.0 * rng.standard_normal(6)
    for lam in (2.0, 0.3, 1e-3):
        family = make_family(X, group_of, lam)
        fit = solve(family, y)
        assert fit.status == Status.OK
        assert relative_gap(family, y, fit) < 1e-10


def test_an_empty_group_never_enters(rng):
    X, group_of = correlated_groups(rng, 6, (2, 2, 3))
    X[:, group_of == 1] = 0.0
    fit = solve(make_family(X, group_of, 1e-3), rng.standard_normal(6))
    assert fit.status == Status.OK
    assert not set(fit.active) & set(np.flatnonzero(group_of == 1))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_any_scale_and_more_active_columns_than_rows(scale, rng):
    X, group_of = correlated_groups(rng, 5, (4, 4, 4))
    y = rng.standard_normal(5)
    family = make_family(scale * X, group_of, 0.05 * scale)
    fit = solve(family, y)
    assert fit.status == Status.OK
    assert fit.active.size > 5
    assert relative_gap(family, y, fit) < 1e-10


def test_a_full_work_asks_for_more_room(rng):
    X, group_of = correlated_groups(rng, 20, (4, 4, 4))
    y = 10.0 * rng.standard_normal(20)
    assert solve(make_family(X, group_of, 0.01), y, capacity=5).status == Status.CAPACITY


def test_degrees_of_freedom_are_the_divergence_of_the_fit(rng):
    X, group_of = correlated_groups(rng, 7, (3, 2, 4))
    family, y, step = make_family(X, group_of, 1.5), 4.0 * rng.standard_normal(7), 1e-5
    divergence = 0.0
    for i in range(7):
        shift = step * np.eye(7)[i]
        up, down = solve(family, y + shift), solve(family, y - shift)
        divergence -= (up.residual[i] - down.residual[i]) / (2.0 * step)
    fit = solve(family, y)
    assert 0.0 < fit.df < fit.active.size
    assert fit.df == pytest.approx(7.0 + divergence, abs=1e-5)
    assert observed(family, y)[obs.DF] == pytest.approx(fit.df)


def test_volume_and_norm_loss_are_those_of_the_dense_matrices(rng):
    X, group_of = correlated_groups(rng, 12, (3, 2, 4, 1))
    family, y = make_family(X, group_of, 1.2), 5.0 * rng.standard_normal(12)
    fit, row = solve(family, y), observed(family, y)
    active = X[:, fit.active]
    gram = active.T @ active
    bent = gram + protocol.penalty_curvature(family, fit)
    volume = np.linalg.slogdet(bent)[1] - 0.5 * np.linalg.slogdet(gram)[1]
    assert row[obs.LOG_VOLUME] == pytest.approx(volume)
    assert row[obs.DF] == pytest.approx(np.trace(gram @ np.linalg.inv(bent)))
    gradient = np.sqrt(np.bincount(group_of))[group_of[fit.active]] * fit.signs
    assert row[obs.SIGN_ENERGY] == pytest.approx(gradient @ np.linalg.solve(bent, gradient))
    step = 1e-5
    norms = [observed(family._replace(lam=1.2 + d), y)[obs.NORM] for d in (step, -step)]
    assert row[obs.SIGN_ENERGY] == pytest.approx((norms[1] - norms[0]) / (2 * step), rel=1e-5)


def test_the_volume_of_more_active_columns_than_dimensions(rng):
    X, group_of = correlated_groups(rng, 4, (3, 3, 2))
    family, y = make_family(X, group_of, 0.1), 5.0 * rng.standard_normal(4)
    fit, row = solve(family, y), observed(family, y)
    assert fit.active.size > 4
    active = X[:, fit.active]
    gram = active.T @ active
    inverse = np.linalg.inv(gram + protocol.penalty_curvature(family, fit))
    sizes = np.linalg.eigvalsh(inverse @ gram @ inverse)[-4:]
    assert row[obs.LOG_VOLUME] == pytest.approx(-0.5 * np.log(sizes).sum())


@pytest.mark.parametrize("weight", [1.5, 0.4, 2.5])
def test_the_force_is_the_slope_of_the_potential(weight, rng):
    X, group_of = correlated_groups(rng, 7, (3, 2, 4))
    family, y, step = make_family(X, group_of, 1.5), 4.0 * rng.standard_normal(7), 1e-5
    work, force = solved_work(family, y), np.zeros(7)
    image = np.zeros(work.z.size)
    protocol.write_force(family, weight, y, work, force, image)
    slopes = np.zeros(7)
    for i in range(7):
        shift = step * np.eye(7)[i]
        up, down = (solved_work(family, y + s) for s in (shift, -shift))
        rise = protocol.potential(family, weight, up) - protocol.potential(family, weight, down)
        slopes[i] = rise / (2.0 * step)
    assert force == pytest.approx(slopes, abs=1e-5)
    assert image == pytest.approx(family.Xt @ force, abs=1e-10)


def test_orthogonal_groups_take_the_sparse_factor(rng):
    blocks = [rng.standard_normal((4, size)) for size in (3, 2, 3)]
    X = np.zeros((12, 8))
    for i, (block, first) in enumerate(zip(blocks, (0, 3, 5), strict=True)):
        X[4 * i : 4 * i + 4, first : first + block.shape[1]] = block
    X[4:8, 0] = rng.standard_normal(4)  # two of the three groups touch
    group_of = np.repeat(np.arange(3), (3, 2, 3))
    sparse, y = make_family(X, group_of, 0.7), 3.0 * rng.standard_normal(12)
    pattern = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool)
    dense = sparse._replace(touching=np.zeros((0, 0), np.bool_))
    held = sparse._replace(touching=pattern)
    assert solve(held, y).active.size == 8
    assert observed(held, y) == pytest.approx(observed(dense, y), rel=1e-9, abs=1e-10)
    alone = make_family(np.kron(np.eye(4), rng.standard_normal((3, 2))), np.arange(8) // 2, 0.5)
    assert np.array_equal(alone.touching, np.eye(4, dtype=bool))
