"""Checks of everything a user passes in, and the one conversion between alpha and lam.

The library's objective is half the (weighted) squared residual plus lam times the penalty;
scikit-learn divides the first part by the number of rows, so its ``alpha`` is ``lam / n_samples``.
Every check raises `InvalidProblem` with a message that says what to change.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from shtarkov.errors import InvalidProblem
from shtarkov.types import Floats, Ints

# Products of six numbers in this range are finite in double precision: a squared correlation of X
# with y is one of four.
SMALLEST_SCALE = 1e-50
LARGEST_SCALE = 1e50
# A penalty is compared with x_j'y, a product of two.
SMALLEST_PENALTY = 1e-120
LARGEST_PENALTY = 1e120

_NUMERIC_KINDS = "biuf"
_PROC_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


class PenaltyGrid(NamedTuple):
    """Penalties sorted from large to small without repeats, and where each asked-for one went.

    Attributes
    ----------
    lams : (m,) distinct penalties, decreasing: the order in which solvers warm-start
    position : (n,) indices with ``lams[position]`` equal to the penalties as the user gave them
    """

    lams: Floats
    position: Ints


def check_problem(problem: Any) -> None:
    """Refuse what is not a problem: most often the design itself, where `Lasso(X)` is meant."""
    if not (hasattr(problem, "design") and hasattr(problem, "name")):
        msg = f"problem must be one such as shtarkov.Lasso(X); got {type(problem).__name__}"
        raise InvalidProblem(msg)


def _check_number(value: Any, name: str) -> float:
    if isinstance(value, bool | np.bool_ | str | bytes) or np.ndim(value) != 0:
        msg = f"{name} must be a number; got {value!r}"
        raise InvalidProblem(msg)
    try:
        return float(value)
    except (TypeError, ValueError):
        msg = f"{name} must be a single real number; got {value!r}"
        raise InvalidProblem(msg) from None


def _check_positive(value: Any, name: str, advice: str) -> float:
    number = _check_number(value, name)
    if not SMALLEST_PENALTY <= number <= LARGEST_PENALTY:
        msg = (
            f"{name} must be positive and between {SMALLEST_PENALTY:g} and {LARGEST_PENALTY:g}; "
            f"got {number!r}. {advice}"
        )
        raise InvalidProblem(msg)
    return number


def check_lam(lam: Any) -> float:
    """Return `lam` as a float, or say why it cannot be a penalty weight."""
    return _check_positive(
        lam, "lam", "At lam = 0 nothing is penalised and the complexity integral is infinite."
    )


def check_sigma(sigma: Any) -> float:
    """Return the noise scale as a float, or say why it cannot be one."""
    return _check_positive(
        sigma, "sigma", "It is the standard deviation of the noise, in the units of y."
    )


def check_non_negative(value: Any, name: str) -> float:
    """Return a weight that may be zero (a ridge, a ratio) as a float."""
    number = _check_number(value, name)
    if not 0.0 <= number <= LARGEST_PENALTY:
        msg = f"{name} must be between 0 and {LARGEST_PENALTY:g}; got {number!r}"
        raise InvalidProblem(msg)
    return number


def check_lams(lams: ArrayLike) -> PenaltyGrid:
    """Sort and deduplicate a list of penalties.

    Any order and repeats are accepted: the work is done once per distinct penalty, from large to
    small, and ``values[grid.position]`` puts results back into the order the user gave.
    """
    try:
        given = np.asarray(lams, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidProblem("lams must be a one-dimensional list of numbers") from None
    if given.ndim != 1 or given.size == 0:
        msg = f"lams must be a non-empty one-dimensional list; got shape {given.shape}"
        raise InvalidProblem(msg)
    for lam in given:
        check_lam(lam)
    increasing, inverse = np.unique(given, return_inverse=True)
    position = increasing.size - 1 - inverse.reshape(-1)
    return PenaltyGrid(increasing[::-1].copy(), position.astype(np.int64))


def alpha_to_lam(alpha: float, n_samples: float) -> float:
    """Convert scikit-learn's ``alpha`` to ``lam``; with sample weights `n_samples` is their sum."""
    return alpha * n_samples


