"""`sample`: draws of data vectors from the luckiness law, by the sampler named.

Target: density proportional to exp(-E(y) / sigma^2), E half the squared residual plus the penalty,
whose norm is weighted by tau (THEORY sections 2 and 4b). The work is done in units of the noise
scale; what is returned is in the user's.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shtarkov.blas import one_blas_thread
from shtarkov.errors import InvalidProblem
from shtarkov.families.build import check_lam, check_memory, check_sigma
from shtarkov.families.compiled import family_of
from shtarkov.families.facts import facts_of
from shtarkov.families.label_problems import SparseLogistic, SparseSVM
from shtarkov.families.observables import OBSERVABLES
from shtarkov.progress import Progress, resolve_progress, tracked
from shtarkov.sampling.chains import QUANTITIES, Chains
from shtarkov.sampling.checkpoint import Checkpoint, resolve_stored_seed
from shtarkov.sampling.collect import collect
from shtarkov.sampling.label_run import sample_labels
from shtarkov.sampling.mean_square import MeanSquare, check_truth
from shtarkov.sampling.runs import Chunk, Plan, Request, Run, digest
from shtarkov.seeds import rng_for
from shtarkov.settings import SamplerSettings
from shtarkov.types import Status

RECORDABLE = ("active", "data")
SOLVERS = ("auto", "schur", "qr", "dense")
# Modules with a function `plan(request)`, imported when asked for: each brings its own kernels.
SAMPLERS = {
    "coarea": "shtarkov.sampling.coarea",
    "hmc": "shtarkov.sampling.hmc_run",
    "level_set": "shtarkov.sampling.level_set",
    "ppmh": "shtarkov.sampling.ppmh_run",
    "tempering": "shtarkov.sampling.tempering_run",
}


def sample(
    problem: Any,
    lam: float,
    *,
    sigma: float = 1.0,
    tau: float | None = None,
    sampler: str = "hmc",
    solver: str = "auto",
    n_draws: int = 1000,
    n_warmup: int | None = None,
    n_chains: int = 4,
    seed: int | np.random.SeedSequence | None = None,
    n_jobs: int | None = None,
    progress: bool | Progress | None = None,
    record: Sequence[str] = (),
    truth: ArrayLike | None = None,
    checkpoint: str | Path | None = None,
    **options: Any,
) -> Any:
    """Draw data vectors and describe their estimates.

    Parameters
    ----------
    problem : `Lasso`, `ElasticNet`, ..., or for labels `SparseSVM`, `SparseLogistic`
    lam : penalty; the objective is half the squared residual plus lam times the norm
    sigma : noise standard deviation
    tau : luckiness weight of the norm; None means lam
    sampler : "hmc" (the default and the quickest), "ppmh" (the paper's), "level_set" (the
        coefficients stay fixed), "coarea" (level-set, fibre and crossing moves in turn) or
        "tempering" (replica exchange); "label_flips" for labels
    solver : geometry of "ppmh" and "coarea": "schur", "qr", "dense" or "auto"
    n_draws : draws of each chain
    n_warmup : tuning steps before them; None takes the sampler's own number
    n_chains : independent chains
    seed : repeats the draws exactly; None draws one and records it
    n_jobs : threads; the draws do not depend on it
    progress : None shows a bar on a terminal, False never, or an object with start/advance/finish
    record : any of "active" (which coefficients) and "data" (the reduced data vectors, in `extras`)
    truth : (D,) coefficients to record the mean squared error of the estimate against ("mse")
    checkpoint : folder to keep finished chunks in. Called again with the same arguments, the run
        continues from the last one and finishes the n_draws asked for; a larger n_draws extends it.
    options : of the sampler named

    Returns
    -------
    Chains, or LabelChains for labels
        What is known so far, with `interrupted` set, if Ctrl-C is pressed after the first chunk.
    """
    law: dict[str, Any] = {"sigma": sigma, "tau": tau, "sampler": sampler, "solver": solver}
    counts: dict[str, Any] = {"n_draws": n_draws, "n_warmup": n_warmup, "n_chains": n_chains}
    running: dict[str, Any] = {
        "seed": seed,
        "n_jobs": n_jobs,
        "progress": progress,
        "checkpoint": checkpoint,
    }
    wanted: dict[str, Any] = {"record": record, "truth": truth}
    return draw_chains(problem, lam, **law, **counts, **running, **wanted, **options)


@functools.singledispatch
def draw_chains(
    problem: Any,
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
    truth: ArrayLike | None,
    checkpoint: str | Path | None,
    **options: Any,
) -> Any:
    """Do the work of `sample`: by problem, here for continuous data."""
    scale = check_sigma(sigma)
    weight = _luckiness_weight(lam, tau)
    number = resolve_stored_seed(seed, checkpoint)
    SamplerSettings(n_draws=n_draws, n_chains=n_chains, n_jobs=n_jobs)
    with one_blas_thread():
        family = family_of(problem, check_lam(lam), scale)
        request = _request(family, weight, solver, record, truth, scale, options)
        _check_room(request, n_chains * n_draws)
        plan = _plan(sampler, request)
        warmup = plan.n_warmup if n_warmup is None else n_warmup
        SamplerSettings(n_warmup=warmup)
        about = {
            "problem": problem.name,
            "sampler": sampler,
            "solver": solver,
            "lam": float(lam),
            "tau": weight,
            "sigma": scale,
            "seed": number,
            "n_warmup": warmup,
        }
        kept = None
        if checkpoint is not None:
            kept = Checkpoint(checkpoint, _fingerprint(about, n_chains, request, truth))
        runs = [_make_run(plan, request, number, chain, truth, record) for chain in range(n_chains)]
        with tracked(resolve_progress(progress), n_draws * n_chains, sampler) as bar:
            drawn, cut = collect(
                runs, n_draws, warmup, plan.chunk_draws, n_jobs=n_jobs, bar=bar, checkpoint=kept
            )
    chains = _assemble(drawn, about, problem.design, facts_of(family).n_dim, cut)
    return chains if plan.ladder is None else replace(chains, ladder=scale * plan.ladder)


draw_chains.register(SparseSVM, sample_labels)
draw_chains.register(SparseLogistic, sample_labels)


def _check_room(request: Request, n_draws: int) -> None:
    """Refuse more draws than memory holds, before the first."""
    sizes = facts_of(request.family)
    extras = request.active * sizes.n_recorded + request.data * 8 * sizes.n_dim
    per_draw = 8 * len(OBSERVABLES) + extras
    advice = "ask for fewer draws, or record less"
    check_memory(per_draw * n_draws, f"keeping {n_draws} draws", advice)


def _luckiness_weight(lam: float, tau: float | None) -> float:
    if tau is None:
        return check_lam(lam)
    if not (np.isfinite(tau) and tau > 0.0):
        msg = f"tau must be positive and finite; got {tau!r}"
        raise InvalidProblem(msg)
    return float(tau)


def _request(
    family: Any,
    weight: float,
    solver: str,
    record: Sequence[str],
    truth: Any,
    sigma: float,
    options: dict[str, Any],
) -> Request:
    wanted = {record} if isinstance(record, str) else set(record)
    if not wanted <= set(RECORDABLE):
        msg = f"record takes any of {RECORDABLE}; got {sorted(wanted - set(RECORDABLE))}"
        raise InvalidProblem(msg)
    if solver not in SOLVERS:
        msg = f"solver must be one of {SOLVERS}; got {solver!r}"
        raise InvalidProblem(msg)
    return Request(
        family=family,
        weight=weight / sigma,
        solver=solver,
        active="active" in wanted,
        data="data" in wanted or truth is not None,
        sigma=sigma,
        options=options,
    )


def _plan(sampler: str, request: Request) -> Plan:
    if sampler not in SAMPLERS:
        msg = f"sampler must be one of {sorted(SAMPLERS)}; got {sampler!r}"
        raise InvalidProblem(msg)
    plan: Plan = importlib.import_module(SAMPLERS[sampler]).plan(request)
    return plan


def _make_run(
    plan: Plan, request: Request, seed: int, chain: int, truth: Any, record: Sequence[str]
) -> Run:
    run = plan.make_run(rng_for(seed, 0, chain))
    if truth is None:
        return run
    known = check_truth(truth, facts_of(request.family).n_recorded)
    return MeanSquare(run, request.family, known, request.sigma, "data" in record)


def _fingerprint(
    about: dict[str, Any], n_chains: int, request: Request, truth: Any
) -> dict[str, Any]:
    """Give everything that determines the draws, except how many."""
    options = {name: digest(np.asarray(value)) for name, value in sorted(request.options.items())}
    return {
        **about,
        "n_chains": n_chains,
        "design": digest(*request.family),
        "record": [request.active, request.data],
        "truth": None if truth is None else digest(np.asarray(truth, dtype=np.float64)),
        "options": options,
    }


def _assemble(
    drawn: Sequence[Chunk], about: dict[str, Any], design: Any, n_dim: int, cut: bool
) -> Chains:
    """Stack the chains and bring them to the user's units."""
    sigma = about["sigma"]
    trace = np.stack([chunk.trace for chunk in drawn])
    powers = {"penalty": 2, "envelope": 2, "residual_sq": 2, "norm": 1}
    names = (*QUANTITIES, "kkt_residual")
    columns = {
        name: trace[:, :, OBSERVABLES.index(name)] * sigma ** powers.get(name, 0) for name in names
    }
    columns["k"] = np.rint(columns["k"]).astype(np.int64)
    counts = np.sum([chunk.failures for chunk in drawn], axis=0)
    extras = {name: np.stack([chunk.extras[name] for chunk in drawn]) for name in drawn[0].extras}
    if "active" in extras:
        extras["active"] = extras["active"].astype(bool)
    if "data" in extras:
        extras["data"] = extras["data"] * sigma
    return Chains(
        **about,
        n_dim=n_dim,
        n_orthogonal=design.n_orthogonal,
        **columns,
        accepted=np.stack([chunk.accepted for chunk in drawn]),
        step_seconds=np.stack([chunk.seconds for chunk in drawn]),
        failures={Status(i).name: int(n) for i, n in enumerate(counts) if i > 0 and n > 0},
        interrupted=cut,
        extras=extras,
    )
