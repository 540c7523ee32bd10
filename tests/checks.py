"""What must hold for every family, whatever its penalty, each invariant by an independent way.

A new family is first held to `check_family`. Derivatives are taken by central differences of solves
from nothing.
"""

import numpy as np
import pytest

from shtarkov.complexity.outline import outline_of
from shtarkov.families import observables as obs
from shtarkov.families import protocol
from shtarkov.families.facts import facts_of
from shtarkov.types import Status

CAPACITY = 64
STEP = 1e-5
# Of a central difference of numbers of order ten, solved to 1e-11.
CLOSE = 1e-4


def solve(family, y):
    """Solve from nothing."""
    fit = protocol.solve(family, y, protocol.new_work(family, CAPACITY))
    assert fit.status == Status.OK
    return fit


def solved_work(family, y):
    work = protocol.new_work(family, CAPACITY)
    protocol.image(family, y, work.z)
    assert protocol.relax(family, y, work) == Status.OK
    return work


def observed(family, y):
    row = np.zeros(len(obs.OBSERVABLES))
    protocol.observe(family, family.lam, solved_work(family, y), row)
    return row


def slopes(value, at):
    """Differentiate a function of a vector, by central differences; one row per entry."""
    steps = STEP * np.eye(at.size)
    return np.array([(value(at + step) - value(at - step)) / (2.0 * STEP) for step in steps])


def check_estimate(family, y):
    """The fit is optimal, and its numbers are those of its coefficients."""
    fit = solve(family, y)
    residual_sq = fit.residual @ fit.residual
    assert fit.active.size > 0
    assert protocol.kkt_residual(family, y, fit) < 1e-8
    assert fit.penalty == pytest.approx(protocol.penalty_value(family, fit.coef))
    assert fit.envelope == pytest.approx(0.5 * residual_sq + fit.penalty)
    likelihood = -0.5 * (residual_sq + y.size * np.log(2.0 * np.pi))
    assert protocol.log_likelihood(family, y, fit) == pytest.approx(likelihood)
    top = protocol.lam_max(family, y)
    assert solve(protocol.with_lam(family, 1.0001 * top), y).active.size == 0
    assert solve(protocol.with_lam(family, 0.9999 * top), y).active.size > 0


def check_derivatives_in_y(family, y):
    """The residual is the gradient of the envelope, df the divergence of the fit."""
    fit = solve(family, y)
    gradient = slopes(lambda moved: solve(family, moved).envelope, y)
    assert gradient == pytest.approx(fit.residual, abs=CLOSE)
    residual_slopes = slopes(lambda moved: solve(family, moved).residual, y)
    assert fit.df == pytest.approx(y.size - np.trace(residual_slopes), abs=CLOSE)


def check_derivatives_in_lam(family, y):
    """What is observed of the path is its slope, where lam alone moves."""
    row = observed(family, y)

    def at(lam):
        return observed(protocol.with_lam(family, float(lam[0])), y)

    slope = slopes(at, np.array([family.lam]))[0]
    assert row[obs.SLOPE] == pytest.approx(family.lam * slope[obs.ENVELOPE], abs=CLOSE)
    assert row[obs.SIGN_ENERGY] == pytest.approx(-slope[obs.NORM], abs=CLOSE)


def check_observed(family, y):
    """The numbers recorded of a state are those of the fit."""
    fit, row = solve(family, y), observed(family, y)
    residual_sq = fit.residual @ fit.residual
    assert row[obs.DF] == pytest.approx(fit.df)
    assert row[obs.PENALTY] == pytest.approx(fit.penalty)
    assert row[obs.ENVELOPE] == pytest.approx(fit.envelope)
    assert row[obs.RESIDUAL_SQ] == pytest.approx(residual_sq)
    assert row[obs.FIT_RESIDUAL] == pytest.approx(y @ fit.residual - residual_sq)
    assert row[obs.KKT_RESIDUAL] < 1e-8
    marks = np.zeros(facts_of(family).n_recorded, np.uint8)
    protocol.mark_active(family, solved_work(family, y), marks)
    assert marks.any()


def check_work(family, y, rng):
    """A work that comes from elsewhere, or was copied, ends where one from nothing does."""
    elsewhere = solved_work(family, 2.0 * rng.standard_normal(y.size))
    protocol.image(family, y, elsewhere.z)
    assert protocol.relax(family, y, elsewhere) == Status.OK
    fit = solve(family, y)
    assert elsewhere.residual == pytest.approx(fit.residual, abs=1e-8)
    copy = protocol.new_work(family, CAPACITY)
    protocol.copy_work(family, elsewhere, copy)
    assert protocol.potential(family, family.lam, copy) == pytest.approx(fit.envelope)


def check_force(family, y, weight):
    """The force is the gradient of the potential, its image the image of it."""
    force, work = np.zeros(y.size), solved_work(family, y)
    image, expected = np.zeros(work.z.size), np.zeros(work.z.size)
    protocol.write_force(family, weight, y, work, force, image)

    def potential(moved):
        return protocol.potential(family, weight, solved_work(family, moved))

    assert force == pytest.approx(slopes(potential, y), abs=CLOSE)
    protocol.image(family, force, expected)
    assert image == pytest.approx(expected, abs=1e-8)


def check_fibre(family, y, rng):
    """The fibre move keeps the residual, and leaves the work solved at where y has moved to."""
    kept, work, moved = solve(family, y), solved_work(family, y), y.copy()
    protocol.refresh_fibre(family, family.lam, moved, work, rng)
    again, image = solve(family, moved), np.zeros(work.z.size)
    assert again.residual == pytest.approx(kept.residual, abs=1e-7)
    assert protocol.potential(family, family.lam, work) == pytest.approx(again.envelope)
    protocol.image(family, moved, image)
    assert work.z == pytest.approx(image, abs=1e-8)


def check_outline(family):
    """The path starts where its first-order term is as small as asked."""
    outline = outline_of(family)
    start = outline.start(1e-3)
    assert outline.first_order(start) == pytest.approx(1e-3, rel=1e-3)
    assert outline.ln_c(0.1 * start, 0.1 * start) > outline.ln_c(start, start) > 0.0
    dfs = outline.mean_df(np.log(start * np.array([1.0, 0.5, 0.1])))
    assert np.all(np.diff(dfs) > 0.0)
    assert dfs[-1] <= facts_of(family).n_dim


def check_family(family, y, rng):
    """Hold a family to all of it, at a data vector where something is active."""
    check_estimate(family, y)
    check_derivatives_in_y(family, y)
    check_derivatives_in_lam(family, y)
    check_observed(family, y)
    check_work(family, y, rng)
    for weight in (family.lam, 0.6 * family.lam):
        check_force(family, y, weight)
    check_fibre(family, y, rng)
    check_outline(family)
