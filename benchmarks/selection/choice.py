"""What a method answers: coefficients, an intercept, and how it came to them."""

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Choice:
    """A fitted linear model.

    Attributes
    ----------
    coef, intercept : the model, in the units of the data
    seconds : wall time as if the method had been run alone
    lam : penalty in the units of half the squared residual (no 1/n), or NaN when there is none
    notes : numbers and words to keep with the result
    """

    coef: np.ndarray
    intercept: float
    seconds: float
    lam: float = float("nan")
    notes: dict[str, object] = field(default_factory=dict)


def least_squares(X: np.ndarray, y: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Least squares on some columns of centred data, zero elsewhere."""
    coef = np.zeros(X.shape[1])
    if support.size:
        coef[support] = np.linalg.lstsq(X[:, support], y, rcond=None)[0]
    return coef
