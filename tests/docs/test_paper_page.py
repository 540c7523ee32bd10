"""The committed results of the paper's experiments belong to the claims and tables of the code."""

import csv
import json

import pytest

from shtarkov.experiments.claims import CHECKS
from shtarkov.experiments.grid import PRESETS, paper, read_toml
from shtarkov.experiments.page import TITLES
from shtarkov.experiments.tables import TABLES, shown
from tests.architecture.sources import ROOT

PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
FOLDER = ROOT / "docs" / "paper"


def read_csv(name):
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_claim_has_its_row_and_its_verdict():
    found = {row["id"]: row for row in read_csv("claims.csv")}
    assert set(found) == set(CHECKS)
    for claim in read_toml("claims.toml")["claims"]:
        row = found[claim["id"]]
        assert row["says"] == claim["says"]
        says, measured = (row[name].replace("|", r"\|") for name in ("says", "measured"))
        assert f"| {says} | {row['where']} | {measured} | **{row['verdict']}** |" in PAGE


@pytest.mark.parametrize("which", TABLES)
def test_the_tables_on_the_page_are_those_of_the_files(which):
    rows = read_csv(f"{which}.csv")
    assert len(rows) == 3 * len(paper()[which])
    for row in rows:
        for column in TABLES[which]:
            value = float(row[column.name]) if row[column.name] else None
            assert f" {shown(value, column.decimals)} |" in PAGE


def test_the_figures_and_the_machine_are_there():
    assert f"Preset `{PRESETS[1]}`" in PAGE
    for name in TITLES:
        assert f"(paper/{name}.png)" in PAGE
        assert (FOLDER / f"{name}.png").stat().st_size < 400_000
    machine = json.loads((FOLDER / "machine.json").read_text(encoding="utf-8"))
    assert {"processor", "cores", "python", "shtarkov", "numba"} <= set(machine)
    assert all(row["machine"].startswith(machine["processor"]) for row in read_csv("cells.csv"))
