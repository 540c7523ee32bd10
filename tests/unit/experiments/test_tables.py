"""Tables for a page, an article and a program."""

import csv
import io
import math

from shtarkov.experiments.tables import (
    DEFAULT,
    PAPER,
    TABLES,
    TableRow,
    as_csv,
    as_latex,
    as_markdown,
    average,
    shown,
)

NAMES = [column.name for column in TABLES["table2"]]
ROWS = [
    TableRow(PAPER, "lasso", 100, {**dict.fromkeys(NAMES), "rhat_score": math.inf, "ess": 5.25}),
    TableRow(DEFAULT, "lasso", 100, dict.fromkeys(NAMES, 1.00042)),
]


def test_values_for_people():
    assert [shown(v, 2) for v in (None, math.inf, 1.234, 207_000.4)] == [
        "-",
        "∞",
        "1.23",
        "2.07e+05",
    ]


def test_repetitions_are_averaged_and_rhats_take_the_median():
    rows = [
        {"ess": ess, "rhat_score": rhat} for ess, rhat in ((1.0, 1.0), (3.0, math.inf), (5.0, 1.2))
    ]
    assert average(rows, "ess") == 3.0
    assert average(rows, "rhat_score") == 1.2
    assert average([{"ess": None}], "ess") is None


def test_csv_keeps_every_digit_and_leaves_out_the_unknown():
    first, second = csv.DictReader(io.StringIO(as_csv(ROWS).decode()))
    assert (first["rhat_score"], first["ess"], first["rhat_mse"]) == ("inf", "5.25", "")
    assert second["total_variation"] == "1.00042"


def test_markdown_and_latex_have_a_line_for_each_row():
    page = as_markdown(ROWS, "table2").splitlines()
    widths = {line.count("|") for line in page}
    assert widths == {len(NAMES) + 3}
    assert sum(line.startswith("| Lasso | 100 |") for line in page) == 2
    article = as_latex(ROWS, "table2")
    assert article.count("Lasso & 100 &") == 2
    assert r"$\infty$" in article
    assert article.count(r"\begin") == article.count(r"\end")


def test_values_in_latex():
    values = (None, math.inf, -0.5, 1.25, 207_000.4)
    rows = [TableRow(PAPER, "lasso", 1, {**dict.fromkeys(NAMES), "rhat_score": v}) for v in values]
    lines = [line for line in as_latex(rows, "table2").splitlines() if line.startswith("Lasso")]
    assert [line.split(" & ")[2] for line in lines] == [
        "--", r"$\infty$", "$-0.5000$", "1.2500", r"$2.07 \cdot 10^{5}$",
    ]  # fmt: skip
