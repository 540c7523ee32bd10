"""Settings of the samplers and of the accuracy asked for: frozen, checked when made."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from joblib.parallel import get_active_backend

from shtarkov.errors import InvalidProblem


def _require(condition: bool, name: str, value: object, rule: str) -> None:
    if not condition:
        msg = f"{name} must be {rule}; got {value!r}"
        raise InvalidProblem(msg)


def _require_count(name: str, value: object, least: int) -> None:
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    _require(is_integer, name, value, f"an integer of at least {least}")
    assert isinstance(value, int | np.integer)
    _require(bool(value >= least), name, value, f"an integer of at least {least}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerSettings:
    """How chains are run.

    Attributes
    ----------
    n_chains : independent chains; R-hat needs at least two, and four find a stuck one reliably
    n_warmup : steps used to tune the step size and thrown away
    n_draws : recorded draws per chain
    chunk_length : steps between two returns to Python, for progress and for Ctrl-C
    target_acceptance : mean acceptance probability the step size is tuned to
    max_failure_share : share of steps with a bad status above which the run is raised as an error
    n_jobs : worker threads; None means as many as joblib's current setting, -1 all cores
    """

    n_chains: int = 4
    n_warmup: int = 1000
    n_draws: int = 1000
    chunk_length: int = 250
    target_acceptance: float = 0.8
    max_failure_share: float = 0.01
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        _require_count("n_chains", self.n_chains, 1)
        _require_count("n_warmup", self.n_warmup, 0)
        _require_count("n_draws", self.n_draws, 1)
        _require_count("chunk_length", self.chunk_length, 1)
        target, share = self.target_acceptance, self.max_failure_share
        _require(0.0 < target < 1.0, "target_acceptance", target, "between 0 and 1")
        _require(0.0 <= share <= 1.0, "max_failure_share", share, "between 0 and 1")
        jobs: object = self.n_jobs
        usable = jobs is None or (isinstance(jobs, int | np.integer) and jobs != 0)
        _require(usable, "n_jobs", jobs, "None, -1 or a positive integer")


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracySettings:
    """When an estimate is good enough.

    Attributes
    ----------
    std_error : standard error asked for, in nats
    max_draws : draws per chain after which sampling stops; the larger error is then reported
    max_rank_rhat : rank-normalised R-hat above which a result warns
    min_ess_per_chain : effective draws per chain below which a result warns
    """

    std_error: float = 0.1
    max_draws: int = 200_000
    max_rank_rhat: float = 1.01
    min_ess_per_chain: float = 100.0

    def __post_init__(self) -> None:
        error: object = self.std_error
        is_number = isinstance(error, int | float | np.floating)
        usable = is_number and math.isfinite(self.std_error) and self.std_error > 0.0
        _require(usable, "std_error", error, "positive and finite")
        _require_count("max_draws", self.max_draws, 1)
        rhat, ess = self.max_rank_rhat, self.min_ess_per_chain
        _require(rhat > 1.0, "max_rank_rhat", rhat, "greater than 1")
        _require(ess >= 0.0, "min_ess_per_chain", ess, "zero or more")


def check_run(*, std_error: float, max_draws: int, n_chains: int, n_jobs: int | None) -> None:
    """Refuse options of a sampled estimate that cannot work, before anything is computed."""
    AccuracySettings(std_error=std_error, max_draws=max_draws)
    SamplerSettings(n_chains=n_chains, n_jobs=n_jobs)


def n_threads(n_jobs: int | None) -> int:
    """Give the threads that `n_jobs` stands for; None means joblib's current setting.

    The backend asked is that of threads: one of processes complains inside a child process.
    """
    threads, _ = get_active_backend(prefer="threads")
    _, current = get_active_backend()
    return int(threads.effective_n_jobs(current if n_jobs is None else n_jobs))
