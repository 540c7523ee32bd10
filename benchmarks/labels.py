"""Times the sampler of labels: effective draws a second of the objective and of the margin vectors.

N = 100 rows of independent normal entries, eta = 1, no intercept; the penalty is a share of the
design's own scale, so that a third of the rows or so of the smaller designs' columns are active
(mean k is printed). A step is one block move: every label is looked at once and the classifier is
solved anew. Times are those of the thread's own processor clock, the least of three repetitions:
the machine may be shared. ESS is arviz's bulk ESS. One thread, BLAS included.

Run with ``python benchmarks/labels.py``; docs/labels.md quotes its tables.
"""

from __future__ import annotations

import platform
import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from shtarkov import SparseLogistic, SparseSVM
from shtarkov.diagnostics.convergence import effective_size
from shtarkov.families.sparse_svm import label_family, label_lam_max
from shtarkov.sampling.label_chain import LabelChain
from shtarkov.sampling.label_loop import ACTIVE, ENVELOPE, GAP, N_MARGIN, N_SUPPORT, RESIDUAL
from shtarkov.seeds import rng_for

N, SEED = 100, 20240501
LOSSES = ("squared_hinge", "hinge", "logistic")
SIZES = (100, 500, 2000, 5000)
SHARES = (0.5, 0.8)
PAPER = {100: 84.4, 500: 0.2604, 2000: 0.0024}
REPETITIONS = 3
WARM_UP = 400


def make_problem(loss: str, X: Any) -> Any:
    return SparseLogistic(X) if loss == "logistic" else SparseSVM(X, loss)


def penalty(problem: Any, share: float, rng: np.random.Generator) -> float:
    """Give a share of the median penalty at which random labels let a column in."""
    entries = [label_lam_max(problem, rng.choice((-1.0, 1.0), N)) for _ in range(50)]
    return share * float(np.median(entries))


def draw(chain: LabelChain, n_draws: int) -> float:
    """Make draws; give processor seconds."""
    chain.segments.clear()
    began = time.thread_time()
    chain.extend(n_draws)
    return time.thread_time() - began


def row(loss: str, n_features: int, share: float) -> str:
    rng = np.random.default_rng(SEED)
    problem = make_problem(loss, rng.standard_normal((N, n_features)))
    lam = penalty(problem, share, rng)
    chain = LabelChain(label_family(problem, lam), 1.0, lam, rng_for(SEED, 0, 0), thin=1)
    chain.warm_up(WARM_UP)
    n_draws = int(np.clip(0.5 / max(draw(chain, 20) / 20, 1e-6), 200, 4000))
    step = min(draw(chain, n_draws) for _ in range(REPETITIONS)) / n_draws
    chain.extend(3 * n_draws)
    trace = np.concatenate([segment.trace for segment in chain.segments])
    margin = N_MARGIN if loss == "hinge" else N_SUPPORT
    sizes = [effective_size(trace[:, i]) for i in (ENVELOPE, margin)]
    shares = ["constant" if size is None else f"{size / len(trace):.2f}" for size in sizes]
    rates = ["" if size is None else f"{size / len(trace) / step:,.0f}" for size in sizes]
    paper = f"{PAPER[n_features]}" if n_features in PAPER else ""
    residual = trace[:, RESIDUAL].max() if loss == "hinge" else trace[:, GAP].max()
    return (
        f"| {loss} | {n_features} | {share} | {trace[:, ACTIVE].mean():.1f} | {step * 1e6:.0f} µs "
        f"| {shares[0]} | {shares[1]} | {rates[0]} | {rates[1]} | {paper} | {residual:.0e} |"
    )


def compile_seconds() -> float:
    """Give the time the first chain of the process takes."""
    began = time.perf_counter()
    problem = SparseSVM(np.eye(4))
    chain = LabelChain(label_family(problem, 0.5), 1.0, 0.5, rng_for(SEED, 0, 0))
    chain.warm_up(20)
    chain.extend(2)
    return time.perf_counter() - began


def main() -> None:
    with threadpool_limits(limits=1):
        print(f"{platform.machine()}, Python {platform.python_version()}, one thread, N = {N}")
        print(f"first chain of the process: {compile_seconds():.1f} s")
        print("(compilation, or loading it from the cache on disk; the rest excludes it)\n")
        head = "| loss | D | lam, share of entry | mean k | step | ESS a step, E | margin vectors "
        print(head + "| ESS/s, E | margin vectors | paper's ESS/s | residual or gap |")
        print("|---|" + 10 * "---:|")
        for loss in LOSSES:
            for share in SHARES:
                for n_features in SIZES:
                    print(row(loss, n_features, share), flush=True)


if __name__ == "__main__":
    main()
