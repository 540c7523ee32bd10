"""The other commands, and the start of the program."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest

from shtarkov import Lasso
from shtarkov import complexity as complexity_of
from shtarkov.cli.check_command import check_design
from shtarkov.cli.live import LiveStatus
from shtarkov.cli.table_file import Table

HEAVY = ("numba", "scipy", "sklearn", "matplotlib", "jinja2", "arviz_stats")


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom shtarkov.cli.app import _run\ncode = _run(['--help'])\n"
        f"sys.exit(code or any(name in sys.modules for name in {HEAVY!r}))"
    )
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(
        name in done.stdout for name in ("select", "compare", "complexity", "sample", "check")
    )
    assert time.perf_counter() - started < 30.0


@pytest.mark.parametrize("command", ["select", "compare", "complexity", "sample", "check"])
def test_every_command_explains_itself(cli, command):
    done = cli(command, "--help")
    assert (done.code, done.err) == (0, "")
    assert "--demo" in done.out


def test_an_unknown_command_is_one_line(cli):
    done = cli("chose")
    assert done.code == 2
    assert done.err.startswith("shtarkov: error: No such command 'chose'")
    assert done.err.count("\n") == 1


def test_complexity_of_a_file_is_that_of_its_design(cli, csv_file):
    done = cli("complexity", csv_file, "--target", "y", "--lam", 4, "--json", "--seed", 1)
    answer = json.loads(done.out)
    (row,) = answer["path"]
    X = np.loadtxt(csv_file, delimiter=",", skiprows=1)[:, :3]
    expected = complexity_of(Lasso(X, fit_intercept=True), 4.0)
    assert row["ln_c"] == pytest.approx(expected.ln_c)
    assert answer["method"] == expected.method


@pytest.mark.needs_jit
def test_complexities_along_a_path(cli, csv_file):
    done = cli("complexity", csv_file, "--target", "y", "--lam", 4, "--lam", 8, "--seed", 1)
    assert (done.code, done.err) == (0, "")
    rows = [line.split() for line in done.out.splitlines() if line.startswith(("4 ", "8 "))]
    assert float(rows[0][1]) > float(rows[1][1]) > 0.0


@pytest.mark.needs_jit
def test_samples_are_summarised_and_repeat(cli, csv_file):
    arguments = ("sample", csv_file, "--target", "y", "--lam", 4, "--draws", 50, "--seed", 1)
    first, second = cli(*arguments, "--json"), cli(*arguments, "--json")
    assert first == second
    answer = json.loads(first.out)
    assert 0.0 < answer["summary"]["k"]["mean"] < 3.0
    assert "quantity" in cli(*arguments).out


def test_bad_numbers_are_one_line(cli, csv_file):
    done = cli("complexity", csv_file, "--target", "y", "--lam", -1)
    assert done.code == 2
    assert "lam must be positive" in done.err
    assert cli("complexity", csv_file).err == "shtarkov: error: Missing option '--lam'.\n"
    done = cli("sample", csv_file, "--lam", 1, "--output", "no/such/draws.nc")
    assert (done.code, "no folder no/such" in done.err) == (2, True)


def table(X, names):
    return Table("a test", X, tuple(names), None, None)


@pytest.mark.needs_jit
def test_check_finds_what_is_awkward(rng):
    X = rng.standard_normal((30, 3))
    X = np.column_stack([X, np.full(30, 7.0), 1e4 * X[:, 1] - 2.0, X[:, 0] + X[:, 2]])
    found = check_design(table(X, "abcdef"), intercept=True)
    assert found.constant == ["d"]
    assert found.duplicated == [["b", "e"]]
    assert found.rank == 3
    assert found.scale_ratio > 1e3
    assert len(found.advice) == 3
    assert found.mean_active > 0.0
    assert found.seconds > 0.0


def test_check_counts_missing_values_and_stops_there(cli, tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("a,b\n1,\n2,3\nNA,4\n", encoding="utf-8")
    answer = json.loads(cli("check", path, "--json").out)
    assert answer["missing"] == {"a": 1, "b": 1}
    assert answer["rank"] is None
    assert "fill in the missing values" in cli("check", path).out


@pytest.mark.needs_jit
def test_check_of_the_demo(cli):
    done = cli("check", "--demo", "diabetes")
    assert (done.code, done.err) == (0, "")
    facts = {line[:30].strip(): line[30:].strip() for line in done.out.splitlines()}
    assert facts["rows, columns"] == "442, 10"
    assert facts["rank"] == "10"


def test_the_status_line_tells_the_best_so_far():
    status = LiveStatus("choosing")
    status.start(1, "codelengths")
    assert "best" not in status.text()
    status.advance(0, nats=2406.73, error=0.05)
    assert "best so far 2406.73 ± 0.05 nats" in status.text()
    status.finish()
