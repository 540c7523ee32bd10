"""Codes of labels against enumeration, their competition, and what a selection refuses."""

import json
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from shtarkov import Lasso, SparseLogistic, SparseSVM, compare, select
from shtarkov.complexity.label_enumeration import label_table
from shtarkov.errors import InvalidProblem
from shtarkov.selection.label_data import make_label_data
from shtarkov.selection.label_laws import SMALLEST_RATIO, largest_eta

pytestmark = pytest.mark.needs_jit
N = 12
QUICK = {"seed": 4, "std_error": 0.1, "max_draws": 4000, "n_chains": 4}


def some_labels(seed=0, n=N, d=3, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, 0] + noise * rng.standard_normal(n) > 0.0


def exact_nats(data, point, table, eta, tau, n_stated):
    ln_c = table.ln_c(eta, tau, data.n_positive)
    return eta * (point.fit + tau * point.norm) + ln_c + data.stated_nats(n_stated)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_best_eta_and_its_length_are_those_of_enumeration(loss, intercept):
    X, y = some_labels(seed=2)
    problem = SparseSVM(X, loss, eta="unknown", fit_intercept=intercept)
    report = select(problem, y, lams=[0.8], criterion="prediction", **QUICK)
    data = make_label_data(problem, y)
    table, point = label_table(problem, 0.8), data.point(0.8)
    code = report.codelengths["matched"]
    at_same_eta = exact_nats(data, point, table, code.eta, 0.8, 1)
    assert abs(code.nats - at_same_eta) < 4.0 * code.std_error
    best = minimize_scalar(
        lambda eta: exact_nats(data, point, table, eta, 0.8, 1), bounds=(1e-3, largest_eta(N))
    )
    assert at_same_eta < best.fun + 0.05
    # The least is where the law's mean objective is the data's own, unless eta is at its end.
    if code.eta < 0.99 * largest_eta(N):
        mean = table.mean(table.envelope, best.x, None, data.n_positive)
        assert mean == pytest.approx(point.fit + 0.8 * point.norm, abs=1e-3)


def test_the_free_weight_of_the_norm_is_the_best_one():
    X, y = some_labels(seed=5)
    problem = SparseLogistic(X, fit_intercept=True)
    report = select(problem, y, lams=[1.5], **QUICK)
    data = make_label_data(problem, y)
    table, point = label_table(problem, 1.5), data.point(1.5)
    code = report.codelengths["free"]
    assert code.eta == 1.0
    assert SMALLEST_RATIO * 1.5 <= code.tau <= 1.5
    exact = exact_nats(data, point, table, 1.0, code.tau, 2)
    assert abs(code.nats - exact) < 4.0 * code.std_error
    taus = np.linspace(SMALLEST_RATIO * 1.5, 1.5, 200)
    assert exact < min(exact_nats(data, point, table, 1.0, tau, 2) for tau in taus) + 0.05


def test_a_light_weight_far_below_a_large_penalty_is_climbed_to():
    # At the matched law next to no labels let a column in: its draws say nothing of light weights.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 6))
    y = X[:, 0] + X[:, 1] + 0.1 * rng.standard_normal(N) > 0.0
    problem = SparseLogistic(X)
    data = make_label_data(problem, y)
    lam = 0.75 * data.lam_max
    report = select(problem, y, lams=[lam], criterion="structure", **QUICK)
    code = report.codelengths["free"]
    assert code.tau < 0.1 * lam
    exact = exact_nats(data, data.point(lam), label_table(problem, lam), 1.0, code.tau, 2)
    assert abs(code.nats - exact) < 4.0 * code.std_error


def test_the_shortest_code_wins_and_brings_its_classifier():
    X, y = some_labels(seed=1, n=40, d=4, noise=0.3)
    problem = SparseLogistic(X, fit_intercept=True)
    options = {"seed": 1, "std_error": 0.5, "lams": [2.0, 0.5, 0.12, 0.06]}
    report = select(problem, np.where(y, "yes", "no"), **options)
    assert report.winner in ("matched", "free")
    assert report.codelength == min(code.nats for code in report.codelengths.values())
    assert report.codelengths["empty"].nats == pytest.approx(
        math.log(41.0) + math.log(math.comb(40, int(y.sum())))
    )
    assert report.classes == ("no", "yes")
    assert (report.sigma, report.eta) == (None, 1.0)
    assert np.mean((X @ report.coef + report.intercept > 0.0) == y) > 0.8
    assert 0 in report.support
    assert report.ok, report.reasons
    assert np.all(np.diff(report.curve.lams) < 0.0)
    assert json.loads(report.to_json())["classes"] == ["no", "yes"]
    assert "eta = 1" in report.summary()
    again = select(problem, y, **options)
    assert again.codelengths == report.codelengths


def test_labels_without_a_pattern_are_left_empty():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((40, 3)), rng.random(40) < 0.5
    report = select(SparseLogistic(X), y, seed=2, std_error=0.5, n_grid=3)
    assert report.winner == "empty"
    assert report.codelength == pytest.approx(40 * math.log(2.0))
    assert np.count_nonzero(report.coef) == 0


def test_one_class_needs_no_penalty():
    X, _ = some_labels()
    report = select(SparseSVM(X, eta="unknown", fit_intercept=True), np.ones(N), seed=1)
    assert report.winner == "empty"
    assert report.codelength == pytest.approx(math.log(N + 1.0))
    assert report.curve is None


def test_families_of_labels_compare_in_one_currency():
    X, y = some_labels(seed=6, n=40, noise=0.2)
    problems = {
        "logistic": SparseLogistic(X, fit_intercept=True),
        "svm": SparseSVM(X, "squared_hinge", eta="unknown"),
    }
    options = {"seed": 1, "std_error": 0.5, "criterion": "prediction", "n_grid": 3}
    report = compare(problems, y, **options)
    assert report.winner in problems
    lengths = {name: item.codelength for name, item in report.reports.items()}
    assert report.best.codelength == min(lengths.values()) < 40 * math.log(2.0)
    with pytest.raises(InvalidProblem, match="like with like"):
        compare({**problems, "lasso": Lasso(X)}, y)


def test_conservative_takes_the_largest_penalty_within_the_errors():
    X, y = some_labels(seed=7, n=30)
    problem = SparseLogistic(X)
    options = {"seed": 3, "std_error": 0.5, "criterion": "prediction", "lams": [4.0, 3.9, 0.5]}
    plain = select(problem, y, **options)
    careful = select(problem, y, conservative=500.0, **options)
    assert careful.lam == 4.0
    assert plain.lam <= careful.lam


def test_what_labels_have_not_is_refused():
    X, y = some_labels()
    problem = SparseLogistic(X)
    for options in ({"sigma": 1.5}, {"criterion": "best"}, {"conservative": -1.0}):
        with pytest.raises(InvalidProblem):
            select(problem, y, **options)
    with pytest.raises(InvalidProblem, match="distinct values"):
        select(problem, np.arange(N))


def test_relaxed_coefficients_solve_their_own_problem():
    X, y = some_labels(seed=8, n=30, d=5)
    problem = SparseLogistic(X, fit_intercept=True)
    data = make_label_data(problem, y)
    point = data.point(3.0)
    relaxed = data.relaxed(point, 0.5)
    smaller = SparseLogistic(X[:, point.support], fit_intercept=True)
    kept = make_label_data(smaller, y).point(0.5)
    assert np.flatnonzero(relaxed.coef).size <= point.support.size
    assert relaxed.coef[point.support] == pytest.approx(kept.coef, abs=1e-8)
    assert relaxed.intercept == pytest.approx(kept.intercept, abs=1e-8)
