"""`shtarkov select`: the answer field by field, clean streams, exit codes, whole files."""

import dataclasses
import json
import warnings

import numpy as np
import pytest

from shtarkov.cli import select_command, show
from shtarkov.errors import NotConverged, SamplingWarning
from tests.reports import make_report

NAMES = ("a", "b", "noise")


@pytest.fixture
def fake(monkeypatch):
    """Replace the selection by a report made by hand, and keep what it was asked."""
    asked = []

    def select(problem, y, **options):
        asked.append((problem, y, options))
        return make_report(n_features=problem.design.n_features)

    monkeypatch.setattr(select_command, "select", select)
    return asked


def test_the_json_answer_is_the_same_field_by_field(cli_process, csv_file):
    done = cli_process("select", csv_file, "--target", "y", "--seed", 3, "--json")
    assert (done.code, done.err) == (0, "")
    answer = json.loads(done.out)
    exact = {
        "schema_version": 1,
        "family": "lasso",
        "criterion": "auto",
        "winner": "subset",
        "lam": None,
        "tau": None,
        "support": [0, 1],
        "ln_c": None,
        "ok": True,
        "reasons": [],
        "sigma_known": False,
        "conservative": 0.0,
        "n_samples": 40,
        "n_features": 3,
        "feature_names": ["a", "b", "noise"],
        "seed": 3,
    }
    assert {name: answer[name] for name in exact} == exact
    assert sorted(answer["codelengths"]) == ["empty", "free", "matched", "subset"]
    assert answer["coef"] == pytest.approx([2.0, -1.0, 0.0], abs=0.25)
    assert answer["intercept"] == pytest.approx(5.0, abs=0.25)
    assert answer["sigma"] == pytest.approx(0.5, rel=0.3)
    winner = answer["codelengths"]["subset"]["nats"]
    assert answer["codelength"] == winner
    assert winner == min(code["nats"] for code in answer["codelengths"].values())


def test_the_answer_for_people(cli, csv_file, fake):
    done = cli("select", csv_file, "--target", "y", "--seed", 3)
    assert (done.code, done.err) == (0, "")
    lines = [line.rstrip() for line in done.out.splitlines()]
    assert lines[0] == "lasso on table.csv: 50 rows, 3 columns, explaining y"
    assert lines[1].startswith("The matched code is the shortest: 15")
    assert "± 0.10 nats, 3 of 3 columns" in lines[1]
    assert "penalty lam 1.912 (scikit-learn alpha 0.03824), noise scale 2" in lines[2]
    for heading in ("Codes, shortest first", "Matched code along 12 penalties", "Coefficients"):
        assert heading in lines
    assert sum("tied" in line for line in lines) == 2
    assert sum("chosen" in line for line in lines) == 1
    assert lines[-1] == "seed 7, 4000 draws, 0.4 s"


def test_options_reach_the_selection(cli, csv_file, fake):
    cli("select", csv_file, "--target", "y", "--sigma", "0.5", "--criterion", "structure",
        "--conservative", "1", "--std-error", "0.2", "--jobs", "2", "--seed", "4",
        "--no-intercept", "--family", "elastic-net", "--l2-ratio", "0.3",
        "--drop", "b")  # fmt: skip
    ((problem, y, options),) = fake
    assert (problem.name, problem.l2_ratio, problem.design.n_features) == ("elastic_net", 0.3, 2)
    assert problem.design.n_unpenalised == 0
    assert y.size == 40
    del options["progress"]
    assert options == {
        "sigma": 0.5,
        "criterion": "structure",
        "conservative": 1.0,
        "std_error": 0.2,
        "n_jobs": 2,
        "seed": 4,
    }


def test_standardizing_scales_the_design_and_says_so(cli, csv_file, fake):
    done = cli("select", csv_file, "--target", "y", "--standardize")
    ((problem, _, _),) = fake
    lengths = np.linalg.norm(problem.design.X, axis=0)
    np.testing.assert_allclose(lengths, np.sqrt(40))
    assert "divided by their standard deviations" in " ".join(done.out.split())


