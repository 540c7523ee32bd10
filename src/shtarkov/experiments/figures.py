"""Figures 1 to 5 of the paper from stored results, each with its caption below it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from shtarkov.diagnostics.active_sets import autocorrelation
from shtarkov.experiments.designs import SINGULAR
from shtarkov.experiments.grid import paper
from shtarkov.experiments.results import Results
from shtarkov.experiments.tables import MODELS, average
from shtarkov.types import Floats

DPI = 110
# Inches of a caption's line, and its letters in an inch.
LINE, LETTERS = 0.17, 13.5
COLOURS = {
    "lasso": "#1b3a57", "elastic_net": "#b4531a", "group_lasso": "#2a7f62", "sparse_svm": "#8a1538",
}  # fmt: skip
STYLES = {"paper": ("--", "o"), "published": ("-", "s"), "default": (":", "^")}
SOLVERS = {"dense": "dense KKT", "schur": "Schur"}
SIZE_COLOURS = ("#6fa3d0", "#e8a15c")
SOLVER_COLOURS = {"dense": "#b4531a", "schur": "#1b3a57"}
NAMES = {"published": "PPMH as published", "default": "default sampler", "full_rank": "full rank"}
# Steps shown of a trace: the paper's 10,000; of a sampler that mixes they would fill the panel.
LONGEST_TRACE = {"published": 10_000, "default": 1_000}
N_LAGS = 50
# Steps shown of two solvers side by side.
N_COMPARED = 400


class Picture(NamedTuple):
    """A matplotlib figure and its caption."""

    figure: Any
    caption: str


def canvas(n_rows: int, n_columns: int, width: float, height: float, **options: Any) -> Any:
    """Make a figure and its axes, without a window."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        msg = "figures need matplotlib: pip install 'shtarkov[plots]'"
        raise ImportError(msg) from error
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False, **options)


def scaling(results: Results) -> Picture:
    """Figure 1: step time against D."""
    figure, axes = canvas(1, 1, 7.5, 4.6)
    ax = axes[0, 0]
    n_features = results.values("tables", "n_features")
    n_samples = results.values("tables", "n_samples")[0]
    models = results.values("tables", "model")
    for model in models:
        printed = [row for row in paper()["table1"] if row["model"] == model]
        series = {"paper": [(row["n_features"], row["step_ms"]) for row in printed]}
        for method in ("published", "default"):
            series[method] = [(d, step_time(results, model, method, d)) for d in n_features]
        for name, points in series.items():
            line, marker = STYLES[name]
            x, y = zip(*points, strict=True)
            ax.loglog(x, y, line, marker=marker, color=COLOURS[model], markersize=5)
    ax.set_xlabel("D")
    ax.set_ylabel("ms a step")
    if n_features == [row["n_features"] for row in paper()["table1"][: len(n_features)]]:
        ax.set_xticks(n_features, [str(d) for d in n_features])
        ax.minorticks_off()
    keys = [ax.plot([], [], color=COLOURS[model], label=MODELS[model])[0] for model in models]
    for name, (line, marker) in STYLES.items():
        label = NAMES.get(name, "the paper")
        keys += ax.plot([], [], line, marker=marker, color="0.3", markersize=5, label=label)
    ax.legend(
        handles=keys, frameon=False, fontsize=8, handlelength=3.0, loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
    )  # fmt: skip
    caption = (
        f"Step time against D at N = {n_samples}, the penalty chosen for the paper's mean k. "
        "Dashed: the paper (N = 100). Solid: PPMH as published, one compiled thread. "
        "Dotted: the default sampler, whose step is a whole Hamiltonian move."
    )
    return Picture(figure, caption)


def step_time(results: Results, model: str, method: str, n_features: int) -> float | None:
    """Give the mean step time of a cell of the tables."""
    rows = results.where("tables", model=model, method=method, n_features=n_features)
    return average(rows, "step_ms")


def equivalence(results: Results) -> Picture:
    """Figure 2: score and acceptance of the two solvers, step by step."""
    methods = results.values("solvers", "method")
    figure, axes = canvas(len(methods), 2, 9.0, 2.7 * len(methods), sharex=True)
    for row, method in enumerate(methods):
        for place, n_samples in enumerate(results.values("solvers", "n_samples")):
            for solver in ("dense", "schur"):
                chains = results.chains(
                    "solvers", method=method, n_samples=n_samples, solver=solver
                )
                score = chains.log_volume[0, :N_COMPARED]
                accepted = chains.accepted[0, :N_COMPARED]
                rate = 100.0 * np.cumsum(accepted) / np.arange(1, accepted.size + 1)
                line, width = ("-", 2.4) if solver == "dense" else ("--", 1.0)
                colour = SIZE_COLOURS[place] if solver == "dense" else "k"
                style = {"color": colour, "linewidth": width}
                label = f"N = {n_samples}, {SOLVERS[solver]}"
                axes[row, 0].plot(score, line, label=label, **style)
                axes[row, 1].plot(rate, line, label=label, **style)
        axes[row, 0].set_title(NAMES[method], loc="left", fontsize=10)
        axes[row, 0].set_ylabel("score, nats")
        axes[row, 1].set_ylabel("accepted so far, %")
    for ax in axes[-1]:
        ax.set_xlabel("step")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=8,
        frameon=False, handlelength=3.0,
    )  # fmt: skip
    n_features = results.values("solvers", "n_features")[0]
    caption = (
        f"Lasso, D = {n_features}: -ln J_cons and acceptance of the dense KKT solver (solid) and "
        "of the Schur solver (dashed) with the same seed, first chain. Where the lines lie on "
        "each other both took the same decisions. The published proposal never leaves its "
        "stratum, so its score is constant; the full-rank one moves."
    )
    return Picture(figure, caption)


