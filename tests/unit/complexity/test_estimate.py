"""`complexity`: which method is taken, what is refused, what the result says."""

import numpy as np
import pytest

import shtarkov
from shtarkov import ElasticNet, Lasso, NormBall, SamplingWarning, complexity
from shtarkov.complexity import closed_form
from shtarkov.errors import InvalidProblem
from shtarkov.progress import METER_UNITS


def design(n_features=3):
    return np.random.default_rng(2).standard_normal((8, n_features)) / np.sqrt(8.0)


@pytest.mark.parametrize(
    ("problem", "method"),
    [
        (Lasso(np.eye(3)), "closed_form"),
        (Lasso(design()), "enumerate"),
        (ElasticNet(np.eye(3), lam2=1.0), "closed_form"),
        (ElasticNet(design(), l2_ratio=0.5), "enumerate"),
        (ElasticNet(design(), lam2=0.0), "enumerate"),
    ],
)
@pytest.mark.parametrize("tau", [None, 0.4])
def test_auto_takes_what_is_exact(problem, method, tau):
    result = complexity(problem, 1.2, tau=tau)
    assert result.method == method
    assert result.std_error < 1e-4
    assert result.seed is None


def test_restricted_by_enumeration():
    exact = complexity(Lasso(np.eye(3)), 1.2, region=NormBall(2.0))
    table = complexity(Lasso(np.eye(3)), 1.2, region=NormBall(2.0), method="enumerate")
    assert table.ln_c == pytest.approx(exact.ln_c, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "guess"}, "method must be one of"),
        ({"method": "closed_form"}, "orthogonal columns"),
        ({"tau": 1.0, "region": NormBall(1.0)}, "not both"),
        ({"region": 3.0}, "NormBall"),
        ({"method": "bridge", "tau": 0.2}, "bridge serves"),
        ({"sigma": -1.0}, "sigma"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(InvalidProblem, match=message):
        complexity(Lasso(design()), 1.0, **options)
    with pytest.raises(InvalidProblem):
        complexity(Lasso(design()), -1.0)


@pytest.mark.parametrize("method", ["auto", "path"])
def test_no_ball_for_the_elastic_net(method):
    with pytest.raises(InvalidProblem, match="available for Lasso"):
        complexity(ElasticNet(design(), lam2=1.0), 1.0, region=NormBall(1.0), method=method)


class Listener:
    total, told, finished = 0, 0, False

    def start(self, total, description):
        self.total += total

    def advance(self, n, **numbers):
        self.told += n

    def finish(self):
        self.finished = True


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("options", "parts"), [({}, 1), ({"tau": 0.3}, 2), ({"region": NormBall(2.0)}, 2)]
)
def test_sampled_results_say_how_they_were_made(options, parts):
    listener = Listener()
    result = complexity(
        Lasso(np.eye(3)), 1.0, method="path", std_error=0.1, seed=3, progress=listener, **options
    )
    assert result.method == "path"
    assert result.seed == 3
    assert result.n_draws > 0
    assert result.ess > 0
    assert result.rank_rhat > 0.9
    assert 0.0 < result.std_error <= 0.105
    assert listener.total == parts * METER_UNITS
    assert 0 < listener.told <= listener.total
    assert listener.finished


@pytest.mark.needs_jit
def test_the_bridge_reaches_the_error_asked_for():
    result = complexity(Lasso(np.eye(3)), 0.7, method="bridge", std_error=0.05, seed=3)
    assert result.method == "bridge"
    assert result.std_error <= 0.0525
    exact = closed_form.lasso_ln_c(np.ones(3), 0.7)
    assert abs(result.ln_c - exact) < 4.0 * result.std_error


@pytest.mark.needs_jit
@pytest.mark.filterwarnings("ignore::shtarkov.SamplingWarning")
def test_what_an_expert_would_look_at_is_a_warning():
    with pytest.warns(SamplingWarning, match="raise max_draws"):
        result = complexity(
            Lasso(np.eye(3)), 0.5, method="path", std_error=1e-3, max_draws=60, seed=3
        )
    assert result.warnings


def test_the_function_is_not_hidden_by_the_room_of_its_name():
    assert callable(shtarkov.complexity)
