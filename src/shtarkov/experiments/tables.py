"""Tables 1 and 2: the paper's columns, and what its section 6.4 recommends and does not show.

Three blocks of rows: the paper's numbers, its sampler as we run it, and our default sampler, at
equal (N, D, mean k). Repetitions are averaged; of an R-hat the median is taken.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from shtarkov.experiments.grid import paper
from shtarkov.experiments.results import Results
from shtarkov.experiments.store import Row, csv_bytes

MODELS = {
    "lasso": "Lasso",
    "elastic_net": "Elastic Net",
    "group_lasso": "Group Lasso",
    "sparse_svm": "Sparse SVM",
}
PAPER, PUBLISHED, DEFAULT = "paper", "ours: PPMH as published", "ours: default sampler"
METHOD_OF = {PUBLISHED: "published", DEFAULT: "default"}


class Column(NamedTuple):
    """One column: its name in rows, its headings, and how many decimals are shown."""

    name: str
    heading: str
    latex: str
    decimals: int


TABLES: dict[str, tuple[Column, ...]] = {
    "table1": (
        Column("step_ms", "step, ms", "Step time, ms", 4),
        Column("step_ms_sd", "sd, ms", "Std dev, ms", 4),
        Column("accept_percent", "accept %", r"Accept \%", 2),
        Column("mean_k", "mean k", "Mean $k$", 2),
        Column("active_ratio", "k/N", r"$\bar\rho$", 4),
        Column("mse", "MSE", "Mean MSE", 5),
        Column("score", "score", "Mean score", 4),
    ),
    "table2": (
        Column("rhat_score", "R-hat", r"$\hat R$", 4),
        Column("rank_rhat_score", "rank R-hat", r"rank $\hat R$", 4),
        Column("rhat_mse", "R-hat MSE", r"$\hat R_{\mathrm{MSE}}$", 4),
        Column("ess", "ESS", "ESS", 1),
        Column("ess_per_second", "ESS/s", "ESS/s", 4),
        Column("jaccard_between", "Jaccard between", "Jaccard between", 3),
        Column("jaccard_within", "within", "within", 3),
        Column("total_variation", "TV", "TV", 3),
    ),
}
TITLES = {
    "table1": "Sampler performance and step times",
    "table2": "Convergence diagnostics",
}
NOTES = {
    "table1": (
        "Ours: processor time, its sd between compiled chunks of steps, and the score -ln J_cons "
        "(nats), neither of them defined in the paper. A step of the default sampler is a whole "
        "Hamiltonian move with several solves. The MSE is the estimate's against beta_true, though "
        "no drawn data vector comes from beta_true. Sparse SVM: k counts rows on the margin, the "
        "score is minus the objective, a step of the published sampler flips one label."
    ),
    "table2": (
        "ESS is per chain, of the score; a chain whose score never moves counts 1. An infinite "
        "R-hat: chains that do not move and differ. Jaccard distance and total variation compare "
        "active sets; chains agree where between is no larger than within."
    ),
}


class TableRow(NamedTuple):
    """A model at one D in one block; a value that is not known is None."""

    block: str
    model: str
    n_features: int
    values: dict[str, float | None]


def average(rows: Sequence[Row], name: str) -> float | None:
    """Average repetitions."""
    values = [row[name] for row in rows if row.get(name) is not None]
    if not values:
        return None
    return statistics.median(values) if "rhat" in name else statistics.fmean(values)


def table_rows(results: Results, which: str) -> list[TableRow]:
    """Assemble a table."""
    names = [column.name for column in TABLES[which]]
    rows = [
        TableRow(PAPER, row["model"], row["n_features"], {name: row.get(name) for name in names})
        for row in paper()[which]
        if row["model"] in results.values("tables", "model")
    ]
    for block, method in METHOD_OF.items():
        for model in results.values("tables", "model"):
            for n_features in results.values("tables", "n_features"):
                found = results.where("tables", model=model, method=method, n_features=n_features)
                values = {name: average(found, name) for name in names}
                rows.append(TableRow(block, model, n_features, values))
    return rows


def shown(value: float | None, decimals: int) -> str:
    """Write a value for people."""
    if value is None:
        return "-"
    if math.isinf(value):
        return "∞"
    if abs(value) >= 1e5:
        return f"{value:.3g}"
    return f"{value:.{decimals}f}"


def as_csv(rows: Sequence[TableRow]) -> bytes:
    """Give a table as CSV, unrounded."""
    flat: list[dict[str, Any]] = [
        {"block": row.block, "model": row.model, "n_features": row.n_features, **row.values}
        for row in rows
    ]
    return csv_bytes(flat)


def as_markdown(rows: Sequence[TableRow], which: str) -> str:
    """Give a table for a page, one part for each block."""
    columns = TABLES[which]
    lines = ["| model | D | " + " | ".join(column.heading for column in columns) + " |"]
    lines.append("|---|---:|" + "---:|" * len(columns))
    for block in (PAPER, PUBLISHED, DEFAULT):
        lines.append(f"| **{block}** |" + " |" * (len(columns) + 1))
        lines += [
            f"| {MODELS[row.model]} | {row.n_features} | "
            + " | ".join(shown(row.values[c.name], c.decimals) for c in columns)
            + " |"
            for row in rows
            if row.block == block
        ]
    return "\n".join(lines) + "\n"


def as_latex(rows: Sequence[TableRow], which: str) -> str:
    """Give a table for an article (booktabs)."""
    columns = TABLES[which]
    head = " & ".join(["Model", "$D$", *(column.latex for column in columns)])
    lines = [
        r"\begin{table}", r"\centering", rf"\caption{{{TITLES[which]}. {NOTES[which]}}}",
        rf"\begin{{tabular}}{{lr{'r' * len(columns)}}}", r"\toprule", head + r" \\",
    ]  # fmt: skip
    for block in (PAPER, PUBLISHED, DEFAULT):
        lines += [r"\midrule", rf"\multicolumn{{{len(columns) + 2}}}{{l}}{{\emph{{{block}}}}} \\"]
        for row in rows:
            if row.block != block:
                continue
            cells = [shown(row.values[c.name], c.decimals) for c in columns]
            plain = [_in_latex(cell) for cell in cells]
            lines.append(" & ".join([MODELS[row.model], str(row.n_features), *plain]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return (
        "\n".join(lines)
        .replace("beta_true", r"$\beta_{\mathrm{true}}$")
        .replace("J_cons", r"$J_{\mathrm{cons}}$")
        + "\n"
    )


def _in_latex(cell: str) -> str:
    """Set one value: an en dash for the unknown, signs and powers of ten in mathematics."""
    if cell == "-":
        return "--"
    digits, _, power = cell.replace("∞", r"\infty").partition("e")
    exponent = rf" \cdot 10^{{{int(power)}}}" if power else ""
    return f"${digits}{exponent}$" if exponent or not digits[0].isdigit() else digits
