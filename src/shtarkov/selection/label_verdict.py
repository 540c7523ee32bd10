"""From the ladders of labels to the report: who wins, what ties, and what an expert would doubt."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shtarkov.complexity.ladder import INTERRUPTED, UNREACHED
from shtarkov.selection.label_data import LabelData
from shtarkov.selection.label_laws import largest_eta
from shtarkov.selection.label_node import LabelCode, LabelNode
from shtarkov.selection.report import Code, CodelengthCurve, SelectionReport
from shtarkov.selection.verdict import COIN_TOSS, STILL_FALLING
from shtarkov.types import Floats


def assemble_labels(
    data: LabelData,
    nodes: list[LabelNode],
    *,
    criterion: str,
    conservative: float,
    std_error: float,
    seed: int,
    seconds: float,
    is_stopped: bool = False,
) -> SelectionReport:
    """Let the shortest code win and describe the race."""
    held = _winners(nodes, conservative)
    codes = {"empty": Code(data.empty_nats, 0.0, None, None, None, 0)}
    codes |= {name: _code(name, node) for name, node in held.items()}
    winner = min(codes, key=lambda name: codes[name].nats)
    best, node = codes[winner], held.get(winner)
    coef, intercept = _coefficients(data, winner, node)
    reasons = tuple(_reasons(nodes, node, winner, best, std_error))
    reasons = (*reasons, INTERRUPTED) if is_stopped else reasons
    matched = [item for item in nodes if "matched" in item.codes]
    evidence: dict[str, Any] = {"ess": None, "rank_rhat": None} if node is None else node.evidence()
    evidence["n_draws"] = sum(item.ladder.n_draws for item in nodes)
    return SelectionReport(
        family=data.problem.name,
        criterion=criterion,
        winner=winner,
        lam=best.lam,
        tau=best.tau,
        sigma=None,
        coef=coef,
        intercept=intercept,
        codelength=best.nats,
        std_error=best.std_error,
        codelengths=codes,
        ln_c=data.empty_nats if node is None else node.codes[winner].ln_c,
        curve=_curve(data, matched) if matched else None,
        near_ties=_near_ties(matched),
        ok=not reasons,
        reasons=reasons,
        notes=tuple(_notes(codes, winner, best, data)),
        sigma_known=False,
        conservative=conservative,
        n_samples=data.n_samples,
        n_features=data.n_features,
        feature_names=data.problem.design.feature_names,
        seed=seed,
        seconds=seconds,
        eta=best.eta,
        classes=tuple(data.labels.classes.tolist()),
        **evidence,
    )


def _winners(nodes: list[LabelNode], conservative: float) -> dict[str, LabelNode]:
    """Give every code its best penalty, or the largest within `conservative` errors of that."""
    names = {name for node in nodes for name in node.codes}
    held = {}
    for name in sorted(names, reverse=True):
        coded = [node for node in nodes if name in node.codes]
        best = min(coded, key=lambda node: node.codes[name].nats)
        held[name] = next(node for node in coded if _close(node, best, name, conservative))
    return held


def _close(node: LabelNode, best: LabelNode, name: str, errors: float) -> bool:
    """Whether a node's code is within so many standard errors of the best; ladders share none."""
    if node is best:
        return True
    first, second = node.codes[name], best.codes[name]
    return first.nats - second.nats <= errors * math.hypot(first.std_error, second.std_error)


def _code(name: str, node: LabelNode) -> Code:
    found: LabelCode = node.codes[name]
    n_nonzero = int(node.coefficients(name).support.size)
    tau = node.lam if name == "matched" else found.law.tau
    return Code(found.nats, found.std_error, node.lam, tau, None, n_nonzero, found.law.a)


def _coefficients(data: LabelData, winner: str, node: LabelNode | None) -> tuple[Floats, float]:
    """Give the winner's classifier; the empty one's score is the log-odds of the classes."""
    if node is not None:
        point = node.coefficients(winner)
        return point.coef, point.intercept
    intercept = 0.0
    if data.n_positive is not None:
        negative = data.n_samples - data.n_positive
        intercept = math.log((data.n_positive + 0.5) / (negative + 0.5))
    return np.zeros(data.n_features), intercept


def _curve(data: LabelData, nodes: list[LabelNode]) -> CodelengthCurve:
    """Describe the matched code along the penalties tried."""
    codes = [node.codes["matched"] for node in nodes]
    lams = np.array([node.lam for node in nodes])
    etas = np.array([code.law.a for code in codes])
    codelengths = np.array([code.nats for code in codes])
    ln_c = np.array([code.ln_c for code in codes])
    norms = np.array([node.point.norm for node in nodes])
    return CodelengthCurve(
        lams=lams,
        kappas=lams,
        sigmas=np.ones(lams.size),
        data_nats=codelengths - ln_c - data.stated_nats(1),
        ln_c=ln_c,
        codelengths=codelengths,
        std_errors=np.array([code.std_error for code in codes]),
        n_active=np.array([node.point.support.size for node in nodes]),
        mean_df=etas * lams * norms,
        coefs=np.array([node.point.coef for node in nodes]),
        etas=etas,
    )


def _near_ties(nodes: list[LabelNode]) -> tuple[float, ...]:
    """List every penalty whose matched code is within two standard errors of the least."""
    if not nodes:
        return ()
    best = min(nodes, key=lambda node: node.codes["matched"].nats)
    return tuple(node.lam for node in nodes if _close(node, best, "matched", 2.0))


def _reasons(
    nodes: list[LabelNode], node: LabelNode | None, winner: str, best: Code, std_error: float
) -> list[str]:
    """List what would make an expert distrust the answer."""
    coded = [item for item in nodes if item.codes]
    if node is None and coded:
        falling = [name for name in coded[-1].codes if _still_falling(coded, name)]
        return [f"the {name} code {STILL_FALLING}" for name in falling]
    if node is None:
        return [item.trouble for item in nodes[:1]]
    reasons = node.doubts()
    if node is coded[-1] and _still_falling(coded, winner):
        beyond = nodes[-1].trouble
        reasons.append(
            f"the shortest code is at the smallest penalty that could be sampled; below it {beyond}"
            if beyond
            else "the shortest code is at the smallest penalty tried: extend the grid"
        )
    if best.std_error > 1.5 * std_error:
        reasons.append(UNREACHED)
    return reasons


def _still_falling(nodes: list[LabelNode], name: str) -> bool:
    """Whether a code is clearly shorter at the smallest penalty than at the one before.

    Labels that can be separated leave it flat towards zero: nothing is to be found there.
    """
    if len(nodes) < 2:
        return False
    return name not in nodes[-2].codes or not _close(nodes[-2], nodes[-1], name, 2.0)


def _notes(codes: dict[str, Code], winner: str, best: Code, data: LabelData) -> list[str]:
    """Remark on ties between codes, and on an eta at the end of its range."""
    notes = []
    for name, other in codes.items():
        gap = other.nats - best.nats
        if name != winner and gap < COIN_TOSS:
            notes.append(f"the {name} code is only {gap:.1f} nats longer: close to a coin toss")
    ceiling = largest_eta(data.n_samples)
    if data.eta is None and best.eta is not None and best.eta > 0.999 * ceiling:
        notes.append(f"eta is at the largest value tried, {ceiling:.3g}")
    return notes
