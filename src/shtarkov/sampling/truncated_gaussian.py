# mypy: allow-untyped-defs, allow-untyped-calls
"""Moves for a standard normal on a polyhedron of slabs: exact HMC, hit-and-run, Metropolis.

* `bounce`: Hamiltonian flow z cos t + v sin t for a quarter period, exact, with elastic reflection
  at the walls (Pakman and Paninski 2014). Without walls each draw would be independent.
* `coordinate_sweep`: along each coordinate direction, projected, a draw from the law on that line,
  a normal cut to an interval.
* `tangent_step`: the paper's move, a normal step in the tangent space, Metropolis, and rejected
  where it leaves the polyhedron.

z stays in null X_A'; image = rows z is made afresh with every trajectory, so that rounding does not
add up. Slow twin: rejection from unconstrained normals (tests).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families.active_work import assign, dot, subtract_rows
from shtarkov.linalg.cholesky import solve_factored
from shtarkov.sampling.normal import interval
from shtarkov.sampling.walls import excess, multiply, project, wall_normal

QUARTER = 0.5 * math.pi
# A trajectory that bounces more often sits in a corner to machine precision; it is rejected.
MAX_BOUNCES = 100_000
BOUNCE, COORDINATE, TANGENT = 0, 1, 2
MOVES = ("bounce", "coordinate", "tangent")


class SlabState(NamedTuple):
    """Point and velocity with their images, and the point to go back to."""

    z: np.ndarray
    image: np.ndarray
    velocity: np.ndarray
    velocity_image: np.ndarray
    z_kept: np.ndarray
    image_kept: np.ndarray


def new_slab_state(n: int, n_rows: int) -> SlabState:
    """Return a state at the origin."""
    return SlabState(
        np.zeros(n), np.zeros(n_rows), np.zeros(n), np.zeros(n_rows), np.zeros(n), np.zeros(n_rows)
    )


@kernel
def draw_tangent(walls, out, rng):
    """Write a standard normal of null X_A'."""
    for i in range(out.size):
        out[i] = rng.standard_normal()
    project(walls, out)


@kernel
def rising_time(position, speed, amplitude, limit):
    """Return when position cos t + speed sin t next rises through `limit`, in (0, 2 pi]."""
    time = math.atan2(speed, position) - math.acos(limit / amplitude)
    return time if time > 0.0 else time + 2.0 * math.pi


@kernel
def next_wall(walls, image, velocity_image, horizon):
    """Return (time, wall) of the first wall met before `horizon`; the wall is -1 if none is."""
    first, wall = horizon, -1
    for j in range(image.size):
        a, b = image[j], velocity_image[j]
        square = a * a + b * b
        high, low = walls.high[j], walls.low[j]
        # Most walls are out of reach of their row: no square root for those.
        if (high < 0.0 or square > high * high) and square > 0.0:
            amplitude = math.sqrt(square)
            if amplitude > abs(high):
                time = rising_time(a, b, amplitude, high)
                if time < first:
                    first, wall = time, j
        if (low > 0.0 or square > low * low) and square > 0.0:
            amplitude = math.sqrt(square)
            if amplitude > abs(low):
                time = rising_time(-a, -b, amplitude, -low)
                if time < first:
                    first, wall = time, j
    return first, wall


@kernel
def rotate(position, velocity, cosine, sine):
    """Follow the flow."""
    for i in range(position.size):
        moved = cosine * position[i] + sine * velocity[i]
        velocity[i] = cosine * velocity[i] - sine * position[i]
        position[i] = moved


@kernel
def reflect(walls, wall, state):
    """Turn the velocity at a wall."""
    normal, row = wall_normal(walls, wall)
    share = 2.0 * state.velocity_image[wall] / row[wall]
    for i in range(normal.size):
        state.velocity[i] -= share * normal[i]
    for j in range(row.size):
        state.velocity_image[j] -= share * row[j]


@kernel
def keep(state):
    """Remember the point."""
    assign(state.z, state.z_kept)
    assign(state.image, state.image_kept)


@kernel
def go_back(state):
    """Return to the remembered point."""
    assign(state.z_kept, state.z)
    assign(state.image_kept, state.image)


