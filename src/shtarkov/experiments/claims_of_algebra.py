"""Claims about the reductions themselves: identities, costs, condition numbers, error bounds."""

from __future__ import annotations

import numpy as np

from shtarkov.experiments.results import Results
from shtarkov.experiments.store import Row
from shtarkov.experiments.verdicts import Finding, exponent, graded, listed, number
from shtarkov.geometry.flops import schur_to_kkt

# Errors may exceed a first-order bound by a factor that does not grow with the condition number.
SLACK = 10.0
# An exponent measured from a few times may exceed the predicted one by this much.
EXPONENT_ERROR = 0.25


def sylvester_identity(results: Results) -> Finding:
    """Compare both sides exactly, and the three routes to the volume factor in floating point."""
    exact = results.rows["identity"]
    differ = [row for row in exact if row["exact_difference"] != 0.0]
    rows = [*results.rows["operators"], *results.rows["collapse"]]
    worst = max(row["worst_difference"] for row in rows)
    measured = (
        f"in rational arithmetic the two sides differ in {len(differ)} of {len(exact)} cases; in "
        f"double precision the (N - k) x (N - k) form, the k x k form and ours without B differ by "
        f"at most {number(worst, 2)} nats over {len(rows)} pairs of active sets"
    )
    return Finding(graded(not differ), measured)


def collapse(results: Results) -> Finding:
    """Look at the time of one projection and one volume against N at one k."""
    rows = results.rows["collapse"]
    n_samples = [row["n_samples"] for row in rows]
    power = {
        name: exponent(n_samples, [row[name] for row in rows])
        for name in ("dense_ms", "schur_ms", "gram_ms")
    }
    measured = (
        f"one projection and one pair volume, k = {rows[0]['n_active']}, N = "
        f"{listed(n_samples, 4)}: dense N^{power['dense_ms']:.2f}, Schur N^{power['schur_ms']:.2f} "
        f"(the N² is the basis B; from Gram entries alone N^{power['gram_ms']:.2f})"
    )
    within = power["schur_ms"] <= 2.0 + EXPONENT_ERROR
    return Finding(graded(within and power["dense_ms"] > power["schur_ms"], within), measured)


def dense_error_is_larger(results: Results) -> Finding:
    """Compare the errors of both projectors with exact arithmetic."""
    row = max(results.rows["projector_error"], key=lambda row: row["condition"])
    ratio = row["dense_error"] / row["schur_error"]
    measured = (
        f"at κ(X_A) = {number(row['condition'])}: dense {number(row['dense_error'], 2)}, Schur "
        f"{number(row['schur_error'], 2)} (exact rational arithmetic as reference); both carry "
        "κ(X_A)²"
    )
    return Finding(graded(ratio > SLACK, ratio > 1.0), measured)


def theorem_one(results: Results) -> Finding:
    """Compare the error of the Schur projector with its bound."""
    ratios = [row["schur_error"] / row["bound"] for row in results.rows["projector_error"]]
    conditions = [row["condition"] for row in results.rows["projector_error"]]
    measured = f"error over bound at κ(X_A) = {listed(conditions)}: {listed(ratios, 2)}"
    return Finding(graded(max(ratios) <= 1.0, max(ratios) <= SLACK), measured)


def crossover(results: Results) -> Finding:
    """Check the polynomial on a grid, and the measured times."""
    rho = np.linspace(1e-4, 1.0, 10_001)
    polynomial = bool((5.0 * rho**3 - 3.0 * rho**2 + 1.0 > 0.0).all())
    largest = max(schur_to_kkt(float(r)) for r in rho)
    rows = results.rows["operators"]
    faster = [row["schur_ms"] < row["dense_ms"] for row in rows]
    ratios = [row["dense_ms"] / row["schur_ms"] for row in rows]
    measured = (
        f"polynomial positive: {'yes' if polynomial else 'no'}; largest flop ratio "
        f"{number(largest)}, at rho = 1 {number(schur_to_kkt(1.0))}; "
        f"measured, dense over Schur {number(min(ratios))}x to {number(max(ratios))}x, faster in "
        f"{sum(faster)} of {len(faster)} cases"
    )
    return Finding(
        graded(polynomial and largest < 1.0 and all(faster), polynomial and largest < 1.0), measured
    )


def hybrid_switch(results: Results) -> Finding:
    """Look for a ratio at which the dense form would be the right one to switch to."""
    rows = results.rows["operators"]
    largest = max(row["ratio"] for row in rows)
    faster = [row for row in rows if row["dense_ms"] < row["schur_ms"]]
    at_end = [row["dense_ms"] / row["schur_ms"] for row in rows if row["ratio"] == largest]
    measured = (
        f"the dense form is faster in {len(faster)} of {len(rows)} cases; at k/N = {largest:g} it "
        f"takes {listed(at_end)} times as long. Its own flop count has no crossover to switch at"
    )
    return Finding(graded(bool(faster)), measured)


def kkt_condition(results: Results) -> Finding:
    """Compare V's condition number with the bound, with columns of two lengths."""
    rows = results.rows["projector_error"]
    bounds = [row["condition"] ** 2 for row in rows]
    # Rounding of the condition number itself.
    short, long = (
        [row[name] >= 0.99 * bound for row, bound in zip(rows, bounds, strict=True)]
        for name in ("kkt_condition", "kkt_condition_long")
    )
    measured = (
        f"κ(X_A)² = {listed(bounds)}: κ(V) = {_values(rows, 'kkt_condition')} with ‖X_A‖₂ = 1, "
        f"{_values(rows, 'kkt_condition_long')} with the same columns 100 times as long. The bound "
        "does not depend on their length, κ(V) does"
    )
    return Finding(graded(all(short) and all(long), all(short) or all(long)), measured)


def elastic_net_stability(results: Results) -> Finding:
    """Compare the condition numbers of H with and without the ridge."""
    rows = results.rows["projector_error"]
    without = [row["condition"] ** 2 for row in rows]
    with_ridge = [row["ridged_condition"] for row in rows]
    measured = (
        f"κ(H) = {listed(without)}, κ(H + λ₂I) = {listed(with_ridge)} at λ₂ = {rows[0]['lam2']}"
    )
    better = [b <= a * (1.0 + 1e-9) for a, b in zip(without, with_ridge, strict=True)]
    return Finding(graded(all(better), any(better)), measured)


def group_blocks(results: Results) -> Finding:
    """Look at the group-wise projection against the number of groups."""
    rows = results.rows["group_blocks"]
    groups = [row["n_groups"] for row in rows]
    power, full = (
        exponent(groups, [row[name] for row in rows]) for name in ("group_wise_ms", "full_ms")
    )
    measured = (
        f"m = {listed(groups)} groups of {rows[0]['group_size']}, N = {rows[0]['n_samples']}: "
        f"group by group m^{power:.2f}, the full Gram matrix m^{full:.2f}; same answer to "
        f"{number(max(row['worst_difference'] for row in rows), 2)} if groups are orthogonal. On a "
        f"Gaussian design they are not, and it is off by {_values(rows, 'gaussian_error')} of its "
        "length"
    )
    return Finding(graded(power <= 1.0 + EXPONENT_ERROR), measured)


def _values(rows: tuple[Row, ...], name: str) -> str:
    return listed([row[name] for row in rows])


CHECKS = {
    check.__name__: check
    for check in (
        sylvester_identity, collapse, dense_error_is_larger, theorem_one, crossover, hybrid_switch,
        kkt_condition, elastic_net_stability, group_blocks,
    )
}  # fmt: skip
