"""The command line with a label column: any two values, and one clear line on bad input."""

import json

import numpy as np
import pytest


@pytest.fixture
def label_file(tmp_path):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 3)).round(3)
    y = np.where(X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(40) > 0.0, "good", "bad")
    return write(tmp_path, X, y)


def write(folder, X, y):
    path = folder / "table.csv"
    lines = ["a,b,noise,y", *(",".join(map(str, [*row, t])) for row, t in zip(X, y, strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("family", ["sparse_svm", "sparse-logistic"])
def test_a_classifier_is_chosen(cli, label_file, family):
    quick = ("--std-error", 1, "--criterion", "prediction", "--seed", 1)
    done = cli("select", label_file, "--target", "y", "--family", family, *quick, "--json")
    assert (done.code, done.err) == (0, "")
    answer = json.loads(done.out)
    assert answer["classes"] == ["bad", "good"]
    assert answer["sigma"] is None
    assert answer["winner"] == "matched"
    assert answer["coef"][0] > 0.0 > answer["coef"][1]


def test_the_answer_for_people(cli, label_file):
    quick = ("--std-error", 1, "--seed", 1)
    done = cli("select", label_file, "--target", "y", "--family", "sparse_logistic", *quick)
    assert done.code == 0
    shown = " ".join(done.out.split())  # lines break where the terminal's width says
    assert "weight of the objective eta 1, scores are positive for good" in shown
    assert "noise scale" not in done.out


def test_whole_numbers_are_labels_too(cli, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 3)).round(3)
    path = write(tmp_path, X, np.where(X[:, 0] > 0.0, 10, 9))
    done = cli(
        "complexity", path, "--target", "y", "--family", "sparse_svm", "--lam", 1e6, "--json"
    )
    assert json.loads(done.out)["family"] == "sparse_svm_squared_hinge"
    done = cli(
        "select", path, "--target", "y", "--family", "sparse_svm", "--loss", "hinge",
        "--criterion", "prediction", "--std-error", 1, "--json",
    )  # fmt: skip
    assert json.loads(done.out)["classes"] == [9, 10]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "b", "c"], "labels take two"),
        (["a", "", "b"], "missing labels"),
        (["a", "a", "a"], "1 distinct values (a)"),
    ],
)
def test_one_clear_line_about_other_columns(cli, tmp_path, labels, message):
    rng = np.random.default_rng(2)
    path = write(tmp_path, rng.standard_normal((30, 3)), np.resize(labels, 30))
    done = cli("select", path, "--target", "y", "--family", "sparse_logistic")
    assert done.code == 2
    assert done.out == ""
    assert message in done.err
    assert done.err.count("\n") == 1


def test_a_noise_scale_is_not_for_labels(cli, label_file):
    done = cli("select", label_file, "--target", "y", "--family", "sparse_svm", "--sigma", "2")
    assert done.code == 2
    assert "labels have no noise scale" in done.err
