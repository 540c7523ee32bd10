"""The matched code along the ladder's penalties, with the errors its draws leave."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from shtarkov.complexity.ladder import INTERRUPTED
from shtarkov.complexity.noise_scale import ScalePath
from shtarkov.complexity.path_result import ComplexityPath
from shtarkov.selection.data_part import DataTable
from shtarkov.types import Floats


@dataclass(frozen=True, slots=True, eq=False)
class MatchedCurve:
    """The matched code at each kappa of the ladder.

    Attributes
    ----------
    data : the data's part
    path : ln C at the same kappas
    scale : ln I at the same kappas; None when sigma is known
    codelengths, std_errors : the sum and its Monte Carlo error
    at_edge : the least codelength is at the smallest kappa of the grid
    """

    data: DataTable
    path: ComplexityPath
    scale: ScalePath | None
    codelengths: Floats
    std_errors: Floats
    at_edge: bool

    @property
    def best(self) -> int:
        """Place of the least codelength."""
        return int(np.argmin(self.codelengths))

    def difference_errors(self, reference: int) -> Floats:
        """Give the standard error of each codelength less that at `reference`."""
        return _difference_errors(self.path.covariance, self.scale, reference)

    def ln_i(self, kappa: float) -> float:
        """Give ln I near a kappa (zero when sigma is known)."""
        if self.scale is None:
            return 0.0
        order = np.argsort(self.scale.kappas)
        logs = np.log(self.scale.kappas[order])
        return float(np.interp(math.log(kappa), logs, self.scale.ln_i[order]))


def _difference_errors(covariance: Floats, scale: ScalePath | None, reference: int) -> Floats:
    total = covariance if scale is None else covariance + scale.covariance
    spread = np.diag(total) + total[reference, reference] - 2.0 * total[:, reference]
    return np.asarray(np.sqrt(np.maximum(spread, 0.0)))


def stopped(curve: MatchedCurve) -> MatchedCurve:
    """Give the curve as what Ctrl-C leaves of a more accurate one."""
    worries = (*curve.path.warnings, INTERRUPTED)
    return replace(curve, path=replace(curve.path, warnings=worries))


def is_stopped(curve: MatchedCurve) -> bool:
    """Say whether Ctrl-C ended its sampling."""
    return INTERRUPTED in curve.path.warnings
