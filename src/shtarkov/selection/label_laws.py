"""Which law codes the labels in the fewest nats, at one penalty.

L(a, b) = a F(y) + b |w(y)|_1 + ln C(a, b) with a = eta and b = eta tau is convex, and least where
the law's means of F and |w|_1 are the data's own. The matched code stays on the ray b = lam a, the
free one between it and b = SMALLEST_RATIO lam a; eta is stated or lies below `largest_eta`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from shtarkov.complexity.label_ladder import LabelLadder, law_of
from shtarkov.complexity.label_law import Law, Moments, between, distance, longest_step
from shtarkov.selection.label_data import LabelPoint
from shtarkov.types import Floats

SMALLEST_ETA = 1e-3
# Below a fiftieth of the penalty the weight says nothing of any coefficient worth coding.
SMALLEST_RATIO = 0.02
NEWTON_STEPS = 12
# A Newton step by reweighting moves the energy by at most this many of its standard deviations.
LONGEST_STEP = 1.0
SMALL_STEP = 1e-3


def largest_eta(n_samples: int) -> float:
    """Give the largest eta that is chosen: half ln N, or one if that is more.

    A label on the margin's right side weighs exp(2 eta) times its opposite (hinge and squared
    hinge): at half ln N all of them together cost a nat, and little is left to gain.
    """
    return max(1.0, 0.5 * math.log(n_samples))


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where to look for the best law: at one penalty, for one vector of labels.

    Attributes
    ----------
    point : the data's fit
    eta : the stated weight of the objective, None if it is chosen
    free : whether the norm has a weight of its own
    ceiling : the largest eta to choose
    """

    point: LabelPoint
    eta: float | None
    free: bool
    ceiling: float

    def excess(self, moments: Moments) -> Floats:
        """Give the law's means of (F, |w|_1) less the data's: minus the gradient of L."""
        return np.asarray(moments.mean - np.array([self.point.fit, self.point.norm]))

    def __call__(self, here: Law, moments: Moments) -> Law:
        """Give the Newton step from `here`, brought back to the laws allowed."""
        excess, spread = self.excess(moments), moments.covariance
        if self.free and self.eta is None:
            step = np.linalg.lstsq(spread, excess, rcond=1e-8)[0]
            law = Law(here.a + float(step[0]), here.b + float(step[1]))
            if law.a > 0.0 and self._holds(law):
                return law
        if self.free and self.eta is not None and self.eta - here.a <= longest_step(here.a):
            return self._at_stated_eta(self.eta, here, excess, spread)
        return self._along_ray(here, excess, spread)

    def _at_stated_eta(self, eta: float, here: Law, excess: Floats, spread: Floats) -> Law:
        """Give the Newton step of b where a is stated."""
        pull = excess[1] - spread[0, 1] * (eta - here.a)
        weight = here.b + float(pull) / max(float(spread[1, 1]), 1e-12)
        high = eta * self.point.lam
        return Law(eta, float(np.clip(weight, SMALLEST_RATIO * high, high)))

    def _holds(self, law: Law) -> bool:
        inside = SMALLEST_RATIO * self.point.lam <= law.tau <= self.point.lam
        return inside and SMALLEST_ETA <= law.a <= self.ceiling

    def _along_ray(self, here: Law, excess: Floats, spread: Floats) -> Law:
        """Step along b = tau a, tau the nearest weight allowed; lam while a stated eta is far."""
        tau = self.point.lam
        if self.free and self.eta is None and here.a > 0.0:
            bent = here.b + excess[1] / max(spread[1, 1], 1e-12)
            tau = float(np.clip(bent / here.a, SMALLEST_RATIO * self.point.lam, self.point.lam))
        if self.eta is not None:
            return Law(self.eta, self.eta * tau)
        ray = np.array([1.0, tau])
        step = float(ray @ excess) / max(float(ray @ spread @ ray), 1e-12)
        eta = float(np.clip(here.a + step, SMALLEST_ETA, self.ceiling))
        return Law(eta, eta * tau)

    def length(self, law: Law) -> float:
        """Give the data's part of the codelength."""
        return law.a * self.point.fit + law.b * self.point.norm


class Reweighting:
    """All draws of a ladder, weighed for any law near it."""

    def __init__(self, ladder: LabelLadder) -> None:
        self.fit, self.norm = ladder.statistics()
        solution = ladder.solve([])
        laws = np.array([law_of(rung) for rung in ladder.rungs])
        energies = laws[:, :1] * self.fit + laws[:, 1:] * self.norm
        self.log_mixture = logsumexp(-solution.ln_ratio[:, None] - energies, axis=0)
        self.log_count = np.log(ladder.n_chains * ladder.n_tower_draws)
        self.base = ladder.base

    def _log_weights(self, law: Law) -> Floats:
        return np.asarray(-(law.a * self.fit + law.b * self.norm) - self.log_mixture)

    def ln_c(self, law: Law) -> float:
        """Give ln C."""
        return self.base + float(logsumexp(self._log_weights(law)) - self.log_count)

    def moments(self, law: Law) -> Moments:
        """Give means and covariance of (F, |w|_1)."""
        weights = self._log_weights(law)
        weight = np.exp(weights - logsumexp(weights))
        pair = np.stack([self.fit, self.norm])
        mean = pair @ weight
        centred = pair - mean[:, None]
        return Moments(mean, (centred * weight) @ centred.T)

    def best(self, wanted: Wanted, start: Law) -> Law:
        """Minimise the codelength from a law on the ladder, by Newton steps that lower it."""
        law = start
        length = wanted.length(law) + self.ln_c(law)
        for _ in range(NEWTON_STEPS):
            moments = self.moments(law)
            aim = wanted(law, moments)
            size = distance(law, aim, moments)
            if size < SMALL_STEP:
                break
            share = min(1.0, LONGEST_STEP / size)
            tried = between(law, aim, share)
            reached = wanted.length(tried) + self.ln_c(tried)
            if reached >= length:
                break
            law, length = tried, reached
        return law
