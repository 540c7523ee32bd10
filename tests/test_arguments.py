"""Arguments that are not what they should be: one sentence names the argument and the remedy."""

import numpy as np
import pytest

import shtarkov
from shtarkov import ElasticNet, Lasso, NormBall
from shtarkov.errors import InvalidProblem

pytestmark = pytest.mark.needs_jit


@pytest.fixture(name="X")
def make_design(rng):
    return rng.standard_normal((20, 4))


@pytest.fixture(name="y")
def make_response(X, rng):
    return 2.0 * X[:, 0] + rng.standard_normal(20)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"std_error": 0.0}, "std_error must be positive and finite; got 0.0"),
        ({"std_error": np.nan}, "std_error must be"),
        ({"std_error": "small"}, "std_error must be"),
        ({"n_chains": 0}, "n_chains must be an integer of at least 1"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"max_draws": 0}, "max_draws must be"),
        ({"seed": -1}, "seed must be"),
        ({"n_grid": 0}, "a grid needs at least one penalty"),
        ({"n_grid": 1}, "give two or more"),
        ({"sigma": 0.0}, "sigma must be positive"),
    ],
)
def test_options_that_cannot_work_are_named(X, y, options, message):
    with pytest.raises(InvalidProblem, match=message):
        shtarkov.select(Lasso(X), y, progress=False, **options)


def test_a_design_where_a_problem_is_meant(X, y):
    message = r"problem must be one such as shtarkov\.Lasso\(X\); got ndarray"
    for call in (
        lambda: shtarkov.select(X, y),
        lambda: shtarkov.compare({"lasso": X}, y),
        lambda: shtarkov.complexity(X, 1.0),
        lambda: shtarkov.complexity_path(X, [1.0]),
        lambda: shtarkov.sample(X, 1.0),
    ):
        with pytest.raises(InvalidProblem, match=message):
            call()
    with pytest.raises(InvalidProblem, match=r"as \{name: problem\}"):
        shtarkov.compare([Lasso(X)], y)


def test_regions_and_weights_must_be_positive(X):
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InvalidProblem, match="positive and finite"):
            NormBall(wrong)
        with pytest.raises(InvalidProblem, match="positive and finite"):
            shtarkov.complexity(Lasso(X), 1.0, tau=wrong)
        with pytest.raises(InvalidProblem, match="positive and finite"):
            shtarkov.stratum_spectrum(Lasso(X), 1.0, tau_min=wrong, method="sampled")
    with pytest.raises(InvalidProblem, match="give tau or region, not both"):
        shtarkov.complexity(Lasso(X), 1.0, tau=0.5, region=NormBall(1.0))
    with pytest.raises(InvalidProblem, match="exactly one of l2_ratio"):
        ElasticNet(X)


@pytest.mark.parametrize("lam", [0.0, -1.0, np.nan, np.inf, 1e130, 1e-130, None, "1", [1.0]])
def test_what_cannot_be_a_penalty_is_refused(X, lam):
    with pytest.raises(InvalidProblem, match="lam must be"):
        shtarkov.complexity(Lasso(X), lam)


@pytest.mark.parametrize("lams", [[], 1.0, [np.nan], [1.0, -1.0], "12", [[1.0]]])
def test_what_cannot_be_a_list_of_penalties_is_refused(X, lams):
    with pytest.raises(InvalidProblem, match=r"lams? must be"):
        shtarkov.complexity_path(Lasso(X), lams)
