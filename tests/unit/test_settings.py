"""Settings refuse what cannot work, by name."""

import dataclasses

import pytest

from shtarkov.errors import InvalidProblem
from shtarkov.settings import AccuracySettings, SamplerSettings


def test_defaults_are_valid_and_frozen():
    settings = SamplerSettings()
    assert settings.n_chains == 4
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.n_chains = 2


def test_replacing_one_field_checks_it():
    assert dataclasses.replace(SamplerSettings(), n_draws=5).n_draws == 5
    with pytest.raises(InvalidProblem, match="n_draws must be an integer of at least 1; got 0"):
        dataclasses.replace(SamplerSettings(), n_draws=0)


@pytest.mark.parametrize(
    ("settings", "name", "value"),
    [
        (SamplerSettings, "n_chains", 2.0),
        (SamplerSettings, "n_chains", True),
        (SamplerSettings, "n_warmup", -1),
        (SamplerSettings, "chunk_length", 0),
        (SamplerSettings, "target_acceptance", 1.0),
        (SamplerSettings, "target_acceptance", float("nan")),
        (SamplerSettings, "max_failure_share", -0.1),
        (SamplerSettings, "n_jobs", 0),
        (AccuracySettings, "std_error", 0.0),
        (AccuracySettings, "std_error", float("inf")),
        (AccuracySettings, "max_draws", 0),
        (AccuracySettings, "max_rank_rhat", 1.0),
        (AccuracySettings, "min_ess_per_chain", -1.0),
    ],
)
def test_bad_values_are_refused_by_name(settings, name, value):
    with pytest.raises(InvalidProblem, match=f"^{name} must be"):
        settings(**{name: value})
