"""Run the selection benchmark; stop it anywhere and start it again, nothing is done twice.

    python -m benchmarks.selection.run --preset smoke
    python -m benchmarks.selection.run --preset standard --groups cv,criteria --workers 2
    python -m benchmarks.selection.run --preset standard --groups codes --budget 60 --redo

Work goes in rounds: one data set of every setting before the second of any, so that a run that is
cut short (--budget, in minutes) has been everywhere. Each process is single-threaded. The data of
a cell depend on its name and number alone: groups can be run at different times and still be
compared pair by pair. `python -m benchmarks.selection.summarise FOLDER` makes the tables.
"""

import argparse
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from benchmarks.selection import store
from benchmarks.selection.choice import Choice
from benchmarks.selection.measures import measure, spread
from benchmarks.selection.methods import GROUPS
from benchmarks.selection.simulated import (
    DataSet,
    Setting,
    all_settings,
    draw,
    rng_for,
    smoke_settings,
    standard_settings,
)
from benchmarks.selection.tables import TABLES, draw_split
from threadpoolctl import threadpool_limits

N_HALVES = 6
SPREAD_AFTER = 3  # rounds before the half-samples
RESULTS = Path(__file__).parent / "results"


class Preset(NamedTuple):
    settings: Callable[[], list[Setting]]
    repeats: int
    tables: tuple[str, ...]
    table_repeats: int
    n_spread: int  # data sets per setting for the half-samples


PRESETS = {
    "smoke": Preset(smoke_settings, 2, ("diabetes-100",), 2, 1),
    "standard": Preset(standard_settings, 20, tuple(TABLES), 20, 1),
    "full": Preset(all_settings, 20, tuple(TABLES), 50, 1),
}


class Cell(NamedTuple):
    """One data set to do one kind of work on."""

    kind: str  # fit, spread or table
    name: str
    repeat: int
    setting: Setting | None


def cells(preset: Preset) -> Iterator[Cell]:
    """Give all cells in the order of work; settings shuffled once, so that shards are even."""
    settings = preset.settings()
    order = np.random.default_rng(0).permutation(len(settings))
    shuffled = [settings[i] for i in order]
    for repeat in range(max(preset.repeats, preset.table_repeats)):
        if repeat < preset.repeats:
            yield from (Cell("fit", s.key, repeat, s) for s in shuffled)
        if repeat < preset.table_repeats:
            yield from (Cell("table", name, repeat, None) for name in preset.tables)
        if repeat == min(SPREAD_AFTER, preset.repeats) - 1:
            for i in range(preset.n_spread):
                yield from (Cell("spread", s.key, i, s) for s in shuffled)


