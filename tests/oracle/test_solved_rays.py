"""Rays and scales by solves, for any family, agree with the Lasso's exact walks."""

import numpy as np
import pytest

from shtarkov import GroupLasso, Lasso, scale_complexity
from shtarkov.complexity import rays, solved_rays
from shtarkov.complexity.scale_profile import profile_scale_path
from shtarkov.complexity.solved_scales import solved_scales
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of

pytestmark = pytest.mark.needs_jit


def heights(module, family, data, squares, n_dim):
    works = [protocol.new_work(family, 64) for _ in range(2)]
    out = np.zeros(len(data))
    args = (family,)
    if module is rays:
        args = (family.Xt, family.gram, family.lam, 0.0)
    done, status = module.log_heights(*args, float(n_dim), data, squares, 0, out, *works)
    assert (done, status) == (len(data), 0)
    return out


@pytest.mark.parametrize("lam", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("n_orthogonal", [0, 7])
def test_heights_are_those_of_the_walk(lam, n_orthogonal, rng):
    family = family_of(Lasso(rng.standard_normal((8, 12))), lam)
    data = rng.standard_normal((20, 8)) * np.geomspace(1e-3, 1e3, 20)[:, None]
    squares = rng.chisquare(n_orthogonal, 20) if n_orthogonal else np.zeros(20)
    walked = heights(rays, family, data, squares, 8 + n_orthogonal)
    solved = heights(solved_rays, family, data, squares, 8 + n_orthogonal)
    assert solved == pytest.approx(walked, abs=2e-3)
    assert np.sqrt(np.mean((solved - walked) ** 2)) < 5e-4


@pytest.mark.parametrize("orthogonal_sq", [0.0, 4.0])
def test_scales_are_those_of_the_walk(orthogonal_sq, rng):
    problem, kappas = Lasso(rng.standard_normal((12, 6))), np.geomspace(5.0, 0.05, 15)
    y = 3.0 * problem.design.reduce_response(rng.standard_normal(12)).y
    walked = profile_scale_path(problem, y, orthogonal_sq, kappas)
    table = solved_scales(family_of(problem, 1.0), y, orthogonal_sq, 12, kappas)
    assert table[:, 0] == pytest.approx(walked.lam, rel=1e-8)
    assert table[:, 3] == pytest.approx(walked.norm, rel=1e-7, abs=1e-9)
    assert table[:, 2] == pytest.approx(walked.k)


def test_groups_of_one_cost_what_the_lasso_does(rng):
    X = rng.standard_normal((6, 4))
    single = scale_complexity(Lasso(X), 1.0, seed=3)
    groups = scale_complexity(GroupLasso(X, range(4)), 1.0, seed=4)
    error = np.hypot(single.std_error, groups.std_error)
    assert abs(single.ln_c - groups.ln_c) < 4.0 * error
    assert error < 0.04
