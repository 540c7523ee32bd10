"""The sparse classifiers as scikit-learn sees them, and what their attributes promise."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from shtarkov.errors import InvalidProblem
from shtarkov.estimators.sparse_logistic import SparseLogisticNML
from shtarkov.estimators.sparse_svm import SparseSVMNML

QUICK = {"random_state": 0, "alphas": 2, "tol_complexity": 2.0, "criterion": "prediction"}
BOTH = [SparseSVMNML(**QUICK), SparseLogisticNML(**QUICK)]


@pytest.fixture
def data(rng):
    X = rng.standard_normal((50, 4))
    score = X @ np.array([2.5, -2.0, 0.0, 0.0]) + 0.5
    return X, np.where(score + 0.5 * rng.standard_normal(50) > 0.0, "sick", "fine")


@parametrize_with_checks([SparseLogisticNML(**QUICK)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        SparseSVMNML(**QUICK),
        SparseSVMNML(**QUICK, loss="hinge", standardize=True),
        SparseLogisticNML(**{**QUICK, "criterion": "auto"}),
    ]
)
def test_scikit_learns_own_checks_of_every_loss(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", BOTH, ids=lambda model: type(model).__name__)
def test_fitted_attributes_belong_together(data, model):
    X, y = data
    model = clone(model).fit(X, y)
    assert list(model.classes_) == ["fine", "sick"]
    assert model.coef_.shape == (1, 4)
    assert model.intercept_.shape == (1,)
    assert model.lambda_ == model.report_.lam
    assert model.alpha_ == pytest.approx(model.lambda_ / 50)
    n_lams = model.alphas_.size
    for values in (model.codelengths_, model.codelength_errors_, model.ln_complexities_):
        assert values.shape == (n_lams,)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores, X @ model.coef_[0] + model.intercept_)
    np.testing.assert_array_equal(model.predict(X), np.where(scores > 0.0, "sick", "fine"))
    assert model.score(X, y) > 0.85


def test_probabilities_are_those_of_the_logistic_model(data):
    X, y = data
    model = SparseLogisticNML(**QUICK).fit(X, y)
    chance = model.predict_proba(X)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(chance), model.predict_log_proba(X), atol=1e-12)
    odds = chance[:, 1] / chance[:, 0]
    np.testing.assert_allclose(np.log(odds), model.decision_function(X))
    assert not hasattr(SparseSVMNML(), "predict_proba")


def test_the_matched_classifier_is_liblinears(data):
    X, y = data
    model = SparseSVMNML(**QUICK, fit_intercept=False).fit(X, y)
    assert model.report_.winner == "matched"
    peer = LinearSVC(
        penalty="l1",
        loss="squared_hinge",
        dual=False,
        C=0.5 / model.lambda_,  # liblinear's loss has no half
        fit_intercept=False,  # liblinear penalises the intercept
        tol=1e-10,
        max_iter=100_000,
    ).fit(X, y)
    assert svm_objective(model, X, y) == pytest.approx(svm_objective(peer, X, y, model), abs=1e-7)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-5)


def svm_objective(fitted, X, y, model=None):
    signs = np.where(y == "sick", 1.0, -1.0)
    slack = np.maximum(0.0, 1.0 - signs * (X @ fitted.coef_[0]))
    return 0.5 * (slack**2).sum() + (model or fitted).lambda_ * np.abs(fitted.coef_).sum()


def test_the_empty_model_predicts_the_larger_class(rng):
    X = rng.standard_normal((40, 3))
    y = np.where(rng.random(40) < 0.3, 7, 2)
    model = SparseLogisticNML(**QUICK).fit(X, y)
    assert model.report_.winner == "empty"
    assert (model.lambda_, model.eta_) == (np.inf, None)
    assert set(model.predict(X)) == {2}


def test_more_classes_go_one_against_the_rest(rng):
    X = np.vstack([rng.standard_normal((25, 2)) + shift for shift in ((4, 0), (-4, 0), (0, 5))])
    y = np.repeat(["a", "b", "c"], 25)
    model = OneVsRestClassifier(SparseLogisticNML(**QUICK)).fit(X, y)
    assert model.score(X, y) > 0.9
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        SparseLogisticNML(**QUICK).fit(X, y)


def test_scaling_sparse_rows_and_names(data):
    X, y = data
    stretched = X * np.array([1.0, 1e3, 1e-3, 1.0])
    model = SparseLogisticNML(**QUICK, standardize=True)
    near, far = clone(model).fit(X, y), clone(model).fit(stretched, y)
    np.testing.assert_allclose(
        far.decision_function(stretched), near.decision_function(X), rtol=1e-6, atol=1e-9
    )
    plain = SparseLogisticNML(**QUICK)
    held = np.where(np.abs(X) < 0.3, 0.0, X)
    dense = clone(plain).fit(held, y)
    np.testing.assert_allclose(
        clone(plain).fit(scipy.sparse.csr_array(held), y).coef_, dense.coef_, atol=1e-12
    )
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = clone(plain).fit(frame, pd.Series(y))
    assert named.report_.feature_names == tuple("abcd")
    assert make_pipeline(StandardScaler(), clone(plain)).fit(frame, y).score(frame, y) > 0.85


def test_bad_input_says_what_to_change(data):
    X, y = data
    with pytest.raises(ValueError, match="loss"):
        SparseSVMNML(loss="logistic").fit(X, y)
    with pytest.raises(ValueError, match="must be positive"):
        SparseLogisticNML([0.1, 0.0]).fit(X, y)
    with pytest.raises(InvalidProblem, match="one class"):
        SparseLogisticNML().fit(X, np.ones(50))
