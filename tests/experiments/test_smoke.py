"""The whole of `shtarkov reproduce` at its smallest, from the command line to the page."""

import csv
import json

import pytest

from shtarkov.experiments.claims import CHECKS
from shtarkov.experiments.grid import TARGETS
from shtarkov.experiments.tables import TABLES
from shtarkov.experiments.verdicts import Verdict

pytestmark = [pytest.mark.slow, pytest.mark.ci_sample, pytest.mark.needs_jit]
FIGURES = [name for name in TARGETS if name.startswith("fig-")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("smoke")


def read_csv(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_everything_is_made_and_nothing_is_run_again(folder, cli_process):
    command = ("reproduce", "all", "--preset", "smoke", "--jobs", "1", "--out", folder)
    # It may be the first to need most of the kernels, and they compile for minutes.
    done = cli_process(*command, "--json", timeout=900)
    assert done.code == 0, done.err
    answer = json.loads(done.out)
    assert set(answer["claims"]) == set(CHECKS)
    assert set(answer["claims"].values()) <= {verdict.value for verdict in Verdict}
    for name in FIGURES:
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "paper.md").read_text(encoding="utf-8")
    assert all(f"({name}.png)" in page for name in FIGURES)
    finished = {path: path.stat().st_mtime_ns for path in (folder / "cells").iterdir()}
    again = cli_process(*command)
    assert again.code == 0, again.err
    assert "PPMH as published" in again.out
    assert {path: path.stat().st_mtime_ns for path in (folder / "cells").iterdir()} == finished
    assert (folder / "paper.md").read_text(encoding="utf-8") == page


def test_the_tables_have_every_column_and_three_blocks(folder):
    for which, columns in TABLES.items():
        rows = read_csv(folder / f"{which}.csv")
        assert {row["block"] for row in rows} == {
            "paper", "ours: PPMH as published", "ours: default sampler",
        }  # fmt: skip
        ours = [row for row in rows if row["block"] != "paper"]
        known = {row["model"]: {c.name for c in columns if row[c.name] != ""} for row in ours}
        every = {column.name for column in columns}
        assert list(known) == ["lasso", "elastic_net", "group_lasso", "sparse_svm"]
        assert all(names == every for names in known.values())


def test_the_penalties_give_the_papers_mean_k_and_the_default_sampler_converges(folder):
    cells = read_csv(folder / "cells.csv")
    default = [row for row in cells if row.get("method") == "default"]
    assert len(default) > 5
    for row in default:
        # 400 draws a chain, beside a curve that is itself sampled.
        assert float(row["rank_rhat_score"]) < 1.1
        assert float(row["mean_k"]) == pytest.approx(float(row["wanted_k"]), rel=0.3, abs=0.2)
