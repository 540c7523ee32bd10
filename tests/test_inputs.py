"""The table of awkward inputs: for each one clear error, or an answer whose behaviour is stated.

Every row of docs/guide/inputs.md is tried through the public functions, at tiny sizes, with large
errors: what happens is tested, not how precisely. Every family: tests/test_inputs_of_families.py.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse

import shtarkov
from shtarkov import Lasso, LassoNML
from shtarkov.complexity.closed_form import lasso_ln_c
from shtarkov.errors import InvalidProblem
from shtarkov.families.label_problems import check_labels
from tests.inputs_table import BAD_GROUPS, ROWS, rows_of_page, spoiled

pytestmark = pytest.mark.needs_jit

N, D = 20, 4
QUICK = {"seed": 1, "std_error": 1.0, "n_jobs": 1, "progress": False}


@pytest.fixture(name="X")
def make_design(rng):
    return rng.standard_normal((N, D))


@pytest.fixture(name="y")
def make_response(X, rng):
    return 2.0 * X[:, 0] + rng.standard_normal(N)


def choose(X, y, **options):
    """Select with the matched code, the quickest of those that sample."""
    intercept = options.pop("fit_intercept", False)
    problem = Lasso(X, fit_intercept=intercept)
    return shtarkov.select(problem, y, **{**QUICK, "criterion": "prediction", **options})


def assert_doubted(report, words):
    """The answer comes, and says that it is not to be relied on."""
    assert not report.ok
    assert any(words in reason for reason in report.reasons), report.reasons
    assert np.isfinite(report.coef).all()


# ---- values that are not finite --------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_located(X, y, bad):
    with pytest.raises(InvalidProblem, match=r"X holds 1 NaN or inf.* row 3, column 1; drop"):
        choose(spoiled(X, (3, 1), bad), y)
    with pytest.raises(InvalidProblem, match=r"y holds 1 NaN or inf.* at row 5; drop"):
        choose(X, spoiled(y, 5, bad))
    with pytest.raises(ValueError, match="Input X contains"):  # scikit-learn's own words
        LassoNML().fit(spoiled(X, (3, 1), bad), y)
    with pytest.raises(InvalidProblem, match=r"sample_weight holds 1 NaN or inf.* at row 0"):
        Lasso(X, sample_weight=spoiled(np.ones(N), 0, bad))
    with pytest.raises(InvalidProblem, match="sample_weight holds 1 NaN or inf"):
        LassoNML().fit(X, y, sample_weight=spoiled(np.ones(N), 0, bad))


def test_weights_must_count_something(X):
    with pytest.raises(InvalidProblem, match="sample_weight is negative at row 2"):
        Lasso(X, sample_weight=spoiled(np.ones(N), 2, -1.0))
    with pytest.raises(InvalidProblem, match="every sample_weight is zero"):
        Lasso(X, sample_weight=np.zeros(N))


# ---- shapes ----------------------------------------------------------------


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_an_empty_design_is_refused(shape):
    with pytest.raises(InvalidProblem, match="at least one of each is needed"):
        Lasso(np.empty(shape))


def test_an_empty_or_short_response_is_refused(X, y):
    for wrong in ([], y[:-1]):
        with pytest.raises(InvalidProblem, match="but X has 20 rows; they must agree"):
            choose(X, wrong)
    with pytest.raises(InvalidProblem, match=r"use \.ravel\(\) on a column"):
        choose(X, y[:, None])


def test_one_row(X, y):
    with pytest.raises(InvalidProblem, match="nothing is left to explain"):
        Lasso(X[:1], fit_intercept=True)
    assert_doubted(choose(X[:1], y[:1]), "too few to tell noise from signal")
    assert choose(X[:1], y[:1], sigma=1.0).ok  # with a known noise scale one row is data


def test_one_column(X, y):
    report = choose(X[:, :1], y)
    assert report.ok
    assert report.support.tolist() == [0]
    exact = lasso_ln_c(np.linalg.norm(X[:, :1], axis=0), 1.3)
    assert shtarkov.complexity(Lasso(X[:, :1]), 1.3).ln_c == pytest.approx(exact, rel=1e-12)


def test_many_more_columns_than_rows(rng):
    X = rng.standard_normal((10, 30))
    y = 4.0 * X[:, 7] + 0.3 * rng.standard_normal(10)
    report = choose(X, y, sigma=0.3)
    assert report.ok
    assert 7 in report.support
    assert report.support.size <= 10


# ---- columns that say nothing, or the same ---------------------------------


def test_a_constant_column_never_enters_beside_an_intercept(X, y):
    report = choose(spoiled(X, (slice(None), 2), 3.0), y, fit_intercept=True)
    assert report.ok
    assert report.coef[2] == 0.0


def test_a_column_of_zeros_never_enters_and_costs_nothing(X, y):
    wide = np.column_stack([X, np.zeros(N)])
    assert choose(wide, y).coef[4] == 0.0
    with_zeros = shtarkov.complexity(Lasso(wide), 1.0, method="enumerate").ln_c
    assert with_zeros == pytest.approx(shtarkov.complexity(Lasso(X), 1.0).ln_c, abs=1e-3)


def test_duplicated_columns_share_one_coefficient(X, y):
    report = choose(np.column_stack([X, X[:, 0], -X[:, 0]]), y)
    assert report.ok
    alone = choose(X, y)
    summed = report.coef[0] + report.coef[4] - report.coef[5]
    assert summed == pytest.approx(alone.coef[0], rel=0.1)
    assert np.count_nonzero(report.coef[[0, 4, 5]]) == 1


def test_a_rank_deficient_design_is_answered(X, y):
    report = choose(X @ np.array([[1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1.0]]), y)
    assert report.ok
    assert np.isfinite(report.coef).all()


def test_as_many_active_columns_as_rows_is_doubted(rng):
    X = rng.standard_normal((6, 6))
    y = 5.0 * X.sum(axis=1)
    report = choose(X, y)
    if report.support.size == 6:
        assert_doubted(report, "fit y exactly")
    known = choose(X, y, sigma=0.5)
    assert known.support.size == 6


# ---- the response against the design ---------------------------------------


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_an_exact_fit_with_an_unknown_scale_is_doubted(X, fit_intercept):
    exact = X @ np.array([1.0, 2.0, 0.0, 0.0]) + (7.0 if fit_intercept else 0.0)
    report = choose(X, exact, fit_intercept=fit_intercept)
    assert_doubted(report, "fit y exactly")
    known = choose(X, exact, fit_intercept=fit_intercept, sigma=0.1)
    assert known.ok
    np.testing.assert_allclose(known.coef[:2], [1.0, 2.0], atol=0.1)


def test_a_response_of_zeros_has_no_scale(X):
    with pytest.raises(InvalidProblem, match="no noise scale to estimate; give sigma="):
        choose(X, np.zeros(N))
    with pytest.raises(InvalidProblem, match="no noise scale to estimate"):
        choose(X, np.full(N, 3.0), fit_intercept=True)
    known = choose(X, np.zeros(N), sigma=1.0)
    assert known.winner == "empty"


# ---- types and layouts -----------------------------------------------------


def test_integers_and_single_precision_are_converted(X, y):
    whole, target = np.rint(10 * X), np.rint(10 * y)
    reference = choose(whole, target).codelength
    for dtype in (np.int64, np.int16, np.float32):
        assert choose(whole.astype(dtype), target.astype(dtype)).codelength == reference


def test_objects_and_text_are_refused_with_the_conversion_to_make(X, y):
    for wrong in (X.astype(object), X.astype(str)):
        with pytest.raises(InvalidProblem, match=r"not numeric; convert it .*astype\(float\)"):
            Lasso(wrong)
    with pytest.raises(InvalidProblem, match="y has dtype object, which is not numeric"):
        choose(X, y.astype(object))


def test_layout_and_read_only_memory_do_not_matter(X, y):
    reference = choose(X, y)
    for same in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], scipy.sparse.csc_array(X)):
        if isinstance(same, np.ndarray):
            same.flags.writeable = False
        target = y.copy()
        target.flags.writeable = False
        report = choose(same, target)
        assert report.codelength == pytest.approx(reference.codelength, abs=1e-9)


# ---- scales ----------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e150, 1e-150])
def test_scales_beyond_double_precision_are_refused(X, y, factor):
    with pytest.raises(InvalidProblem, match=r"X has largest absolute value .* rescale it"):
        choose(X * factor, y)
    with pytest.raises(InvalidProblem, match=r"y has largest absolute value .* rescale it"):
        choose(X, y * factor)


@pytest.mark.parametrize("x_factor", [1e49, 1e-49])
@pytest.mark.parametrize("y_factor", [1e49, 1e-49])
def test_any_scale_that_is_accepted_gives_the_same_choice(X, y, x_factor, y_factor):
    reference, report = choose(X, y), choose(X * x_factor, y * y_factor)
    assert report.support.tolist() == reference.support.tolist()
    shift = report.codelength - reference.codelength - N * np.log(y_factor)
    assert shift == pytest.approx(0.0, abs=1e-6 * abs(report.codelength))


def test_columns_of_very_different_scales_are_answered(X, y):
    assert choose(X * np.array([1e20, 1e-20, 1.0, 1.0]), y).support.tolist() == [0]


# ---- penalties -------------------------------------------------------------


def test_huge_penalties_leave_the_empty_model(X, y):
    assert shtarkov.complexity(Lasso(X), 1e90).ln_c == 0.0
    assert shtarkov.complexity(Lasso(X), 1e60, method="path", **QUICK).ln_c == 0.0
    report = choose(X, y, lams=[1e90, 1e80])
    assert report.winner == "empty"


def test_tiny_penalties_are_computed_or_refused(X, y):
    exact = shtarkov.complexity(Lasso(X), 1e-6).ln_c
    sampled = shtarkov.complexity(Lasso(X), 1e-6, method="path", **QUICK)
    assert abs(sampled.ln_c - exact) < 4.0 * max(sampled.std_error, 0.05)
    with pytest.raises(InvalidProblem, match=r"first column enters at .* drop the smaller"):
        choose(X, y, lams=[1.0, 1e-10])


def test_unsorted_and_repeated_penalties_come_back_as_asked(X):
    sorted_once = shtarkov.complexity_path(Lasso(X), [5.0, 2.0, 1.0], **QUICK)
    as_asked = shtarkov.complexity_path(Lasso(X), [1.0, 5.0, 1.0, 2.0], **QUICK)
    assert as_asked.lams.tolist() == [1.0, 5.0, 1.0, 2.0]
    np.testing.assert_array_equal(as_asked.ln_c, sorted_once.ln_c[[2, 0, 2, 1]])


# ---- labels ----------------------------------------------------------------


def test_labels_of_one_class_are_read_and_of_three_refused():
    assert check_labels(np.ones(4), 4).signs.tolist() == [1.0] * 4
    with pytest.raises(InvalidProblem, match=r"3 distinct values.*one-vs-rest"):
        check_labels([0, 1, 2], 3)
    with pytest.raises(InvalidProblem, match="y holds NaN"):
        check_labels([0.0, np.nan], 2)
    with pytest.raises(InvalidProblem, match="one label for each of the 3 rows"):
        check_labels([0, 1], 3)


# ---- groups ----------------------------------------------------------------


@pytest.mark.parametrize(("groups", "complaint"), BAD_GROUPS)
def test_groups_that_are_no_partition_are_refused(X, groups, complaint):
    with pytest.raises(InvalidProblem, match=complaint):
        shtarkov.GroupLasso(X, groups)


def test_memory_is_estimated_before_it_is_taken(X, y, monkeypatch):
    with pytest.raises(InvalidProblem, match="GiB are available; ask for fewer draws"):
        shtarkov.sample(Lasso(X), 1.0, n_draws=10**12)
    monkeypatch.setattr("shtarkov.families.build.available_memory", lambda: 100)
    with pytest.raises(InvalidProblem, match="GiB are available"):
        choose(X, y)
    with pytest.raises(InvalidProblem, match=r"repeating the rows.*GiB are available"):
        LassoNML().fit(X, y, sample_weight=np.full(N, 3))


def test_nothing_is_silent_and_nothing_warns_on_an_ordinary_problem(X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = choose(X, y)
    assert report.ok
    assert report.reasons == ()


def test_every_row_of_the_page_is_demonstrated_here():
    assert rows_of_page() == list(ROWS)
    missing = {name for names in ROWS.values() for name in names if f"test_{name}" not in globals()}
    assert missing == set()
