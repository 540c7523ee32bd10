"""The moves on a polyhedron of slabs: energy, walls, reversal, options, odd designs."""

import math

import numpy as np
import pytest

import shtarkov
from shtarkov.errors import InvalidProblem
from shtarkov.sampling import truncated_gaussian as slabs
from shtarkov.sampling.sample import sample
from shtarkov.sampling.walls import excess, fill_wall, make_walls, project


def polyhedron(n=6, n_rows=9, k=2, cache=True, held=True, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n_rows, n))
    active = np.arange(k)
    chol = np.linalg.cholesky(rows[:k] @ rows[:k].T)
    low, high = np.full(n_rows, -1.1), np.full(n_rows, 0.9)
    low[:k], high[:k] = -np.inf, np.inf
    gram = rows @ rows.T if held else np.zeros((0, 0))
    return make_walls(rows, gram, low, high, active, chol, cache=cache)


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("held", [True, False])
def test_walls_and_their_products(cache, held):
    walls = polyhedron(cache=cache, held=held)
    normal, row = np.zeros(6), np.zeros(9)
    fill_wall(walls, 5, normal, row)
    span = walls.rows[:2].T
    expected = walls.rows[5] - span @ np.linalg.lstsq(span, walls.rows[5], rcond=None)[0]
    np.testing.assert_allclose(normal, expected, atol=1e-13)
    np.testing.assert_allclose(row, walls.rows @ expected, atol=1e-12)
    v = np.arange(6.0)
    project(walls, v)
    np.testing.assert_allclose(walls.rows[:2] @ v, 0.0, atol=1e-13)


@pytest.mark.parametrize("cache", [True, False])
def test_the_flow_stays_inside_and_keeps_its_energy(cache):
    walls, rng = polyhedron(cache=cache), np.random.default_rng(1)
    state = slabs.new_slab_state(6, 9)
    total = 0
    for _ in range(200):
        accepted, n_bounces = slabs.bounce(walls, state, rng)
        assert accepted
        total += n_bounces
        assert excess(walls, walls.rows @ state.z) <= 0.0
        np.testing.assert_allclose(walls.rows[:2] @ state.z, 0.0, atol=1e-13)
    assert total > 200


def test_reflection_turns_the_normal_component_only():
    walls, rng = polyhedron(), np.random.default_rng(2)
    state = slabs.new_slab_state(6, 9)
    slabs.draw_tangent(walls, state.velocity, rng)
    state.velocity_image[:] = walls.rows @ state.velocity
    before = state.velocity.copy()
    slabs.reflect(walls, 4, state)
    assert state.velocity @ state.velocity == pytest.approx(before @ before)
    assert walls.rows[4] @ state.velocity == pytest.approx(-(walls.rows[4] @ before))
    np.testing.assert_allclose(state.velocity_image, walls.rows @ state.velocity, atol=1e-12)


def test_the_first_wall_is_the_one_a_fine_walk_meets():
    walls, rng = polyhedron(), np.random.default_rng(3)
    times = np.linspace(0.0, math.pi / 2, 20001)
    met = 0
    for _ in range(30):
        z, v = np.zeros(6), np.zeros(6)
        slabs.draw_tangent(walls, z, rng)
        z *= 0.1
        slabs.draw_tangent(walls, v, rng)
        a, b = walls.rows @ z, walls.rows @ v
        assert excess(walls, a) < 0.0
        path = np.outer(np.cos(times), a) + np.outer(np.sin(times), b)
        out = ((path > walls.high) | (path < walls.low)).any(axis=1)
        time, wall = slabs.next_wall(walls, a, b, math.pi / 2)
        if wall < 0:
            assert not out.any()
            continue
        met += 1
        assert times[np.argmax(out)] == pytest.approx(time, abs=1e-4)
    assert met > 10


def test_directions_of_the_coordinates():
    for held in (True, False):
        walls = polyhedron(held=held)
        out, image = np.zeros(6), np.zeros(9)
        slabs.coordinate_direction(walls, 3, out, image)
        unit = np.eye(6)[3]
        project(walls, unit)
        np.testing.assert_allclose(out, unit, atol=1e-13)
        np.testing.assert_allclose(image, walls.rows @ unit, atol=1e-12)


