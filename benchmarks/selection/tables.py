"""Real tables shipped with scikit-learn in repeated splits, columns scaled on the training rows."""

from collections.abc import Callable
from functools import cache

import numpy as np
from benchmarks.selection.simulated import DataSet, rng_for
from sklearn import datasets


@cache
def diabetes() -> tuple[np.ndarray, np.ndarray]:
    X, y = datasets.load_diabetes(return_X_y=True)
    return X, y


@cache
def diabetes_quadratic() -> tuple[np.ndarray, np.ndarray]:
    """Build the 64 columns of the article on least angle regression.

    Main effects, products, and squares except that of sex, which has two values.
    """
    X, y = diabetes()
    products = [X[:, i] * X[:, j] for i in range(10) for j in range(i + 1, 10)]
    squares = [X[:, i] ** 2 for i in range(10) if i != 1]
    return np.column_stack([X, *products, *squares]), y


@cache
def linnerud() -> tuple[np.ndarray, np.ndarray]:
    """Weight from three exercises, 20 men."""
    table = datasets.load_linnerud()
    return np.asarray(table.data), np.asarray(table.target[:, 0])


@cache
def breast_cancer() -> tuple[np.ndarray, np.ndarray]:
    """Diagnosis as a number, from 30 strongly correlated measurements."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return X, y.astype(float)


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    """Is the digit even? As a number, from 64 pixels, some of them constant."""
    X, y = datasets.load_digits(return_X_y=True)
    return X, (y % 2 == 0).astype(float)


# name: the table and how many of its rows to train on.
TABLES: dict[str, tuple[Callable[[], tuple[np.ndarray, np.ndarray]], int]] = {
    "diabetes": (diabetes, 300),
    "diabetes-100": (diabetes, 100),
    "diabetes-quadratic": (diabetes_quadratic, 300),
    "diabetes-quadratic-100": (diabetes_quadratic, 100),
    "linnerud": (linnerud, 15),
    "breast-cancer": (breast_cancer, 380),
    "breast-cancer-60": (breast_cancer, 60),
    "digits-300": (digits, 300),
}


def draw_split(name: str, repeat: int) -> DataSet:
    """Split a table at random; constant columns of the training rows become zero."""
    load, n_train = TABLES[name]
    X, y = load()
    order = rng_for(f"table/{name}", repeat).permutation(y.size)
    train, test = order[:n_train], order[n_train:]
    centre, scale = X[train].mean(axis=0), X[train].std(axis=0)
    scale[scale <= 1e-12 * np.abs(X).max(axis=0)] = np.inf
    scaled = (X - centre) / scale
    return DataSet(scaled[train], y[train], X_test=scaled[test], y_test=y[test])
