"""The nuclear norm's estimate, degrees of freedom and volume against slow, independent twins."""

import numpy as np
import pytest

from shtarkov.families import observables as obs
from shtarkov.families import protocol
from shtarkov.families.nuclear_norm import norm_gradient
from shtarkov.families.nuclear_tangent import apply_second_derivative, core_gram
from shtarkov.families.nuclear_volume import diagonal_df_and_volume, general_df_and_volume
from shtarkov.families.nuclear_work import GAP, NORM, NuclearFamily
from shtarkov.types import Status

# rows, targets, spread of the design's singular values, penalty over the largest useful one
CASES = [
    (4, 3, 1.0, 0.4),
    (3, 5, 1.0, 0.3),
    (4, 3, 10.0, 0.3),
    (3, 5, 10.0, 0.2),
    (4, 4, 30.0, 0.15),
    (5, 2, 5.0, 0.1),
    (2, 5, 5.0, 0.1),
    (1, 4, 1.0, 0.5),
    (4, 1, 3.0, 0.5),
]


def family_at(p, q, spread, share, seed=0):
    rng = np.random.default_rng(seed)
    scales = np.geomspace(3.0, 3.0 / spread, p)
    y = 2.0 * rng.standard_normal(p * q)
    family = NuclearFamily(scales, np.eye(p), q, 1.0)
    return family._replace(lam=float(protocol.lam_max(family, y)) * share), y


def relaxed(family, y):
    work = protocol.new_work(family, 0)
    assert protocol.relax(family, y, work) == Status.OK
    return work


def observed(family, work):
    row = np.zeros(len(obs.OBSERVABLES))
    protocol.observe(family, family.lam, work, row)
    return row


def proximal_gradient(scales, Y, lam, n_steps=60_000):
    """Plain proximal gradient steps, written without the library."""
    step, coef = scales.max() ** 2, np.zeros_like(Y)
    for _ in range(n_steps):
        moved = coef + scales[:, None] * (Y - scales[:, None] * coef) / step
        left, values, right = np.linalg.svd(moved, full_matrices=False)
        following = (left * np.maximum(values - lam / step, 0.0)) @ right
        if np.abs(following - coef).max() < 1e-15:
            return following
        coef = following
    return coef


def fit_jacobian(family, y, step=1e-5):
    """Central differences of the fit, column by column."""
    columns = []
    for i in range(y.size):
        ends = []
        for sign in (1.0, -1.0):
            moved = y.copy()
            moved[i] += sign * step
            ends.append(moved - relaxed(family, moved).residual)
        columns.append((ends[0] - ends[1]) / (2.0 * step))
    return np.array(columns).T


def tangent_gram_log_det(family, work):
    """ln det of S^2 on tangents, from an orthonormal basis of them, and its size."""
    r, scales = int(work.counts[0]), np.asarray(family.scales)
    p, q = work.coef.shape
    left, _, right = np.linalg.svd(work.coef)
    pairs = [(a, b) for a in range(p) for b in range(q) if a < r or b < r]
    images = np.array(
        [(scales[:, None] * np.outer(left[:, a], right[b])).ravel() for a, b in pairs]
    )
    return np.linalg.slogdet(images @ images.T)[1], len(pairs)


@pytest.mark.parametrize(("p", "q", "spread", "share"), CASES)
def test_estimate_is_that_of_plain_proximal_gradient(p, q, spread, share):
    family, y = family_at(p, q, min(spread, 10.0), share)
    work = relaxed(family, y)
    expected = proximal_gradient(family.scales, y.reshape(p, q), family.lam)
    np.testing.assert_allclose(work.coef, expected, atol=1e-8)
    assert work.counts[0] == np.linalg.matrix_rank(expected, tol=1e-7)
    assert work.numbers[GAP] <= 1e-10 * observed(family, work)[obs.ENVELOPE]
    assert work.numbers[NORM] == pytest.approx(np.linalg.norm(expected, "nuc"), rel=1e-8)


@pytest.mark.parametrize(("p", "q", "spread", "share"), CASES)
def test_df_is_the_divergence_of_the_fit(p, q, spread, share):
    family, y = family_at(p, q, spread, share)
    row = observed(family, relaxed(family, y))
    assert row[obs.DF] == pytest.approx(np.trace(fit_jacobian(family, y)), abs=1e-6)


@pytest.mark.parametrize(("p", "q", "spread", "share"), CASES)
def test_volume_is_what_the_fits_jacobian_says(p, q, spread, share):
    # On tangents the Jacobian of the fit is S M^-1 S', so its pseudo-determinant is det H / det M.
    family, y = family_at(p, q, spread, share)
    work = relaxed(family, y)
    log_det_gram, size = tangent_gram_log_det(family, work)
    values = np.linalg.svd(fit_jacobian(family, y), compute_uv=False)
    expected = 0.5 * log_det_gram - np.log(values[:size]).sum()
    assert observed(family, work)[obs.LOG_VOLUME] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("shape", [(4, 4), (3, 6), (6, 3)])
def test_df_on_the_identity_is_the_published_formula(shape):
    m, n = shape
    y = 3.0 * np.random.default_rng(2).standard_normal(m * n)
    family = NuclearFamily(np.ones(m), np.eye(m), n, 2.5)
    values = np.linalg.svd(y.reshape(m, n), compute_uv=False)
    passed = np.maximum(values - 2.5, 0.0)
    expected = np.sum(values > 2.5) + abs(m - n) * np.sum(passed / values)
    for i, s in enumerate(values):
        others = np.delete(values, i)
        expected += 2.0 * np.sum(s * passed[i] / (s**2 - others**2))
    assert observed(family, relaxed(family, y))[obs.DF] == pytest.approx(expected, rel=1e-10)


