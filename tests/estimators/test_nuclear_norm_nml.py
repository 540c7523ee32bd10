"""NuclearNormNML: several targets, one target, weights, scaling and scikit-learn's own checks."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from shtarkov import NuclearNormNML

QUICK = {"random_state": 0, "alphas": 15, "tol_complexity": 0.5, "noise_scale": 0.5}


@pytest.fixture
def factor(rng):
    """Four targets that share one combination of five columns."""
    X = rng.standard_normal((40, 5))
    Y = np.outer(X @ [1.0, -1.0, 0.5, 0.0, 0.0], [1.0, 2.0, -1.0, 0.5])
    return X, Y + 0.5 * rng.standard_normal((40, 4)) + 3.0


@pytest.mark.slow
@parametrize_with_checks([NuclearNormNML(random_state=0, alphas=10, tol_complexity=1.0)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_several_targets(factor):
    X, Y = factor
    model = NuclearNormNML(**QUICK).fit(X, Y)
    assert model.report_.winner == "matched"
    assert model.coef_.shape == (4, 5)
    assert model.intercept_.shape == (4,)
    assert 1 <= model.rank_ <= 4
    assert model.predict(X).shape == (40, 4)
    assert model.score(X, Y) > 0.7
    assert abs(model.dual_gap_) < 1e-10
    np.testing.assert_allclose(model.predict(X).mean(axis=0), Y.mean(axis=0), atol=1e-9)
    assert model.alpha_ == pytest.approx(model.lambda_ / 40)
    # The gradient of the fit, in the norm's dual ball and on its boundary.
    residual = Y - model.predict(X)
    pull = (X - X.mean(axis=0)).T @ residual
    assert np.linalg.norm(pull, 2) == pytest.approx(model.lambda_, rel=1e-6)


def test_one_target_comes_back_as_a_vector(factor):
    X, Y = factor
    vector = NuclearNormNML(**QUICK).fit(X, Y[:, 0])
    matrix = NuclearNormNML(**QUICK).fit(X, Y[:, :1])
    assert vector.coef_.shape == (5,)
    assert isinstance(vector.intercept_, float)
    assert vector.predict(X).shape == (40,)
    np.testing.assert_array_equal(vector.coef_, matrix.coef_[0])


def test_whole_weights_repeat_rows(factor):
    X, Y = factor
    counts = np.arange(40) % 3
    rows = np.repeat(np.arange(40), counts)
    weighted = NuclearNormNML(**QUICK).fit(X, Y, sample_weight=counts)
    repeated = NuclearNormNML(**QUICK).fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8)
    assert weighted.report_.codelength == pytest.approx(repeated.report_.codelength, rel=1e-10)


def test_standardize_and_names(factor):
    pandas = pytest.importorskip("pandas")
    X, Y = factor
    frame = pandas.DataFrame(X * [1.0, 100.0, 1.0, 1.0, 0.01], columns=list("abcde"))
    scaled = NuclearNormNML(**QUICK, standardize=True).fit(frame, Y)
    plain = NuclearNormNML(**QUICK, standardize=True).fit(X, Y)
    np.testing.assert_allclose(scaled.predict(frame), plain.predict(X), rtol=1e-5, atol=1e-5)
    assert scaled.report_.feature_names[:5] == ("a:0", "a:1", "a:2", "a:3", "b:0")


def test_pure_noise_is_rank_zero(rng):
    X, Y = rng.standard_normal((30, 4)), rng.standard_normal((30, 3))
    model = NuclearNormNML(random_state=0, alphas=15, tol_complexity=0.5).fit(X, Y)
    assert model.rank_ == 0
    assert model.lambda_ == np.inf
    assert model.dual_gap_ == 0.0
    assert model.noise_scale_ == pytest.approx(1.0, rel=0.2)
