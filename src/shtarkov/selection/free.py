"""The free code: the penalty as a threshold, and a luckiness weight tau <= lam of its own.

L(kappa, tau) = data part + ln C(kappa, tau) + ln I(kappa) [sigma unknown] + ln N (two penalties
stated). ln C(kappa, tau) is needed only where the user's data can be coded well: a closed-form
guess places a small window in (ln kappa, ln tau / kappa), a ladder in tau is sampled at a few
kappas of the window, and the window moves if the minimum is at its side. ln I is that of the
matched code at the same kappa: it lies in a band half ln 2 wide for any such density.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shtarkov.complexity.luckiness import LuckinessLadder, luckiness_ladder
from shtarkov.complexity.outline import outline_of
from shtarkov.complexity.quadrature import chebyshev_nodes, interpolation_weights
from shtarkov.families.homotopy_lam import PenaltyPath
from shtarkov.families.solved_path import SolvedPath
from shtarkov.progress import Progress
from shtarkov.selection.data_part import DataPart
from shtarkov.selection.matched import statement_nats
from shtarkov.selection.matched_curve import MatchedCurve
from shtarkov.types import Floats

# Ratios tau / kappa tried: below a fiftieth the weight is flat over any signal worth coding.
RATIOS = np.geomspace(1.0, 0.01, 41)
RATIO_STEP = float(RATIOS[0] / RATIOS[1])
# Weights are small where the matched code would use this share of the dimensions; a window reaches
# down to this ratio all the same.
CROWDED = 0.6
HIGHEST_FLOOR = 0.7
# The window: this factor to both sides in kappa, this factor below the guess in tau.
KAPPA_REACH = 1.25
TAU_REACH = 2.0
NEAR_TAU_REACH = 1.3
KAPPA_NODES = 3
FINE_KAPPAS = 25
MAX_MOVES = 4


class FreeSurface(NamedTuple):
    """Codelengths and sigmas at each (kappa, ratio kappa) of a window."""

    kappas: Floats
    ratios: Floats
    sigmas: Floats
    lengths: Floats


@dataclass(frozen=True, slots=True, eq=False)
class FreeChoice:
    """The best free code.

    Attributes
    ----------
    codelength, std_error : in nats
    kappa, tau, sigma : threshold and weight in units of sigma, and sigma
    ln_c : ln C(kappa, tau)
    at_edge : the minimum is at the side of the last window tried
    n_draws : draws behind it
    warnings : of the ladders
    surface : the codelengths around it
    """

    codelength: float
    std_error: float
    kappa: float
    tau: float
    sigma: float
    ln_c: float
    at_edge: bool
    n_draws: int
    warnings: tuple[str, ...]
    surface: FreeSurface


def free_code(
    data: DataPart,
    curve: MatchedCurve,
    *,
    std_error: float,
    seed: int,
    bar: Progress,
    start: FreeChoice | None = None,
    longest: float = math.inf,
    **options: Any,
) -> FreeChoice | None:
    """Find the shortest free code around a guess; None if no column can enter.

    None also if the guess is longer than `longest`.

    With a `start`, found before with larger errors, its kappa is kept: the codelength there, and
    tau, are what is computed better.
    """
    kappas = curve.data.kappas
    if kappas.size < 2:
        return None
    crowded = _crowded_below(data, kappas)
    path = data.penalty_path(0.2 * float(curve.data.lams.min()))
    if start is None:
        guess = _guess(data, path, kappas, crowded)
        if guess.min() + 2.0 * statement_nats(data.problem.design.n_samples) > longest:
            return None
        i, j = np.unravel_index(int(np.argmin(guess)), guess.shape)
        centre, ratio = float(kappas[i]), float(RATIOS[j])
        kappa_reach, tau_reach = KAPPA_REACH, TAU_REACH
    else:
        centre, ratio = start.kappa, start.tau / start.kappa
        kappa_reach, tau_reach = 1.0, NEAR_TAU_REACH
    top, bottom = float(kappas[0]), float(kappas[-1])
    choice = None
    for attempt in range(MAX_MOVES):
        low = max(centre / kappa_reach, bottom)
        high = min(centre * kappa_reach, top)
        floor = min(max(crowded / low, float(RATIOS[-1])), HIGHEST_FLOOR)
        window = _Window(low, high, max(ratio / tau_reach, floor), floor)
        found = _search(data, curve, path, window, std_error, seed + 100 * attempt, bar, options)
        if choice is None or found.codelength < choice.codelength:
            choice = found
        if not found.at_edge:
            break
        centre, ratio = found.kappa, found.tau / found.kappa
    return choice


@dataclass(frozen=True, slots=True)
class _Window:
    low: float
    high: float
    lowest_ratio: float
    floor: float

    @property
    def is_point(self) -> bool:
        """Say whether it holds one kappa."""
        return self.low == self.high


def _crowded_below(data: DataPart, kappas: Floats) -> float:
    """Find the weight below which the data most likely under it are those the columns interpolate.

    With more columns than rows they outweigh, at small weights, all that a threshold lets pass:
    ln C then grows by n nats with every factor e, no code is short there, and chains do not cross
    between the two kinds. Judged by the matched code at penalty tau.
    """
    logs = np.linspace(math.log(kappas[0]), math.log(kappas[0] * RATIOS[-1]) - 1.0, 200)
    crowded = outline_of(data.family).mean_df(logs) > CROWDED * data.n_dim
    return float(np.exp(logs[np.argmax(crowded)])) if crowded.any() else 0.0


def _guess(
    data: DataPart, path: PenaltyPath | SolvedPath, kappas: Floats, crowded: float
) -> Floats:
    """Guess L(kappa, tau) with the ln C of the family's outline."""
    outline = outline_of(data.family)
    nats = data.free_table(path, kappas, RATIOS)[0]
    ln_c = np.array(
        [[outline.ln_c(float(kappa), float(kappa * r)) for r in RATIOS] for kappa in kappas]
    )
    ratios = np.broadcast_to(RATIOS, nats.shape)
    out_of_reach = (ratios < 1.0) & (kappas[:, None] * ratios < crowded)
    return np.where(out_of_reach, np.inf, nats + ln_c)


