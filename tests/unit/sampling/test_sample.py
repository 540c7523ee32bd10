"""`sample` and what it returns: shapes, units, seeds, recording, errors."""

import numpy as np
import pytest

import shtarkov
from shtarkov.errors import InvalidProblem
from shtarkov.sampling.chains import QUANTITIES, STATISTICS
from shtarkov.sampling.sample import sample


@pytest.fixture(scope="module")
def design():
    return np.random.default_rng(7).standard_normal((9, 4)) / 3.0


@pytest.fixture(scope="module")
def chains(design):
    return sample(shtarkov.Lasso(design), 1.0, n_draws=60, n_warmup=25, n_chains=2, seed=1)


def test_every_quantity_has_chain_and_draw(chains):
    for name in (*QUANTITIES, *STATISTICS):
        assert getattr(chains, name).shape == (2, 60), name
    assert chains.k.dtype == np.int64
    assert (chains.n_chains, chains.n_draws, chains.n_dim, chains.n_orthogonal) == (2, 60, 4, 5)
    assert chains.kkt_residual.max() < 1e-10
    assert (chains.step_seconds > 0.0).all()
    assert set(chains.summary()) == set(QUANTITIES)
    assert "2 chains of 60 draws" in repr(chains)


def test_envelope_is_its_parts(chains):
    np.testing.assert_allclose(chains.envelope, 0.5 * chains.residual_sq + chains.penalty)
    np.testing.assert_allclose(chains.penalty, chains.lam * chains.norm)


def test_neither_threads_nor_more_chains_change_a_draw(design, chains):
    more = sample(
        shtarkov.Lasso(design), 1.0, n_draws=60, n_warmup=25, n_chains=3, seed=1, n_jobs=2
    )
    np.testing.assert_array_equal(more.envelope[:2], chains.envelope)


def test_units_follow_the_noise_scale(design, chains):
    scale = 4.0
    scaled = sample(
        shtarkov.Lasso(design), scale, sigma=scale, n_draws=60, n_warmup=25, n_chains=2, seed=1
    )
    np.testing.assert_allclose(scaled.envelope, scale**2 * chains.envelope, rtol=1e-12)
    np.testing.assert_allclose(scaled.norm, scale * chains.norm, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(scaled.k, chains.k)
    shift = chains.n_dim * np.log(scale)
    np.testing.assert_allclose(scaled.codelength_part, chains.codelength_part + shift)


def test_recording_active_sets_data_and_error(design):
    truth = np.array([1.0, 0.0, -2.0, 0.5])
    problem = shtarkov.Lasso(design)
    found = sample(
        problem,
        0.7,
        sigma=2.0,
        n_draws=8,
        n_chains=2,
        seed=3,
        record=("active", "data"),
        truth=truth,
    ).extras
    assert found["active"].shape == (2, 8, 4)
    data, X = found["data"], problem.design.X
    assert data.shape == (2, 8, 4)
    from sklearn.linear_model import Lasso

    solver = Lasso(alpha=0.7 / 4, fit_intercept=False, tol=1e-14, max_iter=100_000)
    coef = solver.fit(X, data[1, 5]).coef_
    np.testing.assert_array_equal(coef != 0.0, found["active"][1, 5])
    assert found["mse"][1, 5] == pytest.approx(np.mean((coef - truth) ** 2), rel=1e-8)
    assert "mse" in sample(problem, 0.7, n_draws=5, n_chains=1, seed=0, truth=truth).summary()


def test_tau_sets_the_luckiness_weight(design):
    loose = sample(shtarkov.Lasso(design), 1.0, tau=0.2, n_draws=200, n_chains=2, seed=1)
    assert loose.tau == 0.2
    assert loose.norm.mean() > 5.0
    gap = loose.codelength_part - 0.5 * loose.residual_sq - 0.2 * loose.norm
    assert np.ptp(gap) < 1e-10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sampler": "gibbs"}, "sampler must be one of"),
        ({"solver": "magic"}, "solver must be one of"),
        ({"n_draws": 0}, "n_draws must be an integer"),
        ({"n_chains": 1.5}, "n_chains must be an integer"),
        ({"record": ("coef",)}, "record takes any of"),
        ({"truth": np.ones(3)}, "truth must hold 4"),
        ({"leaps": 3}, "has no option 'leaps'; its options are: none"),
        ({"tau": -1.0}, "tau must be positive"),
    ],
)
def test_what_cannot_be_used_is_refused(design, arguments, message):
    with pytest.raises(InvalidProblem, match=message):
        sample(shtarkov.Lasso(design), 1.0, **{"n_draws": 5, "seed": 0, **arguments})
