"""The public problems: what they hold, and which penalties a lam stands for."""

import dataclasses

import numpy as np
import pytest

from shtarkov.errors import InvalidProblem
from shtarkov.families.problems import ElasticNet, Lasso


def test_a_lasso_has_one_penalty():
    problem = Lasso(np.eye(3))
    assert problem.name == "lasso"
    assert problem.penalties(2) == (2.0, 0.0)
    assert repr(problem) == "Lasso(n_samples=3, n_features=3)"
    with pytest.raises(InvalidProblem, match="lam"):
        problem.penalties(-1.0)


def test_an_elastic_net_moves_both_weights_or_one():
    ratio, fixed = ElasticNet(np.eye(3), l2_ratio=0.5), ElasticNet(np.eye(3), lam2=0.5)
    assert ratio.name == fixed.name == "elastic_net"
    assert ratio.penalties(4.0) == (4.0, 2.0)
    assert fixed.penalties(4.0) == (4.0, 0.5)
    assert repr(ratio) == "ElasticNet(n_samples=3, n_features=3, l2_ratio=0.5)"
    assert repr(fixed) == "ElasticNet(n_samples=3, n_features=3, lam2=0.5)"


@pytest.mark.parametrize("options", [{}, {"l2_ratio": 1.0, "lam2": 1.0}])
def test_exactly_one_second_weight_is_given(options):
    with pytest.raises(InvalidProblem, match="exactly one of l2_ratio"):
        ElasticNet(np.eye(3), **options)


@pytest.mark.parametrize("name", ["l2_ratio", "lam2"])
@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, "1"])
def test_a_bad_second_weight_is_named(name, bad):
    with pytest.raises(InvalidProblem, match=name):
        ElasticNet(np.eye(3), **{name: bad})


@pytest.mark.parametrize("make", [Lasso, lambda X, **options: ElasticNet(X, lam2=1.0, **options)])
def test_options_reach_the_design_and_problems_are_frozen(rng, make):
    X = rng.standard_normal((9, 3))
    problem = make(X, fit_intercept=True, unpenalised=[0], sample_weight=np.full(9, 2.0))
    assert problem.design.n_unpenalised == 2
    assert problem.design.total_weight == 18.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.design = None
    assert problem == problem
    assert problem != make(X)
    assert hash(problem) == hash(problem)