@kernel
def bounce(walls, state, rng):
    """Follow the flow for a quarter period; return (accepted, bounces).

    Not accepted only where rounding let the flow pass through a wall.
    """
    keep(state)
    draw_tangent(walls, state.velocity, rng)
    multiply(walls, state.velocity, state.velocity_image)
    left, n_bounces = QUARTER, 0
    while n_bounces <= MAX_BOUNCES:
        time, wall = next_wall(walls, state.image, state.velocity_image, left)
        cosine, sine = math.cos(time), math.sin(time)
        rotate(state.z, state.velocity, cosine, sine)
        rotate(state.image, state.velocity_image, cosine, sine)
        if wall < 0:
            break
        reflect(walls, wall, state)
        left -= time
        n_bounces += 1
    project(walls, state.z)
    multiply(walls, state.z, state.image)
    accepted = n_bounces <= MAX_BOUNCES and excess(walls, state.image) <= 0.0
    if not accepted:
        go_back(state)
    return accepted, n_bounces


@kernel
def line_interval(walls, image, slope):
    """Return the t with low <= image + t slope <= high."""
    below, above = -math.inf, math.inf
    for j in range(image.size):
        if slope[j] > 0.0:
            below = max(below, (walls.low[j] - image[j]) / slope[j])
            above = min(above, (walls.high[j] - image[j]) / slope[j])
        elif slope[j] < 0.0:
            below = max(below, (walls.high[j] - image[j]) / slope[j])
            above = min(above, (walls.low[j] - image[j]) / slope[j])
    return below, above


@kernel
def coordinate_direction(walls, coordinate, out, image_out):
    """Write the projection of a unit vector and its image."""
    k = walls.n_active[0]
    for i in range(out.size):
        out[i] = 0.0
    out[coordinate] = 1.0
    for i in range(k):
        walls.weights[i] = walls.rows[walls.active[i], coordinate]
    solve_factored(walls.chol, k, walls.weights)
    subtract_rows(walls.rows, walls.active, walls.weights, k, out)
    if walls.gram.size == 0:
        multiply(walls, out, image_out)
        return
    for j in range(image_out.size):
        image_out[j] = walls.rows[j, coordinate]
    subtract_rows(walls.gram, walls.active, walls.weights, k, image_out)


@kernel
def coordinate_sweep(walls, state, rng):
    """Redraw along n random coordinate directions, each from its exact law."""
    n = state.z.size
    for _ in range(n):
        coordinate_direction(walls, rng.integers(0, n), state.velocity, state.velocity_image)
        square = dot(state.velocity, state.velocity)
        if square < 1e-12:  # the direction lies in the active columns' span
            continue
        below, above = line_interval(walls, state.image, state.velocity_image)
        mean, scale = -dot(state.z, state.velocity) / square, 1.0 / math.sqrt(square)
        low, high = (below - mean) / scale, (above - mean) / scale
        mass, point = interval(low, high, rng.random())
        if mass <= 0.0:
            continue
        t = min(max(mean + scale * point, below), above)
        for i in range(n):
            state.z[i] += t * state.velocity[i]
        for j in range(state.image.size):
            state.image[j] += t * state.velocity_image[j]
    keep(state)
    project(walls, state.z)
    multiply(walls, state.z, state.image)
    accepted = excess(walls, state.image) <= 0.0
    if not accepted:  # the projection moved the point by an ulp across a wall
        go_back(state)
    return accepted


@kernel
def tangent_step(walls, state, length, rng):
    """Step by a normal of the tangent space times `length`; return whether it was accepted."""
    keep(state)
    before = dot(state.z, state.z)
    draw_tangent(walls, state.velocity, rng)
    for i in range(state.z.size):
        state.z[i] += length * state.velocity[i]
    multiply(walls, state.z, state.image)
    after = dot(state.z, state.z)
    inside = excess(walls, state.image) <= 0.0
    accepted = rng.random() < math.exp(min(0.0, 0.5 * (before - after))) and inside
    if not accepted:
        go_back(state)
    return accepted


@kernel
def move(walls, state, kind, length, rng):
    """Make one move of the kind named; return whether the point changed."""
    if kind == BOUNCE:
        accepted, _ = bounce(walls, state, rng)
        return accepted
    if kind == COORDINATE:
        return coordinate_sweep(walls, state, rng)
    return tangent_step(walls, state, length, rng)


@kernel
def run_slab(walls, state, kind, length, thin, rng, points, images, accepted):
    """Record a point every `thin` moves; rows of `points` or `images` may be missing."""
    for t in range(accepted.size):
        count = 0
        for _ in range(thin):
            count += 1 if move(walls, state, kind, length, rng) else 0
        accepted[t] = count / thin
        if points.shape[0] > 0:
            assign(state.z, points[t])
        if images.shape[0] > 0:
            assign(state.image, images[t])
