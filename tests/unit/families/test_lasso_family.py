"""The Lasso and Elastic Net family: exact estimates, and the numbers and forces at them."""

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet as SklearnElasticNet

from shtarkov.families import observables as obs
from shtarkov.families import protocol
from shtarkov.families.lasso import LassoFamily
from shtarkov.types import Status

CAPACITY = 64


def make_family(X, lam, ratio=0.0, ridge=0.0, gram=True):
    Xt = np.ascontiguousarray(X.T)
    return LassoFamily(Xt, Xt @ Xt.T if gram else np.zeros((0, 0)), lam, ratio, ridge)


def solve(family, y, capacity=CAPACITY):
    return protocol.solve(family, y, protocol.new_work(family, capacity))


def solved_work(family, y):
    work = protocol.new_work(family, CAPACITY)
    protocol.image(family, y, work.z)
    assert protocol.relax(family, y, work) == Status.OK
    return work


def potential_at(family, weight, y):
    return protocol.potential(family, weight, solved_work(family, y))


DESIGNS = {
    "tall": (12, 5),
    "wide": (6, 15),
    "one row": (1, 4),
    "one column": (7, 1),
    "one number": (1, 1),
}


@pytest.mark.parametrize("shape", DESIGNS.values(), ids=DESIGNS)
@pytest.mark.parametrize("ridge", [0.0, 0.7])
@pytest.mark.parametrize("gram", [True, False])
def test_estimates_are_those_of_scikit_learn(shape, ridge, gram, rng):
    X, y = rng.standard_normal(shape), 3.0 * rng.standard_normal(shape[0])
    lam = 0.2 * np.abs(X.T @ y).max()
    fit = solve(make_family(X, lam, ridge=ridge, gram=gram), y)
    total, n = lam + ridge, shape[0]
    peer = SklearnElasticNet(
        alpha=total / n, l1_ratio=lam / total, fit_intercept=False, tol=1e-14, max_iter=10**6
    ).fit(X, y)
    assert fit.status == Status.OK
    assert fit.residual == pytest.approx(y - X @ peer.coef_, abs=1e-6)
    assert fit.penalty == pytest.approx(
        lam * np.abs(peer.coef_).sum() + 0.5 * ridge * (peer.coef_**2).sum(), abs=1e-6
    )
    assert protocol.kkt_residual(make_family(X, lam, ridge=ridge), y, fit) < 1e-10


def test_awkward_columns(rng):
    base = rng.standard_normal((6, 3))
    X = np.column_stack([base, base[:, 0], -base[:, 1], np.zeros(6), 2.0 * base[:, 2]])
    y = 5.0 * rng.standard_normal(6)
    for lam in (3.0, 0.1, 1e-6):
        fit = solve(make_family(X, lam), y)
        assert fit.status == Status.OK
        assert fit.coef[5] == 0.0
        assert fit.active.size <= 3
        assert protocol.kkt_residual(make_family(X, lam), y, fit) < 1e-8


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_as_many_active_columns_as_rows_and_any_scale(scale, rng):
    X, y = rng.standard_normal((5, 20)) * scale, rng.standard_normal(5)
    fit = solve(make_family(X, 1e-5 * scale), y)
    assert fit.status == Status.OK
    assert fit.active.size == 5
    assert np.abs(fit.residual).max() < 1e-3


def test_a_full_work_asks_for_more_room(rng):
    X, y = rng.standard_normal((20, 20)), 10.0 * rng.standard_normal(20)
    assert solve(make_family(X, 0.01), y, capacity=3).status == Status.CAPACITY


def test_a_warm_start_ends_where_a_cold_one_does(rng):
    family = make_family(rng.standard_normal((8, 20)), 1.0)
    work, y = protocol.new_work(family, CAPACITY), rng.standard_normal(8)
    for _ in range(200):
        y += 0.7 * rng.standard_normal(8)
        warm, cold = protocol.solve(family, y, work), solve(family, y)
        assert set(warm.active) == set(cold.active)
        assert warm.coef == pytest.approx(cold.coef, abs=1e-10)


@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_degrees_of_freedom_are_the_divergence_of_the_fit(ridge, rng):
    X, y, step = rng.standard_normal((7, 4)), 3.0 * rng.standard_normal(7), 1e-6
    family = make_family(X, 1.0, ridge=ridge)
    divergence = 0.0
    for i in range(7):
        moved = y.copy()
        moved[i] += step
        divergence += (solve(family, y).residual - solve(family, moved).residual)[i] / step + 1.0
    assert solve(family, y).df == pytest.approx(divergence, abs=1e-6)


