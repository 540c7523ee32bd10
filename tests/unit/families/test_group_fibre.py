"""The fibre move of the Group Lasso: its density, its draws, and what it keeps."""

import math

import numpy as np
import pytest

from shtarkov.families import protocol
from shtarkov.families.facts import facts_of
from shtarkov.families.group_fibre import draw_length, invert_bent, shift_inverse, tangent_modes
from shtarkov.families.group_newton import factor_bent
from shtarkov.types import Status
from tests.group_designs import correlated_groups, make_family

CAPACITY = 64


def solved(n, sizes, lam, rng, weights=None):
    X, group_of = correlated_groups(rng, n, sizes)
    family, y = make_family(X, group_of, lam, weights), 6.0 * rng.standard_normal(n)
    work = protocol.new_work(family, CAPACITY)
    protocol.image(family, y, work.z)
    assert protocol.relax(family, y, work) == Status.OK
    return family, y, work


def pieces(family, work):
    """Active columns, and for each active group its columns, direction, weight and length."""
    k, m = int(work.counts[0]), int(work.counts[1])
    active = family.Xt[work.columns[:k]].T
    groups = []
    for a in range(m):
        inside = slice(int(work.offsets[a]), int(work.offsets[a + 1]))
        limit = family.lam * family.weights[work.groups[a]]
        groups.append((active[:, inside], work.units[inside].copy(), limit, work.norms[a]))
    return active, groups


def log_volume_of_data(groups, lengths):
    """ln det of (dr, d rho) -> dy on the data's own coordinates, from the definition."""
    n = groups[0][0].shape[0]
    bend, rays = np.eye(n), []
    for (columns, unit, limit, _), length in zip(groups, lengths, strict=True):
        across = columns @ (np.eye(unit.size) - np.outer(unit, unit))
        bend += length / limit * across @ across.T
        rays.append(columns @ unit)
    rays = np.array(rays).T
    flat = np.linalg.svd(rays)[0][:, rays.shape[1] :]  # residuals move across the rays
    return np.linalg.slogdet(np.column_stack([bend @ flat, rays]))[1]


@pytest.mark.parametrize(("n", "sizes"), [(9, (3, 2, 4)), (5, (3, 3, 2))])
def test_density_is_that_of_the_change_of_variables(n, sizes, rng):
    """One length at a time, with more active columns than dimensions too."""
    family, _, work = solved(n, sizes, 0.3, rng)
    _, groups = pieces(family, work)
    assert len(groups) == 3
    factor_bent(family, work)
    invert_bent(family, work)
    for a, (_, _, limit, length) in enumerate(groups):
        slopes = 1.0 / tangent_modes(family, work, a)[0] - limit / length
        lengths, gaps = [group[3] for group in groups], []
        for factor in (1.0, 0.3, 2.5, 20.0):
            lengths[a] = factor * length
            mine = np.log(limit + slopes * lengths[a]).sum()
            gaps.append(log_volume_of_data(groups, lengths) - mine)
        np.testing.assert_allclose(gaps, gaps[0], atol=1e-8)


def test_the_inverse_follows_a_change_of_length(rng):
    family, _, work = solved(9, (3, 2, 4), 0.3, rng)
    active, groups = pieces(family, work)
    k = active.shape[1]
    factor_bent(family, work)
    invert_bent(family, work)
    fit_curvature = np.zeros((k, k))
    for a, (_, unit, limit, length) in enumerate(groups):
        inside = slice(int(work.offsets[a]), int(work.offsets[a + 1]))
        across = np.eye(unit.size) - np.outer(unit, unit)
        fit_curvature[inside, inside] = limit / length * across
    second = active.T @ active + fit_curvature
    np.testing.assert_allclose(work.bent[:k, :k], np.linalg.inv(second), atol=1e-9)
    _, unit, limit, length = groups[1]
    inside = slice(int(work.offsets[1]), int(work.offsets[2]))
    change = limit / (3.0 * length) - limit / length
    second[inside, inside] += change * (np.eye(unit.size) - np.outer(unit, unit))
    values, vectors = tangent_modes(family, work, 1)
    shift_inverse(work, 1, values, vectors, change)
    np.testing.assert_allclose(work.bent[:k, :k], np.linalg.inv(second), atol=1e-9)


