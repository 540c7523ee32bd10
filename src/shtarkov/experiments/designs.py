"""The data of the experiments. The paper does not state its design; this is ours.

X_ij standard normal, columns scaled to length one, sigma = 1, a few non-zero coefficients of
alternating sign. The penalty is not stated either: it is chosen so that the expected number of
active coefficients is the paper's, and costs are compared at equal (N, D, k).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import shtarkov
from shtarkov.seeds import rng_for
from shtarkov.types import Floats


def design(n_samples: int, n_features: int, seed: int) -> Floats:
    """Draw X."""
    columns = rng_for(seed, n_samples, n_features).standard_normal((n_samples, n_features))
    return np.asarray(columns / np.linalg.norm(columns, axis=0))


def true_coef(n_features: int, n_nonzero: int, size: float) -> Floats:
    """Give beta_true."""
    coef = np.zeros(n_features)
    coef[:n_nonzero] = size * (-1.0) ** np.arange(min(n_nonzero, n_features))
    return coef


def problem_of(settings: Mapping[str, Any]) -> Any:
    """Make the problem of a cell."""
    X = design(settings["n_samples"], settings["n_features"], settings["seed"])
    return MODELS[settings["model"]](X, settings)


def _lasso(X: Floats, settings: Mapping[str, Any]) -> Any:
    return shtarkov.Lasso(X)


def _elastic_net(X: Floats, settings: Mapping[str, Any]) -> Any:
    return shtarkov.ElasticNet(X, lam2=settings["lam2"])


def _group_lasso(X: Floats, settings: Mapping[str, Any]) -> Any:
    return shtarkov.GroupLasso(X, np.arange(X.shape[1]) // settings["group_size"])


def _sparse_svm(X: Floats, settings: Mapping[str, Any]) -> Any:
    return shtarkov.SparseSVM(X)


MODELS: dict[str, Callable[[Floats, Mapping[str, Any]], Any]] = {
    "lasso": _lasso,
    "elastic_net": _elastic_net,
    "group_lasso": _group_lasso,
    "sparse_svm": _sparse_svm,
}

# The proposal's variance along the active columns, relative to that across them. The paper's is
# zero; with this one a chain that entered another stratum would have no measurable way back. Less
# would magnify the rounding of the dense solver's explicit inverse, u / SINGULAR in the log of the
# Metropolis ratio, until its decisions differ for that reason alone.
SINGULAR = 1e-9

# sampler and options by method and model. "published": covariance delta^2 D_proj (D_EN for the
# Elastic Net), delta^2 = sigma^2 / (N - k), no adaptation. "full_rank": the same with variance
# along the active columns, and a step found in warm-up.
METHODS: dict[tuple[str, str], dict[str, Any]] = {
    ("published", "lasso"): {
        "sampler": "ppmh", "epsilon": SINGULAR, "step": 1.0, "start": "target",
    },
    ("published", "elastic_net"): {
        "sampler": "ppmh", "covariance": "d_en", "step": 1.0, "start": "target",
    },
    # Whole groups enter: the Gram matrix can be singular, which "auto" survives by a basis.
    ("published", "group_lasso"): {
        "sampler": "ppmh", "epsilon": SINGULAR, "step": 1.0, "start": "target", "solver": "auto",
    },
    # Labels are discrete: no tangent space to move in. One flip at a time stands for its steps.
    ("published", "sparse_svm"): {"sampler": "label_flips", "scan": "random", "thin": 1},
    ("full_rank", "lasso"): {"sampler": "ppmh", "epsilon": 0.3},
    ("default", "lasso"): {"sampler": "hmc"},
    ("default", "elastic_net"): {"sampler": "hmc"},
    ("default", "group_lasso"): {"sampler": "hmc"},
    ("default", "sparse_svm"): {"sampler": "label_flips"},
}  # fmt: skip


def has_labels(settings: Mapping[str, Any]) -> bool:
    """Whether the data of a cell are labels."""
    return bool(settings["model"] == "sparse_svm")


def sampler_options(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Give the arguments of `shtarkov.sample` that say how a cell is sampled."""
    options = dict(METHODS[settings["method"], settings["model"]])
    if options["sampler"] == "ppmh":
        options.setdefault("solver", settings["solver"])
    return options
