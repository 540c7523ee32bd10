"""Thousands of random problems: no crash, no hang, and the answer of the slow twin.

Each check runs on a few cases at every commit and on many in the slow job; `test_fuzz_files.py`
has the rest of the ten thousand. Answers are compared with a twin or with what certifies an answer
(optimality conditions, duality gaps) without knowing how it was found.
"""

import json
import warnings

import numpy as np
import pytest
from scipy.special import gammaln

import shtarkov
from shtarkov.complexity.enumeration import enumerate_strata
from shtarkov.errors import ShtarkovError
from shtarkov.families import protocol
from shtarkov.families.certificate import duality_gap
from shtarkov.families.homotopy_lam import penalty_path
from shtarkov.families.homotopy_y import solve_along_data
from shtarkov.families.lasso import LassoFamily
from shtarkov.families.nuclear_work import GAP, NuclearFamily
from shtarkov.families.sparse_svm import label_lam_max, solve_labels
from shtarkov.geometry import log_pair_volume, log_volume, make_active_factor, tangent_project
from shtarkov.types import Status
from tests.fuzz import cases
from tests.group_designs import make_family

CAPACITY = 64


def lasso_family(X, lam, ridge, gram):
    Xt = np.ascontiguousarray(X.T)
    return LassoFamily(Xt, Xt @ Xt.T if gram else np.zeros((0, 0)), lam, 0.0, ridge)


def check_lasso(case):
    X, Y, lam, ridge, gram = case
    family, warm = lasso_family(X, lam, ridge, gram), None
    for y in Y:
        start = warm or protocol.new_work(family, CAPACITY)
        fit = protocol.solve(family, y, start)
        warm = start
        assert fit.status == Status.OK
        # Correlations are known to rounding of their terms, not of lam.
        scale = 1.0 + 1e-5 * np.abs(X).sum(axis=0).max() * np.abs(y).max() / lam
        assert protocol.kkt_residual(family, y, fit) < 1e-8 * scale
        twin = protocol.new_work(family, CAPACITY)
        status, _ = solve_along_data(family.Xt, family.gram, lam, ridge, y, twin)
        assert status == Status.OK
        np.testing.assert_allclose(twin.residual, fit.residual, atol=1e-6 * np.abs(Y).max())


def check_penalty_path(case):
    X, Y, lam, ridge, gram = case
    y, family = Y[1], lasso_family(X, lam, ridge, gram)
    path = penalty_path(family, y, lam)
    for at in np.geomspace(lam, max(path.lams[0], lam), 4):
        inside = min(max(float(at), path.lams[-1]), path.lams[0])
        fit = protocol.solve(family._replace(lam=inside), y, protocol.new_work(family, CAPACITY))
        found = np.asarray(path.envelope(np.array([inside])))[0]
        assert found == pytest.approx(fit.envelope, rel=1e-7, abs=1e-9 * (y @ y))


def check_groups(case):
    X, group_of, weights, Y, share = case
    family, warm = make_family(X, group_of, 1.0, weights), None
    top = max(float(protocol.lam_max(family, y)) for y in Y)
    family = family._replace(lam=share * top if top > 0.0 else 1.0)
    for y in Y:
        warm = warm or protocol.new_work(family, CAPACITY)
        fit = protocol.solve(family, y, warm)
        assert fit.status == Status.OK
        assert duality_gap(family, y, fit.coef) <= 1e-8 * (fit.envelope + 1e-8 * (y @ y))
        assert 0.0 <= fit.df <= min(X.shape) + 1e-6


def check_matrices(case):
    scales, q, Y, share = case
    family = NuclearFamily(scales, np.eye(scales.size), q, 1.0)
    top = max(float(protocol.lam_max(family, y)) for y in Y)
    family, work = family._replace(lam=share * top), protocol.new_work(family, 0)
    for y in Y:
        fit = protocol.solve(family, y, work)
        assert fit.status == Status.OK
        assert work.numbers[GAP] <= 1e-8 * fit.envelope + 1e-14 * (y @ y)
        pull = scales[:, None] * fit.residual.reshape(scales.size, q)
        assert np.linalg.norm(pull, 2) <= family.lam * (1.0 + 1e-6)
        # By a norm's optimality <X b, r> is the penalty.
        assert (y - fit.residual) @ fit.residual == pytest.approx(
            fit.penalty, rel=1e-5, abs=1e-7 * (y @ y)
        )


