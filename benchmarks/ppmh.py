"""PPMH: dense and reduced solvers on one trajectory, time per step, and badly conditioned designs.

``python benchmarks/ppmh.py steps``        time of a step at the paper's sizes and mean k
``python benchmarks/ppmh.py trajectories`` 10,000 steps of both solvers from one seed
``python benchmarks/ppmh.py constraint``   50,000 steps: the active equations at every one of them
``python benchmarks/ppmh.py conditioning`` acceptance and failures against cond(X_A), by solver

Times are of the thread's own processor clock, the least over chunks, compilation outside: the
machine may be shared. One thread, BLAS included. docs/samplers.md quotes the tables.
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from shtarkov import Lasso
from shtarkov.errors import ShtarkovError
from shtarkov.families.compiled import family_of
from shtarkov.families.observables import OBSERVABLES, K
from shtarkov.sampling.ppmh_run import PpmhOptions, PpmhRun, first_point, make_proposal
from shtarkov.sampling.runs import Chunk, Request, joined
from shtarkov.seeds import rng_for

SEED = 20240501
# (N, D, lam for columns of length one): mean k that of the paper, whose milliseconds these are.
STEPS = ((100, 100, 2.06), (100, 500, 2.31), (100, 2000, 2.6))
PAPER = {100: (0.0498, 4.2), 500: (0.0552, 9.1), 2000: (0.0683, 12.2)}
# A step costs more where more columns are active, and PPMH takes long to change their number: the
# time is a mean over this many chains, each from its own draw of the target.
N_STARTS = 8
# (N, D, lam): mean k about 12.
TRAJECTORIES = ((100, 500, 2.19), (100, 2000, 2.6), (500, 2000, 2.75))
N_LONG = 50_000
CONDITIONS = (1e1, 1e2, 1e4, 1e6, 1e7, 1e8, 1e10)


def design(n: int, n_features: int) -> Any:
    return np.random.default_rng(SEED).standard_normal((n, n_features)) / np.sqrt(n)


def make_run(
    X: Any,
    lam: float,
    solver: str,
    *,
    step: float | None,
    record: bool,
    start: str = "normal",
    chain: int = 0,
) -> PpmhRun:
    family = family_of(Lasso(X), lam)
    request = Request(
        family=family, weight=lam, solver=solver, active=record, data=record, sigma=1.0, options={}
    )
    proposal, rng = make_proposal(family, solver, PpmhOptions(step=step)), rng_for(SEED, 0, chain)
    return PpmhRun(request, proposal, rng, first_point(request, start, rng), adapt=step is None)


def timed_chunks(run: PpmhRun, n_chunks: int, n_steps: int) -> tuple[Chunk, float]:
    """Give all draws, and the least processor time of a step over the chunks."""
    chunks, best = [], np.inf
    for _ in range(n_chunks):
        began = time.thread_time()
        chunks.append(run.advance(n_steps))
        best = min(best, (time.thread_time() - began) / n_steps)
    return joined(chunks), float(best)


def product_seconds(X: Any) -> float:
    """Give the least processor time of X'v."""
    v, best = np.random.default_rng(1).standard_normal(X.shape[0]), np.inf
    n_products = max(1, int(2e7 / X.size))
    for _ in range(20):
        began = time.thread_time()
        for _ in range(n_products):
            X.T @ v
        best = min(best, (time.thread_time() - began) / n_products)
    return float(best)


def steps() -> None:
    print("| N | D | mean k | accepted | X'v | step | paper's step | step / X'v |")
    print("|" + 8 * "---:|")
    for n, n_features, lam in STEPS:
        X = design(n, n_features)
        k, accepted, seconds = [], [], []
        for chain in range(N_STARTS):
            run = make_run(X, lam, "schur", step=None, record=False, start="target", chain=chain)
            run.warm_up(2000)
            chunk, each = timed_chunks(run, 6, 1000)
            k.append(chunk.trace[:, K].mean())
            accepted.append(chunk.accepted.mean())
            seconds.append(each)
        product, (paper, _) = product_seconds(X), PAPER[n_features]
        print(
            f"| {n} | {n_features} | {np.mean(k):.1f} | {np.mean(accepted):.2f} "
            f"| {1e6 * product:.1f} µs | {1e6 * np.mean(seconds):.1f} µs | {1e3 * paper:.1f} µs "
            f"| {np.mean(seconds) / product:.2f} |",
            flush=True,
        )


