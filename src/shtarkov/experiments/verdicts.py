"""A claim's finding: what was measured, and the verdict that follows from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np


class Verdict(StrEnum):
    """What measurement says of a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    CANNOT = "cannot be tested as stated"


class Finding(NamedTuple):
    """What was measured, in words, and the verdict."""

    verdict: Verdict
    measured: str


def graded(holds: bool, in_part: bool = False) -> Verdict:
    """Give the verdict of two conditions, the stronger first."""
    if holds:
        return Verdict.HOLDS
    return Verdict.IN_PART if in_part else Verdict.FAILS


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """Give the slope of ln y in ln x by least squares."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def number(value: float, digits: int = 3) -> str:
    """Write a number for a sentence."""
    return "∞" if math.isinf(value) else f"{value:.{digits}g}"


def listed(values: Sequence[float], digits: int = 3) -> str:
    """Write several numbers."""
    return ", ".join(number(value, digits) for value in values)
