"""The Pfaffian against quadrature, stored values, the group closed form and its own derivative."""

import math

import numpy as np
import pytest

from shtarkov.complexity.closed_form import group_lasso_ln_c
from shtarkov.complexity.singular_quadrature import quadrature_ln_c
from shtarkov.complexity.singular_values import (
    nuclear_ln_c,
    nuclear_mean_norm,
    nuclear_rank_law,
    pfaffian,
)
from shtarkov.errors import InvalidProblem
from tests.laws import oracles


@pytest.mark.parametrize("oracle", oracles("nuclear_identity"), ids=lambda o: str(o["shape"]))
def test_stored_values(oracle):
    # The stored values were integrated adaptively, to about 1e-9.
    value = nuclear_ln_c(tuple(oracle["shape"]), oracle["lam"])
    assert value == pytest.approx(oracle["ln_C_luckiness"], abs=2e-9)


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (7, 2), (1, 4)])
@pytest.mark.parametrize(("lam", "tau"), [(0.3, 0.3), (1.5, 1.5), (4.0, 4.0), (2.0, 0.5)])
def test_plain_quadrature(shape, lam, tau):
    assert nuclear_ln_c(shape, lam, tau) == pytest.approx(
        quadrature_ln_c(shape, lam, tau), abs=1e-9
    )


def test_one_row_is_one_group():
    for n, lam in [(1, 0.7), (3, 1.5), (10, 3.0)]:
        group = group_lasso_ln_c([1.0], [n], lam, weights=[1.0])
        assert nuclear_ln_c((1, n), lam) == pytest.approx(group, abs=1e-11)


@pytest.mark.parametrize(("shape", "lam"), [((3, 5), 2.0), ((6, 6), 3.0), ((15, 40), 8.0)])
def test_mean_norm_is_the_derivative_in_the_weight(shape, lam):
    step = 1e-4
    for tau in (lam, 0.6 * lam):
        ends = [nuclear_ln_c(shape, lam, tau * (1 + sign * step)) for sign in (-1, 1)]
        slope = -(ends[1] - ends[0]) / (2 * step * tau)
        assert nuclear_mean_norm(shape, lam, tau) == pytest.approx(slope, rel=1e-7)


def test_matched_slope_is_the_mean_penalty():
    # -d ln C / d ln lam along tau = lam is the mean penalty: a statement about two derivatives.
    shape, lam, step = (4, 6), 2.5, 1e-4
    ends = [nuclear_ln_c(shape, lam * (1 + sign * step)) for sign in (-1, 1)]
    slope = -(ends[1] - ends[0]) / (2 * step)
    assert lam * nuclear_mean_norm(shape, lam) == pytest.approx(slope, rel=1e-7)


def test_rank_law_is_that_of_drawn_matrices():
    """Rank zero has the Gaussian's probability; the others its reweighted one."""
    rng = np.random.default_rng(3)
    for shape, lam in [((3, 4), 2.2), ((4, 4), 3.0)]:
        law, ln_c = nuclear_rank_law(shape, lam), nuclear_ln_c(shape, lam)
        assert law.sum() == pytest.approx(1.0)
        assert (law > -1e-12).all()
        values = np.linalg.svd(rng.standard_normal((40_000, *shape)), compute_uv=False)
        inside = np.mean(values.max(axis=1) < lam)
        error = math.sqrt(inside * (1 - inside) / values.shape[0])
        assert abs(law[0] * math.exp(ln_c) - inside) < 4 * error
        # All ranks, by importance weights from the Gaussian to the luckiness law.
        excess = np.maximum(values - lam, 0.0)
        weights = np.exp(0.5 * (excess**2).sum(axis=1))
        ranks = (values > lam).sum(axis=1)
        for rank in (1, 2):
            share = weights * (ranks == rank)
            spread = share.std() / math.sqrt(share.size)
            assert abs(share.mean() - math.exp(ln_c) * law[rank]) < 4 * spread


def test_units_and_orientation():
    plain = nuclear_ln_c((3, 5), 2.0, 1.0)
    assert nuclear_ln_c((5, 3), 2.0, 1.0) == plain
    assert nuclear_ln_c((3, 5), 20.0, 10.0, sigma=10.0) == pytest.approx(plain, abs=1e-12)
    assert nuclear_mean_norm((3, 5), 20.0, sigma=10.0) == pytest.approx(
        10.0 * nuclear_mean_norm((3, 5), 2.0), rel=1e-12
    )


def test_large_penalties_and_large_matrices():
    assert nuclear_ln_c((4, 9), 30.0) == pytest.approx(0.0, abs=1e-10)
    # Where almost every singular value passes, ln C grows as the dimension times ln lam.
    slope = (nuclear_ln_c((20, 30), 0.05) - nuclear_ln_c((20, 30), 0.1)) / math.log(2.0)
    assert slope == pytest.approx(600.0, rel=0.01)
    assert math.isfinite(nuclear_ln_c((60, 90), 12.0))


def test_pfaffian_squares_to_the_determinant(rng):
    for size in (2, 4, 8):
        square = rng.standard_normal((size, size))
        skew = square - square.T
        assert pfaffian(skew) ** 2 == pytest.approx(np.linalg.det(skew), rel=1e-10)
    known = np.zeros((4, 4))
    known[np.triu_indices(4, 1)] = [1, 2, 3, 4, 5, 6]
    assert pfaffian(known - known.T) == pytest.approx(1 * 6 - 2 * 5 + 3 * 4)
    assert pfaffian(np.zeros((2, 2))) == 0.0


def test_refusals():
    with pytest.raises(InvalidProblem, match="positive"):
        nuclear_ln_c((0, 3), 1.0)
    with pytest.raises(InvalidProblem, match="at most two"):
        quadrature_ln_c((3, 3), 1.0)
