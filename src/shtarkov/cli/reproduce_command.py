"""`shtarkov reproduce`: the paper's experiments, with tables for people and files for the rest."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.markup import escape
from rich.table import Table as RichTable

from shtarkov.cli.show import console, grid
from shtarkov.experiments import tables
from shtarkov.experiments.claims import Claim
from shtarkov.experiments.reproduce import Reproduction, reproduce
from shtarkov.progress import LineProgress, Progress, RichProgress


class ReproduceRequest(NamedTuple):
    """The options of the command, in its order."""

    targets: tuple[str, ...]
    out: Path
    preset: str
    backend: str
    scheduler: str | None
    page: Path | None
    json: bool
    jobs: int | None


def run(request: ReproduceRequest) -> None:
    """Run the command."""
    progress: Progress = RichProgress() if sys.stderr.isatty() else LineProgress(sys.stderr)
    # A grid of independent cells: every core, unless told otherwise.
    jobs = -1 if request.jobs is None else request.jobs
    made = reproduce(
        request.targets,
        request.out,
        preset=request.preset,
        n_jobs=(os.cpu_count() or 1) if jobs == -1 else jobs,
        backend=request.backend,
        scheduler=request.scheduler,
        page=request.page,
        progress=progress,
    )
    if request.json:
        answer = {
            "preset": request.preset,
            "claims": {claim.id: claim.verdict.value for claim in made.claims},
            "written": [str(path) for path in made.written],
        }
        sys.stdout.write(json.dumps(answer, indent=2) + "\n")
        return
    show(made)


def show(made: Reproduction) -> None:
    """Print tables, verdicts and files."""
    out = console()
    for which, rows in made.tables.items():
        out.print(f"\n[bold]{tables.TITLES[which]}[/bold]")
        out.print(_table(rows, which))
        out.print(tables.NOTES[which])
    if made.claims:
        out.print("\n[bold]Claims[/bold]")
        out.print(_claims(made.claims))
    out.print()
    for path in made.written:
        out.print(f"written: {escape(str(path))}")


def _table(rows: Sequence[tables.TableRow], which: str) -> RichTable:
    columns = tables.TABLES[which]
    shown = grid("", "D", *(column.heading for column in columns))
    block = ""
    for row in rows:
        if row.block != block:
            block = row.block
            shown.add_row(f"[bold]{block}[/bold]")
        values = (tables.shown(row.values[c.name], c.decimals) for c in columns)
        shown.add_row(tables.MODELS[row.model], str(row.n_features), *values)
    return shown


def _claims(claims: Sequence[Claim]) -> RichTable:
    shown = RichTable(box=None, pad_edge=False)
    for heading in ("claim", "verdict", "measured"):
        shown.add_column(heading, overflow="fold")
    for claim in claims:
        shown.add_row(claim.id, claim.verdict.value, escape(claim.measured))
    return shown
