"""The two homotopies against the active-set solver: along data vectors, and along the penalty."""

import numpy as np
import pytest

from shtarkov.errors import InvalidProblem
from shtarkov.families import protocol
from shtarkov.families.homotopy_lam import penalty_path
from shtarkov.families.homotopy_y import follow_data, solve_along_data
from shtarkov.families.lasso import LassoFamily
from shtarkov.types import Status

CAPACITY = 64


def tied_design(rng):
    base = rng.standard_normal((6, 4))
    return np.column_stack([base, base[:, 0], -base[:, 1], np.zeros(6), 3.0 * base[:, 2]])


DESIGNS = {
    "tall": lambda rng: rng.standard_normal((12, 5)),
    "wide": lambda rng: rng.standard_normal((6, 20)),
    "ties": tied_design,
    "one column": lambda rng: rng.standard_normal((4, 1)),
    "one row": lambda rng: rng.standard_normal((1, 3)),
}


def make_family(X, lam, ridge=0.0, gram=True):
    Xt = np.ascontiguousarray(X.T)
    return LassoFamily(Xt, Xt @ Xt.T if gram else np.zeros((0, 0)), lam, 0.0, ridge)


def solve(family, y):
    return protocol.solve(family, y, protocol.new_work(family, CAPACITY))


@pytest.mark.parametrize("gram", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.7])
@pytest.mark.parametrize("make", DESIGNS.values(), ids=DESIGNS)
def test_from_zero_to_the_data_is_a_solve(make, ridge, gram, rng):
    X = make(rng)
    for lam in (2.0, 0.3, 0.01):
        y = 3.0 * rng.standard_normal(X.shape[0])
        family = make_family(X, lam, ridge, gram)
        work = protocol.new_work(family, CAPACITY)
        status, n_events = solve_along_data(family.Xt, family.gram, lam, ridge, y, work)
        assert status == Status.OK
        assert n_events > 0 or work.counts[0] == 0
        expected = solve(family, y)
        assert work.residual == pytest.approx(expected.residual, abs=1e-9)
        assert protocol.potential(family, lam, work) == pytest.approx(expected.envelope, rel=1e-10)


def test_a_segment_ends_at_the_solution_of_its_end(rng):
    family = make_family(rng.standard_normal((8, 20)), 0.8)
    work = protocol.new_work(family, CAPACITY)
    here = 2.0 * rng.standard_normal(8)
    protocol.image(family, here, work.z)
    assert protocol.relax(family, here, work) == Status.OK
    n_events = 0
    for _ in range(50):
        there = here + rng.standard_normal(8)
        status, met = follow_data(family.Xt, family.gram, 0.8, 0.0, here, there, work)
        assert status == Status.OK
        assert work.residual == pytest.approx(solve(family, there).residual, abs=1e-10)
        here, n_events = there, n_events + met
    assert n_events > 50


@pytest.mark.parametrize("ridge", [0.0, 0.7])
@pytest.mark.parametrize("make", DESIGNS.values(), ids=DESIGNS)
def test_every_penalty_of_a_path_is_a_solve(make, ridge, rng):
    X = make(rng)
    y = 3.0 * rng.standard_normal(X.shape[0])
    path = penalty_path(make_family(X, 1.0, ridge), y, 0.01)
    lams = np.geomspace(0.01, float(path.lams[0]), 25)
    fits = [solve(make_family(X, float(lam), ridge), y) for lam in lams]
    assert path.envelope(lams) == pytest.approx([fit.envelope for fit in fits], rel=1e-9)
    assert path.norm(lams) == pytest.approx([np.abs(fit.coef).sum() for fit in fits], abs=1e-8)
    squares = [fit.residual @ fit.residual for fit in fits]
    assert path.residual_sq(lams) == pytest.approx(squares, abs=1e-8)
    assert np.all(np.diff(path.lams) < 0.0)


def test_a_path_knows_its_ends(rng):
    X, y = rng.standard_normal((7, 4)), rng.standard_normal(7)
    path = penalty_path(make_family(X, 1.0), y, 0.1)
    assert path.lams[0] >= np.abs(X.T @ y).max()
    assert path.norm(path.lams[0]) == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(InvalidProblem, match="must lie between"):
        path.envelope(0.05)
    with pytest.raises(InvalidProblem, match="positive penalty"):
        penalty_path(make_family(X, 1.0), y, 0.0)
