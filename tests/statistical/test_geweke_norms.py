"""Geweke's joint test where the fibre move is more than an exponential draw: groups and matrices.

As in `test_geweke`: penalty and data are drawn in turn, and the penalty must keep its own law. A
transition is one Hamiltonian move and one fibre move. Compared with them is also lam times the
norm, whose mean at each penalty is minus the slope of the exact ln C.
"""

from typing import NamedTuple

import numpy as np
import pytest

from shtarkov import GroupLasso, NuclearNorm
from shtarkov.complexity.closed_form import group_lasso_ln_c
from shtarkov.complexity.singular_values import nuclear_ln_c
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of
from shtarkov.families.observables import PENALTY
from shtarkov.sampling import hmc_run
from shtarkov.sampling.runs import Request
from tests.laws import oracles, z_score

N_STEPS, N_WARMUP, STEP = 2000, 64, 1e-4


class Case(NamedTuple):
    """A problem whose ln C is known at some penalties; `slopes` None where nothing more is."""

    problem: object
    lams: list
    ln_c: list
    slopes: list | None


def known_everywhere(problem, lams, ln_c):
    slopes = [(ln_c(lam * (1 - STEP)) - ln_c(lam * (1 + STEP))) / (2 * STEP) for lam in lams]
    return Case(problem, lams, [ln_c(lam) for lam in lams], slopes)


def correlated_groups():
    stored = oracles("group_lasso_quadrature")
    problem = GroupLasso(stored[0]["X"], stored[0]["groups"], stored[0]["weights"])
    return Case(problem, [o["lam"] for o in stored], [o["ln_C_luckiness"] for o in stored], None)


def orthogonal_groups():
    problem = GroupLasso(np.eye(7), [0, 0, 0, 1, 1, 1, 1], [1.5, 2.0])
    sizes = (np.ones(2), np.array([3, 4]))
    return known_everywhere(
        problem, [0.6, 1.0, 1.6], lambda lam: group_lasso_ln_c(*sizes, lam, weights=problem.weights)
    )


def matrices():
    return known_everywhere(
        NuclearNorm(shape=(2, 3)), [1.2, 2.0, 3.0], lambda lam: nuclear_ln_c((2, 3), lam)
    )


def joint_scores(case, extra_weight=None, seed=3):
    """z-scores of the shares of the penalties, and of the penalised norm where its mean is known.

    With `extra_weight` a second fibre move follows, at that multiple of the right weight.
    """
    rng, family = np.random.default_rng(seed), family_of(case.problem, 1.0)
    families = [protocol.with_lam(family, float(lam)) for lam in case.lams]
    runs, work = [], protocol.new_work(family, 16)
    for own in families:
        request = Request(
            family=own, weight=own.lam, solver="auto", active=False, data=False, sigma=1.0,
            options={},
        )  # fmt: skip
        runs.append(hmc_run.plan(request).make_run(rng))
        runs[-1].warm_up(N_WARMUP)
    prior = np.full(len(runs), 1.0 / len(runs))
    y = runs[0].snapshot()["y"]
    indices, norms = np.zeros((1, N_STEPS)), np.zeros((1, N_STEPS))
    for t in range(N_STEPS):
        envelopes = [protocol.solve(own, y, work).envelope for own in families]
        logs = np.log(prior) - envelopes - np.array(case.ln_c)
        shares = np.exp(logs - logs.max())
        index = int(rng.choice(prior.size, p=shares / shares.sum()))
        runs[index].restore({**runs[index].snapshot(), "y": y})
        norms[0, t] = runs[index].advance(1).trace[0, PENALTY]
        indices[0, t], y = index, runs[index].snapshot()["y"]
        if extra_weight is not None:
            protocol.solve(families[index], y, work)
            protocol.refresh_fibre(families[index], extra_weight * case.lams[index], y, work, rng)
    scores = [z_score(indices == i, share) for i, share in enumerate(prior)]
    if case.slopes is not None:
        scores.append(z_score(norms, prior @ case.slopes))
    return np.array(scores)


@pytest.mark.needs_jit
@pytest.mark.parametrize("make", [correlated_groups, orthogonal_groups, matrices])
def test_the_joint_law_is_kept(make):
    assert np.abs(joint_scores(make())).max() < 4.0


@pytest.mark.needs_jit
@pytest.mark.parametrize("make", [correlated_groups, matrices])
def test_a_fibre_move_at_the_wrong_weight_is_caught(make):
    assert np.abs(joint_scores(make(), extra_weight=0.6)).max() > 5.0
