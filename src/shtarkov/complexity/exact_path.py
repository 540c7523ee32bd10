"""ln C along a whole penalty path without sampling, where it costs next to nothing."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from shtarkov.complexity.path_result import ComplexityPath
from shtarkov.complexity.singular_values import nuclear_ln_c, nuclear_mean_norm
from shtarkov.families.matrix_problems import NuclearNorm
from shtarkov.types import Floats


def common_scale(problem: NuclearNorm) -> float | None:
    """Give the one singular value of the design, `None` if there are several."""
    scales = problem.design.scales
    return float(scales[0]) if np.ptp(scales) == 0.0 else None


@functools.singledispatch
def exact_path(problem: Any, lams: Floats, sigma: float) -> ComplexityPath | None:
    """Give ln C at every penalty where it costs next to nothing, `None` elsewhere."""
    return None


def _nuclear_path(problem: NuclearNorm, lams: Floats, sigma: float) -> ComplexityPath | None:
    scale = common_scale(problem)
    if scale is None:
        return None
    shape, none = problem.design.reduced_shape, np.zeros(0)
    values = [nuclear_ln_c(shape, lam / scale, sigma=sigma) for lam in lams]
    dfs = [
        lam / scale * nuclear_mean_norm(shape, lam / scale, sigma=sigma) / sigma**2 for lam in lams
    ]
    return ComplexityPath(
        lams=np.asarray(lams),
        ln_c=np.array(values),
        std_error=np.zeros(len(values)),
        mean_df=np.array(dfs),
        covariance=np.zeros((len(values), len(values))),
        sigma=sigma,
        method="closed_form",
        node_lams=none,
        node_ln_c=none,
        bridge_ln_c=None,
        bridge_std_error=None,
        n_draws=0,
        ess=None,
        rank_rhat=None,
        failures=0,
        seed=None,
        warnings=(),
    )


exact_path.register(NuclearNorm, _nuclear_path)
