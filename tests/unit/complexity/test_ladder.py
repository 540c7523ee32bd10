"""The ladder's bookkeeping: allocation of draws, errors of rare counts, progress, Ctrl-C."""

import os
import signal
import types

import numpy as np
import pytest

from shtarkov import Lasso
from shtarkov.complexity import ladder, rung
from shtarkov.complexity.integrands import slope_in_lam
from shtarkov.complexity.rung import Rung
from shtarkov.families.compiled import family_of
from shtarkov.progress import METER_UNITS, Meter, SilentProgress


class Listener(SilentProgress):
    def __init__(self):
        self.steps = []
        self.numbers = []

    def advance(self, n, **numbers):
        self.steps.append(n)
        self.numbers.append(numbers)


class FakeChain:
    """Draws of known spread; counts of k that are rare or not."""

    facts = types.SimpleNamespace(norm_counts_active=True)

    def __init__(self, seed, spread=1.0, active=1.0, length=1, work=1.0, shift=0.0):
        self.rng, self.spread, self.shift = np.random.default_rng(seed), spread, shift
        self.active, self.length, self.work_per_draw = active, length, work
        self.draws, self.k = np.zeros(0), np.zeros(0)
        self.interrupt_at = None

    @property
    def n_draws(self):
        return self.draws.size

    def warm_up(self, n_steps):
        assert n_steps == ladder.WARM_UP

    def extend(self, n_draws):
        if self.interrupt_at is not None and self.n_draws >= self.interrupt_at:
            raise KeyboardInterrupt
        new = self.shift + self.spread * self.rng.standard_normal(n_draws)
        self.draws = np.concatenate([self.draws, new])
        starts = self.rng.random(n_draws // self.length) < self.active
        k = np.zeros(n_draws)
        k[: starts.size * self.length] = np.repeat(starts, self.length)
        self.k = np.concatenate([self.k, k])

    def column(self, index):
        return self.k


def integrand(chain):
    # A control that explains nothing.
    return chain.draws, np.random.default_rng(1).standard_normal((1, chain.n_draws))


def make(*options, expected=5.0, n_chains=4):
    return [
        Rung([FakeChain(10 * i + c, **each) for c in range(n_chains)], expected)
        for i, each in enumerate(options)
    ]


def sample(rungs, wanted, weights=None, max_draws=10**6, n_jobs=None, bar=None):
    return ladder.sample_until(
        rungs,
        np.ones((1, len(rungs))) if weights is None else weights,
        wanted,
        integrand,
        max_draws=max_draws,
        n_jobs=n_jobs,
        meter=Meter(bar or SilentProgress()),
    )


def test_draws_go_where_spread_is_large_and_cost_small():
    rungs = make({"spread": 1.0}, {"spread": 4.0}, {"spread": 4.0, "work": 16.0})
    assert sample(rungs, 0.03) == ""
    n = [each.n_draws for each in rungs]
    assert n[1] / n[0] == pytest.approx(4.0, rel=0.3)
    assert n[1] / n[2] == pytest.approx(4.0, rel=0.3)
    assert ladder.functional_error(rungs, np.ones((1, 3))).max() <= 0.03


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_change_nothing(n_jobs):
    one, other = make({}, {"spread": 3.0}), make({}, {"spread": 3.0})
    sample(one, 0.1)
    sample(other, 0.1, n_jobs=n_jobs)
    for left, right in zip(one, other, strict=True):
        assert left.mean == right.mean
        assert left.n_draws == right.n_draws


def test_a_limit_on_draws_is_told_of():
    rungs = make({"spread": 9.0})
    assert sample(rungs, 0.01, max_draws=200) == ladder.UNREACHED
    assert rungs[0].chains[0].n_draws == 200


def test_chains_that_disagree_are_run_on():
    rungs = make({"spread": 0.01})
    for index, chain in enumerate(rungs[0].chains):
        chain.shift = 0.01 * index
    assert sample(rungs, 10.0, max_draws=2000) == ""
    assert rungs[0].chains[0].n_draws == 2000
    assert ladder.unsettled(rungs[0])


def test_progress_fills_the_bar_and_never_goes_back():
    bar = Listener()
    assert sample(make({"spread": 3.0}, {"spread": 5.0}), 0.1, bar=bar) == ""
    assert min(bar.steps) > 0
    assert 0.8 * METER_UNITS <= sum(bar.steps) <= METER_UNITS
    assert 0.1 < bar.numbers[-1]["std_error"] < 1.0


def test_ctrl_c_after_the_pilot_keeps_what_is_known():
    rungs = make({"spread": 3.0}, {"spread": 3.0})
    rungs[1].chains[2].interrupt_at = ladder.PILOT
    assert sample(rungs, 0.01) == ladder.INTERRUPTED
    assert all(np.isfinite(each.mean) and each.variance < np.inf for each in rungs)
    shortest = min(chain.n_draws for chain in rungs[1].chains)
    assert rungs[1].series.shape == (4, shortest)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_ctrl_c_in_the_pilot_is_raised(n_jobs):
    rungs = make({"spread": 3.0}, {"spread": 3.0})
    rungs[1].chains[2].interrupt_at = 0
    with pytest.raises(KeyboardInterrupt):
        sample(rungs, 0.01, n_jobs=n_jobs)


def test_ctrl_c_waits_for_the_end_of_compiled_work():
    # Raised on the way into compiled code, where numba reads a generator, it would end the process.
    rungs = make({}, n_chains=2)
    chain, before = rungs[0].chains[0], signal.getsignal(signal.SIGINT)
    draw = chain.extend

    def press(n_draws):
        os.kill(os.getpid(), signal.SIGINT)
        draw(n_draws)

    chain.extend = press
    tasks = [(each, 10) for each in rungs[0].chains]
    with pytest.raises(KeyboardInterrupt):
        ladder.advance_chains(tasks, ladder.WARM_UP, 5, 1, SilentProgress())
    assert [each.n_draws for each in rungs[0].chains] == [10, 0]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_control_whose_rare_event_was_not_met_explains_nothing(rng):
    # Its mean of zero is made of -0.001 nearly always and of 1 once in a thousand draws.
    def unlucky(chain):
        small = -0.001 - 1e-4 * chain.noise
        return 1.0 + chain.noise, small[None]

    noise = rng.standard_normal((4, 40))
    chains = [types.SimpleNamespace(n_draws=40, noise=row, column=lambda _: np.ones(40))
              for row in noise]  # fmt: skip
    told = Rung(chains, 5.0)
    told.refresh(unlucky)
    assert abs(told.mean - 1.0) < 4.0 * np.sqrt(told.variance)
    assert told.variance > 0.5 / noise.size


def test_an_alarm_of_short_chains_asks_for_more_draws():
    short, long = make({"shift": 0.0})[0], make({"shift": 0.0})[0]
    for each, n_draws in ((short, 40), (long, ladder.BELIEVED_DRAWS)):
        for chain in each.chains:
            chain.extend(n_draws)
        each.refresh(lambda chain: (chain.draws, 1.0 + 0.1 * chain.draws[None]))
        assert max(abs(z) for z in each.checks) > ladder.ALARM
    assert ladder.doubtful(short)
    assert not ladder.doubtful(long)


def test_a_rare_count_has_at_least_the_error_of_its_excursions():
    never = make({"spread": 0.0, "active": 0.0}, expected=0.01)[0]
    long = make({"spread": 0.0, "active": 0.1, "length": 10}, expected=0.0005)[0]
    for each, n_draws in ((never, 400), (long, 40_000)):
        for chain in each.chains:
            chain.extend(n_draws)
        each.refresh(integrand)
    assert never.variance == pytest.approx(2.0 * 0.01 / 1600)
    # Blocks of ten that follow one another are one excursion: 10 / 0.9 draws on average.
    assert long.variance == pytest.approx(2.0 * (10.0 / 0.9) * 0.0005 / 160_000, rel=0.1)
    common = make({"spread": 0.0, "active": 1.0}, expected=5.0)[0]
    common.chains[0].extend(400)
    common.chains = common.chains[:1]
    common.refresh(integrand)
    assert common.variance == 0.0


def test_controls_of_zero_mean_take_their_share_of_the_spread_away(rng):
    noise = rng.standard_normal((4, 1000))
    chains = [types.SimpleNamespace(n_draws=1000, noise=row, column=lambda _: np.ones(1000))
              for row in noise]  # fmt: skip
    plain, helped = Rung(chains, 5.0), Rung(chains, 5.0)
    extra = iter(rng.standard_normal((8, 1000)) * 0.1)
    plain.refresh(lambda chain: (2.0 + chain.noise + next(extra), rng.normal(size=(1, 1000))))
    helped.refresh(lambda chain: (2.0 + chain.noise + next(extra), chain.noise[None]))
    assert helped.variance < 0.05 * plain.variance
    assert abs(helped.mean - 2.0) < 4.0 * np.sqrt(helped.variance)
    assert len(helped.checks) == 1
    assert abs(helped.checks[0]) < 4.0


def test_any_chain_of_a_ladder_can_be_run_alone():
    family = family_of(Lasso(np.eye(2)), 1.0)
    points = [(2.0, 2.0), (1.0, 1.0)]
    options = {"seed": 3, "n_chains": 2, "probe": True, "expected": np.ones(2)}
    rungs = ladder.make_rungs(family, points, **options)
    ladder.extend(rungs, [10, 10], None, SilentProgress())
    alone = ladder.make_rungs(family, points, **options)[1].chains[1]
    ladder.advance_chains([(alone, 10)], ladder.WARM_UP, 5, None, SilentProgress())
    assert np.array_equal(alone.segments[0].trace, rungs[1].chains[1].segments[0].trace)
    assert slope_in_lam(alone)[0].size == 10
    assert rung.FEW_EVENTS > 0
