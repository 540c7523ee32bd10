# mypy: allow-untyped-defs, allow-untyped-calls
"""Covariance S of a proposal at one point, factored once per point, by three routes.

Two covariances, both of full rank and different in every cell:

* projector: S = (I - P) + epsilon P, P the projector on the active columns' span;
  S^(1/2) xi = xi - (1 - sqrt(epsilon)) P xi, ln det S = rank ln epsilon;
* the paper's D_EN = (I - X_A (H + lam2 I)^-1 X_A') / (1 + lam2) of the Elastic Net; a draw is
  (xi - X_A M^-1 (X_A'xi + sqrt(lam2) eta)) / sqrt(1 + lam2), M = H + lam2 I.

Routes: SCHUR uses the Cholesky factor, QR an orthonormal basis, DENSE an explicit inverse. All turn
the same standard normals xi, eta into the same displacement. `prepare`, `displace` and
`inverse_form` are dispatched on the type of the proposal, so that only who asks for the slow twin
`ppmh_dense` waits for its compilation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shtarkov._jit import generic, kernel
from shtarkov.families.active_work import assign, dot, subtract_rows
from shtarkov.linalg.cholesky import (
    log_det_factored,
    solve_lower,
    solve_upper,
)
from shtarkov.linalg.orthonormal_basis import basis_append
from shtarkov.sampling.active_columns import active_rows, factor_gram, weight_of_squares
from shtarkov.types import Status

OK = int(Status.OK)
SINGULAR_GRAM = int(Status.SINGULAR_GRAM)
SCHUR, QR, DENSE = 0, 1, 2
ROUTES = ("schur", "qr", "dense")
# Places in `Geometry.numbers`.
ROUTE, RANK, LOG_DET, LOG_VOLUME = range(4)


class Proposal(NamedTuple):
    """What a proposal is made of.

    Attributes
    ----------
    step : proposals have covariance (step^2 / max(n - k, 1)) S
    epsilon, log_epsilon : variance along the active columns' span, and its logarithm
    is_d_en : S is D_EN instead of the projector's
    routes : (k,) route by number of active columns
    qr_beyond : spread of the factor's diagonal beyond which QR replaces SCHUR
    """

    step: float
    epsilon: float
    log_epsilon: float
    is_d_en: bool
    routes: np.ndarray
    qr_beyond: float


class Geometry(NamedTuple):
    """S at one point. Arrays of routes not in use have no entries.

    Attributes
    ----------
    chol : (cap, cap) factor of H (projector) or of M (D_EN)
    basis : (cap, n + cap) orthonormal rows; D_EN: of the columns on top of sqrt(lam2) I
    block : (n, n) top-left block of the inverse KKT matrix
    numbers : route, rank, ln det S, -ln J of the level set if the route found it
    """

    chol: np.ndarray
    basis: np.ndarray
    block: np.ndarray
    numbers: np.ndarray


@generic
def prepare(proposal, family, work, geometry):
    """Factor S at a solved point by the route its number of active columns asks for; the status."""


@generic
def displace(proposal, family, work, geometry, xi, xi_image, eta, white, out, image_out):
    """Write S^(1/2) xi (and eta) and, if images are kept, its image."""


@generic
def inverse_form(proposal, family, work, geometry, delta, white):
    """Return delta' S^-1 delta."""


@kernel
def route_at(proposal, work):
    """Return the route for this many active columns."""
    return proposal.routes[min(work.counts[0], proposal.routes.size - 1)]


@kernel
def new_geometry(n, capacity, with_basis, with_block):
    """Return room for the geometry of one point."""
    wide = n + capacity if with_basis else 0
    tall = capacity if with_basis else 0
    side = n if with_block else 0
    return Geometry(
        np.zeros((capacity, capacity)), np.zeros((tall, wide)), np.zeros((side, side)), np.zeros(4)
    )


@kernel
def copy_geometry(source, destination):
    """Copy what is in use."""
    assign(source.numbers, destination.numbers)
    rank = int(source.numbers[RANK])
    route = int(source.numbers[ROUTE])
    if route == DENSE:
        destination.block[:, :] = source.block
    elif route == QR:
        for i in range(rank):
            assign(source.basis[i], destination.basis[i])
    for i in range(rank):
        for j in range(i + 1):
            destination.chol[i, j] = source.chol[i, j]


@kernel
def spread_of(chol, k):
    """Return the largest over the smallest diagonal entry: a lower bound of cond(X_A)."""
    low, high = math.inf, 0.0
    for i in range(k):
        low, high = min(low, chol[i, i]), max(high, chol[i, i])
    return high / low if k > 0 else 1.0


