"""Level sets around a point: projections, volumes and pair volumes, each by several routes."""

from shtarkov.geometry.active_factor import make_active_factor
from shtarkov.geometry.choose import Rates, RouteChoice, choose_route, measure_rates
from shtarkov.geometry.routes import (
    apply_d_en,
    apply_m11,
    group_tangent_project,
    log_pair_volume,
    log_volume,
    tangent_project,
)

__all__ = [
    "Rates",
    "RouteChoice",
    "apply_d_en",
    "apply_m11",
    "choose_route",
    "group_tangent_project",
    "log_pair_volume",
    "log_volume",
    "make_active_factor",
    "measure_rates",
    "tangent_project",
]
