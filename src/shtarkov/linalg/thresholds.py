# mypy: allow-untyped-defs, allow-untyped-calls
"""Soft thresholds: the proximal maps of an absolute value and of a Euclidean norm.

`soft_threshold` minimises (b - value)^2 / 2 + threshold |b|; `block_soft_threshold` minimises
|b - block|^2 / 2 + threshold |b| over vectors b. Slow twin: a grid search over b (in the tests).
"""

from __future__ import annotations

import math

from shtarkov._jit import kernel


@kernel
def soft_threshold(value, threshold):
    """Shrink one number towards zero by `threshold` (at least zero)."""
    if value > threshold:
        return value - threshold
    if value < -threshold:
        return value + threshold
    return value * 0.0  # zero, or nan where value is nan


@kernel
def block_soft_threshold(block, threshold):
    """Shrink a vector towards zero in place by `threshold` of its norm; gives the new norm.

    The largest entry is divided out first, so that squares neither overflow nor vanish.
    """
    largest = 0.0
    for i in range(block.shape[0]):
        if not abs(block[i]) <= largest:  # written so that nan is kept, not lost
            largest = abs(block[i])
    squared = 0.0
    if largest != 0.0:
        for i in range(block.shape[0]):
            squared += (block[i] / largest) ** 2
    norm = largest * math.sqrt(squared)
    if norm <= threshold:
        block[:] = 0.0
        return 0.0
    shrink = 1.0 - threshold / norm
    for i in range(block.shape[0]):
        block[i] *= shrink
    return norm - threshold
