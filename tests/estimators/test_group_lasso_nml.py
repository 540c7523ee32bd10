"""GroupLassoNML as scikit-learn sees it, and what groups mean to it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from shtarkov.errors import InvalidProblem
from shtarkov.estimators.group_lasso import GroupLassoNML

QUICK = {"random_state": 0, "alphas": 30, "tol_complexity": 0.3}


@pytest.fixture
def data(rng):
    X = rng.standard_normal((40, 6))
    y = X @ np.array([2.0, -1.5, 1.0, 0.0, 0.0, 0.0]) + 3.0 + 0.5 * rng.standard_normal(40)
    return X, y


@parametrize_with_checks([GroupLassoNML(**QUICK)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_groups_enter_as_a_whole(data):
    X, y = data
    model = GroupLassoNML(["u", "u", "u", "v", "v", "v"], **QUICK).fit(X, y)
    assert "u" in model.active_groups_
    assert np.all(model.coef_[:3] != 0.0)
    assert model.groups_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.noise_scale_ == pytest.approx(0.5, rel=0.4)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)
    assert model.score(X, y) > 0.9
    assert abs(model.dual_gap_) < 1e-10


def test_the_share_of_absolute_values_reaches_the_problem(data):
    X, y = data
    model = GroupLassoNML([0, 1, 0, 1, 0, 1], l1_ratio=0.9, **QUICK).fit(X, y)
    assert {0, 1, 2} <= set(np.flatnonzero(model.coef_))
    assert abs(model.dual_gap_) < 1e-10
    pull = np.abs((X - X.mean(axis=0)).T @ (y - model.predict(X)))
    assert np.all(pull[model.coef_ != 0.0] > 0.9 * model.lambda_)


def test_every_way_to_say_the_groups_gives_the_same_model(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["a_1", "a_2", "a_3", "b_1", "b_2", "b_3"])
    by_label = GroupLassoNML(list("aaabbb"), **QUICK).fit(frame, y)
    for groups in (
        "prefix",
        [["a_1", "a_2", "a_3"], ["b_1", "b_2", "b_3"]],
        [[0, 1, 2], [3, 4, 5]],
    ):
        model = GroupLassoNML(groups, **QUICK).fit(frame, y)
        np.testing.assert_array_equal(model.coef_, by_label.coef_)
    named = GroupLassoNML("prefix", **QUICK).fit(frame, y)
    used = {"a": named.coef_[:3].any(), "b": named.coef_[3:].any()}
    assert named.active_groups_ == [name for name, is_used in used.items() if is_used]
    assert used["a"]


def test_weights_and_scaling(data):
    X, y = data
    model = GroupLassoNML(list("aaabbb"), weights=[1.0, 100.0], **QUICK).fit(X, y)
    assert np.all(model.coef_[3:] == 0.0)
    scaled = clone(model).set_params(standardize=True).fit(X * np.geomspace(1e-3, 1e3, 6), y)
    assert np.all(scaled.coef_[:3] != 0.0)


def test_groups_that_do_not_fit_are_refused(data):
    X, y = data
    with pytest.raises(InvalidProblem, match="3 labels for 6 columns"):
        GroupLassoNML(["u", "u", "v"], **QUICK).fit(X, y)
    with pytest.raises(InvalidProblem, match="no column names"):
        GroupLassoNML("prefix", **QUICK).fit(X, y)
