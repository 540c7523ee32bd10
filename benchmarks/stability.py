"""Error of each route against 50-digit arithmetic as the active columns become collinear.

Designs are N x k with singular values spread evenly in the logarithm from 1 to 1 / condition. The
double-precision matrix is taken as exact; the tangent projector and the pair volume are computed
from it with mpmath. Prints the table of docs/geometry.md and draws docs/figures/stability.svg.

Run with ``python benchmarks/stability.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import mpmath
import numpy as np
from numpy.typing import NDArray

from shtarkov.errors import SingularGram
from shtarkov.geometry import dense, log_pair_volume, make_active_factor, qr, tangent_project
from shtarkov.types import ActiveFactor, Status

Matrix = NDArray[np.float64]

N_SAMPLES = 24
K = 6
N_DESIGNS = 10
CONDITIONS = tuple(10.0**power for power in range(13))
UNIT_ROUNDOFF = 2.0**-53
FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "stability.svg"
SEED = 20240501

mpmath.mp.dps = 50


class Errors(NamedTuple):
    """Worst error over the designs of one condition number; nan where a route refused."""

    condition: float
    dense: float
    schur: float
    qr: float
    pair_dense: float
    pair_gram: float
    pair_sylvester: float
    pair_qr: float


def design_with_condition(
    condition: float, rng: np.random.Generator, n_samples: int = N_SAMPLES, k: int = K
) -> Matrix:
    left, _ = np.linalg.qr(rng.standard_normal((n_samples, k)))
    right, _ = np.linalg.qr(rng.standard_normal((k, k)))
    return np.ascontiguousarray((left * np.geomspace(1.0, 1.0 / condition, k)) @ right.T)


def exact(matrix: Matrix) -> mpmath.matrix:
    return mpmath.matrix(matrix.tolist())


def exact_projector(X_active: Matrix) -> mpmath.matrix:
    X = exact(X_active)
    return mpmath.eye(X.rows) - X * mpmath.inverse(X.T * X) * X.T


def exact_log_pair_volume(X_current: Matrix, X_proposed: Matrix) -> float:
    current, proposed = exact(X_current), exact(X_proposed)
    cross = current.T * proposed
    projected = cross.T * mpmath.inverse(current.T * current) * cross
    ratio = mpmath.det(projected) / mpmath.det(proposed.T * proposed)
    return float(mpmath.log(ratio) / 2)


def projector_error(computed: Matrix, reference: mpmath.matrix) -> float:
    """Spectral norm of the difference, taken before rounding the reference to doubles."""
    difference = exact(computed) - reference
    return float(np.linalg.norm(np.array(difference.tolist(), dtype=float), 2))


def matrix_by_columns(factor: ActiveFactor, route: str) -> Matrix:
    """Project each unit vector: the matrix a route stands for."""
    n = factor.X_active.shape[0]
    return np.stack([tangent_project(factor, e, route=route) for e in np.eye(n)], axis=1)


def unguarded_dense(X_active: Matrix) -> Matrix:
    """Invert the KKT matrix even where the library would refuse to."""
    return np.asarray(dense.top_left_block(X_active, 1.0, 0.0))


def unguarded_dense_pair(X_current: Matrix, X_proposed: Matrix) -> float:
    k = X_current.shape[1]
    blank = np.zeros((k, k))
    factors = (ActiveFactor(X, blank, blank, int(Status.OK)) for X in (X_current, X_proposed))
    return float(dense.log_pair_volume(*factors))


def errors_of_design(condition: float, rng: np.random.Generator) -> Errors:
    X_current = design_with_condition(condition, rng)
    X_proposed = design_with_condition(condition, rng)
    projector = exact_projector(X_proposed)
    log_pair = exact_log_pair_volume(X_current, X_proposed)
    qr_pair = [make_active_factor(X, route="qr") for X in (X_current, X_proposed)]
    try:
        pair = [make_active_factor(X) for X in (X_current, X_proposed)]
        schur_error = projector_error(matrix_by_columns(pair[1], "schur"), projector)
        gram_error = abs(log_pair_volume(*pair, route="gram") - log_pair)
        sylvester_error = abs(log_pair_volume(*pair, route="sylvester") - log_pair)
    except SingularGram:
        schur_error = gram_error = sylvester_error = np.nan
    return Errors(
        condition,
        projector_error(unguarded_dense(X_proposed), projector),
        schur_error,
        projector_error(matrix_by_columns(qr_pair[1], "qr"), projector),
        abs(unguarded_dense_pair(X_current, X_proposed) - log_pair),
        gram_error,
        sylvester_error,
        abs(float(qr.log_pair_volume(*qr_pair)) - log_pair),
    )


def worst_errors(condition: float, rng: np.random.Generator) -> Errors:
    """Take the largest error of each route; one refusal makes the whole entry a refusal."""
    errors = np.array([errors_of_design(condition, rng) for _ in range(N_DESIGNS)])
    return Errors(*errors.max(axis=0))


def print_table(rows: list[Errors]) -> None:
    print("| | | projector | | | pair volume | | | |")
    print("|---:" * (len(Errors._fields) + 1) + "|")
    print(
        "| cond(X_A) | u cond(H) | dense KKT | Schur | basis "
        "| dense KKT | Gram-only | Sylvester | basis |"
    )
    for row in rows:
        cells = [f"{row.condition:.0e}", f"{UNIT_ROUNDOFF * row.condition**2:.0e}"]
        cells += ["refused" if np.isnan(value) else f"{value:.0e}" for value in row[1:]]
        print("| " + " | ".join(cells) + " |")


def first_refusal(rows: list[Errors]) -> float:
    return min(row.condition for row in rows if np.isnan(row.schur))


def draw(rows: list[Errors]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "shtarkov"  # the same file on every run
    mpl.rcParams["svg.fonttype"] = "none"  # text stays text
    table = np.array(rows)
    condition = table[:, 0]
    figure, axes = plt.subplots(1, 2, figsize=(10.0, 4.2), sharex=True, sharey=True)
    panels = (
        ("tangent projector, spectral norm", {"dense KKT": 1, "Schur": 2, "orthonormal basis": 3}),
        (
            "log pair volume, nats",
            {"dense KKT": 4, "Gram-only": 5, "Sylvester with B": 6, "orthonormal basis": 7},
        ),
    )
    colours = {
        "dense KKT": "#888888",
        "Schur": "#c44e52",
        "Gram-only": "#c44e52",
        "Sylvester with B": "#dd8452",
        "orthonormal basis": "#4c72b0",
    }
    for axis, (title, curves) in zip(axes, panels, strict=True):
        axis.loglog(condition, UNIT_ROUNDOFF * condition**2, "k--", lw=1, label="u cond(H)")
        axis.loglog(condition, UNIT_ROUNDOFF * condition, "k:", lw=1, label="u cond(X_A)")
        for label, column in curves.items():
            marker = "s" if label == "Sylvester with B" else "o"
            values = np.maximum(table[:, column], UNIT_ROUNDOFF)
            axis.loglog(condition, values, marker=marker, ms=4, label=label, color=colours[label])
        axis.set_title(f"worst error: {title}", fontsize=10)
        axis.set_xlabel("cond(X_A)")
        axis.set_ylim(1e-17, 1e2)
        axis.axvspan(first_refusal(rows), condition[-1], color="#c44e52", alpha=0.07)
        axis.text(condition[-1], 3e-17, "Gram matrix refused ", ha="right", fontsize=8)
        axis.legend(fontsize=8, loc="upper left")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("absolute error")
    figure.tight_layout()
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, metadata={"Date": None})


def main() -> None:
    rng = np.random.default_rng(SEED)
    rows = [worst_errors(condition, rng) for condition in CONDITIONS]
    print(f"N = {N_SAMPLES}, k = {K}, worst of {N_DESIGNS} designs; u = 2^-53")
    print_table(rows)
    draw(rows)


if __name__ == "__main__":
    main()
