"""`reproduce`: run what a preset asks for, then write tables, figures, claims and their page."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shtarkov.experiments import claims as claims_module
from shtarkov.experiments import figures, tables
from shtarkov.experiments.claims import Claim
from shtarkov.experiments.grid import Cell, blocks_of, cells_of, check_targets
from shtarkov.experiments.machine import description
from shtarkov.experiments.page import as_page
from shtarkov.experiments.results import Results, collect
from shtarkov.experiments.runner import run_cells
from shtarkov.experiments.store import Store, csv_bytes, write_whole
from shtarkov.experiments.tables import TableRow
from shtarkov.progress import Progress, resolve_progress

PAGE = "paper.md"


@dataclass(frozen=True, slots=True, eq=False)
class Reproduction:
    """What was made.

    Attributes
    ----------
    results : the finished cells
    tables : rows of each table made
    claims : checked claims, if they were asked for
    written : files
    """

    results: Results
    tables: Mapping[str, Sequence[TableRow]]
    claims: Sequence[Claim]
    written: Sequence[Path]


def reproduce(
    targets: Iterable[str],
    out: str | Path,
    *,
    preset: str = "laptop",
    n_jobs: int = 1,
    backend: str = "local",
    scheduler: str | None = None,
    page: str | Path | None = None,
    progress: bool | Progress | None = None,
) -> Reproduction:
    """Run the paper's experiments again.

    Parameters
    ----------
    targets : any of "table1", "table2", "fig-scaling", "fig-equivalence", "fig-speedup",
        "fig-traces", "fig-acf", "claims", or "all"
    out : folder of everything; called again with the same one, only what is missing is run
    preset : "smoke" (a minute), "laptop" (half an hour on two cores) or "paper"
    n_jobs : processes of the local backend
    backend : "local", or "dask" or "ray" for a cluster
    scheduler : the cluster's address
    page : where the page of claims goes, with a folder of its name beside it for tables, figures
        and every cell's row; None puts all of it in `out`, with paper.md as the page
    progress : None shows a bar on a terminal, False never, or an object with start/advance/finish
    """
    names = check_targets(targets)
    cells = {block: cells_of(block, preset) for block in blocks_of(names)}
    store = Store(out)
    flat = [cell for members in cells.values() for cell in members]
    bar = resolve_progress(progress)
    done = iter(run_cells(flat, store, bar, n_jobs=n_jobs, backend=backend, scheduler=scheduler))
    finished: dict[str, list[Cell]] = {
        block: [next(done) for _ in members] for block, members in cells.items()
    }
    results = collect(preset, finished, store)
    path = store.folder / PAGE if page is None else Path(page)
    made = _Writer(results, store.folder if page is None else path.with_suffix(""))
    for name in names:
        if name in tables.TABLES:
            made.table(name)
        elif name in figures.FIGURES:
            made.figure(name)
    if "claims" in names:
        made.page(path, f"shtarkov reproduce {_asked(names)} --preset {preset} --out DIR")
    made.provenance()
    return Reproduction(results, made.tables, made.claims, made.written)


def _asked(names: Sequence[str]) -> str:
    return "all" if len(names) == len(check_targets(["all"])) else " ".join(names)


class _Writer:
    """Writes files into the folder and remembers them."""

    def __init__(self, results: Results, folder: Path) -> None:
        self.results, self.folder = results, folder
        self.tables: dict[str, list[TableRow]] = {}
        self.captions: dict[str, str] = {}
        self.claims: list[Claim] = []
        self.written: list[Path] = []

    def _write(self, path: Path, content: bytes) -> None:
        write_whole(path, content)
        self.written.append(path)

    def table(self, which: str) -> None:
        rows = tables.table_rows(self.results, which)
        self.tables[which] = rows
        self._write(self.folder / f"{which}.csv", tables.as_csv(rows))
        self._write(self.folder / f"{which}.tex", tables.as_latex(rows, which).encode())

    def figure(self, name: str) -> None:
        picture = figures.FIGURES[name](self.results)
        self.captions[name] = picture.caption
        self._write(self.folder / f"{name}.png", figures.png_bytes(picture))

    def page(self, path: Path, command: str) -> None:
        self.claims = claims_module.check_claims(self.results)
        self._write(self.folder / "claims.csv", claims_module.as_csv(self.claims))
        pictures = {
            name: (os.path.relpath(self.folder / f"{name}.png", path.parent), caption)
            for name, caption in self.captions.items()
        }
        folder = os.path.relpath(self.folder, path.parent)
        text = as_page(self.results, self.claims, self.tables, pictures, command, folder)
        self._write(path, text.encode())

    def provenance(self) -> None:
        """Write every cell's row, and the machine."""
        rows = {
            cell.key: row
            for block, members in self.results.cells.items()
            for cell, row in zip(members, self.results.rows[block], strict=True)
        }
        keyed = [{"key": key, **row} for key, row in sorted(rows.items())]
        self._write(self.folder / "cells.csv", csv_bytes(keyed))
        machine = json.dumps(description(), indent=2) + "\n"
        self._write(self.folder / "machine.json", machine.encode())
