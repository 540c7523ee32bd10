"""Chooses the route to the geometry at one point: dense, Schur or orthonormal basis, and says why.

Accuracy comes first: a Gram matrix loses eps * cond(X_A)^2, so beyond the requested accuracy only
the orthonormal basis will do. Among the routes that are accurate enough the cheapest wins, by
modelled work over measured rates. The paper's own rule is a policy of its own, for comparison.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shtarkov.errors import InvalidProblem
from shtarkov.geometry import dense, pair_volume, qr, schur
from shtarkov.geometry.active_factor import make_active_factor
from shtarkov.types import ActiveFactor

EPSILON = float(np.finfo(np.float64).eps)


class Rates(NamedTuple):
    """Multiplications per second that each route reaches on one core."""

    dense: float
    schur: float
    qr: float


class RouteChoice(NamedTuple):
    """A route, the reason for it, and the modelled seconds per step of every route."""

    route: str
    reason: str
    seconds: dict[str, float]


# What `measure_rates` gave on the machine of docs/geometry.md (benchmarks/geometry.py prints it).
DEFAULT_RATES = Rates(dense=1.6e10, schur=1.1e10, qr=1.1e10)


def work_per_step(n_samples: int, n_active: int) -> dict[str, float]:
    """Count the multiplications of one projection and one pair volume, by route.

    Both sides of the pair are taken to have n_active columns, and nothing is reused between steps.
    """
    n, k = float(n_samples), float(n_active)
    return {
        "dense": 2.0 * (n + k) ** 3 + 2.0 * n * n * (n - k) + (n - k) ** 3 / 3.0 + n * n * k,
        "schur": 2.0 * n * k * k + 2.0 * k**3 / 3.0 + 2.0 * n * k,
        "qr": 9.0 * n * k * k + k**3 / 3.0 + 2.0 * n * k,
    }


def modelled_seconds(n_samples: int, n_active: int, rates: Rates) -> dict[str, float]:
    """Divide the work of each route by its rate."""
    work = work_per_step(n_samples, n_active)
    return {route: work[route] / getattr(rates, route) for route in work}


def choose_route(
    n_samples: int,
    n_features: int,
    n_active: int,
    condition: float = 1.0,
    *,
    policy: str = "measured",
    accuracy: float = 1e-8,
    rates: Rates = DEFAULT_RATES,
) -> RouteChoice:
    """Choose how to compute the geometry of an active set.

    Parameters
    ----------
    n_samples, n_features, n_active : N, D and k
    condition : condition number of the active columns (`linalg.condition.condition_estimate`)
    policy : "measured" (accuracy, then modelled cost) or "paper" (dense when k > D, else Schur)
    accuracy : largest relative error wanted
    rates : multiplications per second of each route, from `measure_rates` for this machine
    """
    if policy not in ("measured", "paper"):
        msg = f"policy must be 'measured' or 'paper'; got {policy!r}"
        raise InvalidProblem(msg)
    if not (0 <= n_active <= n_samples and n_features >= 1):
        msg = f"need 0 <= k <= N and D >= 1; got N={n_samples}, D={n_features}, k={n_active}"
        raise InvalidProblem(msg)
    seconds = modelled_seconds(n_samples, n_active, rates)
    if policy == "paper":
        return RouteChoice(*paper_rule(n_features, n_active), seconds)
    loss = EPSILON * condition**2
    if not loss <= accuracy:
        reason = f"eps * cond^2 = {loss:.1e} exceeds the accuracy {accuracy:.1e}: no Gram matrix"
        return RouteChoice("qr", reason, seconds)
    route = min(("schur", "dense"), key=seconds.__getitem__)
    reason = f"cheapest at {seconds[route]:.1e} s per step with eps * cond^2 = {loss:.1e}"
    return RouteChoice(route, reason, seconds)


def paper_rule(n_features: int, n_active: int) -> tuple[str, str]:
    """Follow the paper: its flop ratio never reaches one on (0, 1], so only k > D matters."""
    if n_active > n_features:
        return "dense", f"k = {n_active} exceeds D = {n_features} (the paper's rule)"
    return "schur", "the paper's flop ratio is below one for every k <= N"


def measure_rates(
    rng: np.random.Generator, n_samples: int = 200, n_active: int = 20, n_repeats: int = 20
) -> Rates:
    """Time each route on this machine, compilation excluded, and give its rate."""
    first, second = (
        make_active_factor(rng.standard_normal((n_samples, n_active))) for _ in range(2)
    )
    z = rng.standard_normal(n_samples)
    work = work_per_step(n_samples, n_active)

    def step(
        project: Callable[..., object], pair: Callable[..., object]
    ) -> Callable[[ActiveFactor, ActiveFactor], None]:
        def run(current: ActiveFactor, proposed: ActiveFactor) -> None:
            project(proposed, z)
            pair(current, proposed)

        return run

    steps = {
        "dense": step(dense.tangent_project, dense.log_pair_volume),
        "schur": step(schur.tangent_project, pair_volume.log_pair_volume),
        "qr": step(qr.tangent_project, qr.log_pair_volume),
    }
    rates = {}
    for route, run in steps.items():
        run(first, second)
        start = time.perf_counter()
        for _ in range(n_repeats):
            run(first, second)
        rates[route] = work[route] * n_repeats / (time.perf_counter() - start)
    return Rates(**rates)
