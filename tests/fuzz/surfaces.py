"""Everything the library reads from files it did not write itself, as functions of bytes.

Each takes the content of a file and gives what was read, or None where it was refused by an
`InvalidProblem`. Any other exception is a fault. `harness.py` feeds them to atheris, the tests to
hypothesis.
"""

import csv
import io
import math
import tempfile
from pathlib import Path

import numpy as np

from shtarkov.cli.group_option import read_labels
from shtarkov.cli.table_file import MISSING, read_table
from shtarkov.errors import InvalidProblem
from shtarkov.experiments.grid import make_cell
from shtarkov.experiments.store import Store
from shtarkov.sampling.checkpoint import Checkpoint, stored_seed

FOLDER = Path(tempfile.mkdtemp(prefix="shtarkov-fuzz-"))
REQUEST = {"seed": 1, "n_chains": 2}


def _written(name, content):
    path = FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def table(content):
    """Read a CSV table with target y, missing values allowed."""
    path = _written("table.csv", content)
    try:
        found = read_table(path, None, "y", allow_missing=True)
    except InvalidProblem:
        return None
    assert found.X.shape == (found.y.size, len(found.names))
    expected = plain_table(content)
    assert expected is not None
    assert found.names == tuple(name for name in expected if name != "y")
    columns = [*found.X.T, found.y]
    for name, column in zip([*found.names, "y"], columns, strict=True):
        np.testing.assert_array_equal(column, expected[name])
    return found


def plain_table(content):
    """Read a table in the plainest way: the slow twin. None where a value is no number."""
    text = content.decode("utf-8-sig")
    # A file's first line ends at \n, \r or \r\n alike.
    header = io.StringIO(text, newline="").readline()
    delimiter = max(",;\t|", key=header.count)
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    names = [name.strip() or f"column {i + 1}" for i, name in enumerate(rows[0])]
    columns = {}
    for i, name in enumerate(names):
        values = [row[i].strip() for row in rows[1:]]
        columns[name] = [math.nan if v.lower() in MISSING else float(v) for v in values]
    return columns


def groups(content):
    """Read the labels of two columns."""
    path = _written("groups.csv", content)
    try:
        return read_labels(str(path), ["a", "b"])
    except InvalidProblem:
        return None


def run_header(content):
    """Open a checkpoint folder with this header."""
    path = _written("run/run.json", content)
    try:
        seed = stored_seed(path.parent)
        Checkpoint(path.parent, REQUEST)
    except InvalidProblem:
        return None
    return seed


def run_chunk(content):
    """Read a stored chunk of draws."""
    path = FOLDER / "chunks"
    for left in path.glob("*"):
        left.unlink()
    checkpoint = Checkpoint(path, REQUEST)
    (path / "chunk-00000.npz").write_bytes(content)
    try:
        return checkpoint.read(0)
    except InvalidProblem:
        return None


def stored_row(content):
    """Read a finished cell's row, kept as CSV of JSON values."""
    cell = make_cell("sample", {"a": 1})
    _written(f"store/cells/{cell.key}.csv", content)
    try:
        return Store(FOLDER / "store", parquet=False).row(cell)
    except InvalidProblem:
        return None


SURFACES = {
    "table": table,
    "groups": groups,
    "run header": run_header,
    "run chunk": run_chunk,
    "stored row": stored_row,
}
