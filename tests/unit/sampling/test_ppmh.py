"""The pieces of PPMH: covariances against explicit matrices, options, routes, failures."""

import numpy as np
import pytest

import shtarkov
from shtarkov.errors import InvalidProblem
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of
from shtarkov.sampling import ppmh_geometry, ppmh_run
from shtarkov.sampling.ppmh_run import PpmhOptions, make_proposal
from shtarkov.sampling.sample import sample

N = 6


def solved(covariance, solver, seed=0):
    """A point with its geometry: (family, proposal, work, geometry, X_A, lam2)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 8))
    problem = shtarkov.ElasticNet(X, lam2=0.7) if covariance == "d_en" else shtarkov.Lasso(X)
    family = family_of(problem, 1.5)
    options = PpmhOptions(epsilon=0.2, covariance=covariance)
    proposal = make_proposal(family, solver, options)
    work = protocol.new_work(family, 8)
    y = 3.0 * rng.standard_normal(N)
    protocol.image(family, y, work.z)
    assert protocol.relax(family, y, work) == 0
    geometry = ppmh_geometry.new_geometry(N, 8, True, True)
    assert ppmh_geometry.prepare(proposal, family, work, geometry) == 0
    active = work.active[: work.counts[0]]
    assert active.size > 1
    return family, proposal, work, geometry, family.Xt[active].T, 0.7


def explicit(covariance, X_active, lam2):
    gram = X_active.T @ X_active
    if covariance == "d_en":
        bent = gram + lam2 * np.eye(gram.shape[0])
        return (np.eye(N) - X_active @ np.linalg.solve(bent, X_active.T)) / (1.0 + lam2)
    span = X_active @ np.linalg.solve(gram, X_active.T)
    return np.eye(N) - 0.8 * span


def displacement(family, proposal, work, geometry, xi, eta):
    out, image = np.zeros(N), np.zeros(family.Xt.shape[0])
    ppmh_geometry.displace(
        proposal, family, work, geometry, xi, family.Xt @ xi, eta, np.zeros(8), out, image
    )
    np.testing.assert_allclose(image, family.Xt @ out, atol=1e-12)
    return out


@pytest.mark.parametrize("covariance", ["projector", "d_en"])
@pytest.mark.parametrize("solver", ["schur", "qr", "dense"])
def test_covariance_determinant_and_form(covariance, solver):
    family, proposal, work, geometry, X_active, lam2 = solved(covariance, solver)
    S = explicit(covariance, X_active, lam2)
    k = X_active.shape[1]
    zero_n, zero_k = np.zeros(N), np.zeros(8)
    columns = [displacement(family, proposal, work, geometry, row, zero_k) for row in np.eye(N)]
    if covariance == "d_en":
        columns += [
            displacement(family, proposal, work, geometry, zero_n, row) for row in np.eye(8)[:k]
        ]
    root = np.array(columns).T
    np.testing.assert_allclose(root @ root.T, S, atol=1e-12)
    assert geometry.numbers[ppmh_geometry.LOG_DET] == pytest.approx(np.linalg.slogdet(S)[1])
    delta = np.random.default_rng(1).standard_normal(N)
    form = ppmh_geometry.inverse_form(proposal, family, work, geometry, delta, np.zeros(8))
    assert form == pytest.approx(delta @ np.linalg.solve(S, delta))


def test_copying_a_geometry_copies_what_is_used():
    for solver in ("schur", "qr", "dense"):
        family, proposal, work, geometry, _, _ = solved("projector", solver)
        copy = ppmh_geometry.new_geometry(N, 8, True, True)
        ppmh_geometry.copy_geometry(geometry, copy)
        delta = np.arange(1.0, N + 1.0)
        forms = [
            ppmh_geometry.inverse_form(proposal, family, work, g, delta, np.zeros(8))
            for g in (geometry, copy)
        ]
        assert forms[0] == forms[1]


def test_auto_leaves_the_gram_matrix_where_it_is_ill_conditioned(monkeypatch):
    monkeypatch.setattr(ppmh_run, "QR_BEYOND", 3.0)
    X = np.random.default_rng(3).standard_normal((8, 5))
    chains = sample(shtarkov.Lasso(X), 0.5, sampler="ppmh", n_draws=800, n_warmup=200, seed=0)
    routes = chains.extras["route"]
    assert set(np.unique(routes)) == {ppmh_geometry.SCHUR, ppmh_geometry.QR}
    assert chains.k[routes == ppmh_geometry.QR].min() >= 2


def test_the_papers_rule_is_a_policy():
    family = family_of(shtarkov.Lasso(np.eye(4)), 1.0)
    assert set(ppmh_run.route_table(family, "auto", "paper")) == {ppmh_geometry.SCHUR}
    assert set(ppmh_run.route_table(family, "dense", "paper")) == {ppmh_geometry.DENSE}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be positive"),
        ({"start": "zero"}, "start must be one of"),
        ({"step": -1.0}, "step must be positive"),
        ({"covariance": "identity"}, "covariance is one of"),
        ({"covariance": "d_en"}, "needs the Elastic Net"),
        ({"thin": 0}, "thin must be"),
        ({"leaps": 3}, "has no option 'leaps'; its options are: epsilon, step"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(InvalidProblem, match=message):
        sample(shtarkov.Lasso(np.eye(3)), 1.0, sampler="ppmh", n_draws=5, seed=0, **options)


@pytest.mark.parametrize(
    "X",
    [
        np.ones((1, 1)),
        np.array([[1.0, 1.0, 0.3], [0.0, 0.0, 2.0]]),  # a duplicate
        np.array([[1.0, 0.0], [0.5, 0.0], [0.2, 0.0]]),  # a zero column
        1e6 * np.eye(2),
        1e-6 * np.eye(2),
    ],
    ids=["one", "duplicate", "zero", "large", "small"],
)
def test_designs_outside_our_comfort(X):
    lam = 0.8 * float(np.linalg.norm(X, axis=0).max())
    chains = sample(
        shtarkov.Lasso(X), lam, sampler="ppmh", n_draws=200, n_warmup=128, n_chains=1, seed=0
    )
    assert np.isfinite(chains.envelope).all()
    assert chains.accepted.sum() > 10
    assert chains.kkt_residual.max() < 1e-9


def test_recorded_mean_square_and_resume(tmp_path):
    X = np.random.default_rng(0).standard_normal((5, 4))
    settings = {"sampler": "ppmh", "n_warmup": 64, "n_chains": 2, "seed": 1, "truth": np.ones(4)}
    problem = shtarkov.Lasso(X)
    whole = sample(problem, 1.0, n_draws=ppmh_run.CHUNK_DRAWS + 50, **settings)
    part = sample(problem, 1.0, n_draws=ppmh_run.CHUNK_DRAWS, checkpoint=tmp_path, **settings)
    rest = sample(problem, 1.0, n_draws=ppmh_run.CHUNK_DRAWS + 50, checkpoint=tmp_path, **settings)
    np.testing.assert_array_equal(rest.envelope, whole.envelope)
    np.testing.assert_array_equal(rest.extras["mse"][:, : part.n_draws], part.extras["mse"])