def check_labels(case):
    X, signs, loss, options, share = case
    make = shtarkov.SparseLogistic if loss == "logistic" else shtarkov.SparseSVM
    kind = {} if loss == "logistic" else {"loss": loss}
    try:
        problem = make(X, **kind, **options)
    except ShtarkovError:
        return
    top = label_lam_max(problem, signs)
    fit = solve_labels(problem, signs, share * top if top > 0.0 else 1.0)
    assert abs(fit.gap) <= 1e-7 * (1.0 + fit.objective)
    margins = signs * (X @ fit.coef + fit.intercept)
    slack = np.maximum(0.0, 1.0 - margins)
    total = {
        "hinge": slack.sum(),
        "squared_hinge": 0.5 * (slack**2).sum(),
        "logistic": np.logaddexp(0.0, -margins).sum(),
    }[loss]
    if loss == "logistic" and options["fit_intercept"] and np.ptp(signs) == 0.0:
        total = 0.0  # the infimum, which no finite intercept attains
    assert fit.loss == pytest.approx(total, rel=1e-6, abs=1e-7)


def check_geometry(case):
    X, sets = case
    if not all(not s or np.linalg.cond(X[:, s]) < 1e3 for s in sets):
        return
    current, proposed = (make_active_factor(X[:, s]) for s in sets)
    routes = ("gram", "sylvester", "dense", "qr")
    values = [log_pair_volume(current, proposed, route=route) for route in routes]
    if len(sets[1]) > len(sets[0]):
        assert values == [-np.inf] * 4
    elif values[3] > -10.0:  # beyond, a cosine is near zero and cancellation in I - WW' shows
        np.testing.assert_allclose(values, values[3], atol=1e-5)
    z = np.linspace(-1.0, 2.0, X.shape[0])
    projected = [tangent_project(current, z, route=route) for route in ("schur", "qr", "dense")]
    np.testing.assert_allclose(projected[1:], [projected[0]] * 2, atol=1e-8)
    volumes = [log_volume(current, route=route) for route in ("schur", "qr", "dense")]
    np.testing.assert_allclose(volumes, volumes[0], atol=1e-8)


def check_integral(case):
    X, lam, sigma, tau_share, kind = case
    lam2 = 0.0 if kind == "lasso" else 0.3 * float(np.sum(X**2))
    problem = shtarkov.Lasso(X) if kind == "lasso" else shtarkov.ElasticNet(X, lam2=lam2)
    tau = None if tau_share is None else tau_share * lam
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", shtarkov.errors.SamplingWarning)
        found = shtarkov.complexity(
            problem, lam, sigma=sigma, tau=tau, method="path", std_error=0.2, n_chains=2, seed=1
        )
    weight = lam if tau is None else tau
    exact = enumerate_strata(X, lam, sigma, lam2, tau=weight if lam2 else None).ln_c(weight)[0]
    # Of the cases of the slow job, none in ten thousand is this far off by chance.
    assert abs(found.ln_c - exact) < 6.0 * found.std_error + 1e-3


def check_selection(case):
    X, y, sigma, intercept, criterion = case
    options = {"sigma": sigma, "criterion": criterion, "std_error": 0.3, "n_chains": 2, "seed": 1}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", shtarkov.errors.SamplingWarning)
            problem = shtarkov.Lasso(X, fit_intercept=intercept)
            report = shtarkov.select(problem, y, n_grid=20, max_draws=2000, **options)
    except ShtarkovError:
        return
    codes = {name: code.nats for name, code in report.codelengths.items()}
    assert np.isfinite(list(codes.values())).all()
    assert codes[report.winner] == pytest.approx(min(codes.values()), abs=1e-9)
    assert report.codelength == pytest.approx(codes[report.winner])
    assert np.isfinite(report.coef).all()
    assert np.isfinite(report.intercept)
    if report.winner == "empty":
        assert not report.coef.any()
    assert report.ok or report.reasons
    json.loads(report.to_json())
    data = problem.design.reduce_response(y)
    total, n = data.y @ data.y + data.orthogonal_sq, problem.design.n_dim
    if sigma == "unknown":
        # The marginal likelihood of y under d sigma / sigma.
        marginal = np.log(0.5) + gammaln(0.5 * n) - 0.5 * n * np.log(np.pi * total)
        assert codes["empty"] == pytest.approx(-marginal, rel=1e-9, abs=1e-9)


# name: the check, its cases, how many on every commit and in the slow job
CHECKS = {
    "lasso": (check_lasso, cases.solves(), 40, 3000),
    "penalty path": (check_penalty_path, cases.solves(), 20, 1000),
    "group lasso": (check_groups, cases.group_solves(), 20, 1200),
    "nuclear norm": (check_matrices, cases.matrix_solves(), 20, 800),
    "labels": (check_labels, cases.label_solves(), 30, 1500),
    "geometry": (check_geometry, cases.pairs_of_sets(), 20, 1500),
    "integral": (check_integral, cases.integrals(), 3, 300),
    "selection": (check_selection, cases.tables(), 3, 200),
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_few_cases(name):
    check, strategy, few, _ = CHECKS[name]
    assert cases.try_cases(check, strategy, few) >= few


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_many_cases(name):
    check, strategy, _, many = CHECKS[name]
    assert cases.try_cases(check, strategy, many) >= many
