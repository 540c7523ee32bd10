"""What scikit-learn's ``sample_weight`` means to a codelength.

Whole numbers count rows: a weight of 3 is the row three times, data of dimension three, and the fit
is that of the repeated rows exactly, codelength and noise scale included. Any other weights are
precisions: they multiply the squared residuals and every row is one observation. The difference
matters to the noise scale alone, and only the user knows which is meant; this is scikit-learn's
convention for the first and the families' for the second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from shtarkov.families.build import check_memory, check_weights
from shtarkov.types import Floats


def apply_weights(X: Any, y: Floats, sample_weight: Any) -> tuple[Any, Floats, Floats | None]:
    """Repeat rows by whole-number weights, or pass the weights on.

    Returns
    -------
    X, y : the rows to fit
    weights : precisions for the family, None if every row counts once
    """
    if sample_weight is None:
        return X, y, None
    weights = check_weights(sample_weight, y.shape[0])
    if np.any(weights != np.rint(weights)):
        return X, y, weights
    counts = weights.astype(np.int64)
    if np.all(counts == 1):
        return X, y, None
    check_memory(
        8 * int(counts.sum()) * X.shape[1],
        "repeating the rows of X by their sample_weight",
        "pass weights that are not whole numbers (they weigh rows without repeating them)",
    )
    rows = np.repeat(np.arange(y.shape[0]), counts)
    return _safe_indexing(X, rows), y[rows], None