@kernel
def orthonormalise(family, work, is_d_en, geometry):
    """Write the basis of the active columns (D_EN: stacked); dependent columns are left out."""
    k, n = work.counts[0], work.residual.size
    root = math.sqrt(weight_of_squares(family)) if is_d_en else 0.0
    column = np.zeros(geometry.basis.shape[1])
    rows = active_rows(family, work)
    rank = 0
    for i in range(k):
        assign(family.Xt[rows[i]], column)
        if root > 0.0:
            column[n + i] = root
        if basis_append(geometry.basis, geometry.chol, rank, column) == OK:
            rank += 1
        column[n + i] = 0.0
    return rank


@prepare.register(Proposal)
def prepare_factored(proposal, family, work, geometry):
    """Use SCHUR, or QR where that has no digits."""
    route = route_at(proposal, work)
    k, n = work.counts[0], work.residual.size
    rank, status = k, OK
    if route == SCHUR:
        status = factor_gram(family, work, proposal.is_d_en, geometry.chol)
        singular = status == SINGULAR_GRAM or k > n
        far = status == OK and spread_of(geometry.chol, k) > proposal.qr_beyond
        if (singular or far) and geometry.basis.shape[0] > 0:
            route, status = QR, OK
    if route == QR:
        rank = orthonormalise(family, work, proposal.is_d_en, geometry)
    if status != OK:
        return status
    lam2 = weight_of_squares(family)
    log_det = rank * proposal.log_epsilon
    if proposal.is_d_en:
        bent = log_det_factored(geometry.chol, rank)
        log_det = k * math.log(lam2) - n * math.log1p(lam2) - bent
    geometry.numbers[ROUTE] = route
    geometry.numbers[RANK] = rank
    geometry.numbers[LOG_DET] = log_det
    geometry.numbers[LOG_VOLUME] = math.nan
    return OK


@kernel
def whiten(family, work, geometry, v, eta, root, out):
    """Write t with |t|^2 = v'Pv: L^-1 X_A'v or Q v; for D_EN with sqrt(lam2) eta below v."""
    rank, n = int(geometry.numbers[RANK]), v.size
    if int(geometry.numbers[ROUTE]) == QR:
        for i in range(rank):
            row = geometry.basis[i]
            out[i] = dot(row[:n], v)
            if root > 0.0:
                for j in range(work.counts[0]):
                    out[i] += row[n + j] * eta[j]
        return
    rows = active_rows(family, work)
    for i in range(rank):
        out[i] = dot(family.Xt[rows[i]], v)
        if root > 0.0:
            out[i] += root * eta[i]
    solve_lower(geometry.chol, rank, out)


@displace.register(Proposal)
def displace_factored(proposal, family, work, geometry, xi, xi_image, eta, white, out, image_out):
    """Solve with the factor; SCHUR needs no product with X."""
    rank, k = int(geometry.numbers[RANK]), work.counts[0]
    rows = active_rows(family, work)
    lam2 = weight_of_squares(family)
    root = math.sqrt(lam2) if proposal.is_d_en else 0.0
    inside = 1.0 if proposal.is_d_en else 1.0 - math.sqrt(proposal.epsilon)
    outside = 1.0 / math.sqrt(1.0 + lam2) if proposal.is_d_en else 1.0
    whiten(family, work, geometry, xi, eta, root, white)
    for i in range(rank):
        white[i] *= inside
    assign(xi, out)
    if int(geometry.numbers[ROUTE]) == QR:
        n = out.size
        for i in range(rank):
            row = geometry.basis[i]
            for j in range(n):
                out[j] -= white[i] * row[j]
        if image_out.size > 0:
            np.dot(family.Xt, out, image_out)
    else:
        solve_upper(geometry.chol, rank, white)
        subtract_rows(family.Xt, rows, white, k, out)
        if image_out.size > 0:
            assign(xi_image, image_out)
            subtract_rows(family.gram, rows, white, k, image_out)
    if outside != 1.0:
        for i in range(out.size):
            out[i] *= outside
        for i in range(image_out.size):
            image_out[i] *= outside


@inverse_form.register(Proposal)
def inverse_form_factored(proposal, family, work, geometry, delta, white):
    """Whiten delta."""
    square = dot(delta, delta)
    lam2 = weight_of_squares(family)
    if proposal.is_d_en:
        inside, rows = 0.0, active_rows(family, work)
        for i in range(work.counts[0]):
            inside += dot(family.Xt[rows[i]], delta) ** 2
        return (1.0 + lam2) * (square + inside / lam2)
    whiten(family, work, geometry, delta, white, 0.0, white)
    inside = 0.0
    for i in range(int(geometry.numbers[RANK])):
        inside += white[i] * white[i]
    return square + (1.0 / proposal.epsilon - 1.0) * inside
