"""The runner, with work that costs nothing: what is run, when, and what a failure leaves."""

import pytest

from shtarkov.errors import InvalidProblem
from shtarkov.experiments import work
from shtarkov.experiments.cell_result import CellResult
from shtarkov.experiments.grid import cells_of, make_cell
from shtarkov.experiments.runner import penalty_cell, run_cells
from shtarkov.experiments.store import Store
from shtarkov.progress import SilentProgress


class Counted(SilentProgress):
    def __init__(self):
        self.total = self.done = 0

    def start(self, total, description):
        self.total = total

    def advance(self, n, **numbers):
        self.done += n


@pytest.fixture
def calls(monkeypatch):
    """Replace the work on cells by notes of what was asked for."""
    made = []

    def note(kind):
        def run(settings):
            made.append((kind, settings))
            if settings.get("size") == "bad":
                raise RuntimeError("a cell failed")
            return CellResult({"lam": 2.0} if kind == "penalty" else {"value": 1.0})

        return run

    for kind in work.WORK:
        monkeypatch.setitem(work.WORK, kind, note(kind))
    return made


def test_every_cell_is_run_once_and_a_second_run_does_nothing(tmp_path, calls):
    cells = [*cells_of("tables", "smoke"), *cells_of("tables", "smoke")]
    progress = Counted()
    done = run_cells(cells, Store(tmp_path), progress)
    assert len(done) == len(cells)
    penalties = {penalty_cell(cell).key for cell in cells}
    assert sum(kind == "penalty" for kind, _ in calls) == len(penalties)
    assert sum(kind == "sample" for kind, _ in calls) == len(set(cells))
    assert all(settings["lam"] == 2.0 for kind, settings in calls if kind == "sample")
    assert progress.done == progress.total > 0
    calls.clear()
    again = Counted()
    assert run_cells(cells, Store(tmp_path), again) == done
    assert calls == []
    assert again.done == again.total == 0


def test_the_time_left_is_that_of_what_is_missing(tmp_path, calls):
    cells = cells_of("tables", "smoke")
    whole, rest = Counted(), Counted()
    run_cells(cells, Store(tmp_path / "one"), whole)
    run_cells(cells[:-1], Store(tmp_path / "two"), SilentProgress())
    run_cells(cells, Store(tmp_path / "two"), rest)
    assert 0 < rest.done == rest.total < whole.total


def test_a_changed_configuration_is_run_again(tmp_path, calls):
    cell = make_cell("operators", {"n_samples": 10, "n_repeats": 1})
    store = Store(tmp_path)
    run_cells([cell], store, SilentProgress())
    run_cells([cell.replace(n_repeats=2)], store, SilentProgress())
    assert [settings["n_repeats"] for _, settings in calls] == [1, 2]


def test_another_penalty_makes_another_cell(tmp_path, calls, monkeypatch):
    cell = cells_of("tables", "smoke")[0]
    first = run_cells([cell], Store(tmp_path / "one"), SilentProgress())
    monkeypatch.setitem(work.WORK, "penalty", lambda settings: CellResult({"lam": 3.0}))
    second = run_cells([cell], Store(tmp_path / "two"), SilentProgress())
    assert first[0].key != second[0].key


def test_what_finished_before_a_failure_is_kept(tmp_path, calls):
    good = [make_cell("operators", {"n_samples": n, "n_repeats": 1}) for n in (90, 80, 70)]
    bad = make_cell("operators", {"n_samples": 10, "n_repeats": 1, "size": "bad"})
    store = Store(tmp_path)
    with pytest.raises(RuntimeError, match="a cell failed"):
        run_cells([*good, bad], store, SilentProgress())
    assert all(store.has(cell) for cell in good)
    assert not store.has(bad)


def test_backends_are_checked(tmp_path):
    with pytest.raises(InvalidProblem, match="backend must be one of local, dask, ray"):
        run_cells([], Store(tmp_path), SilentProgress(), backend="slurm")
    with pytest.raises(InvalidProblem, match="scheduler is for"):
        run_cells([], Store(tmp_path), SilentProgress(), scheduler="tcp://here:1")
