"""Effective draws per second on one fixed level set: exact Hamiltonian flow beside hopsy.

N = 100 rows of standard normals, five coefficients of 3, unit noise, lam = 0.6 sqrt(2 N ln D), the
level set of the Lasso estimate of those data. ESS is arviz's, the least over ten random coordinates
of the residual and |r|^2, per second of processor time, compilation outside the clock; the samplers
take turns in one run, and the best of its turns counts for each. One thread, BLAS included.

Run from the root of the repository, with an interpreter that has hopsy (README.md):

    python -m benchmarks.level_set.run --peer .venv-hopsy/bin/python
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import null_space
from threadpoolctl import threadpool_limits

from shtarkov import Lasso
from shtarkov.diagnostics.convergence import effective_size
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of
from shtarkov.sampling.level_set import LevelSetRun, plan
from shtarkov.sampling.runs import Request
from shtarkov.seeds import rng_for

N, SEED, TURNS, SECONDS = 100, 20240501, 2, 3.0
SIZES = (100, 500, 2000)
# proposal of hopsy and steps for each draw: chosen where its ESS per second is flat.
PEERS = (("Gibbs", 1), ("hit-and-run", 100), ("coordinate hit-and-run", 100))
OURS = (("bounce", 1), ("coordinate", 1))


class Case(NamedTuple):
    request: Request
    X: Any
    coef: Any


class Rate(NamedTuple):
    per_second: float
    n_draws: int
    slack: float
    constraint: float


def make_case(n_features: int, move: str, thin: int) -> Case:
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((N, n_features))
    truth = np.zeros(n_features)
    truth[:5] = 3.0
    lam = 0.6 * np.sqrt(2.0 * N * np.log(n_features))
    family = family_of(Lasso(X), lam)
    fit = protocol.solve(family, X @ truth + rng.standard_normal(N), protocol.new_work(family, N))
    options = {"coef": fit.coef, "move": move, "thin": thin}
    request = Request(
        family=family, weight=lam, solver="auto", active=False, data=True, sigma=1.0,
        options=options,
    )  # fmt: skip
    return Case(request, X, fit.coef)


def worst_ess(residuals: Any) -> float:
    coordinates = np.random.default_rng(3).choice(N, 10, replace=False)
    series = [residuals[:, i] for i in coordinates] + [(residuals**2).sum(axis=1)]
    return min(effective_size(column) or 0.0 for column in series)


def ours(case: Case) -> Rate:
    run: Any = plan(case.request).make_run(rng_for(SEED, 0, 0))
    assert isinstance(run, LevelSetRun)
    run.warm_up(100)
    began = time.process_time()
    run.advance(20)
    n_draws = int(np.clip(SECONDS * 20 / (time.process_time() - began), 200, 20_000))
    began = time.process_time()
    chunk = run.advance(n_draws)
    spent = time.process_time() - began
    residuals = chunk.extras["data"] - case.X @ case.coef
    extras = chunk.extras
    return Rate(
        worst_ess(residuals) / spent,
        n_draws,
        float(extras["slack"].min()),
        float(extras["constraint_residual"].max()),
    )


def theirs(case: Case, proposal: str, thinning: int, interpreter: str) -> Rate:
    run: Any = plan(case.request).make_run(rng_for(SEED, 0, 0))
    level, walls = run.level, run.level.walls
    active = walls.active
    basis = null_space(case.X[:, active].T)
    inactive = np.setdiff1d(np.arange(case.X.shape[1]), active)
    rows = case.X[:, inactive].T @ basis
    A = np.vstack([rows, -rows])
    b = np.concatenate([walls.high[inactive], -walls.low[inactive]])
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "asked.npz", Path(folder) / "drawn.npz"
        np.savez(
            source, A=A, b=b, start=basis.T @ run.state.z, proposal=proposal, thinning=thinning,
            seconds=SECONDS,
        )  # fmt: skip
        script = Path(__file__).with_name("peer.py")
        subprocess.run([interpreter, "-W", "ignore", script, source, target], check=True)
        drawn = np.load(target)
        points, spent = drawn["draws"] @ basis.T, float(drawn["seconds"])
    residuals = level.centre + points
    slack = float((b - drawn["draws"] @ A.T).min())
    constraint = float(np.abs(residuals @ case.X[:, active] - level.wanted).max(initial=0.0))
    return Rate(worst_ess(residuals) / spent, points.shape[0], slack, constraint)


def best(rates: list[Rate]) -> Rate:
    quickest = max(rates, key=lambda rate: rate.per_second)
    return Rate(
        quickest.per_second,
        quickest.n_draws,
        min(rate.slack for rate in rates),
        max(rate.constraint for rate in rates),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", help="interpreter with hopsy; left out, only ours are timed")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    asked = parser.parse_args()
    print("| D | k | sampler | ESS/s | draws | least slack | constraint residual |")
    print("|---:|---:|---|" + 4 * "---:|")
    with threadpool_limits(1):
        for n_features in asked.sizes:
            rates: dict[str, list[Rate]] = {}
            for _ in range(TURNS):
                for move, thin in OURS:
                    case = make_case(n_features, move, thin)
                    rates.setdefault(move, []).append(ours(case))
                for proposal, thinning in PEERS if asked.peer else ():
                    rate = theirs(case, proposal, thinning, asked.peer)
                    rates.setdefault(f"hopsy {proposal}, every {thinning}", []).append(rate)
            for name, turns in rates.items():
                rate, k = best(turns), np.count_nonzero(case.coef)
                print(
                    f"| {n_features} | {k} | {name} | {rate.per_second:,.0f} | {rate.n_draws} "
                    f"| {rate.slack:.1e} | {rate.constraint:.0e} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
