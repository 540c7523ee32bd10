"""The best noise scale of one data vector, and the heights that ln I averages."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from shtarkov import ElasticNet, Lasso, scale_complexity
from shtarkov.complexity.noise_scale import scale_complexity_path
from shtarkov.complexity.ray_chain import RayChain, empty_model_ln_i
from shtarkov.complexity.scale_profile import profile_scale, profile_scale_path
from shtarkov.errors import InvalidProblem
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of
from shtarkov.seeds import rng_for

KAPPAS = np.array([0.3, 1.0, 2.5])


def envelope(problem, kappa, y):
    family = family_of(problem, kappa)
    fit = protocol.solve(family, np.ascontiguousarray(y), protocol.new_work(family, 64))
    return fit.envelope


def reduced(problem, y):
    response = problem.design.reduce_response(y)
    return response.y, float(response.orthogonal_sq)


@pytest.mark.parametrize("make", [Lasso, lambda X: ElasticNet(X, lam2=0.8)], ids=["l1", "net"])
@pytest.mark.parametrize("shape", [(12, 4), (6, 15)], ids=["tall", "wide"])
def test_the_walk_finds_the_best_scale_at_every_kappa(make, shape, rng):
    problem, y = make(rng.standard_normal(shape)), 3.0 * rng.standard_normal(shape[0])
    small, orthogonal_sq = reduced(problem, y)
    profile = profile_scale_path(problem, small, orthogonal_sq, KAPPAS)
    for i, kappa in enumerate(KAPPAS):

        def codelength(log_sigma, kappa=kappa):
            scaled = np.exp(-log_sigma)
            square = 0.5 * orthogonal_sq * scaled**2
            return shape[0] * log_sigma + envelope(problem, kappa, small * scaled) + square

        best = minimize_scalar(codelength, bounds=(-4.0, 4.0), options={"xatol": 1e-10})
        assert profile.codelength[i] == pytest.approx(best.fun, abs=1e-9)
        assert np.log(profile.sigma[i]) == pytest.approx(best.x, abs=1e-5)
    one = profile_scale(problem, small, orthogonal_sq, 1.0)
    assert one == pytest.approx((profile.sigma[1], profile.codelength[1]))


def test_the_scale_follows_the_data(rng):
    X, y = rng.standard_normal((9, 4)), rng.standard_normal(9)
    small, rest = reduced(Lasso(X), y)
    profile = profile_scale_path(Lasso(X), small, rest, KAPPAS)
    large = profile_scale_path(Lasso(X), 50.0 * small, 2500.0 * rest, KAPPAS)
    assert large.sigma == pytest.approx(50.0 * profile.sigma)
    assert large.codelength == pytest.approx(profile.codelength + 9 * np.log(50.0))
    assert np.array_equal(large.k, profile.k)
    with pytest.raises(InvalidProblem, match="no noise"):
        profile_scale_path(Lasso(X), np.zeros(4), 0.0, KAPPAS)


@pytest.mark.needs_jit
def test_a_height_is_maximum_over_integral_along_its_ray(rng):
    problem = Lasso(rng.standard_normal((5, 3)))
    ray = RayChain(family_of(problem, 0.7), rng_for(1, 0, 0), 5)
    data = np.ascontiguousarray(rng.standard_normal((4, 3)))
    squares = rng.chisquare(2, 4)
    heights = ray._heights(data, squares)
    for y, square, height in zip(data, squares, heights, strict=True):

        def log_density(log_t, y=y, square=square):
            t = np.exp(log_t)
            return 5.0 * log_t - envelope(problem, 0.7, t * y) - 0.5 * square * t * t

        best = -minimize_scalar(lambda u: -log_density(u), bounds=(-6.0, 6.0)).fun
        area = quad(lambda u, top=best: np.exp(log_density(u) - top), -12.0, 6.0, limit=200)[0]
        assert np.log(height) == pytest.approx(-np.log(area) - empty_model_ln_i(5), abs=1e-6)


@pytest.mark.needs_jit
def test_a_large_kappa_costs_what_the_empty_model_does(rng):
    X = rng.standard_normal((20, 5))
    found = scale_complexity(Lasso(X), 100.0, seed=1)
    assert found.ln_c == pytest.approx(empty_model_ln_i(20), abs=1e-6)
    assert found.seed is None


@pytest.mark.needs_jit
def test_units_order_and_workers(rng):
    X = rng.standard_normal((8, 5))
    path = scale_complexity_path(Lasso(X), KAPPAS, seed=3)
    back = scale_complexity_path(Lasso(X), KAPPAS[::-1], seed=3, n_jobs=2)
    assert np.array_equal(path.ln_i, back.ln_i[::-1])
    assert np.all(path.std_error <= 0.0315)
    scaled = scale_complexity_path(Lasso(1e3 * X), 1e3 * KAPPAS, seed=3)
    assert scaled.ln_i == pytest.approx(path.ln_i, rel=1e-6)
