"""Results on disk: one file for each finished cell, written whole or not at all.

    DIR/cells/<key>.parquet     the row (.csv where pyarrow is not installed)
    DIR/traces/<key>.nc         the draws, for cells that keep them

A file is written under another name, flushed to disk and renamed; the draws go first, so a cell
with a row is finished. Keys hash configuration and code, so nothing stale is ever found.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shtarkov.errors import InvalidProblem
from shtarkov.experiments.cell_result import CellResult
from shtarkov.experiments.grid import Cell
from shtarkov.sampling.chains import Chains

Row = dict[str, Any]


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is found complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def csv_bytes(rows: Sequence[Mapping[str, Any]], *, literal: bool = False) -> bytes:
    """Give rows as CSV; with `literal`, values as JSON, so that they come back with their types."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        values = [row.get(name) for name in names]
        writer.writerow([json.dumps(value) for value in values] if literal else values)
    return text.getvalue().encode()


def _parquet_bytes(row: Row) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table({name: [value] for name, value in row.items()}), sink)
    return bytes(sink.getvalue().to_pybytes())


def _read_row(path: Path) -> Row:
    if path.suffix == ".parquet":
        from pyarrow import parquet

        rows = parquet.ParquetFile(path).read().to_pylist()
        return dict(rows[0])
    try:
        with path.open(encoding="utf-8", newline="") as file:
            names, values = csv.reader(file)
        return {name: json.loads(value) for name, value in zip(names, values, strict=True)}
    except (ValueError, RecursionError, csv.Error):
        msg = f"{path} is damaged; delete it, and repeat the command to have the cell run again"
        raise InvalidProblem(msg) from None


class Store:
    """The folder of one grid.

    Parameters
    ----------
    folder : made if it does not exist; rests of writes that were cut short are removed
    parquet : None takes Parquet if pyarrow is installed
    """

    def __init__(self, folder: str | Path, *, parquet: bool | None = None) -> None:
        self.folder = Path(folder)
        installed = importlib.util.find_spec("pyarrow") is not None
        self.suffix = ".parquet" if (installed if parquet is None else parquet) else ".csv"
        for part in ("cells", "traces"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
            for rest in (self.folder / part).glob("*.partial"):
                rest.unlink(missing_ok=True)

    def _row_path(self, cell: Cell) -> Path | None:
        for suffix in (".parquet", ".csv"):
            path = self.folder / "cells" / f"{cell.key}{suffix}"
            if path.exists():
                return path
        return None

    def _trace_path(self, cell: Cell) -> Path:
        return self.folder / "traces" / f"{cell.key}.nc"

    def has(self, cell: Cell) -> bool:
        """Whether the cell is finished."""
        return self._row_path(cell) is not None

    def write(self, cell: Cell, result: CellResult) -> None:
        """Keep the result of a cell, with its settings."""
        if result.chains is not None:
            result.chains.save(self._trace_path(cell))
        row = {**dict(cell.settings), "kind": cell.kind, **result.row}
        content = _parquet_bytes(row) if self.suffix == ".parquet" else None
        if content is None:
            content = csv_bytes([row], literal=True)
        write_whole(self.folder / "cells" / f"{cell.key}{self.suffix}", content)

    def row(self, cell: Cell) -> Row:
        """Give the settings and results of a finished cell."""
        path = self._row_path(cell)
        assert path is not None
        return _read_row(path)

    def chains(self, cell: Cell) -> Chains:
        """Give the draws of a finished cell that keeps them."""
        return Chains.load(self._trace_path(cell))
