"""`shtarkov compare`: field by field, and what it refuses."""

import json

import pytest

QUICK = ("--seed", 1, "--std-error", 0.5, "--criterion", "prediction")


@pytest.mark.needs_jit
def test_the_ranking_is_that_of_the_reports(cli, csv_file):
    done = cli("compare", csv_file, "--target", "y", "--l2-ratio", 0.5, "--json", *QUICK)
    assert (done.code, done.err) == (0, "")
    answer = json.loads(done.out)
    assert set(answer) == {"winner", "near_ties", "reports"}
    reports = answer["reports"]
    assert list(reports) == ["lasso", "elastic-net 0.5"]
    lengths = {name: report["codelength"] for name, report in reports.items()}
    assert answer["winner"] == min(lengths, key=lengths.get)
    assert answer["near_ties"][0] == answer["winner"]
    assert {report["seed"] for report in reports.values()} == {1}
    assert reports["lasso"]["family"] == "lasso"
    assert reports["elastic-net 0.5"]["family"] == "elastic_net"


@pytest.mark.needs_jit
def test_a_table_for_people(cli, csv_file):
    done = cli("compare", csv_file, "--target", "y", "--family", "lasso", *QUICK)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("lasso on table.csv: 40 rows, 3 columns, explaining y\n")
    assert "lasso is the shortest" in done.out
    assert "columns chosen: a, b" in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--family", "ridge"), "--family must be one of"),
        (("--family", "lasso", "--family", "sparse-svm"), "compare like with like"),
        (("--l2-ratio", -1), "l2_ratio must be"),
        (("--sigma", "loud"), "--sigma must be unknown or a positive number"),
    ],
)
def test_a_wrong_request_is_one_line(cli, csv_file, arguments, message):
    done = cli("compare", csv_file, "--target", "y", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1