def test_ties_are_the_limit_of_near_ties():
    rng = np.random.default_rng(4)
    left, right = (np.linalg.qr(rng.standard_normal((4, 4)))[0] for _ in range(2))
    family = NuclearFamily(np.ones(4), np.eye(4), 4, 2.0)
    found = []
    for apart in (0.0, 1e-6):
        values = np.array([5.0 + apart, 5.0, 1.0 + apart, 1.0])
        found.append(observed(family, relaxed(family, ((left * values) @ right).ravel())))
    assert np.isfinite(found[0][[obs.DF, obs.LOG_VOLUME]]).all()
    np.testing.assert_allclose(found[0], found[1], atol=1e-4)


@pytest.mark.parametrize(("p", "q", "spread", "share"), CASES)
def test_two_ways_to_df_and_volume_agree_where_both_hold(p, q, spread, share):
    family, y = family_at(p, q, 1.0, share)
    work = relaxed(family, y)
    np.testing.assert_allclose(
        general_df_and_volume(family, work), diagonal_df_and_volume(family, work), rtol=1e-9
    )


@pytest.mark.parametrize(("p", "q", "spread", "share"), CASES)
def test_second_derivative_is_symmetric_and_bends_upwards(p, q, spread, share):
    family, y = family_at(p, q, spread, share)
    work = relaxed(family, y)
    rank = int(work.counts[0])
    core, frame = core_gram(family, work, rank), np.eye(rank * (p + q))
    matrix = np.array([apply_second_derivative(family, work, core, e) for e in frame])
    right = np.asarray(work.right[:rank])
    # F is orthogonal to V: other vectors are no tangents.
    keep = np.kron(np.eye(rank), np.eye(q) - right.T @ right)
    inside = np.block(
        [
            [np.eye(rank * p), np.zeros((rank * p, rank * q))],
            [np.zeros((rank * q, rank * p)), keep],
        ]
    )
    projected = inside @ matrix @ inside
    np.testing.assert_allclose(projected, projected.T, atol=1e-9)
    values = np.linalg.eigvalsh(projected)
    size = rank * (p + q - rank)
    assert (values[-size:] > 0.99 * family.scales.min() ** 2).all()


@pytest.mark.parametrize(("p", "q", "spread", "share"), CASES)
def test_slopes_of_the_norm(p, q, spread, share):
    family, y = family_at(p, q, spread, share)
    work, step = relaxed(family, y), 1e-5

    def norm_at(lam, data):
        return relaxed(family._replace(lam=lam), data).numbers[NORM]

    fall = norm_at(family.lam - step, y) - norm_at(family.lam + step, y)
    loss = observed(family, work)[obs.SIGN_ENERGY]
    assert loss == pytest.approx(fall / (2 * step), rel=1e-5)
    # The force at another weight has the gradient of the norm in it.
    force, nothing = np.zeros(y.size), np.zeros(0)
    protocol.write_force(family, family.lam + 1.0, y, work, force, nothing)
    gradient = force - work.residual
    expected = family.scales[:, None] * norm_gradient(family, work)
    np.testing.assert_allclose(gradient, expected.ravel(), atol=1e-12)
    direction = np.random.default_rng(1).standard_normal(y.size)
    rise = norm_at(family.lam, y + step * direction) - norm_at(family.lam, y - step * direction)
    assert gradient @ direction == pytest.approx(rise / (2 * step), rel=1e-4, abs=1e-6)


def test_warm_and_cold_starts_agree():
    family, y = family_at(5, 4, 20.0, 0.2)
    work = relaxed(family, y)
    rng = np.random.default_rng(8)
    for _ in range(5):
        y = y + rng.standard_normal(y.size)
        assert protocol.relax(family, y, work) == Status.OK
        cold = relaxed(family, y)
        np.testing.assert_allclose(work.coef, cold.coef, atol=1e-8)
        np.testing.assert_allclose(work.residual, cold.residual, atol=1e-8)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units(factor):
    family, y = family_at(4, 3, 5.0, 0.3)
    plain, scaled = (
        protocol.solve(fam, data, protocol.new_work(fam, 0))
        for fam, data in [(family, y), (family._replace(lam=family.lam * factor), y * factor)]
    )
    np.testing.assert_allclose(scaled.coef, factor * plain.coef, rtol=1e-7, atol=1e-9 * factor)
    assert scaled.df == pytest.approx(plain.df, rel=1e-6)
    assert scaled.envelope == pytest.approx(factor**2 * plain.envelope, rel=1e-10)


def test_contract_of_one_data_vector():
    family, y = family_at(4, 3, 5.0, 0.3)
    fit = protocol.solve(family, y, protocol.new_work(family, 0))
    assert fit.status == Status.OK
    assert protocol.kkt_residual(family, y, fit) < 1e-9
    assert protocol.penalty_value(family, fit.coef) == pytest.approx(fit.penalty, rel=1e-12)
    assert protocol.penalty_value(family, fit.coef + 0.01) != pytest.approx(fit.penalty, rel=1e-3)
    moved = fit._replace(coef=fit.coef + 0.01)
    assert protocol.kkt_residual(family, y, moved) > 1e-3
    largest = family._replace(lam=float(protocol.lam_max(family, y)))
    assert relaxed(largest._replace(lam=largest.lam * 1.0001), y).counts[0] == 0
    assert relaxed(largest._replace(lam=largest.lam * 0.9999), y).counts[0] == 1


def test_data_that_is_not_finite_is_a_status():
    family, y = family_at(3, 3, 5.0, 0.3)
    y[4] = np.inf
    assert protocol.relax(family, y, protocol.new_work(family, 0)) == Status.NOT_FINITE