def speedup(results: Results) -> Picture:
    """Figure 3: step time of the two solvers."""
    figure, axes = canvas(1, 1, 6.5, 4.2)
    ax, printed = axes[0, 0], paper()["solvers"]
    groups = [("paper, N = 500", printed["dense_ms"], printed["schur_ms"])]
    for n_samples in results.values("solvers", "n_samples"):
        dense, schur = (
            average(
                results.where("solvers", method="published", n_samples=n_samples, solver=s),
                "step_ms",
            )
            for s in ("dense", "schur")
        )
        assert dense is not None
        assert schur is not None
        groups.append((f"ours, N = {n_samples}", dense, schur))
    for place, (_, dense, schur) in enumerate(groups):
        for side, (solver, height) in enumerate((("dense", dense), ("schur", schur))):
            x, colour = place - 0.2 + 0.4 * side, SOLVER_COLOURS[solver]
            ax.bar(x, height, 0.4, color=colour, label=SOLVERS[solver])
        ax.annotate(
            f"{dense / schur:.3g}x", (place - 0.2, dense), (0, 2), textcoords="offset points",
            ha="center", va="bottom", fontsize=9,
        )  # fmt: skip
    ax.set_yscale("log")
    ax.margins(y=0.2)
    ax.set_xticks(range(len(groups)), [name for name, _, _ in groups])
    ax.set_ylabel("ms a step")
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(handles[:2], labels[:2], frameon=False, fontsize=8)
    n_features = results.values("solvers", "n_features")[0]
    caption = (
        f"Step time of PPMH as published, Lasso, D = {n_features} (the paper: 2000), by solver of "
        "the geometry. Both run the same chain and differ in the projection alone; a ratio "
        "is dense over Schur. Neither computes a pair volume."
    )
    return Picture(figure, caption)


def traces(results: Results) -> Picture:
    """Figure 4: traces of score and MSE."""
    models, methods = results.values("traces", "model"), results.values("traces", "method")
    rows = [(model, method) for model in models for method in methods]
    figure, axes = canvas(len(rows), 2, 9.0, 1.9 * len(rows))
    for row, (model, method) in enumerate(rows):
        chains = results.chains("traces", model=model, method=method)
        for ax, (name, draws) in zip(axes[row], _series(chains).items(), strict=True):
            for chain in draws[:, : LONGEST_TRACE[method]]:
                ax.plot(chain, linewidth=0.6, alpha=0.8)
            ax.set_title(f"{MODELS[model]}, {NAMES[method]}: {name}", loc="left", fontsize=9)
            ax.tick_params(labelsize=8)
            ax.margins(x=0.01)
            # Plain numbers: a small spread is not shown as an offset from a large one.
            ax.ticklabel_format(useOffset=False)
    for ax in axes[-1]:
        ax.set_xlabel("step", fontsize=9)
    n_features = results.values("traces", "n_features")[0]
    caption = (
        f"Steps after warm-up, D = {n_features}, one colour a chain; of the default sampler, which "
        f"has the same target, the first {LONGEST_TRACE['default']:,}. Score: -ln J_cons. As "
        "published, the Lasso's proposal keeps coefficients for ever; the Elastic Net's D_EN is of "
        "full rank and moves."
    )
    return Picture(figure, caption)


def acf(results: Results) -> Picture:
    """Figure 5: autocorrelation of score and MSE."""
    figure, axes = canvas(1, 2, 9.5, 3.6, sharey=True)
    for model in results.values("traces", "model"):
        for method in results.values("traces", "method"):
            chains = results.chains("traces", model=model, method=method)
            for ax, (name, draws) in zip(axes[0], _series(chains).items(), strict=True):
                values = autocorrelation(draws, N_LAGS).mean(axis=0)
                label = f"{MODELS[model]}, {NAMES[method]}"
                ax.plot(values, STYLES[method][0], color=COLOURS[model], label=label)
                ax.set_title(name, loc="left", fontsize=10)
                ax.set_xlabel("lag")
    axes[0, 0].set_ylabel("autocorrelation")
    for ax in axes[0]:
        ax.axhline(0.0, color="0.6", linewidth=0.8)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=8,
        frameon=False, handlelength=3.0,
    )  # fmt: skip
    n_features = results.values("traces", "n_features")[0]
    caption = (
        f"Autocorrelation, averaged over chains, D = {n_features}. Solid: PPMH as published. "
        "Dotted: the default sampler. A chain that never moves has autocorrelation 1 at every lag. "
        f"As published, the Lasso's MSE moves only by the variance of {SINGULAR:g} that our "
        "proposal keeps along the active columns, where the paper's has none."
    )
    return Picture(figure, caption)


def _series(chains: Any) -> dict[str, Floats]:
    return {"score": chains.log_volume, "MSE": chains.extras["mse"]}


FIGURES: dict[str, Callable[[Results], Picture]] = {
    "fig-scaling": scaling,
    "fig-equivalence": equivalence,
    "fig-speedup": speedup,
    "fig-traces": traces,
    "fig-acf": acf,
}


def png_bytes(picture: Picture) -> bytes:
    """Render a picture with its caption below it."""
    import io

    figure = picture.figure
    width, height = figure.get_size_inches()
    lines = textwrap.wrap(picture.caption, int(LETTERS * width))
    room = LINE * (len(lines) + 1)
    figure.set_size_inches(width, height + room)
    share = room / (height + room)
    figure.get_layout_engine().set(rect=(0.0, share, 1.0, 1.0 - share))
    figure.text(0.02, 0.6 * share, "\n".join(lines), fontsize=8.5, va="center", linespacing=1.3)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=DPI, metadata={"Software": None})
    return out.getvalue()
