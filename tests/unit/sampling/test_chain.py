"""A chain: addressed, growing when it must, loud when it fails."""

import numpy as np
import pytest

from shtarkov.errors import NotConverged
from shtarkov.families.lasso import LassoFamily
from shtarkov.families.observables import KKT_RESIDUAL, K
from shtarkov.sampling import chain as chain_module
from shtarkov.sampling.chain import MAX_LEAPS, Chain, tuning_for
from shtarkov.seeds import rng_for
from shtarkov.types import Status


def make_family(shape, lam, seed=3, gram=True):
    Xt = np.ascontiguousarray(np.random.default_rng(seed).standard_normal(shape).T)
    return LassoFamily(Xt, Xt @ Xt.T if gram else np.zeros((0, 0)), lam, 0.0, 0.0)


def run(family, n_draws, **options):
    chain = Chain(family, family.lam, rng_for(5, 2, 1), **options)
    chain.warm_up(10)
    chain.extend(n_draws)
    return chain


def test_an_address_repeats_a_chain():
    family = make_family((4, 6), 1.0)
    first, again = run(family, 20), run(family, 20)
    assert np.array_equal(first.segments[0].trace, again.segments[0].trace)


def test_room_grows_when_a_move_needs_it(monkeypatch):
    family = make_family((12, 20), 0.3)
    roomy = run(family, 15)
    monkeypatch.setattr(chain_module, "FIRST_CAPACITY", 1)
    grown = run(family, 15)
    assert roomy.column(K).max() > 4
    assert grown.state.work.active.size >= grown.column(K).max()
    assert grown.column(K) == pytest.approx(roomy.column(K))
    assert grown.failures[1:].sum() == 0


def test_no_gram_matrix_gives_the_same_draws():
    held, none = make_family((5, 8), 0.8), make_family((5, 8), 0.8, gram=False)
    assert run(none, 15).segments[0].trace == pytest.approx(run(held, 15).segments[0].trace)


def test_supports_data_and_probes_are_those_of_the_draws():
    family = make_family((5, 8), 0.8)
    chain = run(
        family, 20, probe_lams=np.array([0.8, 1e6]), probe_every=5, keep_supports=True,
        keep_data=True,
    )  # fmt: skip
    assert np.array_equal(chain.gathered("supports").sum(axis=1), chain.column(K))
    data, probes = chain.gathered("data")[4::5], chain.gathered("probes")
    envelopes = chain.column(chain_module.OBSERVABLES.index("envelope"))[4::5]
    assert probes[:, 0] == pytest.approx(envelopes)
    assert probes[:, 1] == pytest.approx(0.5 * (data**2).sum(axis=1))
    assert chain.column(KKT_RESIDUAL).max() < 1e-8


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (3, 1)])
@pytest.mark.parametrize("lam", [1e-3, 1.0, 1e3])
def test_smallest_designs_and_extreme_penalties(shape, lam):
    chain = run(make_family(shape, lam), 10)
    assert np.isfinite(chain.segments[0].trace).all()
    assert chain.failures[1:].sum() == 0


def test_too_many_failed_moves_are_an_error():
    chain = run(make_family((4, 6), 1.0), 10)
    chain.segments[0].failures[Status.SINGULAR_GRAM] = 5
    with pytest.raises(NotConverged, match="SINGULAR_GRAM"):
        chain.extend(5)


def test_flow_time_is_kept_as_steps_shrink():
    assert tuning_for(1.3, 1.0).n_leaps == 1
    assert tuning_for(0.7, 1.0).n_leaps == 2
    assert tuning_for(1e-6, 1.0).n_leaps == MAX_LEAPS


def test_modelled_work_grows_with_the_design():
    small, large = run(make_family((4, 6), 1.0), 5), run(make_family((4, 60), 1.0), 5)
    assert 0.0 < small.work_per_draw < large.work_per_draw
