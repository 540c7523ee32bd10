"""The fibre move of the nuclear norm: its density, and what it keeps."""

import math

import numpy as np
import pytest

from shtarkov.families import protocol
from shtarkov.families.nuclear_fibre import log_density
from shtarkov.families.nuclear_norm import NuclearFamily
from shtarkov.families.nuclear_work import NORM
from shtarkov.types import Status


def solved(p, q, spread, lam=1.0, seed=1):
    rng = np.random.default_rng(seed)
    family = NuclearFamily(np.geomspace(2.0, 2.0 / spread, p), np.eye(p), q, lam)
    y = 4.0 * rng.standard_normal(p * q)
    work = protocol.new_work(family, 0)
    assert protocol.relax(family, y, work) == Status.OK
    assert work.counts[0] >= 2
    return family, y, work


@pytest.mark.parametrize("shape", [(3, 3), (3, 5), (5, 3)])
def test_density_is_that_of_singular_values(shape):
    """On the identity design ln theta has the density of s = theta + lam, times theta."""
    p, q = shape
    rng = np.random.default_rng(2)
    family = NuclearFamily(np.ones(p), np.eye(p), q, 2.0)
    y, weight = 4.0 * rng.standard_normal(p * q), 1.3
    work = protocol.new_work(family, 0)
    protocol.relax(family, y, work)
    rank = int(work.counts[0])

    def expected():
        values = np.concatenate([work.values[:rank] + 2.0, work.dual[rank:]])
        total = abs(p - q) * np.log(values).sum()
        for i, s in enumerate(values):
            total += np.log(np.abs(s**2 - values[:i] ** 2)).sum()
        theta = np.asarray(work.values[:rank])
        return total + np.log(theta).sum() - weight * theta.sum()

    gaps = []
    for factor in (1.0, 0.7, 1.9):
        work.values[0] *= factor
        gaps.append(log_density(family, weight, work) - expected())
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-9)


@pytest.mark.parametrize("spread", [1.0, 6.0])
def test_the_residual_stays_and_the_estimate_is_still_solved(spread):
    family, y, work = solved(4, 3, spread)
    residual, before = work.residual.copy(), y.copy()
    left = np.asarray(work.left[: work.counts[0]]).copy()
    rng = np.random.default_rng(3)
    moved = 0
    for _ in range(20):
        was = work.numbers[NORM]
        protocol.refresh_fibre(family, family.lam, y, work, rng)
        moved += was != work.numbers[NORM]
    assert moved > 10
    assert np.linalg.norm(y - before) > 0.1
    np.testing.assert_allclose(work.residual, residual, atol=0.0)
    np.testing.assert_allclose(work.left[: work.counts[0]], left, atol=0.0)
    fresh = protocol.new_work(family, 0)
    assert protocol.relax(family, y, fresh) == Status.OK
    np.testing.assert_allclose(fresh.residual, residual, atol=1e-7)
    np.testing.assert_allclose(fresh.coef, work.coef, atol=1e-6)
    energy = protocol.potential(family, family.lam, work)
    assert energy == pytest.approx(protocol.potential(family, family.lam, fresh), rel=1e-9)


def test_one_singular_value_has_its_exact_law():
    """One row on the identity design: theta ~ exp(-lam theta) (theta + lam)^(q - 1)."""
    lam, q = 1.5, 4
    family = NuclearFamily(np.ones(1), np.eye(1), q, lam)
    y = np.array([3.0, 0.0, 1.0, -1.0])
    work = protocol.new_work(family, 0)
    protocol.relax(family, y, work)
    rng, draws = np.random.default_rng(4), []
    for _ in range(4000):
        protocol.refresh_fibre(family, lam, y, work, rng)
        draws.append(work.values[0])
    grid = np.linspace(0.0, 40.0, 40_001)
    density = np.exp(-lam * grid) * (grid + lam) ** (q - 1)
    mean = np.sum(grid * density) / np.sum(density)
    spread = math.sqrt(np.sum((grid - mean) ** 2 * density) / np.sum(density))
    # Three Metropolis steps a draw remember little: an allowance of three draws for each.
    assert abs(np.mean(draws) - mean) < 4.0 * spread * math.sqrt(3.0 / len(draws))
    assert np.std(draws) == pytest.approx(spread, rel=0.15)


def test_nothing_to_move_at_rank_zero():
    family = NuclearFamily(np.ones(2), np.eye(2), 2, 100.0)
    y = np.ones(4)
    work = protocol.new_work(family, 0)
    protocol.relax(family, y, work)
    protocol.refresh_fibre(family, 100.0, y, work, np.random.default_rng(0))
    np.testing.assert_array_equal(y, np.ones(4))
