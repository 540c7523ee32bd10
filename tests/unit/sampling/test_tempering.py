"""Replica exchange: the ladder, swaps, energies, replicas, resuming."""

import numpy as np
import pytest

import shtarkov
from shtarkov.errors import InvalidProblem
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of
from shtarkov.sampling import tempering_run
from shtarkov.sampling.chains import Chains
from shtarkov.sampling.exchange import count_round_trips
from shtarkov.sampling.sample import sample

LAMS = [1.0, 1.6, 2.6]


@pytest.fixture(scope="module")
def problem():
    return shtarkov.Lasso(np.random.default_rng(7).standard_normal((5, 7)))


def run(problem, lam=1.0, n_draws=40, **more):
    settings = {"n_warmup": 10, "n_chains": 2, "seed": 5, "lams": LAMS, **more}
    return sample(problem, lam, sampler="tempering", n_draws=n_draws, **settings)


def energy(problem, lam, tau, y):
    family = family_of(problem, lam)
    fit = protocol.solve(family, y, protocol.new_work(family, 10))
    return 0.5 * fit.residual @ fit.residual + tau * np.abs(fit.coef).sum()


def test_the_draws_are_those_of_the_rung_asked_for(problem):
    for lam in (1.0, 1.6):
        chains = run(problem, lam, record=("data", "active"))
        rung = LAMS.index(lam)
        np.testing.assert_array_equal(chains.ladder, np.stack([LAMS, LAMS], axis=1))
        assert chains.lam == lam
        for t in (0, 20, 35):
            data = chains.extras["data"][1, t]
            wanted = energy(problem, lam, lam, data)
            assert chains.envelope[1, t] == pytest.approx(wanted)
            assert chains.extras["active"][1, t].sum() == chains.k[1, t]
            if t % 5 == 0:
                own = chains.extras["energies"][1, t, rung]
                np.testing.assert_allclose(own, [energy(problem, a, a, data) for a in LAMS])


def test_energies_come_as_often_as_asked(problem):
    chains = run(problem, energies_every=4)
    present = np.isfinite(chains.extras["energies"]).all(axis=(2, 3))
    assert (present.sum(axis=1) == 10).all()
    assert present[:, ::4].all()


@pytest.mark.parametrize("ladder", [{}, {"lams": None, "taus": [1.0, 0.5, 0.2]}])
def test_swaps_have_the_probability_of_their_energies_and_exchange_the_data(problem, ladder):
    chains = run(problem, n_draws=60, energies_every=1, **ladder)
    energies, swaps = chains.extras["energies"], chains.extras["swap_probability"]
    replicas, seen = chains.extras["replica"], set()
    for chain in range(2):
        for t in range(1, 60):
            for low in range(2):
                tried = (t + low) % 2 == 0
                swapped = replicas[chain, t, low] == replicas[chain, t - 1, low + 1]
                assert np.isfinite(swaps[chain, t, low]) == tried
                if not tried:
                    continue
                table = energies[chain, t, low : low + 2, low : low + 2]
                # What was recorded is what the swap left: turned round if it happened.
                gap = table[0, 1] + table[1, 0] - table[0, 0] - table[1, 1]
                ratio = np.exp(min(0.0, gap if swapped else -gap))
                assert swaps[chain, t, low] == pytest.approx(ratio, abs=1e-9)
                seen.add(swapped)
    assert seen == {True, False}


def test_replicas_are_numbered_once(problem):
    replicas = run(problem).extras["replica"]
    assert (np.sort(replicas, axis=2) == np.arange(3)).all()
    assert (replicas[:, 1:] != replicas[:, :-1]).any()


def test_round_trips_are_counted_at_the_first_rung():
    path = np.array([[0, 1], [1, 0], [0, 1], [0, 1], [1, 0], [0, 1]])
    # Replica 0 is at the first rung, at the last, back, again at the last and back; 1 the opposite.
    assert count_round_trips(path) == 2 + 1
    assert count_round_trips(path[:2]) == 0


def test_swap_rates_and_round_trips(problem):
    chains = run(problem, n_draws=200)
    found = chains.exchange
    assert found.swap_rates.shape == (2,)
    assert (found.swap_rates > 0.1).all()
    assert found.round_trips.shape == (2,)
    assert found.draws_per_round_trip == pytest.approx(200 / found.round_trips.mean())
    with pytest.raises(InvalidProblem, match="has no replicas"):
        sample(problem, 1.0, n_draws=5, n_chains=1, seed=0).exchange  # noqa: B018


def test_the_default_ladders_end_where_little_is_active(problem):
    matched = run(problem, lams=None).ladder
    assert matched[0].tolist() == [1.0, 1.0]
    assert (np.diff(matched[:, 0]) > 0.0).all()
    np.testing.assert_array_equal(matched[:, 0], matched[:, 1])
    free = run(problem, lams=None, tau=0.2).ladder
    assert (free[:, 0] == 1.0).all()
    assert free[0, 1] == 0.2
    assert free[-1, 1] == 1.0
    heavy = run(problem, lams=None, tau=4.0).ladder
    assert heavy[0, 1] == 4.0
    assert heavy[-1, 1] == 1.0


def test_units_follow_the_noise_scale(problem):
    plain = run(problem)
    scaled = run(problem, 3.0, sigma=3.0, lams=[3.0 * lam for lam in LAMS])
    np.testing.assert_allclose(scaled.envelope, 9.0 * plain.envelope, rtol=1e-9)
    np.testing.assert_allclose(scaled.ladder, 3.0 * plain.ladder)
    np.testing.assert_allclose(
        scaled.extras["energies"], plain.extras["energies"], rtol=1e-9, equal_nan=True
    )


def test_room_grows_inside_the_loop(problem, monkeypatch):
    roomy = run(problem, 0.4, lams=[0.4, 0.8])
    monkeypatch.setattr(tempering_run, "FIRST_CAPACITY", 1)
    grown = run(problem, 0.4, lams=[0.4, 0.8])
    assert roomy.k.max() > 2
    assert np.isfinite(grown.envelope).all()
    assert grown.kkt_residual.max() < 1e-9


def test_resume_and_files(problem, tmp_path, monkeypatch):
    monkeypatch.setattr(tempering_run, "CHUNK_DRAWS", 15)  # odd: the schedule must carry on
    whole = run(problem, n_draws=45)
    run(problem, n_draws=15, checkpoint=tmp_path / "run")
    rest = run(problem, n_draws=45, checkpoint=tmp_path / "run")
    np.testing.assert_array_equal(rest.envelope, whole.envelope)
    np.testing.assert_array_equal(rest.extras["replica"], whole.extras["replica"])
    pytest.importorskip("h5netcdf")
    whole.save(tmp_path / "draws.nc")
    back = Chains.load(tmp_path / "draws.nc")
    np.testing.assert_array_equal(back.ladder, whole.ladder)
    np.testing.assert_array_equal(back.exchange.round_trips, whole.exchange.round_trips)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lams": [1.0]}, "of two at least"),
        ({"lams": [1.0, 2.0], "taus": [1.0]}, "of equal length"),
        ({"lams": [1.5, 2.0]}, "must hold lam and tau"),
        ({"lams": [1.0, 1.0]}, "must hold lam and tau"),
        ({"lams": [1.0, -2.0]}, "positive and finite"),
        ({"energies_every": 0}, "energies_every must be"),
        ({"swaps": 3}, "has no option 'swaps'; its options are: lams, taus"),
    ],
)
def test_options_are_checked(problem, options, message):
    with pytest.raises(InvalidProblem, match=message):
        run(problem, n_draws=5, **options)
