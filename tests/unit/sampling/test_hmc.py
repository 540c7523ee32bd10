"""One Hamiltonian move: reversible, exact where it should be, undone when rejected."""

import numpy as np
import pytest

from shtarkov.families.lasso import LassoFamily
from shtarkov.sampling.hmc import Tuning, leapfrog, new_state, place, rotate, step
from shtarkov.types import Status


def make_family(shape, lam, rng, gram=True):
    Xt = np.ascontiguousarray(rng.standard_normal(shape).T)
    return LassoFamily(Xt, Xt @ Xt.T if gram else np.zeros((0, 0)), lam, 0.0, 0.0)


def started(family, rng):
    state = new_state(family, family.Xt.shape[1], 64)
    assert place(family, 2.0 * rng.standard_normal(family.Xt.shape[1]), state) == Status.OK
    state.momentum[:] = rng.standard_normal(state.momentum.size)
    if state.momentum_image.size:
        state.momentum_image[:] = family.Xt @ state.momentum
    return state


@pytest.mark.parametrize("gram", [True, False])
@pytest.mark.parametrize("weight", [1.0, 0.4])
@pytest.mark.parametrize("frequency_sq", [0.0, 0.6, 1.0])
def test_the_flow_runs_back(frequency_sq, weight, gram, rng):
    family = make_family((8, 12), 1.0, rng, gram)
    state = started(family, rng)
    y, momentum = state.y.copy(), state.momentum.copy()
    tuning = Tuning(0.3, frequency_sq, 4)
    assert leapfrog(family, weight, state, tuning, 0.3) == Status.OK
    assert np.abs(state.y - y).max() > 0.1
    if gram:  # the images moved along
        assert state.work.z == pytest.approx(family.Xt @ state.y)
        assert state.momentum_image == pytest.approx(family.Xt @ state.momentum)
    state.momentum[:] *= -1.0
    state.momentum_image[:] *= -1.0
    assert leapfrog(family, weight, state, tuning, 0.3) == Status.OK
    assert state.y == pytest.approx(y, abs=1e-9)
    assert state.momentum == pytest.approx(-momentum, abs=1e-9)


def test_a_rotation_keeps_the_energy_and_no_frequency_is_a_straight_line(rng):
    y, p = rng.standard_normal(5), rng.standard_normal(5)
    energy, start, speed = 0.8 * y @ y + p @ p, y.copy(), p.copy()
    rotate(y, p, 0.8, 1.7)
    assert 0.8 * y @ y + p @ p == pytest.approx(energy)
    y, p = start.copy(), speed.copy()
    rotate(y, p, 0.0, 0.5)
    assert y == pytest.approx(start + 0.5 * speed)
    assert p == pytest.approx(speed)


def test_every_move_is_accepted_where_nothing_is_active(rng):
    family = make_family((8, 12), 1e3, rng)
    state = started(family, rng)
    for _ in range(20):
        info = step(family, 1e3, state, Tuning(1.0, 1.0, 2), rng)
        assert info.accepted
        assert info.acceptance == pytest.approx(1.0)


def test_a_rejection_restores_everything(rng):
    family = make_family((8, 12), 1.0, rng)
    state = started(family, rng)
    rejected = 0
    for _ in range(30):
        y, z, k = state.y.copy(), state.work.z.copy(), state.work.counts[0]
        coef = state.work.coef[:k].copy()
        if step(family, 1.0, state, Tuning(2.5, 0.0, 2), rng).accepted:
            continue
        rejected += 1
        assert np.array_equal(state.y, y)
        assert np.array_equal(state.work.z, z)
        assert np.array_equal(state.work.coef[:k], coef)
        assert np.flatnonzero(state.work.position >= 0).size == k
    assert rejected > 5


@pytest.mark.needs_jit  # as plain Python the overflow is a warning first
def test_a_move_that_leaves_the_numbers_is_rejected_and_counted(rng):
    family = make_family((4, 6), 1.0, rng)
    state = started(family, rng)
    y = state.y.copy()
    info = step(family, 1.0, state, Tuning(1e200, 0.0, 3), rng)
    assert not info.accepted
    assert np.array_equal(state.y, y)
