"""Dense, Schur and QR geometry take the same trajectory from the same random numbers."""

import numpy as np
import pytest

import shtarkov
from shtarkov.families.problems import GroupLasso
from shtarkov.sampling.chains import QUANTITIES
from shtarkov.sampling.sample import sample


def trajectories(problem, lam, solvers, **settings):
    arguments = {"sampler": "ppmh", "n_chains": 1, "seed": 8, "record": ("active", "data")}
    return [sample(problem, lam, solver=solver, **{**arguments, **settings}) for solver in solvers]


def assert_same_trajectory(one, other, tolerance=1e-9):
    np.testing.assert_array_equal(one.accepted, other.accepted)
    np.testing.assert_array_equal(one.extras["active"], other.extras["active"])
    for name in QUANTITIES:
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=tolerance, atol=tolerance, err_msg=name
        )
    gap = np.abs(one.extras["data"] - other.extras["data"]).max()
    assert gap < tolerance
    assert one.accepted.sum() > 50


def test_lasso():
    X = np.random.default_rng(1).standard_normal((30, 60))
    dense, schur, qr = trajectories(
        shtarkov.Lasso(X), 9.0, ("dense", "schur", "qr"), n_draws=1500, n_warmup=500
    )
    assert_same_trajectory(dense, schur)
    assert_same_trajectory(dense, qr)
    assert [np.unique(c.extras["route"]).tolist() for c in (schur, qr, dense)] == [[0], [1], [2]]
    assert schur.k.mean() > 3.0


@pytest.mark.parametrize("covariance", ["projector", "d_en"])
def test_elastic_net(covariance):
    X = np.random.default_rng(2).standard_normal((20, 30))
    problem = shtarkov.ElasticNet(X, l2_ratio=0.5)
    dense, schur, qr = trajectories(
        problem,
        6.0,
        ("dense", "schur", "qr"),
        covariance=covariance,
        n_draws=1000,
        n_warmup=500,
    )
    assert_same_trajectory(dense, schur)
    assert_same_trajectory(dense, qr)


def test_group_lasso():
    X = np.random.default_rng(3).standard_normal((20, 30))
    problem = GroupLasso(X, np.repeat(np.arange(10), 3))
    dense, schur, qr = trajectories(
        problem, 6.0, ("dense", "schur", "qr"), n_draws=1000, n_warmup=500
    )
    assert_same_trajectory(dense, schur)
    assert_same_trajectory(dense, qr)
    assert np.ptp(schur.k) >= 6
    assert schur.extras["constraint_residual"].max() < 1e-10


def test_without_a_gram_matrix_the_trajectory_is_the_same(monkeypatch):
    from shtarkov.families import compiled

    X = np.random.default_rng(4).standard_normal((10, 25))
    (held,) = trajectories(shtarkov.Lasso(X), 5.0, ("schur",), n_draws=600, n_warmup=300)
    monkeypatch.setattr(compiled, "GRAM_LIMIT", 3)
    (other,) = trajectories(shtarkov.Lasso(X), 5.0, ("schur",), n_draws=600, n_warmup=300)
    assert_same_trajectory(held, other)


def test_growing_the_room_changes_nothing(monkeypatch):
    from shtarkov.sampling import ppmh_run

    X = np.random.default_rng(5).standard_normal((12, 30))
    for problem, options in (
        (shtarkov.Lasso(X), {}),
        (shtarkov.ElasticNet(X, lam2=0.5), {"covariance": "d_en", "step": 1.0}),
    ):
        (whole,) = trajectories(problem, 3.0, ("schur",), n_draws=600, n_warmup=0, **options)
        monkeypatch.setattr(ppmh_run, "FIRST_CAPACITY", 2)
        (grown,) = trajectories(problem, 3.0, ("schur",), n_draws=600, n_warmup=0, **options)
        monkeypatch.undo()
        assert_same_trajectory(whole, grown)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "n_features", "share"),
    [(100, 500, 0.6), (500, 2000, 0.72)],
)
def test_ten_thousand_steps(n, n_features, share):
    X = np.random.default_rng(n).standard_normal((n, n_features))
    lam = share * np.sqrt(2.0 * n * np.log(n_features))
    dense, schur = trajectories(
        shtarkov.Lasso(X), lam, ("dense", "schur"), n_draws=10_000, n_warmup=0, step=2.0
    )
    assert_same_trajectory(dense, schur)
    assert 4.0 < schur.k.mean() < 20.0


@pytest.mark.slow
@pytest.mark.ci_sample
def test_the_constraint_holds_over_a_long_run():
    X = np.random.default_rng(6).standard_normal((20, 40))
    chains = sample(
        shtarkov.Lasso(X), 8.0, sampler="ppmh", solver="schur", n_draws=50_000, n_chains=1, seed=0
    )
    assert chains.extras["constraint_residual"].max() < 1e-9
    assert chains.accepted.sum() > 10_000
