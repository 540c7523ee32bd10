"""Checks of a ladder of penalties for labels: Bennett ratios between its rungs, and symmetry.

Slow twin of the ratios: `complexity.label_enumeration`; independent of the quadrature they check.
"""

from __future__ import annotations

import math

import numpy as np

from shtarkov.complexity import worries as worry
from shtarkov.complexity.bridge import Ladder, bar_ladder
from shtarkov.complexity.label_rung import LabelRung, squared_error
from shtarkov.complexity.quadrature import integral_weights
from shtarkov.errors import NotConverged, raise_for_status
from shtarkov.families.label_family import LabelFamily, new_label_work
from shtarkov.families.label_problems import LabelProblem
from shtarkov.families.sparse_svm import label_family
from shtarkov.sampling.label_loop import ENVELOPE, N_POSITIVE, evaluate_labels
from shtarkov.types import Floats

ALARM = 4.5
# Labels solved at the neighbouring penalties: at most this many of each chain.
PROBES = 200


def bridge_rungs(problem: LabelProblem, rungs: list[LabelRung]) -> Ladder | None:
    """Bridge a ladder: the recorded labels are solved at the neighbouring penalties."""
    if not rungs:
        return None
    families = [label_family(problem, rung.lam) for rung in rungs]
    up = zip(rungs, families[1:], strict=False)
    down = zip(rungs[1:], families, strict=False)
    forward = [rung.eta * probe_work(rung, family) for rung, family in up]
    reverse = [rung.eta * probe_work(rung, family) for rung, family in down]
    try:
        return bar_ladder(forward, reverse)
    except NotConverged:
        return None


def symmetry_warnings(rungs: list[LabelRung]) -> tuple[str, ...]:
    """Say so if the labels are not balanced: y and -y have the same weight.

    Rungs are pooled: the error of a short one is itself too uncertain to alarm by.
    """
    total, variance = 0.0, 0.0
    for rung in rungs:
        excess = rung.column(N_POSITIVE) - 0.5 * rung.chains[0].state.y.size
        squared = squared_error(excess)
        if np.isfinite(squared):
            total, variance = total + float(excess.mean()), variance + squared
    worst = abs(total) / math.sqrt(variance) if variance > 0.0 else 0.0
    if worst > ALARM:
        return (worry.unbalanced_labels(worst),)
    return ()


def probe_work(rung: LabelRung, family: LabelFamily) -> Floats:
    """Give the change of the objective from the rung's penalty to the family's, (chain, draw)."""
    stride = max(1, math.ceil(rung.n_draws / PROBES))
    changes = []
    for chain in rung.chains:
        labels = np.concatenate([segment.labels for segment in chain.segments])[: rung.n_draws]
        kept = np.ascontiguousarray(labels[::stride])
        values = np.zeros(kept.shape[0])
        work = new_label_work(family, chain.state.work.active.size)
        raise_for_status(evaluate_labels(family, kept, work, values), "bridging penalties")
        changes.append(values - chain.column(ENVELOPE)[: rung.n_draws : stride])
    return np.stack(changes)


def disagreement(
    nodes: Floats, means: Floats, variances: Floats, bridge: Ladder
) -> tuple[str, ...]:
    """Say so if path and bridge differ by more than their errors."""
    weights = integral_weights(nodes, nodes)
    gap = np.abs(weights @ means - bridge.ln_ratio)[1:]
    spread = np.sqrt(weights**2 @ variances + bridge.std_error**2)[1:]
    worst = float(np.max(gap / np.where(spread > 0.0, spread, np.inf), initial=0.0))
    return (worry.disagreeing_routes(worst),) if worst > ALARM else ()
