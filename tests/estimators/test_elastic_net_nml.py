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
    ratio = model.l2_ratio_
    expected = ElasticNet(model.alpha_ * (1 + ratio), l1_ratio=1 / (1 + ratio), tol=1e-10)
    expected.fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-5)
    assert model.intercept_ == pytest.approx(expected.intercept_, abs=1e-5)


def test_the_automatic_ratios_do_not_depend_on_units(twins):
    X, y = twins
    plain = ElasticNetNML(**QUICK).fit(X, y)
    scaled = ElasticNetNML(**QUICK).fit(1e3 * X, 1e-2 * y)
    np.testing.assert_allclose(scaled.l2_ratios_, 1e5 * plain.l2_ratios_, rtol=1e-9)
    np.testing.assert_allclose(scaled.predict(1e3 * X), 1e-2 * plain.predict(X), rtol=1e-6)


def test_given_ratios_are_sorted_and_checked(twins):
    X, y = twins
    model = ElasticNetNML(**QUICK, l2_ratios=[0.5, 0.0, 0.5]).fit(X, y)
    np.testing.assert_array_equal(model.l2_ratios_, [0.0, 0.5])
    for wrong in ([-0.1], [], [np.nan]):
        with pytest.raises(InvalidProblem, match="l2_ratios must be non-negative"):
            ElasticNetNML(**QUICK, l2_ratios=wrong).fit(X, y)
