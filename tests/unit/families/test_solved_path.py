"""Following one data vector by solves agrees with the Lasso's exact walks."""

import numpy as np
import pytest

from shtarkov.errors import InvalidProblem
from shtarkov.families.homotopy_lam import penalty_path
from shtarkov.families.lasso import LassoFamily
from shtarkov.families.solved_path import WarmSolver, solved_path


def lasso(rng, ridge=0.0):
    Xt = rng.standard_normal((7, 10))
    return LassoFamily(Xt, Xt @ Xt.T, 1.0, 0.0, ridge), 3.0 * rng.standard_normal(10)


def test_the_path_is_that_of_the_homotopy(rng):
    family, y = lasso(rng)
    walked, solved = penalty_path(family, y, 0.05), solved_path(family, y, 0.05)
    lams = np.exp(rng.uniform(np.log(0.05), np.log(walked.lams[0]), 200))
    assert solved.norm(lams) == pytest.approx(walked.norm(lams), rel=1e-3, abs=1e-3)
    assert solved.residual_sq(lams) == pytest.approx(walked.residual_sq(lams), rel=1e-3, abs=1e-3)
    assert solved.lams[-1] == pytest.approx(0.05)
    at_nodes = solved.active_size(solved.lams[:-1])
    assert np.abs(at_nodes - walked.active_size(solved.lams[:-1])).max() <= 1


def test_penalties_outside_the_path_are_refused(rng):
    family, y = lasso(rng)
    path = solved_path(family, y, 0.5)
    for lam in (0.4, 2.0 * path.lams[0]):
        with pytest.raises(InvalidProblem, match="must lie between"):
            path.norm(lam)
    with pytest.raises(InvalidProblem, match="down to a positive penalty"):
        solved_path(family, y, 0.0)


def test_a_solver_finds_room_and_changes_its_ridge(rng):
    Xt = rng.standard_normal((90, 100))
    family, y = LassoFamily(Xt, Xt @ Xt.T, 1.0, 0.0, 0.0), 3.0 * rng.standard_normal(100)
    solver = WarmSolver(family, y)
    assert solver.fit(1e-3).active.size > 64
    cold = WarmSolver(family, y).fit(1e-3, 0.7)
    assert solver.fit(1e-3, 0.7).coef == pytest.approx(cold.coef, abs=1e-9)
    assert solver.row(1e-3)[0] == solver.fit(1e-3).active.size
