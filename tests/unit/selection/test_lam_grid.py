import numpy as np
import pytest

from shtarkov.errors import InvalidProblem
from shtarkov.families import protocol
from shtarkov.families.lasso import LassoFamily
from shtarkov.selection.lam_grid import (
    bracket_minimum,
    extend_grid,
    kappa_max,
    penalty_grid,
    refine_grid,
    smallest_ratio,
)


def test_a_grid_starts_at_the_largest_penalty_and_is_even_in_the_logarithm():
    grid = penalty_grid(7.3, 100, 20)
    assert grid.size == 100
    assert grid[0] == 7.3
    assert grid[-1] == pytest.approx(7.3 * smallest_ratio(100, 20))
    np.testing.assert_allclose(np.diff(np.log(grid)), np.log(grid[1] / grid[0]))


def test_a_grid_goes_deeper_where_least_squares_is_within_reach():
    assert smallest_ratio(100, 20) < smallest_ratio(20, 20)
    assert penalty_grid(1.0, 20, 100, ratio=0.5)[-1] == pytest.approx(0.5)


def test_a_grid_of_one_penalty_is_the_largest():
    assert penalty_grid(2.0, 10, 5, n_points=1) == pytest.approx([2.0])


@pytest.mark.parametrize("largest", [0.0, -1.0, np.nan, np.inf])
def test_a_largest_penalty_that_is_not_positive_is_refused(largest):
    with pytest.raises(InvalidProblem, match="largest penalty"):
        penalty_grid(largest, 10, 5)


@pytest.mark.parametrize("options", [{"n_points": 0}, {"ratio": 1.0}, {"ratio": 0.0}])
def test_impossible_grids_are_refused(options):
    with pytest.raises(InvalidProblem):
        penalty_grid(1.0, 10, 5, **options)


def test_at_kappa_max_the_estimate_at_its_own_noise_scale_leaves_zero(rng):
    X = rng.standard_normal((12, 4))
    y = rng.standard_normal(12) + 2.0 * X[:, 0]
    limit = kappa_max(float(np.max(np.abs(X.T @ y))), float(y @ y), 12)
    for share, is_zero in ((1.001, True), (0.999, False)):
        # sigma-hat solves <z, r(z)> = n for z = y / sigma; the left side falls with sigma.
        low, high = 1e-3, 1e3
        for _ in range(200):
            sigma = np.sqrt(low * high)
            z = y / sigma
            family = LassoFamily(np.ascontiguousarray(X.T), X.T @ X, share * limit, 0.0, 0.0)
            fit = protocol.solve(family, z, protocol.new_work(family, 4))
            low, high = (sigma, high) if z @ fit.residual > 12.0 else (low, sigma)
        assert (fit.active.size == 0) == is_zero


def test_kappa_max_needs_data():
    with pytest.raises(InvalidProblem, match="zero after projection"):
        kappa_max(0.0, 0.0, 10)


def test_the_minimum_of_equals_is_the_largest_penalty_and_nan_is_never_it():
    grid = np.array([8.0, 4.0, 2.0, 1.0])
    assert bracket_minimum(grid, [3.0, 1.0, 1.0, 2.0]) == (1, False, False)
    assert bracket_minimum(grid, [np.nan, 2.0, 1.5, 1.0]) == (3, True, False)
    assert bracket_minimum(grid, [0.0, 2.0, np.nan, 1.0]) == (0, False, True)


def test_refinement_lands_strictly_between_the_neighbours_of_the_minimum():
    grid = np.array([8.0, 4.0, 2.0, 1.0])
    new = refine_grid(grid, [3.0, 1.0, 2.0, 3.0], n_between=3)
    assert new.size == 6
    assert np.all(np.diff(new) < 0.0)
    assert 2.0 < new[-1] < new[0] < 8.0
    assert new[1] == pytest.approx(np.sqrt(32.0))
    assert not np.isin(new, grid).any()


def test_refinement_at_an_edge_stays_on_the_grid():
    grid = np.array([8.0, 4.0, 2.0])
    below = refine_grid(grid, [3.0, 2.0, 1.0], n_between=1)
    assert below == pytest.approx([np.sqrt(8.0)])
    assert refine_grid([1.0], [0.0]).size == 0


def test_repeated_refinement_finds_the_minimum_of_a_smooth_curve():
    grid = penalty_grid(10.0, 100, 10, n_points=12)

    def curve(lams):
        return (np.log(lams) - np.log(0.123)) ** 2

    for _ in range(6):
        grid = np.sort(np.append(grid, refine_grid(grid, curve(grid))))[::-1]
    best = grid[bracket_minimum(grid, curve(grid)).position]
    assert best == pytest.approx(0.123, rel=1e-3)


def test_an_extension_continues_the_last_step_down_to_the_floor():
    grid = penalty_grid(1.0, 100, 10, n_points=9)
    new = extend_grid(grid)
    assert new.size == 2
    np.testing.assert_allclose(np.diff(np.log(np.append(grid, new))), np.log(grid[1]))
    assert extend_grid(grid, n_points=50, floor=grid[-1] * 0.2).size == 1
    assert extend_grid(grid, n_points=500)[-1] >= 1e-8
    assert extend_grid(np.array([1.0, 1e-8])).size == 0


@pytest.mark.parametrize("grid", [[], [1.0, 2.0], [1.0, 1.0], [1.0, 0.0], [[1.0]]])
def test_a_curve_over_no_proper_grid_is_refused(grid):
    with pytest.raises(InvalidProblem):
        bracket_minimum(grid, np.zeros(np.shape(grid)))


def test_one_penalty_cannot_be_extended():
    with pytest.raises(InvalidProblem, match="no step"):
        extend_grid([1.0])
