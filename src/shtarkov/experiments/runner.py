"""Runs cells: those not in the store yet, in whatever processes joblib is told to use.

Only this process writes to the store, each result as it comes in, so workers need no common disk. A
run killed anywhere is continued by the same call: finished cells are not run again.
"""

from __future__ import annotations

from collections.abc import Sequence

from shtarkov.experiments.grid import Cell, make_cell
from shtarkov.experiments.store import Store
from shtarkov.experiments.workers import Pool, workers
from shtarkov.progress import Progress, tracked

# What a cell's penalty depends on.
PENALTY_SETTINGS = (
    "model", "n_samples", "n_features", "wanted_k", "seed", "n_nonzero", "size", "lam2",
    "group_size",
)  # fmt: skip
# Modelled microseconds of one published step, at D = 0 and for each feature, how many times that a
# step of the default sampler takes, and steps of a search for a penalty: for the time left, to
# which only their ratios matter.
STEP_COST = {
    "lasso": (10.0, 0.010), "elastic_net": (20.0, 0.033), "group_lasso": (35.0, 0.085),
    "sparse_svm": (5.0, 0.011),
}  # fmt: skip
DEFAULT_STEP, PENALTY_STEPS = 3.0, 10_000
# Of the dense solver, for each N^3, and of the operators, for each (N + k)^3.
DENSE_COST, OPERATOR_COST = 1.1e-4, 6e-4


def penalty_cell(cell: Cell) -> Cell:
    """Give the cell that finds the penalty of a sampling cell."""
    return make_cell("penalty", {name: cell[name] for name in PENALTY_SETTINGS})


def with_penalty(cell: Cell, store: Store) -> Cell:
    """Give a sampling cell its penalty, which becomes part of its key."""
    if cell.kind != "sample":
        return cell
    return cell.replace(lam=store.row(penalty_cell(cell))["lam"])


def is_finished(cell: Cell, store: Store) -> bool:
    """Whether a cell, or a sampling cell that may still need its penalty, is in the store."""
    known = cell.kind != "sample" or store.has(penalty_cell(cell))
    return known and store.has(with_penalty(cell, store))


def modelled_cost(cell: Cell) -> int:
    """Guess a cell's work, in units of a tenth of a second or so."""
    settings = dict(cell.settings)
    n = settings.get("n_samples", 100)
    if cell.kind in {"sample", "penalty"}:
        base, slope = STEP_COST[settings["model"]]
        step = base + slope * settings["n_features"]
        if settings.get("method", "default") == "default":
            step *= DEFAULT_STEP
        if settings.get("solver") == "dense":
            step += DENSE_COST * n**3
        steps = PENALTY_STEPS
        if cell.kind == "sample":
            steps = settings["n_chains"] * (settings["n_warmup"] + settings["n_draws"])
        return 1 + int(1e-5 * steps * step)
    if cell.kind == "operators":
        size = n + settings.get("n_active", settings.get("ratio", 0.0) * n)
        return 1 + int(1e-5 * OPERATOR_COST * settings["n_repeats"] * size**3)
    return 10


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    progress: Progress,
    *,
    n_jobs: int = 1,
    backend: str = "local",
    scheduler: str | None = None,
) -> list[Cell]:
    """Run what is missing; give the cells with their penalties, all finished.

    Parameters
    ----------
    cells : the grid; repeated cells are run once
    store : where results go
    progress : told the modelled work done of what was missing, for an estimate of the time left
    n_jobs : processes of the local backend
    backend : "local", "dask" or "ray"
    scheduler : address of a running cluster; None starts one on this machine
    """
    penalties = list(dict.fromkeys(penalty_cell(c) for c in cells if c.kind == "sample"))
    distinct = list(dict.fromkeys(cells))
    # What was finished before took no time now, and would spoil the estimate of the time left.
    total = sum(modelled_cost(c) for c in (*penalties, *distinct) if not is_finished(c, store))
    with tracked(progress, total, "cells") as bar, workers(backend, n_jobs, scheduler) as pool:
        _run_missing(penalties, store, bar, pool)
        ready = [with_penalty(cell, store) for cell in distinct]
        _run_missing(ready, store, bar, pool)
    return [with_penalty(cell, store) for cell in cells]


def _run_missing(cells: Sequence[Cell], store: Store, bar: Progress, pool: Pool) -> None:
    missing = [cell for cell in cells if not store.has(cell)]
    # Long cells first: none is then left alone at the end.
    missing.sort(key=modelled_cost, reverse=True)
    for cell, result in pool.results(missing):
        store.write(cell, result)
        bar.advance(modelled_cost(cell))
