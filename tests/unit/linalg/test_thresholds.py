"""Soft thresholds against a search over the function they minimise."""

import numpy as np
import pytest

from shtarkov.linalg.thresholds import block_soft_threshold, soft_threshold


@pytest.mark.parametrize("value", [-3.0, -0.4, 0.0, 0.7, 2.5])
@pytest.mark.parametrize("threshold", [0.0, 0.5, 2.5])
def test_soft_threshold_minimises(value, threshold):
    grid = np.linspace(-4.0, 4.0, 8001)
    best = grid[np.argmin(0.5 * (grid - value) ** 2 + threshold * np.abs(grid))]
    assert soft_threshold(value, threshold) == pytest.approx(best, abs=1e-3)


def test_soft_threshold_keeps_nan():
    assert np.isnan(soft_threshold(np.nan, 1.0))


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_block_is_shrunk_along_itself(scale):
    block = np.array([3.0, -4.0]) * scale
    norm = block_soft_threshold(block, 2.0 * scale)
    assert norm == pytest.approx(3.0 * scale)
    np.testing.assert_allclose(block, np.array([1.8, -2.4]) * scale)


def test_block_satisfies_its_stationarity_condition(rng):
    start = rng.standard_normal(5)
    block = start.copy()
    norm = block_soft_threshold(block, 0.3)
    assert norm == pytest.approx(np.linalg.norm(block))
    np.testing.assert_allclose(block - start + 0.3 * block / norm, 0.0, atol=1e-14)


@pytest.mark.parametrize("block", [[], [0.0, 0.0], [0.3, 0.4]])
def test_small_block_is_zeroed(block):
    values = np.array(block)
    assert block_soft_threshold(values, 0.5) == 0.0
    assert not values.any()


def test_block_of_one_is_the_scalar_threshold():
    for value in (-2.0, 0.1, 3.0):
        block = np.array([value])
        block_soft_threshold(block, 0.5)
        assert block[0] == pytest.approx(soft_threshold(value, 0.5))


@pytest.mark.parametrize("values", [[np.nan], [np.nan, 1.0], [1.0, np.nan]])
def test_block_keeps_nan(values):
    block = np.array(values)
    assert np.isnan(block_soft_threshold(block, 0.5))
    assert np.isnan(block).any()