@pytest.mark.parametrize("move", ["bounce", "coordinate", "tangent"])
@pytest.mark.parametrize(
    ("X", "coef"),
    [
        (np.ones((1, 1)), [0.0]),
        (np.ones((1, 1)), [2.0]),  # no direction is left
        (np.eye(3), [1.0, 0.0, 0.0]),
        (np.array([[1.0, 1.0, 0.3], [0.0, 0.0, 2.0], [1.0, 1.0, 0.1]]), [0.0, 0.0, 1.0]),
        (1e6 * np.eye(2), [3.0, 0.0]),
        (np.array([[1.0, 0.0], [0.5, 0.0], [0.2, 0.0]]), [1.0, 0.0]),
    ],
    ids=["one", "no-room", "eye", "duplicate", "large", "zero"],
)
def test_odd_designs(move, X, coef):
    lam = 0.6 * float(np.linalg.norm(X, axis=0).max())
    chains = sample(
        shtarkov.Lasso(X),
        lam,
        sampler="level_set",
        coef=coef,
        move=move,
        n_draws=40,
        n_warmup=25,
        n_chains=1,
        seed=0,
        record=("data",),
    )
    assert chains.kkt_residual.max() < 1e-12
    assert (chains.k == np.count_nonzero(coef)).all()


def test_a_face_that_leaves_the_origin_out_is_entered():
    X = np.array([[1.0, 0.9, 0.2], [0.0, 1.0, 0.1], [0.0, 0.9, 1.5]])
    # The correlation of column 1 at the centre is beyond lam: z = 0 is outside.
    coef = np.array([1.0, 0.0, 0.9])
    level = X[:, [0, 2]]
    centre = level @ np.linalg.solve(level.T @ level, np.ones(2))
    assert abs(X[:, 1] @ centre) > 1.0
    chains = sample(
        shtarkov.Lasso(X), 1.0, sampler="level_set", coef=coef, n_draws=50, n_chains=2, seed=0
    )
    assert chains.extras["slack"].min() > 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coef": np.ones(2)}, "truth must hold 3|coef"),
        ({"coef": np.ones(3), "move": "fly"}, "move must be one of"),
        ({"coef": np.ones(3), "thin": 0}, "thin must be"),
        ({"coef": np.array([1.0, 0.0, 0.0]), "moves": "fly"}, "has no option"),
    ],
)
def test_options(options, message):
    with pytest.raises(InvalidProblem, match=message):
        sample(shtarkov.Lasso(np.eye(3)), 1.0, sampler="level_set", n_draws=5, seed=0, **options)


def test_tilting_needs_few_walls():
    X = np.random.default_rng(0).standard_normal((3, 8))
    with pytest.raises(InvalidProblem, match="use move='bounce'"):
        sample(
            shtarkov.Lasso(X),
            3.0,
            sampler="level_set",
            coef=np.zeros(8),
            move="tilting",
            n_draws=5,
            seed=0,
        )


def test_empty_level_sets_and_dependent_columns():
    X = np.array([[1.0, 3.0], [0.0, 0.0]])
    with pytest.raises(InvalidProblem, match="empty"):
        sample(shtarkov.Lasso(X), 1.0, sampler="level_set", coef=[1.0, 0.0], n_draws=5, seed=0)
    with pytest.raises(InvalidProblem, match="dependent"):
        sample(
            shtarkov.Lasso(np.ones((3, 2))),
            1.0,
            sampler="level_set",
            coef=[1.0, 1.0],
            n_draws=5,
            seed=0,
        )


def test_resume(tmp_path, monkeypatch):
    from shtarkov.sampling import level_set

    monkeypatch.setattr(level_set, "CHUNK_DRAWS", 20)
    X = np.random.default_rng(0).standard_normal((5, 4))
    settings = {"sampler": "level_set", "coef": [1.0, 0, 0, 0], "n_chains": 1, "seed": 1}
    problem = shtarkov.Lasso(X)
    whole = sample(problem, 1.0, n_draws=40, **settings)
    sample(problem, 1.0, n_draws=20, checkpoint=tmp_path, **settings)
    rest = sample(problem, 1.0, n_draws=40, checkpoint=tmp_path, **settings)
    np.testing.assert_array_equal(rest.residual_sq, whole.residual_sq)
