"""LassoNML as scikit-learn sees it, and what its attributes promise."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks

from shtarkov.errors import InvalidProblem
from shtarkov.estimators.lasso import LassoNML

QUICK = {"random_state": 0, "alphas": 30, "tol_complexity": 0.3}


@pytest.fixture
def data(rng):
    X = rng.standard_normal((40, 5))
    y = X @ np.array([2.0, -1.5, 0.0, 0.0, 0.0]) + 3.0 + 0.5 * rng.standard_normal(40)
    return X, y


@parametrize_with_checks([LassoNML(**QUICK, criterion="prediction")])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([LassoNML(**QUICK), LassoNML(**QUICK, standardize=True)])
def test_scikit_learns_own_checks_of_every_code(estimator, check):
    check(estimator)


def test_fitted_attributes_belong_together(data):
    X, y = data
    model = LassoNML(**QUICK, criterion="prediction").fit(X, y)
    report = model.report_
    assert model.lambda_ == report.lam
    assert model.alpha_ == pytest.approx(report.lam / len(y))
    n_lams = model.alphas_.size
    assert np.all(np.diff(model.alphas_) < 0)
    for values in (model.codelengths_, model.codelength_errors_, model.ln_complexities_):
        assert values.shape == (n_lams,)
    assert model.noise_scale_ == pytest.approx(0.5, rel=0.4)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)
    np.testing.assert_array_equal(model.coef_, report.coef)


def test_alphas_are_lam_over_the_number_of_rows(data):
    X, y = data
    alphas = [0.5, 0.1, 0.2]
    model = LassoNML(alphas, criterion="prediction", noise_scale=0.5, random_state=0).fit(X, y)
    assert set(np.round(model.alphas_, 12)) <= set(alphas)
    assert model.lambda_ == pytest.approx(model.alpha_ * 40)


def test_pure_noise_leaves_the_empty_model(rng):
    X, y = rng.standard_normal((60, 5)), rng.standard_normal(60)
    model = LassoNML(**QUICK).fit(X, y)
    if model.report_.winner == "empty":
        assert model.alpha_ == np.inf
    assert np.count_nonzero(model.coef_) <= 1


@pytest.mark.parametrize("standardize", [False, True])
def test_whole_number_weights_are_repeated_rows(data, rng, standardize):
    X, y = data
    counts = rng.integers(0, 4, size=40)
    model = LassoNML(**QUICK, standardize=standardize)
    weighted = clone(model).fit(X, y, sample_weight=counts)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)
    assert weighted.report_.codelength == pytest.approx(repeated.report_.codelength)
    assert weighted.noise_scale_ == pytest.approx(repeated.noise_scale_)


def test_precisions_do_not_add_observations(data):
    X, y = data
    plain = LassoNML(**QUICK).fit(X, y)
    halved = LassoNML(**QUICK).fit(X, y, sample_weight=np.full(40, 0.5))
    np.testing.assert_allclose(halved.coef_, plain.coef_, rtol=1e-5, atol=1e-8)
    assert halved.report_.codelength - plain.report_.codelength < 40.0
    assert halved.noise_scale_ == pytest.approx(plain.noise_scale_ * np.sqrt(0.5), rel=1e-5)


def test_scaling_is_reported_and_undone(data):
    X, y = data
    stretched = X * np.array([1.0, 1e3, 1e-3, 1.0, 1.0])
    model = LassoNML(**QUICK, standardize=True)
    near, far = clone(model).fit(X, y), clone(model).fit(stretched, y)
    np.testing.assert_allclose(far.scale_, stretched.std(axis=0))
    np.testing.assert_allclose(far.predict(stretched), near.predict(X), rtol=1e-8)
    assert any("divided by their standard deviations" in note for note in far.report_.notes)
    assert not hasattr(LassoNML(**QUICK).fit(X, y), "scale_")


@pytest.mark.parametrize("weights", [None, "precisions"])
@pytest.mark.parametrize("standardize", [False, True])
def test_sparse_designs_are_dense_designs(data, rng, standardize, weights):
    X, y = data
    X = np.where(rng.random(X.shape) < 0.4, 0.0, X)
    weight = None if weights is None else rng.random(40) + 0.3
    model = LassoNML(**QUICK, standardize=standardize)
    dense = clone(model).fit(X, y, weight)
    sparse = clone(model).fit(scipy.sparse.csc_array(X), y, weight)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-8, atol=1e-12)


def test_frames_keep_their_names(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = LassoNML(**QUICK).fit(frame, pd.Series(y))
    assert list(model.feature_names_in_) == list("abcde")
    assert model.report_.feature_names == tuple("abcde")
    with pytest.warns(UserWarning, match="valid feature names"):
        unnamed = model.predict(frame.to_numpy())
    np.testing.assert_array_equal(model.predict(frame), unnamed)


def test_polars_frames_keep_their_names(data):
    polars = pytest.importorskip("polars")
    X, y = data
    frame = polars.DataFrame({name: X[:, place] for place, name in enumerate("abcde")})
    model = LassoNML(**QUICK).fit(frame, y)
    assert list(model.feature_names_in_) == list("abcde")
    np.testing.assert_array_equal(model.coef_, LassoNML(**QUICK).fit(X, y).coef_)


def test_inside_pipelines_and_searches(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), LassoNML(**QUICK))
    search = GridSearchCV(pipeline, {"lassonml__criterion": ["auto", "prediction"]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.5


def test_as_a_selector_with_frames_out(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcde"))
    selector = SelectFromModel(LassoNML(**QUICK)).set_output(transform="pandas").fit(frame, y)
    kept = selector.transform(frame)
    assert {"a", "b"} <= set(kept.columns)
    assert kept.shape[1] < 5


@pytest.mark.parametrize("state", [3, "RandomState"])
def test_the_same_seed_gives_the_same_answer_for_any_number_of_jobs(rng, state):
    X = rng.standard_normal((30, 16))
    y = X[:, 0] + rng.standard_normal(30)
    answers = []
    for n_jobs in (1, 2):
        seed = state if state == 3 else check_random_state(3)
        answers.append(LassoNML(**{**QUICK, "random_state": seed}, n_jobs=n_jobs).fit(X, y))
    first, second = answers
    assert first.report_.seed == second.report_.seed
    assert first.report_.codelengths == second.report_.codelengths
    np.testing.assert_array_equal(first.codelengths_, second.codelengths_)
    np.testing.assert_array_equal(first.coef_, second.coef_)


def test_bad_input_says_what_to_change(data):
    X, y = data
    with pytest.raises(InvalidProblem, match="sample_weight is negative"):
        LassoNML().fit(X, y, sample_weight=-np.ones(40))
    with pytest.raises(ValueError, match="criterion"):
        LassoNML(criterion="best").fit(X, y)
    with pytest.raises(ValueError, match="must be positive"):
        LassoNML([0.1, 0.0]).fit(X, y)


class Recorder:
    """A callback of scikit-learn 1.9 that writes down the hooks."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context, *, metadata=None):
        self.events.append("begin")

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        self.events.append("end" if context.parent is None else "chunk")

    def teardown(self, estimator, context):
        self.events.append("teardown")


def test_callbacks_hear_of_every_chunk(rng):
    pytest.importorskip("sklearn.callback")
    X = rng.standard_normal((30, 16))
    y = X[:, 0] + rng.standard_normal(30)
    recorder = Recorder()
    LassoNML(**QUICK).set_callbacks(recorder).fit(X, y)
    assert recorder.events[:2] == ["setup", "begin"]
    assert recorder.events[-2:] == ["end", "teardown"]
    assert recorder.events.count("chunk") > 0
