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
# Modelled microseconds of one step with k active columns, for the time left: only their ratios
# matter.
STEP_COST, DENSE_COST = 20.0, 4e-4


def penalty_cell(cell: Cell) -> Cell:
    """Give the cell that finds the penalty of a sampling cell."""
    return make_cell("penalty", {name: cell[name] for name in PENALTY_SETTINGS})


def with_penalty(cell: Cell, store: Store) -> Cell:
    """Give a sampling cell its penalty, which becomes part of its key."""
    if cell.kind != "sample":
        return cell
    return cell.replace(lam=store.row(penalty_cell(cell))["lam"])


def modelled_cost(cell: Cell) -> int:
    """Guess a cell's work, in units of a tenth of a second or so."""
    settings = dict(cell.settings)
    n, n_features = settings.get("n_samples", 100), settings.get("n_features", 100)
    if cell.kind == "sample":
        step = STEP_COST + 0.02 * n_features
        if settings["solver"] == "dense":
            step += DENSE_COST * n**3
        steps = settings["n_chains"] * (settings["n_warmup"] + settings["n_draws"])
        return 1 + int(1e-5 * steps * step)
    if cell.kind == "operators":
        return 1 + int(1e-7 * settings["n_repeats"] * n**3)
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
    progress : told the modelled work done, for an estimate of the time left
    n_jobs : processes of the local backend
    backend : "local", "dask" or "ray"
    scheduler : address of a running cluster; None starts one on this machine
    """
    penalties = list(dict.fromkeys(penalty_cell(c) for c in cells if c.kind == "sample"))
    distinct = list(dict.fromkeys(cells))
    total = sum(modelled_cost(cell) for cell in (*penalties, *distinct))
    with tracked(progress, total, "cells") as bar, workers(backend, n_jobs, scheduler) as pool:
        _run_missing(penalties, store, bar, pool)
        ready = [with_penalty(cell, store) for cell in distinct]
        _run_missing(ready, store, bar, pool)
    return [with_penalty(cell, store) for cell in cells]


def _run_missing(cells: Sequence[Cell], store: Store, bar: Progress, pool: Pool) -> None:
    done = [cell for cell in cells if store.has(cell)]
    bar.advance(sum(modelled_cost(cell) for cell in done))
    missing = [cell for cell in cells if not store.has(cell)]
    # Long cells first: none is then left alone at the end.
    missing.sort(key=modelled_cost, reverse=True)
    for cell, result in pool.results(missing):
        store.write(cell, result)
        bar.advance(modelled_cost(cell))
