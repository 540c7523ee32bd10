"""Over what the Shtarkov integral is made finite: a luckiness weight, or a ball of estimates.

Over all data vectors the integral of the maximised likelihood diverges (the fit is unbounded along
the column space of the design), so a result without its region means nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from shtarkov.errors import InvalidProblem


def _positive(value: object, name: str) -> float:
    """Return `value` as a float, or say what is wrong with it."""
    if isinstance(value, bool) or not isinstance(value, Real):
        msg = f"{name} must be a number, got {value!r}"
        raise InvalidProblem(msg)
    number = float(value)
    if not math.isfinite(number) or number <= 0.0:
        msg = f"{name} must be positive and finite, got {number!r}"
        raise InvalidProblem(msg)
    return number


@dataclass(frozen=True, slots=True)
class Luckiness:
    """Weight exp(-tau * norm(coef) / sigma^2) on the estimate (luckiness NML).

    Attributes
    ----------
    tau : the weight's rate; `None` means the penalty itself is the weight (tau = lam)
    """

    tau: float | None = None

    def __post_init__(self) -> None:
        if self.tau is not None:
            object.__setattr__(self, "tau", _positive(self.tau, "tau"))

    def __str__(self) -> str:
        return "luckiness" if self.tau is None else f"luckiness, tau = {self.tau:.6g}"


@dataclass(frozen=True, slots=True)
class NormBall:
    """Only data whose estimate has norm at most `radius` (restricted NML).

    The norm is the family's own: the sum of absolute values for the Lasso, the weighted sum of
    group norms for the Group Lasso.
    """

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _positive(self.radius, "radius"))

    def __str__(self) -> str:
        return f"norm of coef at most {self.radius:.6g}"


Region = Luckiness | NormBall
