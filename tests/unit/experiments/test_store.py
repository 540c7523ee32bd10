"""Results on disk: whole or not at all, and back with their types."""

import math

import numpy as np
import pytest

from shtarkov import Lasso, sample
from shtarkov.experiments.cell_result import CellResult
from shtarkov.experiments.grid import make_cell
from shtarkov.experiments.store import Store, csv_bytes, write_whole

ROW = {"x": 0.1 + 0.2, "n": 3, "name": 'a, "b"', "flag": True, "none": None, "big": math.inf}
CELL = make_cell("sample", {"seed": 1, "model": "lasso"})


@pytest.mark.parametrize("parquet", [True, False])
def test_a_row_comes_back_as_it_went(tmp_path, parquet):
    if parquet:
        pytest.importorskip("pyarrow")
    store = Store(tmp_path, parquet=parquet)
    assert not store.has(CELL)
    store.write(CELL, CellResult(dict(ROW)))
    assert store.has(CELL)
    assert store.row(CELL) == {"model": "lasso", "seed": 1, "kind": "sample", **ROW}
    # Whoever has no pyarrow still finds what was written without it, and the other way round.
    assert Store(tmp_path, parquet=not parquet).has(CELL)


def test_another_configuration_is_not_found(tmp_path):
    store = Store(tmp_path)
    store.write(CELL, CellResult(dict(ROW)))
    assert not store.has(CELL.replace(seed=2))
    assert not store.has(make_cell("penalty", dict(CELL.settings)))


def test_the_rest_of_a_write_cut_short_is_no_result(tmp_path):
    store = Store(tmp_path)
    rest = tmp_path / "cells" / f"{CELL.key}.parquet.123.partial"
    rest.write_bytes(b"PAR1 half of a file")
    assert not store.has(CELL)
    Store(tmp_path)
    assert not rest.exists()


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    write_whole(path, b"first")

    def full(_: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        write_whole(path, b"second")
    assert path.read_bytes() == b"first"


def test_csv_for_people_leaves_out_what_is_not_known():
    assert csv_bytes([{"a": 1, "b": None}, {"a": 2, "c": "x"}]) == b"a,b,c\n1,,\n2,,x\n"


@pytest.mark.needs_jit
def test_draws_come_back(tmp_path):
    chains = sample(Lasso(np.eye(3)), 1.0, n_draws=20, n_warmup=10, seed=1, progress=False)
    store = Store(tmp_path)
    store.write(CELL, CellResult(dict(ROW), chains))
    np.testing.assert_array_equal(store.chains(CELL).k, chains.k)