def _search(
    data: DataPart,
    curve: MatchedCurve,
    path: PenaltyPath | SolvedPath,
    window: _Window,
    std_error: float,
    seed: int,
    bar: Progress,
    options: dict[str, Any],
) -> FreeChoice:
    """Sample ladders in tau at a few kappas of the window and minimise over it."""
    nodes = np.log([window.low])
    if not window.is_point:
        nodes = chebyshev_nodes(math.log(window.low), math.log(window.high), KAPPA_NODES)
    ratios = RATIOS[0.999 * window.lowest_ratio <= RATIOS]
    ladders = [
        luckiness_ladder(
            data.family._replace(lam=float(kappa)),
            float(kappa) * float(ratios[-1]),
            float(kappa),
            std_error=std_error,
            seed=seed + index,
            bar=bar,
            **options,
        )
        for index, kappa in enumerate(np.exp(nodes))
    ]
    fine = nodes if window.is_point else np.linspace(nodes[0], nodes[-1], FINE_KAPPAS)
    rise, rise_variance = _surface(ladders, nodes, fine, ratios)
    matched, matched_error = _along(curve, fine)
    nats, sigmas, _ = data.free_table(path, np.exp(fine), ratios)
    ln_i = np.array([curve.ln_i(float(kappa)) for kappa in np.exp(fine)])
    statement = 2.0 * statement_nats(data.problem.design.n_samples)
    ln_c = matched[:, None] + rise
    lengths = nats + ln_c + ln_i[:, None] + statement
    i, j = np.unravel_index(int(np.argmin(lengths)), lengths.shape)
    kappa, tau = math.exp(fine[i]), math.exp(fine[i]) * ratios[j]
    lowest, highest = curve.data.kappas[-1] * 1.0001, curve.data.kappas[0] * 0.9999
    at_side = not window.is_point and (
        (i == fine.size - 1 and window.low > lowest) or (i == 0 and window.high < highest)
    )
    at_bottom = j == ratios.size - 1 and ratios[-1] > window.floor * RATIO_STEP
    return FreeChoice(
        float(lengths[i, j]),
        math.hypot(float(matched_error[i]), math.sqrt(float(rise_variance[i, j]))),
        kappa,
        float(tau),
        float(sigmas[i, j]),
        float(ln_c[i, j]),
        bool(at_side or at_bottom),
        sum(ladder.n_draws for ladder in ladders),
        tuple(text for ladder in ladders for text in ladder.warnings),
        FreeSurface(np.exp(fine), ratios, sigmas, lengths),
    )


def _surface(
    ladders: Sequence[LuckinessLadder], nodes: Floats, fine: Floats, ratios: Floats
) -> tuple[Floats, Floats]:
    """Interpolate ln C(kappa, ratio kappa) - ln C(kappa, kappa) in ln kappa; value and variance."""
    at_nodes = np.array(
        [
            [ladder.relative_ln_c(ladder.kappa * r, ladder.kappa) for r in ratios]
            for ladder in ladders
        ]
    )
    weights = interpolation_weights(nodes, fine)
    return weights @ at_nodes[:, :, 0], weights**2 @ at_nodes[:, :, 1] ** 2


def _along(curve: MatchedCurve, log_kappas: Floats) -> tuple[Floats, Floats]:
    """Read the matched ln C and its error between the points of the grid."""
    logs = np.log(curve.data.kappas)[::-1]
    value = np.interp(log_kappas, logs, curve.path.ln_c[::-1])
    return value, np.interp(log_kappas, logs, curve.path.std_error[::-1])
