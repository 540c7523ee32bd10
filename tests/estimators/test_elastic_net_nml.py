"""ElasticNetNML: the ratio is chosen in the same currency as the penalty."""

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet
from sklearn.utils.estimator_checks import parametrize_with_checks

from shtarkov.errors import InvalidProblem
from shtarkov.estimators.elastic_net import ElasticNetNML

QUICK = {"random_state": 0, "alphas": 20, "tol_complexity": 0.5, "criterion": "prediction"}


@pytest.fixture
def twins(rng):
    """Three nearly equal columns that all count, which a ridge shares out."""
    shared = rng.standard_normal((40, 1))
    X = np.hstack([shared + 0.1 * rng.standard_normal((40, 3)), rng.standard_normal((40, 2))])
    return X, X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(40)


@pytest.mark.slow
@parametrize_with_checks([ElasticNetNML(**QUICK, l2_ratios=[0.1])])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_the_shortest_code_is_kept_and_is_scikit_learns_solution(twins):
    X, y = twins
    model = ElasticNetNML(**QUICK).fit(X, y)
    assert model.l2_ratios_.shape == (3,)
    assert model.l2_ratio_ in model.l2_ratios_
    lengths = [report.codelength for report in model.comparison_.reports.values()]
    assert model.report_.codelength == min(lengths)
    assert len({report.seed for report in model.comparison_.reports.values()}) == 1
    assert model.lambda2_ == pytest.approx(model.l2_ratio_ * model.lambda_ / model.noise_scale_)
    total = model.alpha_ + model.alpha2_
    expected = ElasticNet(total, l1_ratio=model.alpha_ / total, tol=1e-10, max_iter=100_000)
    expected.fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-5)
    assert model.intercept_ == pytest.approx(expected.intercept_, abs=1e-5)


def test_the_automatic_ratios_do_not_depend_on_units(twins):
    X, y = twins
    plain = ElasticNetNML(**QUICK).fit(X, y)
    # Powers of two repeat every rounding, and with it every draw.
    up, down = 2.0**10, 2.0**-7
    scaled = ElasticNetNML(**QUICK).fit(up * X, down * y)
    np.testing.assert_allclose(scaled.l2_ratios_, up * plain.l2_ratios_, rtol=1e-9)
    np.testing.assert_allclose(scaled.predict(up * X), down * plain.predict(X), rtol=1e-6)


def test_given_ratios_are_sorted_and_checked(twins):
    X, y = twins
    model = ElasticNetNML(**QUICK, l2_ratios=[0.5, 0.0, 0.5]).fit(X, y)
    np.testing.assert_array_equal(model.l2_ratios_, [0.0, 0.5])
    for wrong in ([-0.1], [], [np.nan]):
        with pytest.raises(InvalidProblem, match="l2_ratios must be non-negative"):
            ElasticNetNML(**QUICK, l2_ratios=wrong).fit(X, y)
