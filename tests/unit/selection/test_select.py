"""`select` and `compare`: the choice, its invariances and its errors."""

import numpy as np
import pytest

from shtarkov.errors import InvalidProblem
from shtarkov.families.problems import ElasticNet, Lasso
from shtarkov.selection.compare import compare
from shtarkov.selection.select import select

N, D = 40, 6
pytestmark = pytest.mark.needs_jit


@pytest.fixture(scope="module")
def design():
    return np.random.default_rng(5).standard_normal((N, D))


@pytest.fixture(scope="module")
def signal(design):
    return 2.0 * design[:, 0] - design[:, 3] + np.random.default_rng(6).standard_normal(N) + 3.0


@pytest.fixture(scope="module")
def report(design, signal):
    return select(Lasso(design, fit_intercept=True), signal, seed=1, progress=False)


def test_all_codes_compete_and_the_shortest_wins(report):
    assert set(report.codelengths) == {"empty", "matched", "free", "subset"}
    shortest = min(report.codelengths.values(), key=lambda code: code.nats)
    assert report.codelengths[report.winner] == shortest
    assert report.codelength == shortest.nats


def test_a_strong_signal_is_found(report):
    assert {0, 3} <= set(report.support.tolist())
    assert report.codelength < report.codelengths["empty"].nats - 10.0
    assert report.intercept == pytest.approx(3.0, abs=0.6)


def test_the_curve_adds_up(report):
    curve = report.curve
    statement = 0.5 * np.log(N)
    np.testing.assert_allclose(curve.data_nats + curve.ln_c + statement, curve.codelengths)
    assert np.all(np.diff(curve.lams) < 0.0)
    assert curve.coefs.shape == (curve.lams.size, D)
    matched = report.codelengths["matched"]
    assert matched.nats == curve.codelengths.min()
    assert matched.lam in report.near_ties


def test_rescaling_y_changes_units_only(design, signal, report):
    other = select(Lasso(design, fit_intercept=True), 1e3 * signal, seed=1, progress=False)
    assert other.winner == report.winner
    np.testing.assert_allclose(other.coef, 1e3 * report.coef, rtol=1e-6, atol=1e-6)
    shift = (N - 1) * np.log(1e3)
    assert other.codelength - report.codelength == pytest.approx(shift, abs=1e-6)
    assert other.sigma == pytest.approx(1e3 * report.sigma, rel=1e-6)


def test_same_seed_same_answer_for_any_number_of_threads(design, signal, report):
    other = select(Lasso(design, fit_intercept=True), signal, seed=1, n_jobs=2, progress=False)
    assert other.codelength == report.codelength
    np.testing.assert_array_equal(other.curve.ln_c, report.curve.ln_c)


def test_noise_is_coded_as_noise(design):
    y = np.random.default_rng(11).standard_normal(N)
    report = select(Lasso(design), y, seed=2, progress=False)
    assert report.winner == "empty"
    assert not np.any(report.coef)


def test_known_sigma(design, signal):
    report = select(
        Lasso(design, fit_intercept=True), signal, sigma=1.0, criterion="prediction", seed=1
    )
    assert report.sigma_known
    assert report.sigma == 1.0
    assert set(report.codelengths) == {"empty", "matched"}
    np.testing.assert_allclose(report.curve.kappas, report.curve.lams)


def test_conservative_takes_a_larger_penalty(design, signal):
    problem = Lasso(design, fit_intercept=True)
    plain = select(problem, signal, criterion="prediction", seed=3)
    careful = select(problem, signal, criterion="prediction", seed=3, conservative=50.0)
    assert careful.codelengths["matched"].lam > plain.codelengths["matched"].lam


def test_own_penalties_are_used(design, signal):
    lams = [2.0, 20.0, 5.0, 5.0]
    problem = Lasso(design, fit_intercept=True)
    report = select(problem, signal, lams=lams, criterion="prediction", seed=1)
    np.testing.assert_allclose(report.curve.lams, [20.0, 5.0, 2.0], rtol=1e-8)


def test_structure_is_the_free_code(design, signal):
    problem = Lasso(design, fit_intercept=True)
    report = select(problem, signal, criterion="structure", seed=1)
    assert set(report.codelengths) == {"empty", "free"}
    assert report.winner == "free"
    assert report.tau <= report.lam * (1.0 + 1e-9)


def test_unpenalised_columns_keep_their_place(design, signal):
    report = select(Lasso(design, unpenalised=[3]), signal, criterion="prediction", seed=1)
    assert report.coef.size == D
    assert report.coef[3] != 0.0


def test_compare_puts_families_in_one_currency(design, signal):
    problems = {
        "lasso": Lasso(design, fit_intercept=True),
        "ridge": ElasticNet(design, l2_ratio=0.1, fit_intercept=True),
    }
    report = compare(problems, signal, criterion="prediction", seed=1)
    assert report.best.codelength == min(item.codelength for item in report.reports.values())
    assert report.winner in report.near_ties
    with pytest.raises(InvalidProblem, match="same rows"):
        compare({**problems, "no intercept": Lasso(design)}, signal, seed=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "best"}, "criterion must be one of"),
        ({"sigma": "guess"}, "sigma must be"),
        ({"sigma": -1.0}, "sigma"),
        ({"lams": [1.0, -1.0]}, "lam"),
        ({"conservative": -1.0}, "conservative"),
    ],
)
def test_bad_options_say_what_to_change(design, signal, options, message):
    with pytest.raises(InvalidProblem, match=message):
        select(Lasso(design), signal, **options)


def test_a_constant_response_has_no_noise_scale(design):
    with pytest.raises(InvalidProblem, match="no noise scale"):
        select(Lasso(design, fit_intercept=True), np.ones(N))


def test_columns_of_zeros_leave_the_empty_model():
    y = np.random.default_rng(0).standard_normal(10)
    report = select(Lasso(np.zeros((10, 2))), y, seed=1)
    assert report.winner == "empty"
    assert report.curve is None
