"""Verdicts follow from measurements: change the measurement and the verdict changes."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from shtarkov.experiments import claims_of_algebra as algebra
from shtarkov.experiments import claims_of_cost as cost
from shtarkov.experiments import claims_of_law as law
from shtarkov.experiments.claims import CHECKS
from shtarkov.experiments.grid import TARGETS, make_cell, read_toml
from shtarkov.experiments.results import Results
from shtarkov.experiments.verdicts import Verdict, exponent, graded

HOLDS, IN_PART, FAILS = Verdict.HOLDS, Verdict.IN_PART, Verdict.FAILS


def results_of(block, rows, chains=None):
    cells = tuple(make_cell("sample", {"place": i}) for i in range(len(rows)))
    kept = dict(zip([cell.key for cell in cells], chains or [None] * len(rows), strict=True))
    store = SimpleNamespace(chains=lambda cell: kept[cell.key])
    return Results("smoke", {block: cells}, {block: tuple(rows)}, store)


def test_every_claim_has_a_check_and_a_target():
    claims = read_toml("claims.toml")["claims"]
    assert sorted(claim["id"] for claim in claims) == sorted(CHECKS)
    assert all(claim["target"] in TARGETS for claim in claims)


def test_grades():
    assert [graded(True), graded(False, True), graded(False)] == [HOLDS, IN_PART, FAILS]


def test_exponent_of_a_power_law():
    x = [10.0, 20.0, 80.0]
    assert exponent(x, [3.0 * value**1.7 for value in x]) == pytest.approx(1.7)


def solver_rows(accepted, schur_shift=0.0):
    rows, chains = [], []
    for solver in ("dense", "schur"):
        rows.append({"method": "published", "n_samples": 10, "n_features": 40, "solver": solver})
        score = np.zeros((2, 5)) + (schur_shift if solver == "schur" else 0.0)
        chains.append(SimpleNamespace(accepted=accepted[solver], log_volume=score))
    return results_of("solvers", rows, chains)


def test_solvers_that_differ_do_not_agree():
    same = {"dense": np.ones((2, 5)), "schur": np.ones((2, 5))}
    assert cost.solvers_agree(solver_rows(same)).verdict is HOLDS
    assert cost.solvers_agree(solver_rows(same, 1e-13)).verdict is IN_PART
    other = {"dense": np.ones((2, 5)), "schur": np.eye(2, 5)}
    found = cost.solvers_agree(solver_rows(other))
    assert found.verdict is FAILS
    assert "8 of 10 decisions differ" in found.measured


def test_a_stall_is_seen():
    stalled = {"dense": np.zeros((2, 5)), "schur": np.ones((2, 5))}
    assert cost.dense_solver_stalls(solver_rows(stalled)).verdict is HOLDS
    same = {"dense": np.ones((2, 5)), "schur": np.ones((2, 5))}
    assert cost.dense_solver_stalls(solver_rows(same)).verdict is FAILS


@pytest.mark.parametrize(
    ("of_form", "of_step", "verdict"), [(0.0, 0.0, HOLDS), (2.0, 0.1, IN_PART), (2.0, 1.0, FAILS)]
)
def test_growth_in_n(of_form, of_step, verdict):
    sizes = (25, 50, 100, 200)
    gap = tuple({"n_samples": n, "step_ms": n**of_step, "mean_k": 4.0} for n in sizes)
    form = tuple({"n_samples": n, "schur_ms": n**of_form, "n_active": 4} for n in sizes)
    results = Results("smoke", {}, {"gap": gap, "collapse": form}, None)
    assert cost.decoupled_from_n(results).verdict is verdict


@pytest.mark.parametrize(
    ("feature_side", "smaller_side", "verdict"),
    [(3.0, 3.0, HOLDS), (3.0, 1.0, IN_PART), (1.0, 1.0, FAILS)],
)
def test_cost_of_the_support_operator(feature_side, smaller_side, verdict):
    sides = {"feature_side_ms": feature_side, "smaller_side_ms": smaller_side}
    support = [
        {"n_margin": 4, "n_features": d, **{name: d**power for name, power in sides.items()}}
        for d in (10, 100)
    ]
    tables = [
        {"model": "sparse_svm", "method": "published", "n_features": d, "step_ms": 1.0}
        for d in (10, 100)
    ]
    results = Results("smoke", {}, {"support": tuple(support), "tables": tuple(tables)}, None)
    assert cost.svm_cubic_in_d(results).verdict is verdict


@pytest.mark.parametrize(
    ("times", "verdict"), [((5, 3), HOLDS), ((5, 6), IN_PART), ((5, 9), FAILS)]
)
def test_step_times_of_the_group_lasso(times, verdict):
    settings = {"model": "group_lasso", "method": "published", "replicate": 0}
    rows = [
        {**settings, "n_features": d, "step_ms": t} for d, t in zip((10, 40), times, strict=True)
    ]
    assert cost.group_lasso_quickens(results_of("tables", rows)).verdict is verdict


@pytest.mark.parametrize(("power", "verdict"), [(1.0, HOLDS), (2.0, FAILS)])
def test_growth_of_the_autocorrelation_time(power, verdict):
    rows = [
        {"n_samples": n, "mean_k": 4.0, "n_draws": 1e6, "ess_residual": 1e6 / (n - 4.0) ** power}
        for n in (25, 50, 100, 200)
    ]
    assert law.spectral_gap(results_of("gap", rows)).verdict is verdict


@pytest.mark.parametrize(("error", "verdict"), [(0.5, HOLDS), (3.0, IN_PART), (1e3, FAILS)])
def test_errors_beyond_the_bound(error, verdict):
    rows = [{"condition": 10.0, "schur_error": error * 1e-14, "bound": 1e-14}]
    assert algebra.theorem_one(results_of("projector_error", rows)).verdict is verdict


@pytest.mark.parametrize(("growth", "verdict"), [(0.0, HOLDS), (5.0, FAILS)])
def test_a_growing_integral_is_infinite(growth, verdict):
    rows = [
        {"radius": radius, "ln_c": growth * math.log(radius), "n_features": 5}
        for radius in (10.0, 100.0)
    ]
    assert law.finite_integral(results_of("divergence", rows)).verdict is verdict


def trap_rows(n_stuck, rank_rhat):
    rows = [
        {
            "model": "lasso",
            "method": "published",
            "n_stuck": n_stuck,
            "n_chains": 4,
            "rank_rhat_score": math.inf,
        },
        {
            "model": "lasso",
            "method": "default",
            "n_stuck": 0,
            "n_chains": 4,
            "rank_rhat_score": rank_rhat,
        },
    ]
    base = results_of("tables", rows)
    full = [{"rank_rhat_score": 1.01}]
    return Results("smoke", base.cells, {**base.rows, "full_rank": full}, base.store)


def test_trapping_is_of_the_target_only_if_other_local_moves_are_trapped_too():
    assert law.trapping(trap_rows(4, math.inf)).verdict is HOLDS
    assert law.trapping(trap_rows(4, 1.001)).verdict is FAILS
    assert law.trapping(trap_rows(0, math.inf)).verdict is FAILS


def test_the_formula_is_judged_by_its_error():
    constant = math.log(2.0) - 0.5 * math.log(2.0 * math.pi)

    def verdict(error):
        rows = [
            {"n_features": 1, "lam": 1.0, "radius": r, "ln_c": constant + math.log(r) - error}
            for r in (10.0, 100.0)
        ]
        return law.asymptotic_formula(results_of("divergence", rows)).verdict

    assert [verdict(error) for error in (0.0, 2.0)] == [FAILS, HOLDS]


@pytest.mark.parametrize(
    ("plain", "ranked", "verdict"),
    [(math.inf, 1.2, HOLDS), (math.inf, math.inf, FAILS), (1.3, 1.2, HOLDS)],
)
def test_ranks_resolve_an_infinite_rhat_or_do_not(plain, ranked, verdict):
    row = {"method": "published", "model": "lasso"}
    rows = [{**row, "rhat_score": plain, "rank_rhat_score": ranked}]
    assert law.rank_rhat_resolves(results_of("tables", rows)).verdict is verdict


@pytest.mark.parametrize(("power", "verdict"), [(2.0, HOLDS), (2.9, FAILS)])
def test_cost_of_the_reductions_in_n(power, verdict):
    rows = [
        {"n_active": 10, "n_samples": n, "dense_ms": n**3, "schur_ms": n**power, "gram_ms": 1.0}
        for n in (100, 400)
    ]
    assert algebra.collapse(results_of("collapse", rows)).verdict is verdict


@pytest.mark.parametrize(("dense_ms", "verdict"), [(0.5, HOLDS), (2.0, FAILS)])
def test_a_switch_needs_a_ratio_at_which_the_dense_form_is_faster(dense_ms, verdict):
    rows = [{"ratio": 1.0, "dense_ms": dense_ms, "schur_ms": 1.0}]
    assert algebra.hybrid_switch(results_of("operators", rows)).verdict is verdict


@pytest.mark.parametrize(("long", "verdict"), [(100.0, HOLDS), (10.0, IN_PART)])
def test_the_bound_on_the_condition_number_needs_both_lengths(long, verdict):
    rows = [{"condition": 10.0, "kkt_condition": 160.0, "kkt_condition_long": long}]
    assert algebra.kkt_condition(results_of("projector_error", rows)).verdict is verdict


@pytest.mark.parametrize(("power", "verdict"), [(0.8, HOLDS), (2.0, FAILS)])
def test_cost_of_the_groups(power, verdict):
    rows = [
        {
            "n_groups": m, "group_size": 5, "n_samples": 100, "group_wise_ms": m**power,
            "full_ms": m**2, "worst_difference": 0.0, "gaussian_error": 0.3,
        }
        for m in (4, 16)
    ]  # fmt: skip
    assert algebra.group_blocks(results_of("group_blocks", rows)).verdict is verdict


@pytest.mark.parametrize(("difference", "verdict"), [(0.0, HOLDS), (1e-12, FAILS)])
def test_an_identity_holds_exactly(difference, verdict):
    blocks = {
        "identity": ({"exact_difference": difference},),
        "operators": ({"worst_difference": 1e-7},),
        "collapse": (),
    }
    results = Results("smoke", {}, blocks, None)
    assert algebra.sylvester_identity(results).verdict is verdict
