"""Claims about the law that is sampled: finiteness, volume, residuals, convergence, trapping."""

from __future__ import annotations

import math

import numpy as np

from shtarkov.diagnostics.active_sets import autocorrelation
from shtarkov.experiments.grid import paper
from shtarkov.experiments.results import Results
from shtarkov.experiments.store import Row
from shtarkov.experiments.tables import MODELS, average
from shtarkov.experiments.verdicts import Finding, Verdict, exponent, graded, listed, number

# Rank R-hat below which chains count as agreeing, with room for short runs.
CONVERGED = 1.05
SMALL_RESIDUAL = 1e-8
LAG = 50
# A Monte Carlo estimate of an exponent may exceed a bound by this much.
EXPONENT_ERROR = 0.25


def spectral_gap(results: Results) -> Finding:
    """Look at the autocorrelation time of |r|^2 against N - k."""
    rows = results.rows["gap"]
    dimensions = [row["n_samples"] - row["mean_k"] for row in rows]
    times = [row["n_draws"] / row["ess_residual"] for row in rows]
    power = exponent(dimensions, times)
    measured = (
        f"autocorrelation time of |r|² at N - k = {listed(dimensions)}: {listed(times)} steps, "
        f"growing as (N - k)^{power:.2f}; within the chain's own stratum, which it never leaves"
    )
    return Finding(graded(power <= 1.0 + EXPONENT_ERROR), measured)


def finite_integral(results: Results) -> Finding:
    """Evaluate the integral over larger and larger balls."""
    rows = results.rows["divergence"]
    radii, values = [row["radius"] for row in rows], [row["ln_c"] for row in rows]
    power = (values[-1] - values[-2]) / math.log(radii[-1] / radii[-2])
    measured = (
        f"ln C over ‖β‖₁ ≤ {listed(radii)}: {listed(values, 4)} (D = {rows[0]['n_features']}, "
        f"closed form): C grows as R^{power:.2f}, so over all data it is infinite. A region or a "
        "luckiness weight makes it finite"
    )
    return Finding(graded(power < 0.01), measured)


def asymptotic_formula(results: Results) -> Finding:
    """Compare equation 4 with the closed form, over the same balls of coefficients."""
    rows = results.rows["divergence"]
    d, radii = rows[0]["n_features"], [row["radius"] for row in rows]
    # Orthonormal columns and sigma = 1: the information is the identity once X'X takes the place
    # of N I, and what is left of equation 4 is the volume of the ball.
    constant = d * math.log(2.0) - math.lgamma(d + 1.0) - 0.5 * d * math.log(2.0 * math.pi)
    errors = [constant + d * math.log(row["radius"]) - row["ln_c"] for row in rows]
    measured = (
        f"Lasso, D = {d}, λ = {rows[0]['lam']:g}, ‖β‖₁ ≤ {listed(radii, 4)}: with k = D it is "
        f"off by {listed(errors)} nats, and does not say which k to take"
    )
    return Finding(graded(min(abs(error) for error in errors) > 1.0), measured)


def volume_correction(results: Results) -> Finding:
    """Count the chains whose accepted moves ever change the active set."""
    rows = results.where("tables", model="lasso", method="published")
    chains = sum(row["n_chains"] for row in rows)
    stuck = sum(row["n_stuck"] for row in rows)
    measured = (
        f"proposals within null X_A': {stuck} of {chains} Lasso chains never change k, U = 0 at "
        "every accepted move and the correction is 1. A move to a larger set has no way back "
        "within it"
    )
    return Finding(graded(stuck == 0, stuck < chains), measured)


def d_en_projects(results: Results) -> Finding:
    """Look at the square of D_EN."""
    worst = max(row["d_en_square_error"] for row in results.rows["projector_error"])
    measured = (
        f"‖D_EN² - D_EN‖₂ = {number(worst)} at λ₂ = {results.rows['projector_error'][0]['lam2']}; "
        "a positive definite matrix, usable as a proposal covariance"
    )
    return Finding(graded(worst < 1e-12), measured)


def residuals_vanish(results: Results) -> Finding:
    """Look at the worst recorded violation."""
    worst = max(row["worst_kkt_residual"] for row in results.rows["tables"])
    measured = (
        f"largest violation of the optimality conditions over all states {number(worst, 2)} λ"
    )
    return Finding(graded(worst < SMALL_RESIDUAL), measured)


def mean_score(results: Results) -> Finding:
    """Set our scores beside the paper's; the paper defines none."""
    parts = []
    for model in results.values("tables", "model"):
        ours = [
            average(results.where("tables", model=model, method="default", n_features=d), "score")
            for d in results.values("tables", "n_features")
        ]
        theirs = [row["score"] for row in paper()["table1"] if row["model"] == model]
        known = [value for value in ours if value is not None]
        parts.append(f"{MODELS[model]} {listed(known)} (paper {listed(theirs)})")
    measured = "the score of a state is not defined there; -ln J_cons, nats: " + "; ".join(parts)
    return Finding(Verdict.CANNOT, measured)


