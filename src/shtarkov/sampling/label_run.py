"""Flips of labels as a `Run`: what `sample(sampler="label_flips")` collects from."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shtarkov.blas import one_blas_thread
from shtarkov.errors import InvalidProblem, raise_for_status
from shtarkov.families.build import check_lam, check_memory, check_non_negative
from shtarkov.families.label_family import LabelFamily
from shtarkov.families.label_problems import LabelProblem, refuse_sigma, stated_eta
from shtarkov.families.sparse_svm import label_family
from shtarkov.progress import Progress, resolve_progress, tracked
from shtarkov.sampling.checkpoint import Checkpoint, resolve_stored_seed
from shtarkov.sampling.collect import collect
from shtarkov.sampling.label_chain import LabelChain
from shtarkov.sampling.label_chains import LabelChains
from shtarkov.sampling.label_flips import SCANS, place_labels
from shtarkov.sampling.label_loop import COUNTS, LABEL_OBSERVABLES
from shtarkov.sampling.runs import Chunk, Snapshot, digest
from shtarkov.seeds import rng_for
from shtarkov.settings import SamplerSettings
from shtarkov.types import Status

CHUNK_DRAWS = 250
N_WARMUP = 300
OPEN_SCANS = tuple(name for name in SCANS if name != "pairs")


@dataclass(frozen=True, slots=True)
class FlipOptions:
    """Options of the sampler.

    Attributes
    ----------
    scan : "blocks", "systematic" or "random"
    screen : decide single flips first at the present coefficients
    thin : moves between draws; None lets the warm-up choose
    """

    scan: str = "blocks"
    screen: bool = True
    thin: int | None = None

    def __post_init__(self) -> None:
        if self.scan not in OPEN_SCANS:
            msg = f"scan must be one of {', '.join(OPEN_SCANS)}; got {self.scan!r}"
            raise InvalidProblem(msg)
        if self.thin is not None and self.thin < 1:
            msg = f"thin must be a positive number of moves; got {self.thin!r}"
            raise InvalidProblem(msg)


class LabelRun:
    """A chain of labels behind the `Run` interface."""

    def __init__(self, chain: LabelChain, data: bool) -> None:
        self.chain, self.data = chain, data

    def warm_up(self, n_steps: int) -> None:
        """Tune the size of the blocks."""
        if n_steps > 0:
            self.chain.warm_up(n_steps)
        self.settle()

    def advance(self, n_draws: int) -> Chunk:
        """Make draws."""
        began = time.perf_counter()
        self.chain.extend(n_draws)
        recording = self.chain.segments.pop()
        self.settle()
        share = float(recording.accepted[0]) / max(1.0, float(recording.flips[1]))
        extras = {"data": recording.labels} if self.data else {}
        each = (time.perf_counter() - began) / n_draws
        return Chunk(
            recording.trace,
            np.full(n_draws, share),
            recording.failures,
            np.full(n_draws, each),
            extras,
        )

    def settle(self) -> None:
        """Solve again from nothing: the state then depends on the labels alone."""
        chain = self.chain
        status = place_labels(chain.family, chain.state.y.copy(), chain.state)
        raise_for_status(status, "solving at the end of a chunk")

    def snapshot(self) -> Snapshot:
        """Give labels, tuning and stream."""
        chain = self.chain
        tuning = np.array([chain.move.drift, chain.thin, chain.state.work.active.size])
        return {
            "y": chain.state.y.copy(),
            "place": chain.state.place.copy(),
            "tuning": tuning,
            "rng": chain.rng.bit_generator.state,
        }

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        drift, thin, capacity = snapshot["tuning"]
        chain = self.chain
        while chain.state.work.active.size < int(capacity):
            chain.grow()
        chain.move = chain.move._replace(drift=float(drift))
        chain.thin = int(thin)
        chain.rng.bit_generator.state = snapshot["rng"]
        chain.state.y[:] = snapshot["y"]
        chain.state.place[:] = snapshot["place"]
        self.settle()


def sample_labels(
    problem: LabelProblem,
    lam: float,
    *,
    sigma: float,
    tau: float | None,
    sampler: str,
    solver: str,
    n_draws: int,
    n_warmup: int | None,
    n_chains: int,
    seed: int | np.random.SeedSequence | None,
    n_jobs: int | None,
    progress: bool | Progress | None,
    record: Sequence[str],
    truth: Any,
    checkpoint: str | Path | None,
    **options: Any,
) -> LabelChains:
    """Draw labels; the arguments are those of `sample`."""
    refuse_sigma(sigma)
    _refuse_others(sampler, solver, truth, record, options)
    warmup = N_WARMUP if n_warmup is None else n_warmup
    SamplerSettings(n_draws=n_draws, n_warmup=warmup, n_chains=n_chains, n_jobs=n_jobs)
    data = bool(record)
    _check_room(n_draws * n_chains, problem.design.n_samples if data else 0)
    chosen = FlipOptions(**options)
    family, eta = label_family(problem, check_lam(lam)), stated_eta(problem)
    number = resolve_stored_seed(seed, checkpoint)
    about: dict[str, Any] = {
        "problem": problem.name,
        "sampler": sampler,
        "lam": float(lam),
        "eta": eta,
        "tau": float(lam) if tau is None else check_non_negative(tau, "tau"),
        "seed": number,
        "n_warmup": warmup,
    }
    kept = None
    if checkpoint is not None:
        request = {**about, "n_chains": n_chains, "data": data, "options": repr(chosen)}
        kept = Checkpoint(checkpoint, {**request, "design": digest(*family)})
    total, meter = n_draws * n_chains, resolve_progress(progress)
    with one_blas_thread(), tracked(meter, total, sampler) as bar:
        runs = [_make_run(family, about, chosen, data, chain) for chain in range(n_chains)]
        drawn, cut = collect(
            runs,
            n_draws,
            about["n_warmup"],
            CHUNK_DRAWS,
            n_jobs=n_jobs,
            bar=bar,
            checkpoint=kept,
        )
    return _assemble(drawn, about, cut)


def _check_room(n_draws: int, n_labels: int) -> None:
    """Refuse more draws than memory holds, before the first; a recorded label is one byte."""
    per_draw = 8 * len(LABEL_OBSERVABLES) + n_labels
    advice = "ask for fewer draws, or record less"
    check_memory(per_draw * n_draws, f"keeping {n_draws} draws", advice)


def _make_run(
    family: LabelFamily, about: dict[str, Any], options: FlipOptions, data: bool, chain: int
) -> LabelRun:
    rng = rng_for(about["seed"], 0, chain)
    made = LabelChain(
        family,
        about["eta"],
        about["tau"],
        rng,
        scan=options.scan,
        screen=options.screen,
        thin=options.thin,
        keep_labels=data,
    )
    return LabelRun(made, data)


def _refuse_others(
    sampler: str, solver: str, truth: Any, record: Sequence[str], options: dict[str, Any]
) -> None:
    """Complain about what belongs to continuous data."""
    if sampler != "label_flips":
        msg = f'labels are drawn by sampler="label_flips"; got {sampler!r}'
        raise InvalidProblem(msg)
    if solver != "auto" or truth is not None:
        raise InvalidProblem("solver and truth are for continuous data; leave them out")
    if not ({record} if isinstance(record, str) else set(record)) <= {"data"}:
        msg = f'record takes "data", the labels; got {record!r}'
        raise InvalidProblem(msg)
    unknown = sorted(set(options) - {"scan", "screen", "thin"})
    if unknown:
        msg = f"label_flips has no option {unknown[0]!r}; its options are: scan, screen, thin"
        raise InvalidProblem(msg)


def _assemble(drawn: Sequence[Chunk], about: dict[str, Any], cut: bool) -> LabelChains:
    """Stack the chains."""
    trace = np.stack([chunk.trace for chunk in drawn])
    columns: dict[str, Any] = {
        "kkt_residual" if name == "margin_residual" else name: trace[:, :, place]
        for place, name in enumerate(LABEL_OBSERVABLES)
    }
    for name in COUNTS:
        columns[name] = np.rint(columns[name]).astype(np.int64)
    counts = np.sum([chunk.failures for chunk in drawn], axis=0)
    return LabelChains(
        **about,
        **columns,
        accepted=np.stack([chunk.accepted for chunk in drawn]),
        step_seconds=np.stack([chunk.seconds for chunk in drawn]),
        failures={Status(i).name: int(n) for i, n in enumerate(counts) if i > 0 and n > 0},
        interrupted=cut,
        extras={name: np.stack([c.extras[name] for c in drawn]) for name in drawn[0].extras},
    )
