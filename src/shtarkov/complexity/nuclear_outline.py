"""The outline of a nuclear-norm path: the identity design's exact ln C, scale by scale.

With Z = S B, |B|_* >= |Z|_* / s_1, so the envelope is at least that of the identity design at
penalty lam / s_1, and C at most its C, which is known exactly (`complexity.singular_values`). That
bound says where the path starts. The guesses average the identity's values over a few of the
design's singular values; where these are all equal they are exact.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.optimize import brentq

from shtarkov.complexity.singular_values import nuclear_ln_c, nuclear_mean_norm
from shtarkov.families.nuclear_work import NuclearFamily
from shtarkov.types import Floats

# So many singular values of the design stand for all.
_SCALES = 5
# The guessed mean df of the identity design is tabulated at so many penalties.
_TABLE = 80
_LOWEST = 1e-2


@functools.lru_cache(maxsize=64)
def _identity_df(m: int, n: int) -> tuple[float, float, Callable[[Floats], Floats]]:
    """Tabulate E[df] of the m by n identity design: its range of ln lam, and an interpolant."""
    high = math.sqrt(m) + math.sqrt(n) + 6.0
    logs = np.linspace(math.log(_LOWEST * high), math.log(high), _TABLE)
    values = [math.exp(x) * nuclear_mean_norm((m, n), math.exp(x)) for x in logs]
    return float(logs[0]), float(logs[-1]), PchipInterpolator(logs, values)


@dataclass(frozen=True, slots=True, eq=False)
class NuclearOutline:
    """What is known of a path without sampling, in units of the noise scale.

    Attributes
    ----------
    scales : (p,) singular values of the design
    n_targets : q
    """

    scales: Floats
    n_targets: int

    @property
    def is_empty(self) -> bool:
        """Say that something can always enter: a design of zeros is refused."""
        return False

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the reduced data."""
        return self.scales.size, self.n_targets

    def _few_scales(self) -> Floats:
        if np.ptp(self.scales) == 0.0:
            return self.scales[:1]
        count = min(_SCALES, self.scales.size)
        return np.quantile(self.scales, (np.arange(count) + 0.5) / count)

    def first_order(self, lam: float) -> float:
        """Bound ln C from above."""
        return nuclear_ln_c(self.shape, lam / float(self.scales.max()))

    def start(self, negligible: float) -> float:
        """Find the penalty at which the bound has fallen to `negligible`."""
        largest = float(self.scales.max())
        high = math.log(math.sqrt(self.scales.size) + math.sqrt(self.n_targets) + 10.0)

        def excess(log_kappa: float) -> float:
            bound = nuclear_ln_c(self.shape, math.exp(log_kappa))
            return math.log(max(bound, 1e-300)) - math.log(negligible)

        return largest * math.exp(brentq(excess, high - 6.0, high, xtol=1e-6))

    def mean_df(self, log_lams: Floats) -> Floats:
        """Guess E[df] at each ln lam."""
        low, high, table = _identity_df(*sorted(self.shape))
        total = np.zeros(np.shape(log_lams))
        scales = self._few_scales()
        for scale in scales:
            logs = np.asarray(log_lams) - math.log(scale)
            inside = np.asarray(table(np.clip(logs, low, high)))
            total += np.where(logs > high, 0.0, inside)
        return total / scales.size

    def mean_norm(self, lam: float, taus: Floats) -> Floats:
        """Guess the mean of tau * norm at each luckiness weight tau."""
        scales = self._few_scales()
        each = [
            [tau / s * nuclear_mean_norm(self.shape, lam / s, tau / s) for tau in taus]
            for s in scales
        ]
        return np.asarray(np.mean(each, axis=0))

    def ln_c(self, lam: float, tau: float) -> float:
        """Guess ln C(lam, tau)."""
        scales = self._few_scales()
        return float(np.mean([nuclear_ln_c(self.shape, lam / s, tau / s) for s in scales]))


def nuclear_outline(family: NuclearFamily) -> NuclearOutline:
    """Give the outline of a family's path."""
    return NuclearOutline(family.scales, family.n_targets)
