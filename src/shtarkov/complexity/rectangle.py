"""P(lower <= T z <= upper) for z standard normal: Gaussian rectangle probabilities, any rank.

Separation of variables (Genz 1992) over Sobol points with random digital shifts; the error is the
spread of the shifts. The rows of T are put in order by their conditional probability (Gibson,
Glasbey and Elston 1994) with a pivoted orthogonalisation, so that no covariance is formed. A row
that depends on rows before it (more rows than rank, or duplicates) narrows the interval of the last
variable it depends on (Genz and Kwong 2000). Slow twin: plain Monte Carlo, and the closed forms.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from shtarkov._jit import kernel
from shtarkov.sampling.normal import interval
from shtarkov.types import Floats, Ints, Status

# A row this much shorter than it was depends on the rows before it, up to rounding.
_DEPENDENT = 1e-9
_BITS = 30
MAX_RANK = 20
MAX_POINTS = 2**16


@functools.cache
def sobol_points() -> Ints:
    """Give the first `MAX_POINTS` Sobol points as integers below 2^30."""
    from scipy.stats import qmc  # at first use: importing it costs more than the rest

    sequence = qmc.Sobol(MAX_RANK - 1, scramble=False, bits=_BITS)
    return np.asarray(sequence.random(MAX_POINTS) * 2.0**_BITS).astype(np.int64)


@kernel
def _bounds(
    factor: Floats, lower: Floats, upper: Floats, first: int, last: int, step: int, z: Floats
) -> tuple[float, float]:
    """Interval of z[step] that rows first..last-1 allow, given z before it."""
    low, high = -math.inf, math.inf
    for row in range(first, last):
        base = 0.0
        for j in range(step):
            base += factor[row, j] * z[j]
        pivot = factor[row, step]
        one, other = (lower[row] - base) / pivot, (upper[row] - base) / pivot
        low = max(low, min(one, other))
        high = min(high, max(one, other))
    return low, high


@kernel
def _swap(i: int, j: int, work: Floats, factor: Floats, limits: Floats, length: Floats) -> None:
    """Exchange two rows in every array."""
    if i == j:
        return
    for array in (work, factor, limits):
        for column in range(array.shape[1]):
            array[i, column], array[j, column] = array[j, column], array[i, column]
    length[i], length[j] = length[j], length[i]


@kernel
def _tightest(work: Floats, factor: Floats, limits: Floats, done: int, step: int, z: Floats) -> int:
    """Undone row with the least conditional probability given the expected path so far."""
    best, least = done, math.inf
    for row in range(done, work.shape[0]):
        size = math.sqrt((work[row] ** 2).sum())
        base = 0.0
        for j in range(step):
            base += factor[row, j] * z[j]
        mass, _ = interval((limits[row, 0] - base) / size, (limits[row, 1] - base) / size, 0.5)
        if mass < least:
            best, least = row, mass
    return best


@kernel
def _orthogonalise(work: Floats, factor: Floats, done: int, step: int) -> None:
    """Take row `done` as the next direction; move its share of the later rows into `factor`."""
    size = math.sqrt((work[done] ** 2).sum())
    direction = work[done] / size
    factor[done, step] = size
    for row in range(done + 1, work.shape[0]):
        # Twice is enough: the second pass removes what rounding left of the first.
        for _ in range(2):
            share = 0.0
            for j in range(direction.size):
                share += work[row, j] * direction[j]
            factor[row, step] += share
            for j in range(direction.size):
                work[row, j] -= share * direction[j]


@kernel
def _order(
    rows: Floats,
    lower: Floats,
    upper: Floats,
    factor: Floats,
    limits: Floats,
    start: Ints,
    scale: Floats,
) -> int:
    """Order the rows and factor them; return the rank.

    Writes `factor` and `limits` (rows in the new order), `start` (rows start[j]..start[j+1]-1 bound
    variable j) and `scale` (mass of each variable's interval along the expected path).
    """
    n_rows = rows.shape[0]
    work, length, z = rows.copy(), np.empty(n_rows), np.zeros(rows.shape[1])
    factor[:] = 0.0
    for row in range(n_rows):
        limits[row, 0], limits[row, 1] = lower[row], upper[row]
        length[row] = math.sqrt((work[row] ** 2).sum())
    done, step = 0, 0
    while done < n_rows:
        start[step] = done
        _swap(done, _tightest(work, factor, limits, done, step, z), work, factor, limits, length)
        _orthogonalise(work, factor, done, step)
        done += 1
        for row in range(done, n_rows):
            if math.sqrt((work[row] ** 2).sum()) <= _DEPENDENT * length[row]:
                _swap(done, row, work, factor, limits, length)
                done += 1
        low, high = _bounds(factor, limits[:, 0], limits[:, 1], start[step], done, step, z)
        mass, z[step] = interval(low, max(low, high), 0.5)
        scale[step] = mass if mass > 0.0 else 1.0
        step += 1
    start[step] = n_rows
    return step


@kernel
def _integrand(
    factor: Floats, limits: Floats, start: Ints, scale: Floats, rank: int, u: Floats, z: Floats
) -> float:
    """Product of conditional interval masses at one point of the unit cube, over their scales."""
    product = 1.0
    for step in range(rank):
        low, high = _bounds(
            factor, limits[:, 0], limits[:, 1], start[step], start[step + 1], step, z
        )
        if low >= high:
            return 0.0
        mass, z[step] = interval(low, high, u[step])
        product *= mass / scale[step]
        if product == 0.0:
            return 0.0
    return product


@kernel
def _shifted_means(
    factor: Floats,
    limits: Floats,
    start: Ints,
    scale: Floats,
    rank: int,
    points: Ints,
    n_shifts: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Mean over randomly shifted copies of the points, and the variance of that mean."""
    u, z, shift = np.full(rank, 0.5), np.zeros(rank), np.empty(rank, dtype=np.int64)
    mean, spread = 0.0, 0.0
    for index in range(n_shifts):
        for j in range(rank - 1):
            shift[j] = int(rng.random() * 2.0**_BITS)
        total = 0.0
        for point in range(points.shape[0]):
            for j in range(rank - 1):
                u[j] = ((points[point, j] ^ shift[j]) + 0.5) * 2.0**-_BITS
            total += _integrand(factor, limits, start, scale, rank, u, z)
        change = total / points.shape[0] - mean
        mean += change / (index + 1)
        spread += change * (total / points.shape[0] - mean)
    return mean, spread / (n_shifts * (n_shifts - 1))


@kernel
def rectangle_probabilities(
    rows: Floats,
    lower: Floats,
    upper: Floats,
    n_points: Ints,
    points: Ints,
    n_shifts: int,
    rng: np.random.Generator,
    out: Floats,
) -> int:
    """Probabilities of many rectangles of the same rows.

    Parameters
    ----------
    rows : (m, n) the matrix T; no row may be zero, and its rank at most `MAX_RANK`
    lower, upper : (n_rectangles, m) limits, possibly infinite
    n_points : (n_rectangles,) points per shift, a power of two; 0 leaves `out` as it is
    points : `sobol_points()`
    n_shifts : random shifts, at least 2
    rng : source of the shifts
    out : (n_rectangles, 3) receives ln of the scale, mean / scale and variance / scale^2
    """
    n_rows = rows.shape[0]
    factor, limits = np.zeros((n_rows, rows.shape[1])), np.empty((n_rows, 2))
    start, scale = np.zeros(n_rows + 1, dtype=np.int64), np.ones(n_rows)
    for index in range(lower.shape[0]):
        if n_points[index] == 0:
            continue
        rank = _order(rows, lower[index], upper[index], factor, limits, start, scale)
        # With one variable the integrand is a constant: one evaluation is exact.
        n_used, shifts = (n_points[index], n_shifts) if rank > 1 else (1, 2)
        mean, variance = _shifted_means(
            factor, limits, start, scale, rank, points[:n_used], shifts, rng
        )
        out[index, 0] = np.log(scale[:rank]).sum()
        out[index, 1], out[index, 2] = mean, variance
        if not math.isfinite(mean):
            return Status.NOT_FINITE
    return Status.OK