def lam_to_alpha(lam: float, n_samples: float) -> float:
    """Convert ``lam`` to scikit-learn's ``alpha``; with sample weights `n_samples` is their sum."""
    return lam / n_samples


def check_numeric_kind(dtype: Any, what: str) -> None:
    """Accept booleans, integers and real floats; anything else needs the user's decision."""
    kind = getattr(dtype, "kind", "O")
    if kind in _NUMERIC_KINDS:
        return
    if kind == "c":
        msg = (
            f"{what} holds complex numbers; pass the real part or stack real and imaginary columns"
        )
        raise InvalidProblem(msg)
    msg = (
        f"{what} has dtype {dtype}, which is not numeric; convert it (for example with "
        ".astype(float)) and encode text or categories as columns of numbers first"
    )
    raise InvalidProblem(msg)


def as_vector(values: Any, name: str, length: int) -> Floats:
    """Return a (length,) float64 copy of `values` with every entry finite and in range."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        msg = f"{name} has masked entries; drop those rows or fill them in first"
        raise InvalidProblem(msg)
    if hasattr(values, "iloc") and hasattr(values, "dtype"):
        check_numeric_kind(values.dtype, name)
        values = values.to_numpy(dtype=np.float64, na_value=np.nan)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        msg = f"{name} must be a one-dimensional list of numbers"
        raise InvalidProblem(msg) from None
    check_numeric_kind(array.dtype, name)
    if array.ndim != 1:
        msg = f"{name} must be one-dimensional; got shape {array.shape} (use .ravel() on a column)"
        raise InvalidProblem(msg)
    if array.size != length:
        msg = f"{name} has {array.size} entries but X has {length} rows; they must agree"
        raise InvalidProblem(msg)
    vector = np.array(array, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(vector))
    if bad.size:
        msg = (
            f"{name} holds {bad.size} NaN or infinite values, the first at row {bad[0]}; "
            "drop or impute those rows"
        )
        raise InvalidProblem(msg)
    return vector


def check_response(y: Any, n_samples: int) -> Floats:
    """Return the data vector as (n_samples,) float64, finite and of a usable scale."""
    vector = as_vector(y, "y", n_samples)
    largest = float(np.max(np.abs(vector)))
    if largest != 0.0 and not SMALLEST_SCALE <= largest <= LARGEST_SCALE:
        msg = (
            f"y has largest absolute value {largest:g}; rescale it to lie between "
            f"{SMALLEST_SCALE:g} and {LARGEST_SCALE:g} (the complexity depends on lam / sigma only)"
        )
        raise InvalidProblem(msg)
    return vector


def check_weights(sample_weight: Any, n_samples: int) -> Floats:
    """Return the sample weights as (n_samples,) float64: finite, non-negative, not all zero."""
    weights = as_vector(sample_weight, "sample_weight", n_samples)
    if np.any(weights < 0.0):
        row = int(np.flatnonzero(weights < 0.0)[0])
        msg = f"sample_weight is negative at row {row}; weights must be zero or positive"
        raise InvalidProblem(msg)
    positive = weights[weights > 0.0]
    if positive.size == 0:
        raise InvalidProblem("every sample_weight is zero; at least one row must count")
    if positive.min() < SMALLEST_SCALE or positive.max() > LARGEST_SCALE:
        msg = f"sample_weight must be zero or between {SMALLEST_SCALE:g} and {LARGEST_SCALE:g}"
        raise InvalidProblem(msg)
    return weights


def column_label(column: int, names: Sequence[str] | None) -> str:
    """Name a column of X for a message."""
    return f"column {column}" if names is None else f"column {column} ({names[column]!r})"


def check_finite_block(block: Floats, first_row: int, names: Sequence[str] | None) -> None:
    """Raise when a block of rows of X holds NaN or infinity, naming the first place."""
    finite = np.isfinite(block)
    if finite.all():
        return
    row, column = (int(i) for i in np.argwhere(~finite)[0])
    msg = (
        f"X holds {int(finite.size - finite.sum())} NaN or infinite values in rows {first_row} to "
        f"{first_row + block.shape[0] - 1}, the first at row {first_row + row}, "
        f"{column_label(column, names)}; drop or impute those rows"
    )
    raise InvalidProblem(msg)


def check_column_scale(largest: Floats, names: Sequence[str] | None) -> None:
    """Raise when a column's largest absolute value would overflow or underflow when squared."""
    bad = (largest != 0.0) & ((largest < SMALLEST_SCALE) | (largest > LARGEST_SCALE))
    if not bad.any():
        return
    column = int(np.flatnonzero(bad)[0])
    msg = (
        f"X has largest absolute value {largest[column]:g} in {column_label(column, names)}; "
        f"rescale it to lie between {SMALLEST_SCALE:g} and {LARGEST_SCALE:g}"
    )
    raise InvalidProblem(msg)


