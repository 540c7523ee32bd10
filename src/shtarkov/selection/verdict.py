"""From the competitors to the report: who wins, what ties, and what an expert would distrust."""

from __future__ import annotations

import math

import numpy as np

from shtarkov.complexity.ladder import INTERRUPTED, UNREACHED
from shtarkov.selection.candidates import Candidate
from shtarkov.selection.codes import codes_of
from shtarkov.selection.data_part import DataPart
from shtarkov.selection.fit_doubts import doubts_about_fit
from shtarkov.selection.free import FreeChoice
from shtarkov.selection.matched_curve import MatchedCurve
from shtarkov.selection.report import Code, CodelengthCurve, SelectionReport
from shtarkov.types import Floats

# Codes this close, in nats, are a coin toss whatever their Monte Carlo errors.
COIN_TOSS = 2.0
# Within this factor of the last penalty a minimum is at the end of the grid.
AT_THE_END = 1.0001
STILL_FALLING = "still gets shorter at the smallest penalty tried: extend the grid"


def assemble(
    data: DataPart,
    candidates: dict[str, Candidate],
    curve: MatchedCurve | None,
    choice: FreeChoice | None,
    *,
    criterion: str,
    conservative: float,
    std_error: float,
    seed: int,
    seconds: float,
) -> SelectionReport:
    """Let the shortest code win and describe the race."""
    winner = min(candidates, key=lambda name: candidates[name].code.nats)
    best = candidates[winner]
    design = data.problem.design
    chosen, hedges = best.coef, []
    if criterion == "average":
        chosen, made_of = average(candidates)
        hedges.append(made_of)
    intercept, coef = design.full_coefficients(data.response, chosen)
    reasons = (
        *_reasons(candidates, winner, curve, choice, std_error),
        *doubts_about_fit(data, best),
    )
    path = None if curve is None else curve.path
    return SelectionReport(
        family=data.problem.name,
        criterion=criterion,
        winner=winner,
        lam=best.code.lam,
        tau=best.code.tau,
        sigma=best.code.sigma,
        coef=coef,
        intercept=intercept,
        codelength=best.code.nats,
        std_error=best.code.std_error,
        codelengths={name: item.code for name, item in candidates.items()},
        ln_c=best.ln_c,
        curve=None if curve is None else _curve(data, curve),
        near_ties=() if curve is None else _near_ties(curve),
        ok=not reasons,
        reasons=reasons,
        notes=(
            *_notes(candidates, winner, choice, data),
            *hedges,
        ),
        sigma_known=data.sigma is not None,
        conservative=conservative,
        n_samples=design.n_samples,
        n_features=coef.size,
        feature_names=design.coefficient_names,
        n_draws=(0 if path is None else path.n_draws) + (0 if choice is None else choice.n_draws),
        ess=None if path is None else path.ess,
        rank_rhat=None if path is None else path.rank_rhat,
        seed=seed,
        seconds=seconds,
    )


def average(candidates: dict[str, Candidate]) -> tuple[Floats, str]:
    """Average the coefficients of all codes' mixtures; say how much each code weighs."""
    parts = {name: item.mixture() for name, item in candidates.items()}
    nats = np.array([part.nats for part in parts.values()])
    weights = np.exp(np.min(nats) - nats)
    weights /= weights.sum()
    coef = np.asarray(weights @ np.stack([part.coef for part in parts.values()]))
    ranked = sorted(zip(weights.tolist(), parts, strict=True), reverse=True)
    shares = ", ".join(f"{share:.0%} {name}" for share, name in ranked if share >= 0.005)
    return coef, f"the coefficients are averages over the codes: {shares}"


def _near_ties(curve: MatchedCurve) -> tuple[float, ...]:
    """List every penalty whose codelength is within two standard errors of the least."""
    best = curve.best
    excess = curve.codelengths - curve.codelengths[best]
    tied = excess <= 2.0 * curve.difference_errors(best)
    return tuple(float(lam) for lam in curve.data.lams[tied])


def _reasons(
    candidates: dict[str, Candidate],
    winner: str,
    curve: MatchedCurve | None,
    choice: FreeChoice | None,
    std_error: float,
) -> list[str]:
    """List what would make an expert distrust the answer."""
    reasons: list[str] = []
    if curve is not None and winner == "matched":
        reasons.extend(curve.path.warnings)
        if curve.scale is not None:
            reasons.extend(curve.scale.warnings)
        if curve.at_edge:
            reasons.append("the least codelength is at the smallest penalty tried: extend the grid")
    if curve is not None and winner == "empty" and _still_falling(curve):
        reasons.append(f"the matched code {STILL_FALLING}")
    if choice is not None and winner == "free":
        reasons.extend(choice.warnings)
        if choice.at_edge:
            reasons.append(
                "the free code's minimum is at the side of the region searched: extend the grid"
            )
        if curve is not None and choice.kappa <= AT_THE_END * curve.data.kappas[-1]:
            reasons.append("the free code's minimum is at the smallest penalty: extend the grid")
    met = (*(curve.path.warnings if curve else ()), *(choice.warnings if choice else ()))
    if INTERRUPTED in met and INTERRUPTED not in reasons:
        reasons.append(INTERRUPTED)  # whoever wins: the others were not heard to the end
    code = candidates[winner].code
    if not math.isfinite(code.nats):
        reasons.append(
            "the codelength is not finite, as y is fitted exactly or scales are extreme: give "
            "sigma=, or rescale X and y"
        )
    if code.std_error > 1.5 * std_error and UNREACHED not in reasons:
        reasons.append(UNREACHED)
    return list(dict.fromkeys(reasons))  # ladders of one selection may say the same


def _still_falling(curve: MatchedCurve) -> bool:
    """Whether the matched code is clearly shorter at the end of the grid than at its start."""
    fall = float(curve.codelengths[0] - curve.codelengths[-1])
    return curve.at_edge and fall > 2.0 * float(curve.difference_errors(0)[-1])


def _notes(
    candidates: dict[str, Candidate], winner: str, choice: FreeChoice | None, data: DataPart
) -> list[str]:
    """Remark on ties between codes and on what was left out."""
    notes = []
    code: Code = candidates[winner].code
    for name, other in candidates.items():
        if name != winner and other.code.nats - code.nats < COIN_TOSS:
            gap = other.code.nats - code.nats
            notes.append(f"the {name} code is only {gap:.1f} nats longer: close to a coin toss")
    if "matched" in candidates and "free" not in codes_of(data.problem):
        notes.append(f"the {data.problem.name} has no free code")
    elif choice is not None and "free" not in candidates:
        error = choice.std_error
        notes.append(f"the free code did not compete: its length is uncertain by {error:.1f} nats")
    elif choice is None and "subset" in candidates and "matched" in candidates:
        notes.append("the free code did not compete: others are shorter by far")
    return notes


def _curve(data: DataPart, curve: MatchedCurve) -> CodelengthCurve:
    """Describe the matched code along the grid, with the estimates of y at every penalty."""
    table = curve.data
    fits = data.solve_at(table.lams, table.lam2s)
    coefs = np.array([fit.coef for fit in fits])
    complexity = curve.path.ln_c + (0.0 if curve.scale is None else curve.scale.ln_i)
    return CodelengthCurve(
        lams=table.lams,
        kappas=table.kappas,
        sigmas=table.sigmas,
        data_nats=table.nats,
        ln_c=complexity,
        codelengths=curve.codelengths,
        std_errors=curve.std_errors,
        n_active=np.array([fit.active.size for fit in fits], dtype=np.int64),
        mean_df=curve.path.mean_df,
        coefs=coefs,
    )
