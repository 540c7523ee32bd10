"""Every move on a level set has the same law: that of rejection from unconstrained normals."""

import numpy as np
import pytest

import shtarkov
from shtarkov.complexity.level_set_mass import level_set_mass
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of
from shtarkov.sampling.sample import sample

SIGMA, LAM = 1.3, 2.0
COEF = np.array([1.5, 0.0, -0.4, 0.0, 0.0])


@pytest.fixture(scope="module")
def problem():
    return shtarkov.Lasso(np.random.default_rng(12).standard_normal((7, 5)))


@pytest.fixture(scope="module")
def by_rejection(problem):
    """Residuals of independent draws, and the share inside: the slow twin."""
    X, rng = problem.design.X, np.random.default_rng(5)
    active = np.flatnonzero(COEF)
    span = X[:, active]
    centre = span @ np.linalg.solve(span.T @ span, LAM * np.sign(COEF[active]))
    normal = SIGMA * rng.standard_normal((400_000, X.shape[0]))
    normal -= normal @ np.linalg.pinv(span).T @ span.T
    residual = centre + normal
    others = np.setdiff1d(np.arange(5), active)
    inside = (np.abs(residual @ X[:, others]) <= LAM).all(axis=1)
    return residual[inside], inside.mean(), inside.size


def compare(draws, reference, label):
    error = np.std(reference) / np.sqrt(reference.size)
    score = (draws.mean() - reference.mean()) / np.hypot(error, z_error(draws))
    assert abs(score) < 4.0, (label, score)


def z_error(draws):
    from shtarkov.diagnostics.convergence import mean_error

    return mean_error(draws)


@pytest.mark.parametrize(
    ("move", "thin"), [("bounce", 1), ("coordinate", 2), ("tangent", 25), ("tilting", 1)]
)
def test_moments(problem, by_rejection, move, thin):
    reference, _, _ = by_rejection
    chains = sample(
        problem,
        LAM,
        sigma=SIGMA,
        sampler="level_set",
        coef=COEF,
        move=move,
        thin=thin,
        n_draws=5000,
        n_chains=2,
        seed=4,
        record=("data", "active"),
    )
    X = problem.design.X
    residual = chains.extras["data"] - X @ COEF
    compare(chains.residual_sq, (reference**2).sum(axis=1), "residual_sq")
    for i in np.flatnonzero(COEF == 0.0):
        compare(residual @ X[:, i], reference @ X[:, i], f"correlation {i}")
        compare((residual @ X[:, i]) ** 2, (reference @ X[:, i]) ** 2, f"its square {i}")
    compare(residual[:, :, 0] * residual[:, :, 1], reference[:, 0] * reference[:, 1], "product")
    assert chains.extras["constraint_residual"].max() < 1e-12
    assert chains.extras["slack"].min() >= 0.0
    assert (chains.extras["active"] == (COEF != 0.0)).all()
    np.testing.assert_allclose(chains.norm, np.abs(COEF).sum(), rtol=1e-10)
    assert chains.accepted.mean() > 0.1


@pytest.mark.parametrize("method", ["sobol", "tilting", "splitting"])
def test_mass(problem, by_rejection, method):
    _, share, size = by_rejection
    result = level_set_mass(
        problem, LAM, [0, 2], [1, -1], sigma=SIGMA, method=method, std_error=0.01, seed=3
    )
    error = np.hypot(result.std_error, np.sqrt((1.0 - share) / (share * size)))
    assert abs(result.ln_c - np.log(share)) < 4.0 * error
    assert result.std_error < 0.012
    assert result.method == method


def test_errors_of_splitting_match_its_spread(problem):
    results = [
        level_set_mass(
            problem, LAM, [0, 2], [1, -1], sigma=SIGMA, method="splitting", std_error=0.1, seed=seed
        )
        for seed in range(40)
    ]
    exact = level_set_mass(problem, LAM, [0, 2], [1, -1], sigma=SIGMA, std_error=1e-4, seed=0).ln_c
    scores = np.array([(r.ln_c - exact) / r.std_error for r in results])
    assert abs(scores.mean()) < 4.0 / np.sqrt(40)
    assert 0.6 < scores.std() < 1.5


def test_more_columns_than_dimensions(by_rejection):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((4, 12))
    coef = np.zeros(12)
    coef[3] = 2.0
    lam = 3.0
    chains = sample(
        shtarkov.Lasso(X), lam, sampler="level_set", coef=coef, n_draws=4000, n_chains=2, seed=1
    )
    span = X[:, [3]]
    normal = rng.standard_normal((200_000, 4))
    residual = (
        normal - normal @ span @ span.T / np.sum(span**2) + (lam * span[:, 0] / np.sum(span**2))
    )
    inside = (np.abs(residual @ np.delete(X, 3, axis=1)) <= lam).all(axis=1)
    compare(chains.residual_sq, (residual[inside] ** 2).sum(axis=1), "residual_sq")
    mass = level_set_mass(shtarkov.Lasso(X), lam, [3], [1], std_error=0.01, seed=1)
    assert abs(mass.ln_c - np.log(inside.mean())) < 4.0 * np.hypot(
        mass.std_error, np.sqrt(1.0 / inside.sum())
    )


def test_elastic_net_level_set():
    X = np.random.default_rng(8).standard_normal((6, 4))
    coef = np.array([0.8, 0.0, -0.5, 0.0])
    chains = sample(
        shtarkov.ElasticNet(X, lam2=0.9),
        1.5,
        sampler="level_set",
        coef=coef,
        n_draws=300,
        n_chains=1,
        seed=0,
        record=("data",),
        truth=coef,
    )
    assert chains.extras["mse"].max() < 1e-20
    assert chains.kkt_residual.max() < 1e-12
    assert np.std(chains.residual_sq) > 0.1


def test_many_walls_hold_to_rounding():
    rng, n, n_features = np.random.default_rng(20240501), 100, 500
    X = rng.standard_normal((n, n_features))
    lam = 0.6 * np.sqrt(2.0 * n * np.log(n_features))
    family = family_of(shtarkov.Lasso(X), lam)
    y = 3.0 * X[:, :5].sum(axis=1) + rng.standard_normal(n)
    coef = protocol.solve(family, y, protocol.new_work(family, n)).coef
    chains = sample(
        shtarkov.Lasso(X), lam, sampler="level_set", coef=coef, n_draws=500, n_warmup=50,
        n_chains=1, seed=2, record=("data",),
    )  # fmt: skip
    active = coef != 0.0
    correlations = (chains.extras["data"][0] - X @ coef) @ X
    gap = np.abs(correlations[:, active] - lam * np.sign(coef[active]))
    assert active.sum() > 5
    assert gap.max() < 1e-12 * lam
    assert np.abs(correlations[:, ~active]).max() <= lam * (1.0 + 1e-14)
    assert chains.extras["constraint_residual"].max() < 1e-12
    assert chains.extras["slack"].min() >= 0.0
    assert chains.accepted.min() == 1.0