@pytest.mark.parametrize("gram", [True, False])
@pytest.mark.parametrize(("ridge", "weight"), [(0.0, 1.0), (0.0, 0.3), (0.7, 1.0), (0.7, 0.3)])
def test_the_force_is_the_gradient_of_the_potential(ridge, weight, gram, rng):
    X, y, step = rng.standard_normal((6, 9)), 3.0 * rng.standard_normal(6), 1e-6
    family = make_family(X, 1.0, ridge=ridge, gram=gram)
    work = solved_work(family, y)
    force, image = np.zeros(6), np.zeros(work.z.size)
    protocol.write_force(family, weight, y, work, force, image)
    for i in range(6):
        direction = step * np.eye(6)[i]
        rise = potential_at(family, weight, y + direction)
        fall = potential_at(family, weight, y - direction)
        assert force[i] == pytest.approx((rise - fall) / (2 * step), abs=1e-6)
    if gram:
        assert image == pytest.approx(X.T @ force)


def test_the_fibre_move_keeps_cell_and_residual(rng):
    X, y = rng.standard_normal((6, 9)), 4.0 * rng.standard_normal(6)
    family = make_family(X, 1.0)
    work = solved_work(family, y)
    before = solve(family, y)
    protocol.refresh_fibre(family, 1.0, y, work, rng)
    after = solve(family, y)
    assert dict(zip(after.active, after.signs, strict=True)) == dict(
        zip(before.active, before.signs, strict=True)
    )
    assert after.residual == pytest.approx(before.residual, abs=1e-10)
    assert not np.allclose(after.coef, before.coef)
    assert work.z == pytest.approx(X.T @ y)
    ridged = make_family(X, 1.0, ridge=0.5)
    kept = y.copy()
    protocol.refresh_fibre(ridged, 1.0, y, solved_work(ridged, y), rng)
    assert np.array_equal(y, kept)


@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_observed_numbers(ridge, rng):
    X, y, lam = rng.standard_normal((6, 4)), 4.0 * rng.standard_normal(6), 1.0
    family = make_family(X, lam, ridge=ridge)
    fit, row = solve(family, y), np.zeros(len(obs.OBSERVABLES))
    protocol.observe(family, lam, solved_work(family, y), row)
    H = X[:, fit.active].T @ X[:, fit.active]
    bent = H + ridge * np.eye(fit.active.size)
    assert fit.active.size > 1
    assert row[obs.K] == fit.active.size
    assert row[obs.DF] == pytest.approx(np.trace(H @ np.linalg.inv(bent)))
    assert row[obs.NORM] == pytest.approx(np.abs(fit.coef).sum())
    assert row[obs.FIT_RESIDUAL] == pytest.approx((X @ fit.coef) @ fit.residual)
    assert row[obs.RESIDUAL_SQ] == pytest.approx(fit.residual @ fit.residual)
    assert row[obs.ENVELOPE] == pytest.approx(fit.envelope)
    assert row[obs.SIGN_ENERGY] == pytest.approx(fit.signs @ np.linalg.solve(bent, fit.signs))
    assert row[obs.LOG_VOLUME] == pytest.approx(
        np.linalg.slogdet(bent)[1] - 0.5 * np.linalg.slogdet(H)[1]
    )
    assert row[obs.KKT_RESIDUAL] < 1e-12
    rise = solve(make_family(X, lam * np.exp(1e-6), ridge=ridge), y).envelope
    assert row[obs.SLOPE] == pytest.approx((rise - fit.envelope) / 1e-6, rel=1e-4)


def test_a_tied_ridge_moves_with_the_penalty(rng):
    X, y = rng.standard_normal((6, 4)), 4.0 * rng.standard_normal(6)
    tied, row = make_family(X, 0.8, ratio=0.5), np.zeros(len(obs.OBSERVABLES))
    protocol.observe(tied, 0.8, solved_work(tied, y), row)
    assert solve(tied, y).coef == pytest.approx(solve(make_family(X, 0.8, ridge=0.4), y).coef)
    rise = solve(protocol.with_lam(tied, 0.8 * np.exp(1e-6)), y).envelope
    assert row[obs.SLOPE] == pytest.approx((rise - solve(tied, y).envelope) / 1e-6, rel=1e-4)


def test_the_largest_penalty_empties_the_model(rng):
    X, y = rng.standard_normal((6, 4)), rng.standard_normal(6)
    edge = protocol.lam_max(make_family(X, 1.0), y)
    assert solve(make_family(X, 1.0001 * edge), y).active.size == 0
    assert solve(make_family(X, 0.9999 * edge), y).active.size == 1
