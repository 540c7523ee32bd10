# mypy: allow-untyped-defs, allow-untyped-calls
"""The proposal's covariance the direct way: invert the KKT matrix of size n + k at every point.

The paper's "Original KKT" solver and the slow twin of `ppmh_geometry`: the same normals give the
same displacement, densities and volumes. A table of routes may mix it with the others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families.active_work import dot
from shtarkov.geometry import dense
from shtarkov.geometry.active_factor import factor_active
from shtarkov.sampling.active_columns import active_curvature, active_rows, weight_of_squares
from shtarkov.sampling.ppmh_geometry import (
    DENSE,
    LOG_DET,
    LOG_VOLUME,
    RANK,
    ROUTE,
    displace,
    displace_factored,
    inverse_form,
    inverse_form_factored,
    prepare,
    prepare_factored,
    route_at,
)
from shtarkov.types import Status

OK = int(Status.OK)


class DenseProposal(NamedTuple):
    """A `Proposal` whose routes may say DENSE; same fields."""

    step: float
    epsilon: float
    log_epsilon: float
    is_d_en: bool
    routes: np.ndarray
    qr_beyond: float


@kernel
def gather_columns(family, work):
    """Return the active columns as an (n, k) array."""
    k = work.counts[0]
    columns, rows = np.zeros((work.residual.size, k)), active_rows(family, work)
    for j in range(k):
        row = family.Xt[rows[j]]
        for i in range(row.size):
            columns[i, j] = row[i]
    return columns


@prepare.register(DenseProposal)
def prepare_dense(proposal, family, work, geometry):
    """Invert explicitly."""
    if route_at(proposal, work) != DENSE:
        return prepare_factored(proposal, family, work, geometry)
    k, lam2 = work.counts[0], weight_of_squares(family)
    factor = factor_active(gather_columns(family, work), active_curvature(family, work))
    if factor.status != OK:
        return factor.status
    if proposal.is_d_en:
        block = dense.top_left_block(factor.X_active, 1.0 + lam2, -lam2 / (1.0 + lam2))
        log_det = np.linalg.slogdet(block)[1]
    else:
        block = dense.top_left_block(factor.X_active, 1.0, 0.0)
        log_det = k * proposal.log_epsilon
    geometry.block[:, :] = block
    geometry.numbers[ROUTE] = DENSE
    geometry.numbers[RANK] = k
    geometry.numbers[LOG_DET] = log_det
    geometry.numbers[LOG_VOLUME] = dense.log_volume(factor)
    return OK


@displace.register(DenseProposal)
def displace_dense(proposal, family, work, geometry, xi, xi_image, eta, white, out, image_out):
    """Multiply with the block, and with X for the image."""
    if int(geometry.numbers[ROUTE]) != DENSE:
        displace_factored(
            proposal, family, work, geometry, xi, xi_image, eta, white, out, image_out
        )
        return
    k, lam2 = work.counts[0], weight_of_squares(family)
    if proposal.is_d_en:
        # X_A M^-1 = block X_A (1 + lam2) / lam2: one product with the block does both parts.
        shifted, rows = xi.copy(), active_rows(family, work)
        for i in range(k):
            shifted -= family.Xt[rows[i]] * (eta[i] / math.sqrt(lam2))
        out[:] = math.sqrt(1.0 + lam2) * (geometry.block @ shifted)
    else:
        root = math.sqrt(proposal.epsilon)
        out[:] = root * xi + (1.0 - root) * (geometry.block @ xi)
    if image_out.size > 0:
        np.dot(family.Xt, out, image_out)


@inverse_form.register(DenseProposal)
def inverse_form_dense(proposal, family, work, geometry, delta, white):
    """Multiply with the block."""
    if int(geometry.numbers[ROUTE]) != DENSE:
        return inverse_form_factored(proposal, family, work, geometry, delta, white)
    if proposal.is_d_en:
        return dot(delta, np.linalg.solve(geometry.block, delta))
    square = dot(delta, delta)
    inside = square - dot(delta, geometry.block @ delta)
    return square + (1.0 / proposal.epsilon - 1.0) * inside