def trajectories() -> None:
    print("| N | D | mean k | accepted | other decisions | largest gap | dense | schur | ratio |")
    print("|" + 9 * "---:|")
    for n, n_features, lam in TRAJECTORIES:
        X = design(n, n_features)
        runs = [make_run(X, lam, s, step=2.0, record=True) for s in ("dense", "schur")]
        for run in runs:
            run.advance(5)  # compiles
        (dense, slow), (schur, quick) = (timed_chunks(run, 10, 1000) for run in runs)
        names = [OBSERVABLES.index(name) for name in OBSERVABLES if name != "kkt_residual"]
        gap = np.abs(dense.trace[:, names] - schur.trace[:, names])
        gap = float((gap / np.maximum(1.0, np.abs(dense.trace[:, names]))).max())
        gap = max(gap, float(np.abs(dense.extras["data"] - schur.extras["data"]).max()))
        differing = int((dense.accepted != schur.accepted).sum())
        differing += int((dense.extras["active"] != schur.extras["active"]).any(axis=1).sum())
        print(
            f"| {n} | {n_features} | {schur.trace[:, K].mean():.1f} | {schur.accepted.mean():.2f} "
            f"| {differing} | {gap:.0e} | {1e3 * slow:.3f} ms | {1e3 * quick:.4f} ms "
            f"| {slow / quick:.0f} |",
            flush=True,
        )


def constraint() -> None:
    """One call of the compiled loop: no step solves from nothing, no data vector is projected."""
    print("| N | D | steps | accepted | least and most k | largest X_A'r - lam s |")
    print("|" + 6 * "---:|")
    for n, n_features, lam in STEPS:
        run = make_run(design(n, n_features), lam, "schur", step=2.0, record=False)
        chunk = run.advance(N_LONG)
        k = chunk.trace[:, K]
        print(
            f"| {n} | {n_features} | {k.size} | {chunk.accepted.mean():.2f} "
            f"| {k.min():.0f}, {k.max():.0f} | {chunk.extras['constraint_residual'].max():.0e} |",
            flush=True,
        )


def twins(n: int, n_features: int, condition: float) -> Any:
    """Columns of length one in pairs so close that two of a pair have this condition number."""
    X = design(n, n_features)
    gap = 2.0 / condition
    X[:, 1::2] = X[:, ::2] + gap * X[:, 1::2]
    return X / np.linalg.norm(X, axis=0)


def start_with_twins(X: Any, lam: float) -> Any:
    """Give a data vector at which both of the first six pairs are active, with coefficients 1."""
    columns = X[:, :12]
    centre = np.linalg.pinv(columns.T) @ np.full(12, lam)
    return columns.sum(axis=1) + centre


def met(X: Any, active: Any) -> float:
    """Give the largest condition number among the active sets of a run."""
    distinct = np.unique(active, axis=0)[:100].astype(bool)
    return max((float(np.linalg.cond(X[:, row])) for row in distinct if row.any()), default=1.0)


def conditioning() -> None:
    n, n_features, lam = 100, 2000, 2.62
    print("| cond | solver | step | cond(X_A) met | k | accepted | failed | constraint | time |")
    print("|---:|---|" + 7 * "---:|")
    for condition in CONDITIONS:
        X = twins(n, n_features, condition)
        # Steps so short that the twins stay active, and usual ones.
        for step in (1.0 / condition, 2.4):
            for solver in ("dense", "schur", "qr", "auto"):
                run = make_run(X, lam, solver, step=step, record=True)
                print(row_of(run, X, lam, condition, solver), flush=True)


def row_of(run: PpmhRun, X: Any, lam: float, condition: float, solver: str) -> str:
    start = f"| {condition:.0e} | {solver} | {run.proposal.step:.0e} "
    try:
        run.restore({**run.snapshot(), "y": start_with_twins(X, lam)})
        began = time.thread_time()
        chunk = run.advance(1000)
        seconds = (time.thread_time() - began) / 1000
    except ShtarkovError as error:
        return f"{start}| | | | {type(error).__name__}: {str(error)[:70]} | | |"
    failed = sum(int(count) for count in chunk.failures[1:])
    return (
        f"{start}| {met(X, chunk.extras['active']):.0e} | {chunk.trace[:, K].mean():.1f} "
        f"| {chunk.accepted.mean():.2f} | {failed} "
        f"| {chunk.extras['constraint_residual'].max():.0e} | {1e3 * seconds:.3f} ms |"
    )


PARTS: dict[str, Callable[[], None]] = {
    "steps": steps,
    "trajectories": trajectories,
    "constraint": constraint,
    "conditioning": conditioning,
}


def main() -> None:
    wanted = sys.argv[1:] or list(PARTS)
    with threadpool_limits(limits=1):
        print(f"{platform.machine()}, Python {platform.python_version()}, one thread")
        for name in wanted:
            print(f"\n{name}:\n")
            PARTS[name]()


if __name__ == "__main__":
    main()