def test_files_are_written_whole(cli, csv_file, fake, tmp_path):
    page, picture = tmp_path / "out.html", tmp_path / "out.svg"
    done = cli("select", csv_file, "--target", "y", "--report", page, "--plot", picture)
    assert done.code == 0
    assert "<h1>" in page.read_text(encoding="utf-8")
    assert picture.read_text(encoding="utf-8").rstrip().endswith("</svg>")
    assert {path.name for path in tmp_path.iterdir()} == {"out.html", "out.svg", "table.csv"}
    assert done.out.count("written:") == 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "name one table"),
        (("--demo", "iris"), "no demo 'iris'"),
        (("none.csv", "--target", "y"), "there is no file none.csv"),
        (("--demo", "diabetes", "--target", "tagret"), "did you mean 'target'"),
        (("--demo", "diabetes", "--sigma", "big"), "--sigma must be unknown or a positive number"),
        (("--demo", "diabetes", "--sigma", "-1"), "sigma must be positive"),
        (("--demo", "diabetes", "--criterion", "best"), "criterion must be one of auto"),
        (("--demo", "diabetes", "--family", "ridge"), "--family must be one of lasso"),
        (("--demo", "diabetes", "--conservative", "-1"), "conservative must be between"),
        (("--demo", "diabetes", "--seed", "-1"), "seed must be a non-negative integer"),
        (("--demo", "diabetes", "--seed", "x"), "--seed"),
        (("--demo", "diabetes", "--report", "no/such/x.html"), "no folder no/such"),
        (("--demo", "diabetes", "--plot", "x.gif"), "--plot writes .png, .svg, .pdf"),
        (("--demo", "diabetes", "--bogus"), "No such option"),
        (("--demo", "diabetes", "--alpha", "0.1"), "scikit-learn's alpha times the number of rows"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(cli, arguments, complaint):
    done = cli("select", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert done.err.startswith("shtarkov: error: ")
    assert complaint in done.err


def test_a_run_that_failed_is_exit_code_one(cli, csv_file, monkeypatch):
    def fail(*args, **options):
        raise NotConverged("raise\nmax_rounds")

    monkeypatch.setattr(select_command, "select", fail)
    done = cli("select", csv_file, "--target", "y")
    assert done == (1, "", "shtarkov: error: raise max_rounds\n")


def test_doubts_are_in_the_answer_and_not_on_standard_error(cli, csv_file, monkeypatch):
    def doubt(problem, y, **options):
        warnings.warn("R-hat is 1.2", SamplingWarning, stacklevel=1)
        return make_report(n_features=3, reasons=("R-hat is 1.2",))

    monkeypatch.setattr(select_command, "select", doubt)
    done = cli("select", csv_file, "--target", "y")
    assert (done.code, done.err) == (0, "")
    assert "warning: R-hat is 1.2" in done.out


def interrupted_after(n_calls):
    calls = []

    def select(problem, y, **options):
        calls.append(options["std_error"])
        if len(calls) > n_calls:
            raise KeyboardInterrupt
        return make_report(n_features=3, std_error=0.5)

    return select


def test_ctrl_c_at_a_terminal_leaves_the_rough_answer(cli, csv_file, monkeypatch):
    monkeypatch.setattr(select_command, "is_watched", lambda: True)
    monkeypatch.setattr(select_command, "select", interrupted_after(1))
    done = cli("select", csv_file, "--target", "y", "--json")
    answer = json.loads(done.out)
    assert done.code == 0
    assert answer["std_error"] == 0.5
    assert not answer["ok"]
    assert "stopped by Ctrl-C" in answer["reasons"][-1]


def test_ctrl_c_before_anything_is_known_is_its_own_exit_code(cli, csv_file, monkeypatch, tmp_path):
    monkeypatch.setattr(select_command, "select", interrupted_after(0))
    done = cli("select", csv_file, "--target", "y", "--report", tmp_path / "x.html")
    assert (done.code, done.out) == (130, "")
    assert done.err == "shtarkov: error: stopped before anything was known\n"
    assert not (tmp_path / "x.html").exists()


def test_a_first_look_that_is_good_enough_is_the_answer(monkeypatch, cli, csv_file):
    monkeypatch.setattr(select_command, "is_watched", lambda: True)
    exact = dataclasses.replace(make_report(n_features=3), std_error=0.0)
    monkeypatch.setattr(select_command, "select", lambda *args, **options: exact)
    done = cli("select", csv_file, "--target", "y", "--json")
    assert json.loads(done.out)["std_error"] == 0.0


def test_the_penalties_shown_include_the_chosen_and_the_ties():
    report = make_report()
    shown = show.rows_to_show(report, 3)
    assert {0, 11} <= set(shown)
    assert set(report.near_ties) <= set(report.curve.lams[shown])
