"""Samplers broken on purpose fail the checks that the right one passes."""

import math

import numpy as np
import pytest

from shtarkov import Lasso
from shtarkov._jit import kernel
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of
from shtarkov.sampling.hmc import Tuning, kick, leapfrog, new_state, place
from tests.laws import law_of_k, law_scores, oracles, z_score

ORACLE = oracles("lasso_enumeration")[1]
N_DRAWS = 20_000
# Coarse on purpose: an accept step that matters is needed to tell its absence.
TUNING = Tuning(1.5, 0.7, 2)
NO_ACCEPT, WRONG_FIBRE, FULL_LAST_KICK, NO_KINETIC = 1, 2, 3, 4


@kernel
def run_with_fault(family, weight, state, tuning, fault, rng, k_out, norm_out):
    """Run the chain of the library, leaving one thing out."""
    for t in range(k_out.size):
        state.momentum[:] = rng.standard_normal(state.y.size)
        protocol.image(family, state.momentum, state.momentum_image)
        state.y_kept[:] = state.y
        protocol.copy_work(family, state.work, state.work_kept)
        kinetic = 0.0 if fault == NO_KINETIC else 0.5 * np.sum(state.momentum**2)
        before = protocol.potential(family, weight, state.work) + kinetic
        leapfrog(family, weight, state, tuning, tuning.step_size)
        if fault == FULL_LAST_KICK:
            kick(family, weight, state, tuning.frequency_sq, 0.5 * tuning.step_size)
        kinetic = 0.0 if fault == NO_KINETIC else 0.5 * np.sum(state.momentum**2)
        after = protocol.potential(family, weight, state.work) + kinetic
        refused = rng.random() >= math.exp(min(0.0, before - after))
        if refused and fault != NO_ACCEPT:
            state.y[:] = state.y_kept
            protocol.copy_work(family, state.work_kept, state.work)
        k_out[t] = state.work.counts[0]
        norm_out[t] = np.sum(np.abs(state.work.coef[: state.work.counts[0]]))
        rate = 2.0 * weight if fault == WRONG_FIBRE else weight
        protocol.refresh_fibre(family, rate, state.y, state.work, rng)
        protocol.image(family, state.y, state.work.z)


def worst_score(fault):
    """The largest z-score of the checks made of the library's sampler."""
    lam = ORACLE["lam"]
    family = family_of(Lasso(ORACLE["X"]), lam)
    k, norm = np.zeros((4, N_DRAWS)), np.zeros((4, N_DRAWS))
    for chain in range(4):
        rng = np.random.default_rng(chain)
        state = new_state(family, family.Xt.shape[1], 8)
        place(family, rng.standard_normal(family.Xt.shape[1]), state)
        run_with_fault(family, lam, state, TUNING, fault, rng, k[chain], norm[chain])
    assert np.ptp(k) > 1.0
    return max(
        np.abs(law_scores(k, law_of_k(ORACLE["a"], lam))).max(), abs(z_score(lam * norm - k, 0.0))
    )


def test_the_right_one_passes():
    assert worst_score(0) < 4.0


@pytest.mark.parametrize("fault", [NO_ACCEPT, WRONG_FIBRE, FULL_LAST_KICK, NO_KINETIC])
def test_a_broken_one_is_caught(fault):
    assert worst_score(fault) > 6.0
