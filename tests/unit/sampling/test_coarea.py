"""The level set through the present point, and the chain built on it."""

import numpy as np
import pytest

import shtarkov
from shtarkov.errors import InvalidProblem
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of
from shtarkov.sampling import coarea, ppmh_run
from shtarkov.sampling.level_set import level_set_of
from shtarkov.sampling.ppmh_run import make_proposal
from shtarkov.sampling.sample import sample

LAM = 4.0


def problem_of(ridge, n=8, n_features=9):
    X = np.random.default_rng(4).standard_normal((n, n_features))
    return shtarkov.ElasticNet(X, lam2=ridge) if ridge else shtarkov.Lasso(X)


def placed(problem, lam, held=True):
    """A chain's state at a point with active columns, its family and the room of its level set."""
    family = family_of(problem, lam)
    if not held:
        family = family._replace(gram=np.zeros((0, 0)))
    proposal = make_proposal(family, "schur", ppmh_run.PpmhOptions())
    state = coarea_state(family, proposal)
    return family, state, coarea.level_room(family, state)


def coarea_state(family, proposal):
    from shtarkov.sampling.ppmh import new_state, place

    n = family.Xt.shape[1]
    state = new_state(family, n, 9, True, False)
    y = 3.0 * np.random.default_rng(1).standard_normal(n)
    assert place(family, 1.0, y, proposal, state) == 0
    assert 0 < state.work.counts[0] < n
    return state


def coef_of(work):
    coef = np.zeros(work.corr.size)
    k = work.counts[0]
    coef[work.active[:k]] = work.coef[:k]
    return coef


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.6])
def test_the_level_set_is_that_of_the_coefficients(ridge, held):
    family, state, room = placed(problem_of(ridge), LAM, held)
    assert coarea.enter_level_set(family, state.work, room)
    slow = level_set_of(family, coef_of(state.work))
    np.testing.assert_allclose(room.centre, slow.centre, atol=1e-12)
    inactive = np.isfinite(slow.walls.low)
    np.testing.assert_allclose(room.walls.low[inactive], slow.walls.low[inactive], atol=1e-12)
    np.testing.assert_allclose(room.walls.high[inactive], slow.walls.high[inactive], atol=1e-12)
    assert np.isinf(room.walls.low[~inactive]).all()
    np.testing.assert_allclose(family.Xt[~inactive] @ room.slab.z, 0.0, atol=1e-12)
    np.testing.assert_allclose(
        room.slab.image[inactive], (family.Xt @ room.slab.z)[inactive], atol=1e-12
    )


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.6])
def test_a_move_within_the_stratum_leaves_a_solved_point(ridge, held):
    family, state, room = placed(problem_of(ridge), LAM, held)
    rng, before = np.random.default_rng(2), state.y.copy()
    cell = set(state.work.active[: state.work.counts[0]])
    for _ in range(100):
        assert coarea.within_stratum(family, LAM, state, room, rng) == 0
    assert np.abs(state.y - before).max() > 0.1
    assert set(state.work.active[: state.work.counts[0]]) == cell
    fresh = protocol.solve(family, state.y, protocol.new_work(family, 9))
    np.testing.assert_allclose(fresh.coef, coef_of(state.work), atol=1e-11)
    np.testing.assert_allclose(fresh.residual, state.work.residual, atol=1e-11)
    np.testing.assert_allclose(family.Xt @ state.work.residual, state.work.corr, atol=1e-11)
    if held:
        np.testing.assert_allclose(family.Xt @ state.y, state.work.z, atol=1e-11)


def test_where_no_direction_is_left_only_the_fibre_moves():
    X = np.array([[1.0]])
    chains = sample(
        shtarkov.Lasso(X), 0.3, sampler="coarea", n_draws=200, n_warmup=64, n_chains=1, seed=0
    )
    assert 0.5 < chains.k.mean() < 1.0
    assert chains.kkt_residual.max() < 1e-12
    assert not chains.failures


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1.0, 1.0, 0.3], [0.0, 0.0, 2.0]]),  # a duplicate
        np.array([[1.0, 0.0], [0.5, 0.0], [0.2, 0.0]]),  # a zero column
        1e6 * np.eye(2),
        1e-6 * np.eye(2),
    ],
    ids=["duplicate", "zero", "large", "small"],
)
def test_designs_outside_our_comfort(X):
    lam = 0.8 * float(np.linalg.norm(X, axis=0).max())
    chains = sample(
        shtarkov.Lasso(X), lam, sampler="coarea", n_draws=60, n_warmup=128, n_chains=1, seed=0
    )
    assert np.isfinite(chains.envelope).all()
    assert len(np.unique(chains.envelope)) > 50
    assert chains.kkt_residual.max() < 1e-9


def test_growing_the_room_changes_nothing(monkeypatch):
    settings = {"sampler": "coarea", "n_draws": 60, "n_warmup": 0, "n_chains": 1, "step": 1.5}
    problem = problem_of(0.0)
    whole = sample(problem, 1.0, seed=3, **settings)
    monkeypatch.setattr(ppmh_run, "FIRST_CAPACITY", 1)
    grown = sample(problem, 1.0, seed=3, **settings)
    assert whole.k.max() > 2
    np.testing.assert_allclose(grown.envelope, whole.envelope, atol=1e-9)


def test_resume(tmp_path, monkeypatch):
    monkeypatch.setattr(coarea, "CHUNK_DRAWS", 20)
    settings = {"sampler": "coarea", "n_chains": 2, "n_warmup": 64, "seed": 1}
    problem = problem_of(0.0)
    whole = sample(problem, 2.0, n_draws=50, **settings)
    sample(problem, 2.0, n_draws=20, checkpoint=tmp_path, **settings)
    rest = sample(problem, 2.0, n_draws=50, checkpoint=tmp_path, **settings)
    np.testing.assert_array_equal(rest.envelope, whole.envelope)
    np.testing.assert_array_equal(rest.accepted, whole.accepted)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"crossings": 0}, "crossings must be"),
        ({"epsilon": 0.0}, "epsilon must be positive"),
        ({"thin": 2}, "has no option 'thin'; its options are: crossings"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(InvalidProblem, match=message):
        sample(shtarkov.Lasso(np.eye(3)), 1.0, sampler="coarea", n_draws=5, seed=0, **options)
