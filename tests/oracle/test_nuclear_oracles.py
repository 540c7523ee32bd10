"""Sampled ln C of the nuclear norm against exact values, and the derivative identity elsewhere."""

import numpy as np
import pytest

from shtarkov import NormBall, NuclearNorm, complexity, complexity_path, sample
from shtarkov.complexity.path import penalty_path
from shtarkov.complexity.singular_values import nuclear_ln_c, nuclear_mean_norm
from shtarkov.errors import InvalidProblem
from tests.laws import oracles, z_score


@pytest.fixture(scope="module")
def correlated():
    """A design whose singular values span a factor of ten."""
    rng = np.random.default_rng(5)
    shared = rng.standard_normal((12, 1))
    return NuclearNorm(rng.standard_normal((12, 4)) + 1.5 * shared, n_targets=3)


@pytest.mark.parametrize("method", ["path", "bridge"])
@pytest.mark.parametrize("oracle", oracles("nuclear_identity"), ids=lambda o: str(o["shape"]))
def test_stored_values_by_sampling(oracle, method):
    problem = NuclearNorm(shape=tuple(oracle["shape"]))
    result = complexity(problem, oracle["lam"], method=method, std_error=0.02, seed=61)
    assert result.method == method
    assert abs(result.ln_c - oracle["ln_C_luckiness"]) < 4.0 * result.std_error
    assert 0.0 < result.std_error <= 0.021
    assert result.failures == 0
    assert not result.warnings


def test_exact_where_it_can_be(rng):
    exact = nuclear_ln_c((4, 3), 1.2, 0.8)
    result = complexity(NuclearNorm(shape=(3, 4)), 1.2, tau=0.8)
    assert (result.method, result.std_error) == ("closed_form", 0.0)
    assert result.ln_c == pytest.approx(exact, abs=1e-12)
    # Orthonormal columns, scaled: the data split into 4 x 3 and noise.
    X = 5.0 * np.linalg.qr(rng.standard_normal((9, 4)))[0]
    other = complexity(NuclearNorm(X, n_targets=3), 6.0, tau=4.0)
    assert other.ln_c == pytest.approx(exact, abs=1e-9)
    path = complexity_path(NuclearNorm(shape=(3, 4)), [2.0, 1.2], sigma=0.5)
    assert path.method == "closed_form"
    for i, lam in enumerate([2.0, 1.2]):
        assert path.ln_c[i] == pytest.approx(nuclear_ln_c((3, 4), 2.0 * lam), abs=1e-12)
        mean_df = 2.0 * lam * nuclear_mean_norm((3, 4), 2.0 * lam)
        assert path.mean_df[i] == pytest.approx(mean_df, rel=1e-12)


def test_a_larger_matrix_and_another_weight():
    problem, lam, tau = NuclearNorm(shape=(5, 8)), 3.0, 1.5
    matched = complexity(problem, lam, method="path", seed=62)
    assert abs(matched.ln_c - nuclear_ln_c((5, 8), lam)) < 4.0 * matched.std_error
    free = complexity(problem, lam, tau=tau, method="path", seed=63)
    assert abs(free.ln_c - nuclear_ln_c((5, 8), lam, tau)) < 4.0 * free.std_error
    assert not free.warnings


def test_three_integrands_agree_on_a_correlated_design(correlated):
    for lam in (12.0, 5.0, 1.5):
        chains = sample(correlated, lam, n_draws=4000, seed=64)
        assert chains.accepted.mean() > 0.6
        assert abs(z_score(chains.penalty - chains.df, 0.0)) < 4.0
        lost = chains.n_dim - chains.residual_sq
        assert abs(z_score(lost - chains.df, 0.0)) < 4.0
        assert chains.df.std() > 0.1
        assert chains.kkt_residual.max() < 1e-4
        assert not chains.failures


def test_path_and_bridge_agree_on_a_correlated_design(correlated):
    path = penalty_path(
        correlated, [1.5, 5.0, 12.0], sigma=1.0, std_error=0.05, n_chains=4, n_jobs=None,
        seed=65, progress=False, max_draws=200_000,
    )  # fmt: skip
    assert path.method == "path"
    gap = abs(path.ln_c[0] - path.bridge_ln_c[-1])
    assert gap < 4.0 * np.hypot(path.std_error[0], path.bridge_std_error[-1])
    assert np.all(np.diff(path.ln_c) < 0.0)
    assert not path.warnings
    # The identity design at the largest singular value bounds it from above.
    scale = correlated.design.scales[0]
    assert path.ln_c[0] < nuclear_ln_c(correlated.design.reduced_shape, 1.5 / scale)


def test_units_and_rotations_change_nothing(correlated):
    rng = np.random.default_rng(6)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    scales = correlated.design.scales
    X = (correlated.design.left * scales) @ correlated.design.basis.T
    turned = NuclearNorm(X @ turn, n_targets=3)
    np.testing.assert_allclose(turned.design.scales, scales, rtol=1e-12)
    plain = complexity(correlated, 9.0, std_error=0.2, seed=1)
    scaled = complexity(correlated, 90.0, sigma=10.0, std_error=0.2, seed=1)
    assert scaled.ln_c == pytest.approx(plain.ln_c, rel=1e-6)


def test_refusals(correlated):
    with pytest.raises(InvalidProblem, match="closed_form needs"):
        complexity(correlated, 3.0, method="closed_form")
    with pytest.raises(InvalidProblem, match="no cells"):
        complexity(correlated, 3.0, method="enumerate")
    with pytest.raises(InvalidProblem, match="restricted integral"):
        complexity(correlated, 3.0, region=NormBall(2.0))
