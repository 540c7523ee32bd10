"""Cells without a chain: time and error of the paper's reductions, and whether C is finite.

Times are processor times, the best of a few runs of calls from Python, compilation excluded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import shtarkov
from shtarkov.experiments.cell_result import CellResult, Settings
from shtarkov.geometry import apply_d_en, dense, make_active_factor, pair_volume, schur
from shtarkov.geometry.active_factor import factor_active
from shtarkov.linalg.cholesky import solve_factored
from shtarkov.seeds import rng_for
from shtarkov.types import Floats

Rational = list[list[Fraction]]

UNIT_ROUNDOFF = 2.0**-53
# A quick call is repeated until the clock has something to read.
LEAST_SECONDS, MOST_CALLS = 2e-3, 1000


def best_ms(call: Callable[[], Any], n_repeats: int) -> float:
    """Give the least time of a call over a few runs, after one that may compile."""
    call()
    once = _seconds(call, 1)
    n_calls = min(MOST_CALLS, 1 + int(LEAST_SECONDS / max(once, 1e-7)))
    return 1e3 * min(_seconds(call, n_calls) for _ in range(n_repeats))


def _seconds(call: Callable[[], Any], n_calls: int) -> float:
    began = time.thread_time()
    for _ in range(n_calls):
        call()
    return (time.thread_time() - began) / n_calls


def operators(settings: Settings) -> CellResult:
    """Time one projection and one pair volume, factors included, by each route.

    The size of both active sets is `n_active`, or `ratio` times N.
    """
    n = settings["n_samples"]
    k = settings.get("n_active") or max(1, round(settings["ratio"] * n))
    rng = rng_for(settings["seed"], n, k)
    here, there = (rng.standard_normal((n, k)) for _ in range(2))
    z, no_curvature = rng.standard_normal(n), np.zeros((k, k))
    current = factor_active(here, no_curvature)
    both = np.hstack([here, there])
    gram = both.T @ both
    first, second = np.arange(k), np.arange(k, 2 * k)
    chol, cross = np.zeros((k, k)), np.zeros((k, k))

    def by_dense() -> float:
        dense.tangent_project(current, z)
        proposed = factor_active(there, no_curvature)
        return float(dense.log_pair_volume(current, proposed))

    def by_basis() -> float:
        proposed = factor_active(there, no_curvature)
        schur.tangent_project(proposed, z)
        return float(schur.log_pair_volume(current, proposed))

    def by_gram() -> float:
        value, _ = pair_volume.log_pair_volume_step(
            gram, first, k, current.chol_gram, second, k, chol, cross
        )
        return float(value)

    values = [by_dense(), by_basis(), by_gram()]
    repeats = settings["n_repeats"]
    return CellResult(
        {
            "n_active": k,
            "dense_ms": best_ms(by_dense, repeats),
            "schur_ms": best_ms(by_basis, repeats),
            "gram_ms": best_ms(by_gram, repeats),
            "worst_difference": float(np.ptp(values)),
        }
    )


def identity(settings: Settings) -> CellResult:
    """Evaluate both sides of lemma 3.1 in rational arithmetic, U and X_A drawn at random."""
    n, k = settings["n_samples"], settings["n_active"]
    rng = rng_for(settings["seed"], n, k)
    X, U = (
        np.vectorize(Fraction, otypes=[object])(rng.integers(-9, 10, shape))
        for shape in ((n, k), (k, n - k))
    )
    solved = np.array(exact_solve((X.T @ X).tolist(), U.tolist()))
    large = exact_determinant(np.eye(n - k, dtype=int) - U.T @ solved)
    small = exact_determinant(np.eye(k, dtype=int) - solved @ U.T)
    return CellResult({"exact_value": float(large), "exact_difference": float(large - small)})


def exact_determinant(matrix: Any) -> Fraction:
    """Eliminate in rational arithmetic."""
    rows, value = [[Fraction(x) for x in row] for row in matrix.tolist()], Fraction(1)
    for i in range(len(rows)):
        place = next((j for j in range(i, len(rows)) if rows[j][i]), None)
        if place is None:
            return Fraction(0)
        if place != i:
            rows[i], rows[place], value = rows[place], rows[i], -value
        value *= rows[i][i]
        for j in range(i + 1, len(rows)):
            factor = rows[j][i] / rows[i][i]
            rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i], strict=True)]
    return value


def support(settings: Settings) -> CellResult:
    """Time the SVM's M11 on its D x D side, which the paper takes, and on the smaller side."""
    k, n_features = settings["n_margin"], settings["n_features"]
    rng = rng_for(settings["seed"], k, n_features)
    rows, z = rng.standard_normal((k, n_features)), rng.standard_normal(k)
    columns = np.ascontiguousarray(rows.T)

    def feature_side() -> Floats:
        chol, _ = schur.ridge_factor(columns, 1.0)
        weights = rows.T @ z
        solve_factored(chol, n_features, weights)
        return np.asarray(z - rows @ weights)

    def smaller_side() -> Floats:
        return np.asarray(schur.apply_m11(rows, 1.0, z))

    difference = np.abs(feature_side() - smaller_side()).max()
    return CellResult(
        {
            "feature_side_ms": best_ms(feature_side, settings["n_repeats"]),
            "smaller_side_ms": best_ms(smaller_side, settings["n_repeats"]),
            "worst_difference": float(difference),
        }
    )