def check_columns(
    columns: Any, n_columns: int, names: Sequence[str] | None, what: str = "unpenalised"
) -> Ints:
    """Turn column indices, names or a boolean mask into sorted distinct indices of X's columns."""
    if columns is None:
        return np.empty(0, dtype=np.int64)
    try:
        chosen = np.atleast_1d(np.asarray(columns))
    except (TypeError, ValueError):
        msg = f"{what} must be a list of columns of X"
        raise InvalidProblem(msg) from None
    if chosen.size == 0:
        return np.empty(0, dtype=np.int64)
    if chosen.ndim != 1:
        msg = f"{what} must be a list of columns of X; got shape {chosen.shape}"
        raise InvalidProblem(msg)
    if chosen.dtype.kind == "b":
        if chosen.size != n_columns:
            msg = f"the mask {what} has {chosen.size} entries but X has {n_columns} columns"
            raise InvalidProblem(msg)
        return np.flatnonzero(chosen).astype(np.int64)
    if chosen.dtype.kind in "UO":
        known = list(names or ())
        wrong = [str(name) for name in chosen if known.count(name) != 1]
        if wrong:
            msg = f"{what} names columns that X does not have exactly once: {wrong}"
            raise InvalidProblem(msg)
        return np.unique(np.array([known.index(name) for name in chosen], dtype=np.int64))
    if chosen.dtype.kind not in "iu" or chosen.min() < -n_columns or chosen.max() >= n_columns:
        msg = f"{what} must hold column indices from 0 to {n_columns - 1}; got {columns!r}"
        raise InvalidProblem(msg)
    return np.unique(chosen.astype(np.int64) % n_columns)


def available_memory() -> int | None:
    """Bytes this process can still allocate, or None where the system does not say."""
    limits = []
    if _PROC_MEMINFO.exists():
        for line in _PROC_MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                limits.append(int(line.split()[1]) * 1024)
    elif hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    try:
        ceiling = (_CGROUP / "memory.max").read_text().strip()
        if ceiling != "max":
            limits.append(int(ceiling) - int((_CGROUP / "memory.current").read_text()))
    except (OSError, ValueError):
        pass  # no control group, or one that does not limit memory
    return min(limits) if limits else None


def check_memory(n_bytes: int, what: str, advice: str) -> None:
    """Raise before allocating `n_bytes` when the machine does not have them."""
    available = available_memory()
    if available is None or n_bytes <= available:
        return
    gib = 1024.0**3
    sizes = f"{n_bytes / gib:.1f} GiB but {available / gib:.1f} GiB are available"
    msg = f"{what} needs {sizes}; {advice}"
    raise InvalidProblem(msg)