def error_contracts(results: Results) -> Finding:
    """Look at the MSE times D: the sum of squares that was divided by D."""
    n_features = results.values("tables", "n_features")
    found = [
        average(results.where("tables", model="lasso", method="default", n_features=d), "mse")
        for d in n_features
    ]
    ours = [value * d for value, d in zip(found, n_features, strict=True) if value is not None]
    printed = [row for row in paper()["table1"] if row["model"] == "lasso"]
    theirs = [row["mse"] * row["n_features"] for row in printed]
    shrinks = ours[-1] < 0.5 * ours[0] and theirs[-1] < 0.5 * theirs[0]
    mean_shrinks = ours[-1] / n_features[-1] < 0.5 * ours[0] / n_features[0]
    measured = (
        f"Lasso, D x MSE at D = {listed(n_features, 4)}: {listed(ours)} (the paper's table: "
        f"{listed(theirs)}): the sum of squared errors does not fall, its division by D does. The "
        "drawn data do not come from beta_true"
    )
    return Finding(graded(shrinks, mean_shrinks), measured)


def _of_continuous_data(results: Results, method: str) -> list[Row]:
    """Give the cells of the three models whose chains the paper finds trapped."""
    return [row for row in results.where("tables", method=method) if row["model"] != "sparse_svm"]


def _worst(results: Results, method: str, name: str) -> float:
    return max(float(row[name]) for row in _of_continuous_data(results, method))


def inflated_rhat(results: Results) -> Finding:
    """Look at the R-hat of the same score under another sampler."""
    published, default = (_worst(results, m, "rhat_score") for m in ("published", "default"))
    measured = (
        "worst R-hat of the score, as the paper computes it, of Lasso, Elastic Net and Group "
        f"Lasso: PPMH as published {number(published)}, default sampler {number(default, 4)} on "
        "the same target and score"
    )
    return Finding(graded(default > CONVERGED), measured)


def rank_rhat_resolves(results: Results) -> Finding:
    """Count infinite R-hats of the score, and those still infinite after ranking."""
    rows = results.where("tables", method="published")
    plain, ranked = (
        [row["model"] for row in rows if math.isinf(row[name])]
        for name in ("rhat_score", "rank_rhat_score")
    )
    printed = [row for row in paper()["table2"] if math.isinf(row["rank_rhat_score"])]
    measured = (
        f"PPMH as published: {len(plain)} of {len(rows)} cells have an infinite R-hat of the "
        f"score, {len(ranked)} an infinite rank R-hat (the paper's table: {len(printed)} of "
        f"{len(paper()['table2'])}): chains that never move stay stuck in ranks too"
    )
    return Finding(graded(not ranked, len(ranked) < len(plain)), measured)


def mse_converges(results: Results) -> Finding:
    """Look at the R-hat of the MSE."""
    rows = results.where("tables", model="lasso", method="published")
    ours = [row["rhat_mse"] for row in rows]
    theirs = [row["rhat_mse"] for row in paper()["table2"] if row["model"] == "lasso"]
    default = [r["rhat_mse"] for r in results.where("tables", model="lasso", method="default")]
    measured = (
        f"Lasso: PPMH as published {listed(ours)} (the paper's own table {listed(theirs)}); "
        f"default sampler {listed(default, 4)}"
    )
    return Finding(graded(max(ours) < CONVERGED), measured)


def svm_converges(results: Results) -> Finding:
    """Look at the R-hat of the score of chains of labels."""
    ours = {
        method: [
            row["rhat_score"] for row in results.where("tables", model="sparse_svm", method=method)
        ]
        for method in ("published", "default")
    }
    measured = (
        f"single flips {listed(ours['published'], 5)}, default sampler "
        f"{listed(ours['default'], 5)}; at this penalty nearly every draw has no coefficient, so "
        "there is little to converge"
    )
    return Finding(graded(max(ours["published"]) < CONVERGED), measured)


def trapping(results: Results) -> Finding:
    """Ask whether another local sampler, without replica exchange, is trapped too."""
    stuck = _of_continuous_data(results, "published")
    share = sum(row["n_stuck"] for row in stuck) / sum(row["n_chains"] for row in stuck)
    rank = _worst(results, "default", "rank_rhat_score")
    full = max(row["rank_rhat_score"] for row in results.rows["full_rank"])
    measured = (
        f"PPMH as published: {100 * share:.0f} % of the Lasso, Elastic Net and Group Lasso chains "
        "never change k. Without replica exchange the default sampler has rank R-hat at most "
        f"{number(rank, 4)} there, and PPMH with a full-rank proposal {number(full, 4)} (Lasso): "
        "the singular proposal is the trap, the target has no barrier"
    )
    return Finding(graded(share > 0.0 and rank > CONVERGED), measured)


def acf_decay(results: Results) -> Finding:
    """Look at both autocorrelations at one lag."""
    parts, holds = [], []
    for model in results.values("traces", "model"):
        chains = results.chains("traces", model=model, method="published")
        score, mse = (
            float(np.mean(autocorrelation(draws, LAG)[:, -1]))
            for draws in (chains.log_volume, chains.extras["mse"])
        )
        holds.append(mse < 0.1 and score > mse)
        parts.append(f"{MODELS[model]} score {score:.2f}, MSE {mse:.2f}")
    measured = f"PPMH as published at lag {LAG}: {'; '.join(parts)}"
    return Finding(graded(all(holds), any(holds)), measured)


CHECKS = {
    check.__name__: check
    for check in (
        spectral_gap, finite_integral, asymptotic_formula, volume_correction, d_en_projects,
        residuals_vanish, mean_score, error_contracts, inflated_rhat, rank_rhat_resolves,
        mse_converges, svm_converges, trapping, acf_decay,
    )
}  # fmt: skip
