"""Cells: what the TOML file multiplies out to, and when two cells are the same."""

import pytest

from shtarkov.errors import InvalidProblem
from shtarkov.experiments import grid
from shtarkov.experiments.grid import (
    PRESETS,
    TARGETS,
    blocks_of,
    cells_of,
    check_targets,
    expand,
    make_cell,
    paper,
)


def test_the_papers_tables_are_whole():
    for table in ("table1", "table2"):
        rows = paper()[table]
        assert len(rows) == 12
        assert len({(row["model"], row["n_features"]) for row in rows}) == 12
    assert all(
        row["active_ratio"] == pytest.approx(row["mean_k"] / 100) for row in paper()["table1"]
    )


def test_the_papers_own_ratio():
    solvers = paper()["solvers"]
    assert solvers["dense_ms"] / solvers["schur_ms"] == pytest.approx(solvers["speedup"], rel=2e-4)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_serves_every_target(preset):
    for block in blocks_of(TARGETS):
        cells = cells_of(block, preset)
        assert cells, block
        assert len({cell.key for cell in cells}) == len(cells), block
        if cells[0].kind == "sample":
            assert all(cell["wanted_k"] > 0.0 for cell in cells)


def test_the_paper_preset_runs_fifty_repetitions_of_each_table_cell():
    cells = [cell for cell in cells_of("tables", "paper") if cell["method"] == "published"]
    assert len({cell["model"] for cell in cells}) == 4
    assert sum(cell["n_chains"] for cell in cells) == paper()["setting"]["n_chains"]
    assert {cell["n_draws"] for cell in cells} == {paper()["setting"]["n_steps"]}
    assert {cell["n_warmup"] for cell in cells} == {paper()["setting"]["n_warmup"]}


def test_lists_are_multiplied_out():
    cells = expand({"kind": "operators", "n_samples": [10, 20], "ratio": [0.1, 0.5, 1.0]}, {})
    assert [(cell["n_samples"], cell["ratio"]) for cell in cells] == [
        (10, 0.1), (10, 0.5), (10, 1.0), (20, 0.1), (20, 0.5), (20, 1.0),
    ]  # fmt: skip


def test_a_key_depends_on_kind_settings_and_code(monkeypatch):
    cell = make_cell("sample", {"b": 2, "a": 1.5})
    assert cell.key == make_cell("sample", {"a": 1.5, "b": 2}).key
    others = [
        make_cell("penalty", {"a": 1.5, "b": 2}),
        cell.replace(b=3),
        cell.replace(a=1.5 + 2.0**-40),
        cell.replace(c=None),
    ]
    assert len({cell.key, *(other.key for other in others)}) == 5
    before = cell.key
    monkeypatch.setattr(grid, "code_version", lambda: "another")
    assert cell.key != before


def test_the_code_version_follows_an_edit(monkeypatch, tmp_path):
    (tmp_path / "sampling").mkdir()
    source = tmp_path / "sampling" / "chain.py"
    source.write_text("one = 1\n")
    monkeypatch.setattr(grid, "CODE", ("sampling",))
    monkeypatch.setattr(grid.shtarkov, "__file__", str(tmp_path / "__init__.py"))
    version = grid.code_version.__wrapped__
    first = version()
    assert version() == first
    source.write_text("one = 2\n")
    assert version() != first


def test_all_means_everything_and_an_unknown_name_is_refused():
    assert check_targets(["all"]) == tuple(TARGETS)
    assert check_targets(["claims", "table1"]) == ("table1", "claims")
    with pytest.raises(InvalidProblem, match=r"table1, .*claims, or all; got \['table3'\]"):
        check_targets(["table3"])
    with pytest.raises(InvalidProblem, match="preset must be one of smoke, laptop, paper"):
        cells_of("tables", "huge")