def group_blocks(settings: Settings) -> CellResult:
    """Time the group-wise projection (eq. 24) beside the full one, on orthogonal groups.

    On a Gaussian design groups are not orthogonal: how far off the group-wise answer is there.
    """
    n, m, d = settings["n_samples"], settings["n_groups"], settings["group_size"]
    rng = rng_for(settings["seed"], n, m)
    gaussian, z = rng.standard_normal((n, m * d)), rng.standard_normal((n,))
    orthonormal, _ = np.linalg.qr(gaussian)
    # Orthogonal between groups, not within them.
    mixing = np.eye(d) + 0.5 * np.triu(np.ones((d, d)), 1)
    blocks = np.ascontiguousarray(orthonormal.reshape(n, m, d).transpose(1, 0, 2) @ mixing)
    columns = np.ascontiguousarray(blocks.transpose(1, 0, 2).reshape(n, m * d))
    no_curvature = np.zeros((m * d, m * d))

    def full() -> Floats:
        return np.asarray(schur.tangent_project(factor_active(columns, no_curvature), z))

    gaussian_blocks = np.ascontiguousarray(gaussian.reshape(n, m, d).transpose(1, 0, 2))
    right = schur.tangent_project(factor_active(gaussian, no_curvature), z)
    wrong = project_by_groups(gaussian_blocks, z)
    return CellResult(
        {
            "group_wise_ms": best_ms(lambda: project_by_groups(blocks, z), settings["n_repeats"]),
            "full_ms": best_ms(full, settings["n_repeats"]),
            "worst_difference": float(np.abs(project_by_groups(blocks, z) - full()).max()),
            "gaussian_error": float(np.linalg.norm(wrong - right) / np.linalg.norm(right)),
        }
    )


def project_by_groups(blocks: Floats, z: Floats) -> Floats:
    """Subtract each group's own projection: z - sum_g X_g (X_g'X_g)^-1 X_g'z."""
    flipped = blocks.transpose(0, 2, 1)
    weights = np.linalg.solve(flipped @ blocks, (flipped @ z)[:, :, None])
    return np.asarray(z - (blocks @ weights).sum(axis=0)[:, 0])


def exact_solve(matrix: Rational, right: Rational) -> Rational:
    """Solve by Gauss-Jordan elimination, for positive definite matrices."""
    table = [[*row, *rest] for row, rest in zip(matrix, right, strict=True)]
    for i, row in enumerate(table):
        table[i] = [value / row[i] for value in row]
        for j, other in enumerate(table):
            if j != i:
                factor = other[i]
                table[j] = [a - factor * b for a, b in zip(other, table[i], strict=True)]
    return [row[len(matrix) :] for row in table]


def exact_projector(columns: Floats) -> Rational:
    """Compute I - X (X'X)^-1 X' in rational arithmetic."""
    X = [[Fraction(value) for value in row] for row in columns.tolist()]
    k = len(X[0])
    gram = [[sum((row[i] * row[j] for row in X), Fraction(0)) for j in range(k)] for i in range(k)]
    solved = exact_solve(gram, [list(column) for column in zip(*X, strict=True)])
    return [
        [
            Fraction(int(a == b)) - sum((X[a][i] * solved[i][b] for i in range(k)), Fraction(0))
            for b in range(len(X))
        ]
        for a in range(len(X))
    ]


def projector_error(settings: Settings) -> CellResult:
    """Compare both projectors with exact arithmetic, and the condition numbers involved.

    Of the last design also: V's condition with columns 100 times as long, and D_EN's square.
    """
    n, k, condition = settings["n_samples"], settings["n_active"], settings["condition"]
    worst = worst_dense = 0.0
    for index in range(settings["n_designs"]):
        rng = rng_for(settings["seed"], index, round(condition))
        left, _ = np.linalg.qr(rng.standard_normal((n, k)))
        right, _ = np.linalg.qr(rng.standard_normal((k, k)))
        X = np.ascontiguousarray((left * np.geomspace(1.0, 1.0 / condition, k)) @ right.T)
        exact = exact_projector(X)
        factor = make_active_factor(X)
        reduced = np.stack([schur.tangent_project(factor, e) for e in np.eye(n)], axis=1)
        worst = max(worst, distance(reduced, exact))
        worst_dense = max(worst_dense, distance(dense.top_left_block(X, 1.0, 0.0), exact))
    ridged = X.T @ X + settings["lam2"] * np.eye(k)
    conditions = {
        "kkt_condition": condition_of(dense.kkt_matrix(X, 1.0, 0.0)),
        "kkt_condition_long": condition_of(dense.kkt_matrix(100.0 * X, 1.0, 0.0)),
        "ridged_condition": condition_of(ridged),
    }
    # Columns of length one, as in the experiments.
    X = X / np.linalg.norm(X, axis=0)
    block = np.stack([apply_d_en(X, settings["lam2"], e) for e in np.eye(n)], axis=1)
    return CellResult(
        {
            "schur_error": worst,
            "dense_error": worst_dense,
            "bound": UNIT_ROUNDOFF * condition**2,
            "d_en_square_error": float(np.linalg.norm(block @ block - block, 2)),
            **conditions,
        }
    )


def condition_of(matrix: Floats) -> float:
    """Give the ratio of the largest singular value to the smallest."""
    return float(np.linalg.cond(matrix))


def distance(computed: Floats, exact: Rational) -> float:
    """Give the spectral norm of the difference, taken before rounding the exact one."""
    rows = [
        [float(Fraction(a) - b) for a, b in zip(row, reference, strict=True)]
        for row, reference in zip(np.asarray(computed).tolist(), exact, strict=True)
    ]
    return float(np.linalg.norm(np.array(rows), 2))


def divergence(settings: Settings) -> CellResult:
    """Evaluate the paper's integral over |beta|_1 <= R (orthonormal design, closed form)."""
    problem = shtarkov.Lasso(np.eye(settings["n_features"]))
    region = shtarkov.NormBall(settings["radius"])
    result = shtarkov.complexity(problem, settings["lam"], region=region, method="closed_form")
    return CellResult({"ln_c": result.ln_c, "std_error": result.std_error})
