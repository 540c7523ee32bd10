"""`--groups` at the command line."""

import json

import pytest

NOT_GROUPED = ["--family", "group-lasso"]


def test_groups_from_a_file(cli, csv_file, tmp_path):
    labels = tmp_path / "groups.csv"
    labels.write_text("a,signal\n\nnoise,rest\nb,signal\n", encoding="utf-8")
    options = ["--family", "group-lasso", "--groups", labels, "--seed", 1, "--json"]
    done = cli("select", csv_file, "--target", "y", "--std-error", 0.3, *options)
    assert (done.code, done.err) == (0, "")
    report = json.loads(done.out)
    assert report["family"] == "group_lasso"
    assert {0, 1} <= set(report["support"])


def test_groups_from_the_names(cli, csv_file):
    options = ["--family", "group-lasso", "--groups", "_", "--lam", 1e6, "--json"]
    done = cli("complexity", csv_file, "--target", "y", *options)
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["path"][0]["ln_c"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("a,u\nb,u\n", "no label for 'noise'"),
        ("a,u\nb,u\na,v\nnoise,v\n", "labels 'a' twice"),
        ("a u\n", "line 1 of groups.csv is not column,label"),
    ],
)
def test_bad_files_are_one_line(cli, csv_file, tmp_path, lines, complaint):
    labels = tmp_path / "groups.csv"
    labels.write_text(lines, encoding="utf-8")
    done = cli("select", csv_file, "--target", "y", *NOT_GROUPED, "--groups", labels)
    assert done.code == 2
    assert complaint in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (NOT_GROUPED, "needs --groups"),
        ([*NOT_GROUPED, "--groups", "no-such-file.csv"], "too long for a separator"),
        (["--groups", "_"], "goes with --family group-lasso"),
    ],
)
def test_options_that_do_not_fit(cli, csv_file, options, complaint):
    done = cli("select", csv_file, "--target", "y", *options)
    assert done.code == 2
    assert complaint in done.err