@pytest.mark.parametrize("slopes", [[], [0.0, 0.4], [0.5, 3.0, 8.0], [1e-3] * 6, [40.0] * 60])
def test_draws_have_the_density(slopes, rng):
    slopes, limit, rate = np.array(slopes), 1.7, 0.9
    draws = np.array([draw_length(slopes, limit, rate, rng) for _ in range(4000)])
    grid = np.linspace(0.0, 150.0, 60_001)
    logs = -rate * grid + np.log(limit + np.multiply.outer(grid, slopes)).sum(axis=1)
    density = np.exp(logs - logs.max())
    mean = np.sum(grid * density) / np.sum(density)
    spread = math.sqrt(np.sum((grid - mean) ** 2 * density) / np.sum(density))
    assert abs(draws.mean() - mean) < 4.0 * spread / math.sqrt(draws.size)
    assert draws.std() == pytest.approx(spread, rel=0.08)


@pytest.mark.parametrize("n", [9, 4])
def test_the_residual_stays_and_the_estimate_is_still_solved(n, rng):
    family, y, work = solved(n, (3, 2, 4, 1), 0.3, rng, np.array([1.0, 2.0, 0.5, 1.0]))
    residual, before = work.residual.copy(), y.copy()
    units = work.units[: work.counts[0]].copy()
    protocol.refresh_fibre(family, 0.5, y, work, rng)
    assert np.linalg.norm(y - before) > 0.1
    np.testing.assert_array_equal(work.units[: work.counts[0]], units)
    np.testing.assert_allclose(work.z, family.Xt @ y, atol=1e-9)
    fresh = protocol.new_work(family, CAPACITY)
    protocol.image(family, y, fresh.z)
    assert protocol.relax(family, y, fresh) == Status.OK
    np.testing.assert_allclose(fresh.residual, residual, atol=1e-8)
    energy = protocol.potential(family, 0.5, work)
    assert energy == pytest.approx(protocol.potential(family, 0.5, fresh), rel=1e-8)


def test_orthogonal_groups_are_left_to_the_flow(rng):
    X = np.kron(np.eye(3), rng.standard_normal((4, 3)))
    family, y = make_family(X, np.repeat(np.arange(3), 3), 0.1), 5.0 * rng.standard_normal(12)
    work = protocol.new_work(family, CAPACITY)
    protocol.image(family, y, work.z)
    assert protocol.relax(family, y, work) == Status.OK
    before = y.copy()
    protocol.refresh_fibre(family, 0.1, y, work, rng)
    np.testing.assert_array_equal(y, before)
    assert facts_of(family).fibre_width == pytest.approx(family.reach / 0.1)
    dense = make_family(rng.standard_normal((12, 9)), np.repeat(np.arange(3), 3), 0.1)
    assert facts_of(dense).fibre_width == 1.0


def test_dependent_columns_are_left_to_the_flow(rng):
    base = rng.standard_normal((6, 2))
    family = make_family(np.column_stack([base, base]), np.array([0, 0, 1, 1]), 0.2)
    y = 5.0 * base.sum(axis=1)
    work = protocol.new_work(family, CAPACITY)
    protocol.image(family, y, work.z)
    assert protocol.relax(family, y, work) == Status.OK
    before = y.copy()
    protocol.refresh_fibre(family, 0.2, y, work, rng)
    assert work.counts[1] == 2
    np.testing.assert_array_equal(y, before)


def test_short_lengths_are_left_to_the_flow(rng):
    X, group_of = correlated_groups(rng, 9, (3, 2, 4))
    family, y = make_family(X, group_of, 1.0), 20.0 * rng.standard_normal(9)
    work = protocol.new_work(family, CAPACITY)
    protocol.image(family, y, work.z)
    assert protocol.relax(family, y, work) == Status.OK
    before = y.copy()
    protocol.refresh_fibre(family, 1.01 * family.reach, y, work, rng)
    np.testing.assert_array_equal(y, before)
    protocol.refresh_fibre(family, 0.99 * family.reach, y, work, rng)
    assert not np.array_equal(y, before)
