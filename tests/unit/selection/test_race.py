"""How far a selection looks, what it leaves out, and what Ctrl-C leaves."""

import dataclasses
import math
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from shtarkov.complexity.ladder import INTERRUPTED
from shtarkov.families.problems import Lasso
from shtarkov.selection import free, matched, race
from shtarkov.selection.candidates import Candidate
from shtarkov.selection.data_part import make_data_part
from shtarkov.selection.mixtures import of_penalties, single
from shtarkov.selection.report import Code
from shtarkov.selection.select import select
from shtarkov.selection.verdict import average

N_DIM = 50


def flat_curve(mean_df, of_data):
    """Make a curve whose slope is |r|^2 of the model less |r|^2 of the data."""
    kappas = np.geomspace(10.0, 1.0, 40)
    nats = N_DIM * np.log(kappas) - 0.5 * of_data * kappas**2
    return SimpleNamespace(
        data=SimpleNamespace(kappas=kappas, nats=nats),
        path=SimpleNamespace(mean_df=mean_df(kappas)),
    )


def test_what_is_left_to_gain_where_both_residuals_fall_like_kappa_squared():
    curve = flat_curve(lambda kappas: N_DIM - 0.4 * kappas**2, of_data=0.2)
    # the integral of 0.2 kappa^2 d ln kappa from 0 to 1
    assert matched._gain_below(curve, N_DIM) == pytest.approx(0.1, rel=0.15)


def test_nothing_is_given_up_where_the_columns_cannot_fit_everything():
    curve = flat_curve(lambda kappas: 10.0 * np.exp(-kappas), of_data=0.2)
    assert matched._gain_below(curve, N_DIM) == math.inf


def test_the_next_ladder_reaches_where_the_curve_should_have_risen():
    kappas = np.geomspace(10.0, 1.0, 40)
    logs = np.log(10.0 / kappas)
    curve = SimpleNamespace(
        codelengths=(5.0 - 10.0 * logs)[:10],
        path=SimpleNamespace(mean_df=np.full(10, 4.0)),
    )
    table = SimpleNamespace(kappas=kappas, nats=-14.0 * logs + 8.0 * logs**2)
    grid = matched._Grid(table, 2.0 * logs, 0)  # the ladder's slope is twice the guess's
    cut = matched._next_cut(grid, curve, 1.0)
    total = -10.0 * logs + 8.0 * logs**2
    risen = np.flatnonzero(total > np.minimum.accumulate(total) + 1.0)
    assert 10 < cut == min(int(risen[0]) + 1, int(np.sum(kappas > 0.5 * kappas[9])))


def candidate(nats, *coef):
    code = Code(nats, 0.0, None, None, 1.0, len(coef))
    return Candidate(code, np.array(coef), None, partial(single, nats, np.array(coef)))


def test_codes_are_averaged_by_their_probabilities():
    candidates = {
        "empty": candidate(7.0 + math.log(3.0), 0.0, 0.0),
        "matched": candidate(7.0, 4.0, -8.0),
    }
    coef, made_of = average(candidates)
    assert made_of.endswith("75% matched, 25% empty")
    np.testing.assert_allclose(coef, [3.0, -6.0])


def test_a_code_is_averaged_over_its_penalties(strong):
    problem, y = strong
    data = make_data_part(problem, y, 1.0)
    lams = np.array([8.0, 4.0])
    table = data.table(lams)
    curve = SimpleNamespace(data=table, codelengths=np.array([math.log(3.0), 0.0]), best=1)
    fits = data.solve_at(lams, np.zeros(2))
    nats, coef = of_penalties(data, curve)
    assert nats == 0.0
    np.testing.assert_allclose(coef, 0.25 * fits[0].coef + 0.75 * fits[1].coef)


def test_small_weights_are_out_of_reach_only_where_columns_interpolate(rng):
    y = rng.standard_normal(20)
    tall = make_data_part(Lasso(rng.standard_normal((20, 3))), y, None)
    wide = make_data_part(Lasso(rng.standard_normal((20, 200))), y, None)
    kappas = np.geomspace(10.0, 1.0, 5)
    assert free._crowded_below(tall, kappas) == 0.0
    assert 0.1 < free._crowded_below(wide, kappas) < 10.0


@pytest.fixture
def strong(rng):
    X = rng.standard_normal((30, 4))
    return Lasso(X, fit_intercept=True), X[:, 0] + 0.5 * rng.standard_normal(30)


@pytest.mark.needs_jit
def test_the_search_finds_what_the_whole_grid_holds(strong):
    problem, y = strong
    found = select(problem, y, criterion="prediction", seed=1)
    deep = np.geomspace(found.curve.lams[0], 0.2 * found.curve.lams[-1], 60)
    whole = select(problem, y, lams=deep, criterion="prediction", seed=2)
    error = np.hypot(found.std_error, whole.std_error)
    assert abs(found.codelength - whole.codelength) < 4.0 * error + 0.05


@pytest.mark.needs_jit
def test_an_average_has_the_codes_of_auto_and_says_what_it_is_made_of(strong):
    problem, y = strong
    auto = select(problem, y, seed=1)
    mixed = select(problem, y, seed=1, criterion="average")
    assert mixed.codelengths == auto.codelengths
    assert mixed.winner == auto.winner
    assert "averages over the codes" in mixed.notes[-1]
    assert not np.array_equal(mixed.coef, auto.coef)
    np.testing.assert_allclose(mixed.coef, auto.coef, atol=0.5)


@pytest.mark.needs_jit
def test_ctrl_c_during_the_matched_code_ends_the_race(strong, monkeypatch):
    compute = race.matched_curve

    def interrupted(*args, **options):
        curve = compute(*args, **options)
        path = dataclasses.replace(curve.path, warnings=(INTERRUPTED,))
        return dataclasses.replace(curve, path=path)

    monkeypatch.setattr(race, "matched_curve", interrupted)
    problem, y = strong
    report = select(problem, y, seed=1)
    assert set(report.codelengths) == {"empty", "matched", "subset"}
    if report.winner == "matched":
        assert INTERRUPTED in report.reasons


@pytest.mark.needs_jit
def test_a_free_code_of_unknown_length_does_not_compete(strong, monkeypatch):
    compute = race.free_code

    def vague(*args, **options):
        return dataclasses.replace(compute(*args, **options), std_error=3.0, codelength=-100.0)

    monkeypatch.setattr(race, "free_code", vague)
    problem, y = strong
    report = select(problem, y, seed=1)
    assert "free" not in report.codelengths
    assert any("uncertain by 3.0 nats" in note for note in report.notes)
    structure = select(problem, y, seed=1, criterion="structure")
    assert structure.winner == "free"
    assert not structure.ok
