"""Addressed randomness."""

import numpy as np
import pytest

from shtarkov.errors import InvalidProblem
from shtarkov.seeds import resolve_seed, rng_for


def test_each_address_has_its_own_stream_and_always_the_same():
    addresses = [(lam_index, chain) for lam_index in range(3) for chain in range(3)]
    first = {address: rng_for(7, *address).standard_normal(4).tobytes() for address in addresses}
    again = {a: rng_for(7, *a).standard_normal(4).tobytes() for a in reversed(addresses)}
    assert first == again
    assert len(set(first.values())) == len(addresses)


def test_chain_zero_is_not_the_stream_of_the_bare_seed():
    assert rng_for(7, 0, 0).integers(2**62) != np.random.default_rng(7).integers(2**62)


def test_none_draws_entropy_that_can_be_recorded_and_used_again():
    seed = resolve_seed(None)
    assert seed != resolve_seed(None)
    assert resolve_seed(seed) == seed
    assert 0 <= seed < 2**63


def test_a_seed_sequence_gives_one_integer():
    assert resolve_seed(np.random.SeedSequence(5)) == resolve_seed(np.random.SeedSequence(5))
    assert resolve_seed(np.random.SeedSequence(5)) != resolve_seed(np.random.SeedSequence(6))


@pytest.mark.parametrize("seed", [-1, 1.5, "seven", True])
def test_other_seeds_are_refused_by_name(seed):
    with pytest.raises(InvalidProblem, match="seed must be"):
        resolve_seed(seed)
