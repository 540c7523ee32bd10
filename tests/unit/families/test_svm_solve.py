"""The sparse classifier against linear programming, scikit-learn and its own duality gap."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from shtarkov.errors import InvalidProblem
from shtarkov.families.label_family import ABOVE_LIMIT, PRIMAL, new_label_work
from shtarkov.families.label_problems import SparseLogistic, SparseSVM, check_labels
from shtarkov.families.sparse_svm import (
    label_family,
    label_lam_max,
    largest_lam_max,
    solve_labels,
)
from shtarkov.families.svm_solve import relax_labels, start_at_zero
from shtarkov.types import Status

LOSSES = ("hinge", "squared_hinge", "logistic")


def problem_of(X, loss, **options):
    return SparseLogistic(X, **options) if loss == "logistic" else SparseSVM(X, loss, **options)


def some_data(rng, n, d, integer=False):
    X = rng.integers(-2, 3, (n, d)).astype(float) if integer else rng.standard_normal((n, d))
    signs = np.where(X[:, : min(3, d)].sum(axis=1) + rng.standard_normal(n) > 0.0, 1.0, -1.0)
    return X, signs


def hinge_by_linear_programming(X, signs, lam, intercept):
    n, d = X.shape
    Z = signs[:, None] * X
    free = [-signs[:, None], signs[:, None]] if intercept else []
    A = np.hstack([-Z, Z, *free, -np.eye(n)])
    cost = np.concatenate([np.full(2 * d, lam), np.zeros(2 * len(free) // 2), np.ones(n)])
    return linprog(cost, A_ub=A, b_ub=-np.ones(n), method="highs").fun


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.7])
@pytest.mark.parametrize(("n", "d"), [(30, 12), (20, 50), (60, 2)])
def test_every_solution_has_a_closed_gap(rng, loss, intercept, ridge, n, d):
    X, signs = some_data(rng, n, d)
    problem = problem_of(X, loss, ridge=ridge, fit_intercept=intercept)
    top = label_lam_max(problem, signs)
    sizes = []
    for share in (0.9, 0.3, 0.05, 0.005):
        fit = solve_labels(problem, signs, share * top)
        assert abs(fit.gap) <= 1e-9 * (1.0 + fit.objective)
        assert fit.margin_residual < 1e-8
        margins = signs * (X @ fit.coef + fit.intercept)
        penalty = share * top * np.abs(fit.coef).sum() + 0.5 * ridge * (fit.coef**2).sum()
        assert fit.objective == pytest.approx(loss_sum(loss, margins) + penalty, rel=1e-12)
        sizes.append(np.count_nonzero(fit.coef))
    assert max(sizes) > 1


def loss_sum(loss, margins):
    slack = np.maximum(0.0, 1.0 - margins)
    if loss == "hinge":
        return slack.sum()
    return 0.5 * (slack**2).sum() if loss == "squared_hinge" else np.logaddexp(0, -margins).sum()


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("integer", [False, True])
def test_hinge_is_the_linear_programme(rng, intercept, integer):
    for n, d in [(12, 3), (40, 15), (25, 60)]:
        X, signs = some_data(rng, n, d, integer)
        problem = SparseSVM(X, "hinge", fit_intercept=intercept)
        for share in (0.7, 0.2, 0.02):
            lam = share * label_lam_max(problem, signs)
            wanted = hinge_by_linear_programming(X, signs, lam, intercept)
            assert solve_labels(problem, signs, lam).objective == pytest.approx(wanted, abs=1e-7)


def test_squared_hinge_is_liblinear_with_the_half(rng):
    X, signs = some_data(rng, 80, 25)
    problem = SparseSVM(X, "squared_hinge")
    for share in (0.5, 0.1):
        lam = share * label_lam_max(problem, signs)
        peer = LinearSVC(
            penalty="l1", dual=False, C=0.5 / lam, fit_intercept=False, tol=1e-10, max_iter=100_000
        ).fit(X, signs)
        coef = peer.coef_.ravel()
        fit = solve_labels(problem, signs, lam)
        theirs = loss_sum("squared_hinge", signs * (X @ coef)) + lam * np.abs(coef).sum()
        assert fit.objective == pytest.approx(theirs, abs=1e-7)
        assert fit.coef == pytest.approx(coef, abs=1e-5)


def test_logistic_is_liblinear(rng):
    X, signs = some_data(rng, 80, 25)
    problem = SparseLogistic(X)
    lam = 0.1 * label_lam_max(problem, signs)
    exact = {"solver": "liblinear", "fit_intercept": False, "tol": 1e-9, "max_iter": 10_000}
    # Before scikit-learn 1.8 the penalty is asked for by name.
    is_named = LogisticRegression().get_params()["penalty"] == "l2"
    lasso = {"penalty": "l1"} if is_named else {"l1_ratio": 1.0}
    peer = LogisticRegression(C=1.0 / lam, **exact, **lasso).fit(X, signs)
    fit = solve_labels(problem, signs, lam)
    assert fit.coef == pytest.approx(peer.coef_.ravel(), abs=1e-5)


def test_an_unpenalised_intercept_agrees_with_a_general_minimiser(rng):
    X, signs = some_data(rng, 50, 3)
    problem = SparseLogistic(X, fit_intercept=True, ridge=0.3)
    fit = solve_labels(problem, signs, 2.0)

    def objective(p):  # positive and negative parts
        w = p[:3] - p[3:6]
        loss = loss_sum("logistic", signs * (X @ w + p[6]))
        return loss + 2.0 * p[:6].sum() + 0.15 * (w**2).sum()

    bounds = [(0.0, None)] * 6 + [(None, None)]
    peer = minimize(objective, np.zeros(7), bounds=bounds, options={"maxfun": 50_000})
    assert fit.objective == pytest.approx(peer.fun, abs=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_flipping_labels_warm_is_solving_them_cold(rng, loss, ridge):
    X, signs = some_data(rng, 40, 30)
    problem = problem_of(X, loss, ridge=ridge, fit_intercept=ridge > 0.0)
    family = label_family(problem, 0.15 * label_lam_max(problem, signs))
    warm, cold = new_label_work(family, 100), new_label_work(family, 100)
    start_at_zero(family, signs, warm)
    for _ in range(40):
        signs[rng.integers(0, 40, size=rng.integers(1, 5))] *= -1.0
        assert relax_labels(family, signs, np.inf, warm) == Status.OK
        start_at_zero(family, signs, cold)
        assert relax_labels(family, signs, np.inf, cold) == Status.OK
        assert warm.values[PRIMAL] == pytest.approx(cold.values[PRIMAL], abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_limit_ends_the_solve_only_above_it(rng, loss):
    X, signs = some_data(rng, 40, 30)
    problem = problem_of(X, loss)
    lam = 0.2 * label_lam_max(problem, signs)
    family, minimum = label_family(problem, lam), solve_labels(problem, signs, lam).objective
    work = new_label_work(family, 100)
    start_at_zero(family, signs, work)
    assert relax_labels(family, signs, minimum + 1e-6, work) == Status.OK
    start_at_zero(family, signs, work)
    assert relax_labels(family, signs, 0.5 * minimum, work) == ABOVE_LIMIT


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [False, True])
def test_nothing_enters_from_lam_max_on(rng, loss, intercept):
    X, signs = some_data(rng, 30, 8)
    problem = problem_of(X, loss, fit_intercept=intercept)
    top = label_lam_max(problem, signs)
    assert np.count_nonzero(solve_labels(problem, signs, 1.0001 * top).coef) == 0
    if loss != "hinge" or not intercept:
        assert np.count_nonzero(solve_labels(problem, signs, 0.999 * top).coef) > 0
    bound = largest_lam_max(problem)
    for _ in range(20):
        others = np.where(rng.random(30) < 0.5, 1.0, -1.0)
        assert label_lam_max(problem, others) <= bound


@pytest.mark.parametrize("loss", LOSSES)
def test_awkward_designs(rng, loss):
    column = rng.standard_normal((30, 1))
    signs = np.where(column[:, 0] + 0.3 * rng.standard_normal(30) > 0.0, 1.0, -1.0)
    designs = [
        np.hstack([column, column, -column]),
        np.hstack([column, np.zeros((30, 1))]),
        1e6 * column,
        1e-6 * column,
        np.repeat(column[:10], 3, axis=0),
        np.hstack([column, np.ones((30, 1))]),
        column[:1],
    ]
    for X in designs:
        labels = signs[: X.shape[0]]
        for intercept in (False, True):
            problem = problem_of(X, loss, fit_intercept=intercept)
            lam = 0.1 * max(label_lam_max(problem, labels), 1e-3 * np.abs(X).max())
            fit = solve_labels(problem, labels, lam)
            assert abs(fit.gap) <= 1e-8 * (1.0 + fit.objective)


@pytest.mark.parametrize("loss", LOSSES)
def test_one_class_costs_nothing_with_an_intercept(rng, loss):
    X = rng.standard_normal((20, 3))
    fit = solve_labels(problem_of(X, loss, fit_intercept=True), np.ones(20), 1.0)
    assert fit.objective == pytest.approx(0.0, abs=1e-6)
    assert fit.intercept > 0.0
    assert np.count_nonzero(fit.coef) == 0


@pytest.mark.needs_jit
def test_room_for_columns_is_found(rng):
    X, signs = some_data(rng, 200, 400)
    problem = SparseSVM(X, "squared_hinge", ridge=0.1)
    fit = solve_labels(problem, signs, 0.001 * label_lam_max(problem, signs))
    assert np.count_nonzero(fit.coef) > 128
    assert abs(fit.gap) <= 1e-8 * (1.0 + fit.objective)


def test_labels_of_any_two_values():
    labels = check_labels(np.array(["no", "yes", "no"]), 3)
    assert labels.signs.tolist() == [-1.0, 1.0, -1.0]
    assert labels.classes.tolist() == ["no", "yes"]
    assert check_labels([True, False], 2).signs.tolist() == [1.0, -1.0]
    for wrong in ([1, 2, 3], [1.0, np.nan, 0.0], [1, 0], [[1], [0], [1]]):
        with pytest.raises(InvalidProblem):
            check_labels(wrong, 3)


def test_wrong_options_are_refused(rng):
    X = rng.standard_normal((5, 2))
    for options in ({"loss": "logistic"}, {"ridge": -1.0}, {"eta": 0.0}, {"eta": "auto"}):
        with pytest.raises(InvalidProblem):
            SparseSVM(X, **options)
    with pytest.raises(InvalidProblem):
        SparseLogistic(np.array([[1.0, np.nan]]))
    assert "fit_intercept=False" in repr(SparseSVM(X))
    assert "sparse" in SparseLogistic(X).name
