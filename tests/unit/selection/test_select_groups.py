"""Choosing the penalty of the Group Lasso."""

import numpy as np
import pytest

from shtarkov import GroupLasso, Lasso, compare, select
from shtarkov.errors import InvalidProblem

QUICK = {"std_error": 0.3, "n_grid": 30, "seed": 1}


@pytest.fixture
def grouped(rng):
    X = rng.standard_normal((50, 12))
    coef = np.zeros(12)
    coef[:4] = [1.0, -1.0, 0.8, 0.6]
    return X, np.arange(12) // 4, X @ coef + 0.5 * rng.standard_normal(50)


@pytest.mark.needs_jit
@pytest.mark.parametrize("sigma", [0.5, "unknown"])
def test_whole_groups_are_chosen(grouped, sigma):
    X, group_of, y = grouped
    report = select(GroupLasso(X, group_of, fit_intercept=True), y, sigma=sigma, **QUICK)
    assert report.winner == "matched"
    assert report.family == "group_lasso"
    assert set(report.codelengths) == {"empty", "matched"}
    chosen = np.unique(group_of[report.coef != 0.0])
    assert 0 in chosen
    assert np.count_nonzero(report.coef) == 4 * chosen.size
    assert report.sigma == pytest.approx(0.5, rel=0.3)
    assert any("no free code" in note for note in report.notes)
    assert report.ok, report.reasons


@pytest.mark.needs_jit
def test_units_do_not_matter_where_the_scale_is_unknown(grouped):
    X, group_of, y = grouped
    near = select(GroupLasso(X, group_of), y, **QUICK)
    far = select(GroupLasso(X, group_of), 1e3 * y, **QUICK)
    assert far.sigma == pytest.approx(1e3 * near.sigma, rel=1e-6)
    assert far.coef == pytest.approx(1e3 * near.coef, rel=1e-6)
    assert far.codelength == pytest.approx(near.codelength + 50.0 * np.log(1e3), abs=1e-3)


@pytest.mark.needs_jit
def test_noise_is_left_alone(rng):
    X = rng.standard_normal((40, 10))
    report = select(GroupLasso(X, np.arange(10) // 5), rng.standard_normal(40), **QUICK)
    assert report.winner == "empty"


@pytest.mark.needs_jit
def test_groups_and_columns_in_one_currency(grouped):
    X, group_of, y = grouped
    rival = compare(
        {"groups": GroupLasso(X, group_of), "columns": Lasso(X)}, y, criterion="prediction", **QUICK
    )
    assert rival.reports["groups"].codelength < rival.reports["columns"].codelength
    ones = select(GroupLasso(X, range(12)), y, criterion="prediction", **QUICK)
    lasso = rival.reports["columns"]
    error = np.hypot(ones.std_error, lasso.std_error)
    assert abs(ones.codelength - lasso.codelength) < 4.0 * error + 0.05


def test_a_design_of_zeros_has_the_empty_code_only():
    y = np.array([1.0, -1.0, 0.5, 2.0])
    report = select(GroupLasso(np.zeros((4, 3)), [0, 0, 1]), y, **QUICK)
    assert report.winner == "empty"


def test_the_criterion_is_checked():
    with pytest.raises(InvalidProblem, match="criterion must be one of"):
        select(GroupLasso(np.eye(3), [0, 0, 1]), np.ones(3), criterion="bic")
