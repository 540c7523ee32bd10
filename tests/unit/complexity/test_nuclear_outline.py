"""The outline of a nuclear-norm path: exact at equal scales, a bound elsewhere."""

import numpy as np
import pytest

from shtarkov import NuclearNorm
from shtarkov.complexity.outline import outline_of
from shtarkov.complexity.singular_values import nuclear_ln_c, nuclear_mean_norm
from shtarkov.families.compiled import family_of


def test_equal_scales_are_exact():
    outline = outline_of(family_of(NuclearNorm(shape=(3, 5)), 1.0))
    assert not outline.is_empty
    assert outline.ln_c(2.0, 1.5) == pytest.approx(nuclear_ln_c((3, 5), 2.0, 1.5), rel=1e-12)
    lams = np.array([0.5, 1.5, 3.0])
    exact = [lam * nuclear_mean_norm((3, 5), lam) for lam in lams]
    np.testing.assert_allclose(outline.mean_df(np.log(lams)), exact, rtol=2e-3)
    norms = outline.mean_norm(2.0, np.array([2.0, 1.0]))
    np.testing.assert_allclose(norms, [t * nuclear_mean_norm((3, 5), 2.0, t) for t in (2.0, 1.0)])
    start = outline.start(1e-3)
    assert nuclear_ln_c((3, 5), start) == pytest.approx(1e-3, rel=1e-3)


def test_unequal_scales_are_bounded_by_the_largest(rng):
    problem = NuclearNorm(rng.standard_normal((9, 4)) * [4.0, 1.0, 1.0, 1.0], n_targets=3)
    outline = outline_of(family_of(problem, 1.0))
    largest = problem.design.scales[0]
    assert outline.first_order(8.0) == nuclear_ln_c((4, 3), 8.0 / largest)
    assert outline.ln_c(8.0, 8.0) < outline.first_order(8.0)
    logs = np.log([2.0, 8.0, 30.0, 300.0])
    dfs = outline.mean_df(logs)
    assert np.all(np.diff(dfs) < 0.0)
    assert dfs[0] < 12.0
    assert dfs[-1] == 0.0
