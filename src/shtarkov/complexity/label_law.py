"""Laws of labels at one penalty, exp(-a F - b |w|_1), and how far one is from the next."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shtarkov.types import Floats

# A step in eta is at most the first of these, or the second as a share of eta.
FIRST_ETA = 0.3
GROWTH = 0.4
# A step cuts the weight of the norm by at most this share.
LARGEST_CUT = 0.5


class Law(NamedTuple):
    """Weights of F and of |w|_1 in the energy: a = eta, b = eta tau."""

    a: float
    b: float

    @property
    def tau(self) -> float:
        """Weight of the norm within the objective."""
        return self.b / self.a if self.a > 0.0 else 0.0


class Moments(NamedTuple):
    """Mean and covariance of (F, |w|_1) at a law."""

    mean: Floats
    covariance: Floats


# Where a climb wants to go next, from where it is and the moments there.
Goal = Callable[[Law, Moments], Law]


def between(here: Law, there: Law, share: float) -> Law:
    """Give the law that is a share of the way from one to another."""
    return Law(here.a + share * (there.a - here.a), here.b + share * (there.b - here.b))


def distance(here: Law, there: Law, moments: Moments) -> float:
    """Give the standard deviation of the change of energy between two laws, by moments at one."""
    step = np.array([there.a - here.a, there.b - here.b])
    return math.sqrt(max(float(step @ moments.covariance @ step), 0.0))


def longest_share(here: Law, there: Law) -> float:
    """Give the share of a step, possibly above one, that the weights themselves allow."""
    ahead, back = there.a - here.a, here.b - there.b
    share = longest_step(here.a) / ahead if ahead > 0.0 else math.inf
    return min(share, LARGEST_CUT * here.b / back) if back > 0.0 else share


def longest_step(eta: float) -> float:
    """Give the largest step of a climb in eta."""
    return max(FIRST_ETA, GROWTH * eta)


def towards(law: Law) -> Goal:
    """Climb to a law that is known."""
    return lambda here, moments: law
