"""The finished cells of a run, by block, for tables, figures and verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shtarkov.errors import InvalidProblem
from shtarkov.experiments.grid import Cell
from shtarkov.experiments.store import Row, Store
from shtarkov.sampling.chains import Chains


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """Finished cells.

    Attributes
    ----------
    preset : "smoke", "laptop" or "paper"
    cells : by block, in the order of the grid
    rows : their settings and measurements
    store : where the draws are
    """

    preset: str
    cells: Mapping[str, tuple[Cell, ...]]
    rows: Mapping[str, tuple[Row, ...]]
    store: Store

    def where(self, block: str, **settings: Any) -> list[Row]:
        """Give the rows of a block with these settings."""
        return [row for row in self.rows[block] if _agrees(row, settings)]

    def values(self, block: str, name: str) -> list[Any]:
        """Give the different values of a setting in a block, in the order of the grid."""
        return list(dict.fromkeys(row[name] for row in self.rows[block]))

    def chains(self, block: str, **settings: Any) -> Chains:
        """Give the draws of the one cell of a block with these settings."""
        found = [
            cell
            for cell, row in zip(self.cells[block], self.rows[block], strict=True)
            if _agrees(row, settings)
        ]
        if len(found) != 1:
            msg = f"{len(found)} cells of block {block!r} have {settings}; one is needed"
            raise InvalidProblem(msg)
        return self.store.chains(found[0])


def _agrees(row: Row, settings: Mapping[str, Any]) -> bool:
    return all(row.get(name) == value for name, value in settings.items())


def collect(preset: str, cells: Mapping[str, Iterable[Cell]], store: Store) -> Results:
    """Read the rows of finished cells."""
    fixed = {block: tuple(members) for block, members in cells.items()}
    rows = {block: tuple(store.row(cell) for cell in members) for block, members in fixed.items()}
    return Results(preset, fixed, rows, store)
