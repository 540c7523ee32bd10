"""Sampled ln I against the stored value and against polar quadrature in two and three dimensions.

Quadrature: with h(t) = t^N q(t u) on the ray of direction u, I is the mean over the sphere's area
of max_t h(t), since the maximised density is constant along d ln t.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from shtarkov import Lasso, complexity, scale_complexity
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of

pytestmark = pytest.mark.needs_jit
ORACLES = json.loads((Path(__file__).parents[1] / "data" / "oracles.json").read_text())
ORACLE = next(oracle for oracle in ORACLES if oracle["name"] == "noise_scale")


def largest_density(family, direction, ln_c):
    """Give max over t of t^N q(t u)."""
    n = direction.size

    def loss(log_t):
        y = np.ascontiguousarray(np.exp(log_t) * direction)
        fit = protocol.solve(family, y, protocol.new_work(family, 16))
        return fit.envelope - n * log_t

    best = minimize_scalar(loss, bounds=(-4.0, 5.0), options={"xatol": 1e-9})
    return np.exp(-best.fun - ln_c - 0.5 * n * np.log(2.0 * np.pi))


def plane_quadrature(X, kappa, ln_c, n_points=400):
    """Average over the circle: the trapezoid converges fast on a periodic piecewise smooth sum."""
    angles = (np.arange(n_points) + 0.5) * 2.0 * np.pi / n_points
    family = family_of(Lasso(X), kappa)
    reduce = Lasso(X).design.reduce_response
    values = [
        largest_density(family, reduce(np.array([np.cos(a), np.sin(a)])).y, ln_c) for a in angles
    ]
    return np.log(2.0 * np.pi * np.mean(values))


def sphere_quadrature(family, ln_c, n_points=40):
    """Gauss-Legendre in the height, trapezoid in the angle."""
    heights, weights = np.polynomial.legendre.leggauss(n_points)
    angles = (np.arange(2 * n_points) + 0.5) * np.pi / n_points
    total = 0.0
    for height, weight in zip(heights, weights, strict=True):
        side = np.sqrt(1.0 - height**2)
        for angle in angles:
            u = np.array([side * np.cos(angle), side * np.sin(angle), height])
            total += weight * largest_density(family, u, ln_c) * np.pi / n_points
    return np.log(total)


def test_the_stored_value():
    X, kappa = np.array(ORACLE["X"]), ORACLE["kappa"]
    found = scale_complexity(Lasso(X), kappa, std_error=0.005, seed=11)
    assert abs(found.ln_c - ORACLE["ln_I"]) < 4.0 * found.std_error
    assert 0.0 < found.std_error <= 0.00525


@pytest.mark.parametrize("kappa", [0.5, 1.5])
def test_two_dimensions(kappa, rng):
    X = rng.standard_normal((2, 3))
    ln_c = complexity(Lasso(X), kappa, method="enumerate").ln_c
    exact = plane_quadrature(X, kappa, ln_c)
    found = scale_complexity(Lasso(X), kappa, std_error=0.005, seed=12)
    assert abs(found.ln_c - exact) < 4.0 * found.std_error + 1e-4


def test_three_dimensions_with_one_that_only_tells_the_scale(rng):
    X = rng.standard_normal((3, 2))
    problem = Lasso(X)
    ln_c = complexity(problem, 0.8, method="enumerate").ln_c
    family = family_of(problem, 0.8)
    unreduced = family._replace(Xt=np.ascontiguousarray(X.T))
    found = scale_complexity(problem, 0.8, std_error=0.005, seed=13)
    assert found.std_error > 0.0
    assert family.Xt.shape[1] == 2
    exact = sphere_quadrature(unreduced, ln_c)
    assert abs(found.ln_c - exact) < 4.0 * found.std_error + 1e-4