def half_samples(data: DataSet, rng: np.random.Generator) -> Iterator[DataSet]:
    """Give data sets of half the rows, without replacement (repeated rows would break folds)."""
    n = data.y.size
    for _ in range(N_HALVES):
        rows = rng.permutation(n)[: n // 2]
        yield data._replace(X=data.X[rows], y=data.y[rows])


def work(cell: Cell, group: str) -> dict[str, Any]:
    """Do one group's work on one cell; give its results by method."""
    run = GROUPS[group]
    stream = crc32(f"{cell.kind}/{group}".encode())
    rng = rng_for(cell.name, cell.repeat, stream)
    if cell.setting is None:
        data = draw_split(cell.name, cell.repeat)
    else:
        data = draw(cell.setting, cell.repeat)
    if cell.kind != "spread":
        return {name: measure(data, choice) for name, choice in run(data, rng).items()}
    rows = rng_for(cell.name, cell.repeat, crc32(b"half-samples"))
    collected: dict[str, list[Choice]] = {}
    for half in half_samples(data, rows):
        for name, choice in run(half, rng).items():
            collected.setdefault(name, []).append(choice)
    return {name: spread(data, choices) for name, choices in collected.items()}


def row_for(cell: Cell, group: str) -> dict[str, Any]:
    """Work on a cell; a method that raises is a result too."""
    row: dict[str, Any] = {
        "kind": cell.kind,
        "setting": cell.name,
        "repeat": cell.repeat,
        "group": group,
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            row["results"] = work(cell, group)
        except Exception as error:  # noqa: BLE001 - recorded, counted and shown in the tables
            row["error"] = f"{type(error).__name__}: {error}"
            row["trace"] = traceback.format_exc()[-2000:]
    row["n_warnings"] = len(caught)
    return row


def warm_up(groups: list[str]) -> None:
    """Compile and import before anything is timed."""
    rng = np.random.default_rng(0)
    for shape in ((40, 8), (20, 40)):
        X = rng.standard_normal(shape)
        support = np.arange(2)
        beta = np.zeros(shape[1])
        beta[support] = 1.0
        y = X @ beta + rng.standard_normal(shape[0])
        for group in groups:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                GROUPS[group](DataSet(X, y, sigma=1.0, beta=beta, support=support), rng)


def run_shard(options: argparse.Namespace, shard: int, n_shards: int) -> None:
    """Do every n_shards-th cell that is not on disk yet."""
    end = time.monotonic() + 60.0 * options.budget
    groups = options.groups.split(",")
    done = set(store.latest(options.out))
    todo = [
        (cell, group)
        for i, cell in enumerate(cells(PRESETS[options.preset]))
        for group in groups
        if cell.kind in options.kinds
        and i % n_shards == shard
        and (cell.kind, cell.name, cell.repeat, group) not in done
    ]
    name = f"{shard}of{n_shards}-{'-'.join(groups)}-{options.kinds.replace(',', '-')}"
    writer = store.Writer(options.out, name)
    with threadpool_limits(1):
        warm_up(groups)
        told = time.monotonic()
        for i, (cell, group) in enumerate(todo):
            if time.monotonic() > end:
                print(f"[{shard}] out of time: {len(todo) - i} pieces left", flush=True)
                break
            writer.append(row_for(cell, group))
            if time.monotonic() > told + 30.0:
                told = time.monotonic()
                print(f"[{shard}] {i + 1}/{len(todo)} {cell.kind} {cell.name}", flush=True)
        else:
            print(f"[{shard}] done: {len(todo)} pieces", flush=True)
    writer.close()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--preset", choices=PRESETS, default="smoke")
    parser.add_argument("--groups", default="cv,criteria,codes", help=", ".join(GROUPS))
    parser.add_argument("--kinds", default="fit,table,spread", help="kinds of work to do")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--budget", type=float, default=1e6, help="minutes, for the whole run")
    parser.add_argument("--out", type=Path, default=None, help="folder of the results")
    parser.add_argument("--redo", action="store_true", help="forget these groups' results first")
    parser.add_argument("--shard", default=None, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    unknown = set(options.groups.split(",")) - set(GROUPS)
    if unknown:
        parser.error(f"unknown groups {sorted(unknown)}; there are {', '.join(GROUPS)}")
    options.out = options.out or RESULTS / options.preset
    if options.shard is not None:
        shard, n_shards = (int(part) for part in options.shard.split("/"))
        run_shard(options, shard, n_shards)
        return
    if options.redo:
        store.forget(options.out, options.groups.split(","))
    if options.workers == 1:
        run_shard(options, 0, 1)
        return
    command = [sys.executable, "-m", "benchmarks.selection.run", "--preset", options.preset]
    command += ["--groups", options.groups, "--budget", str(options.budget)]
    command += ["--kinds", options.kinds, "--out", str(options.out)]
    shards = [f"{i}/{options.workers}" for i in range(options.workers)]
    running = [subprocess.Popen([*command, "--shard", shard]) for shard in shards]
    codes = [process.wait() for process in running]
    sys.exit(max(codes))


if __name__ == "__main__":
    main()
