"""What `complexity_path` gives back: ln C at every penalty, with errors and the sampled ladder."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import Any

from shtarkov.types import Floats


@dataclass(frozen=True, slots=True, eq=False)
class ComplexityPath:
    """ln C at a list of penalties, with errors, in the order the penalties were given.

    Attributes
    ----------
    lams : the penalties
    ln_c, std_error : ln C and its standard error, in nats
    mean_df : E[df] at each penalty, minus the slope of ln C in ln lam
    covariance : (L, L) of the errors: neighbouring penalties share draws
    bridge_ln_c, bridge_std_error : the same from Bennett ratios at `node_lams`; None when exact
    node_lams, node_ln_c : the sampled ladder
    sigma, method, n_draws, ess, rank_rhat, failures, seed, warnings : as in `ComplexityResult`
    """

    lams: Floats
    ln_c: Floats
    std_error: Floats
    mean_df: Floats
    covariance: Floats
    sigma: float
    method: str
    node_lams: Floats
    node_ln_c: Floats
    bridge_ln_c: Floats | None
    bridge_std_error: Floats | None
    n_draws: int
    ess: float | None
    rank_rhat: float | None
    failures: int
    seed: int | None
    warnings: tuple[str, ...]

    def difference_error(self, i: int, j: int) -> float:
        """Give the standard error of ln_c[i] - ln_c[j], which share their draws."""
        between = self.covariance[i, i] + self.covariance[j, j] - 2.0 * self.covariance[i, j]
        return math.sqrt(max(float(between), 0.0))

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame, one row a penalty."""
        import pandas as pd

        columns = ("lams", "ln_c", "std_error", "mean_df")
        return pd.DataFrame({name.removesuffix("s"): getattr(self, name) for name in columns})

    def plot(self, ax: Any = None) -> Any:
        """Draw ln C and the mean degrees of freedom along the penalty; returns matplotlib Axes."""
        return importlib.import_module("shtarkov.plots").plot_complexity(self, ax=ax)
