"""The simulated grid of Hastie, Tibshirani and Tibshirani (2020), and how one data set is drawn.

Rows of X are N(0, S), S_ij = rho^|i-j|; y = X beta + sigma e with sigma^2 = beta'S beta / SNR. The
intercept is zero and every method fits one. Coefficients (s of them are the support to find):

1: s ones, equally spaced        3: first s fall linearly from 10 to 0.5
2: first s are one               5: first s are one, then 0.5, 0.25, ... (weak sparsity)
0: none, sigma = 1 (pure noise)
"""

from functools import cache
from typing import NamedTuple
from zlib import crc32

import numpy as np

SNRS = (0.05, 0.09, 0.14, 0.25, 0.42, 0.71, 1.22, 2.07, 3.52, 6.0)
CORRELATIONS = (0.0, 0.35, 0.7)
BETA_TYPES = (1, 2, 3, 5)
# name: rows, columns, strong coefficients. The first four are those of the article.
SHAPES = {
    "low": (100, 10, 5),
    "medium": (500, 100, 5),
    "high-5": (50, 1000, 5),
    "high-10": (100, 1000, 10),
    "wide": (100, 200, 5),
}


class Setting(NamedTuple):
    """One cell of the grid."""

    shape: str
    correlation: float
    beta_type: int
    snr: float

    @property
    def key(self) -> str:
        return f"{self.shape}/rho{self.correlation:g}/beta{self.beta_type}/snr{self.snr:g}"


class DataSet(NamedTuple):
    """Data to fit, and what is known of the truth.

    Simulated: `beta`, `sigma`, `correlation` and `support`. Tables: the held-out rows instead.
    """

    X: np.ndarray
    y: np.ndarray
    sigma: float | None = None
    beta: np.ndarray | None = None
    support: np.ndarray | None = None
    correlation: float = 0.0
    X_test: np.ndarray | None = None
    y_test: np.ndarray | None = None


def all_settings() -> list[Setting]:
    """Every shape, correlation, coefficient type and SNR, and pure noise: 615 settings."""
    return [
        Setting(shape, rho, kind, snr)
        for shape in SHAPES
        for rho in CORRELATIONS
        for kind in BETA_TYPES
        for snr in SNRS
    ] + noise_settings()


def noise_settings() -> list[Setting]:
    return [Setting(shape, rho, 0, 0.0) for shape in SHAPES for rho in CORRELATIONS]


def standard_settings() -> list[Setting]:
    """Every shape, correlation and type at two SNRs, one of each half of the ten: 120, and noise.

    Which two turns with the cell, so that every SNR meets every shape, correlation and type.
    """
    chosen = []
    for a, shape in enumerate(SHAPES):
        for b, rho in enumerate(CORRELATIONS):
            for c, kind in enumerate(BETA_TYPES):
                step = (a + 2 * b + 3 * c) % 5
                low, high = SNRS[step], SNRS[5 + (step + a) % 5]
                chosen += [Setting(shape, rho, kind, low), Setting(shape, rho, kind, high)]
    return chosen + [s for s in noise_settings() if s.correlation == 0.35]


def smoke_settings() -> list[Setting]:
    return [
        Setting("low", 0.35, 2, 1.22),
        Setting("wide", 0.35, 1, 2.07),
        Setting("low", 0.35, 0, 0.0),
    ]


def coefficients(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """Give beta and the indices of its strong entries."""
    _, n_features, n_strong = SHAPES[setting.shape]
    beta = np.zeros(n_features)
    strong = np.arange(n_strong)
    if setting.beta_type == 0:
        return beta, strong[:0]
    if setting.beta_type == 1:
        strong = np.round(np.linspace(0, n_features - 1, n_strong)).astype(int)
    beta[strong] = np.linspace(10.0, 0.5, n_strong) if setting.beta_type == 3 else 1.0
    if setting.beta_type == 5:
        beta[n_strong:] = 0.5 ** np.arange(1, n_features - n_strong + 1)
    return beta, strong


@cache
def covariance(n_features: int, correlation: float) -> np.ndarray:
    index = np.arange(n_features)
    return correlation ** np.abs(index[:, None] - index)


def rng_for(key: str, *stream: int) -> np.random.Generator:
    """Give the generator of one data set or method, whatever else is run."""
    return np.random.default_rng(
        np.random.SeedSequence(20240501, spawn_key=(crc32(key.encode()), *stream))
    )


def draw(setting: Setting, repeat: int) -> DataSet:
    """Draw data set number `repeat` of a setting."""
    n_rows, n_features, _ = SHAPES[setting.shape]
    rng = rng_for(setting.key, repeat)
    beta, support = coefficients(setting)
    rho = setting.correlation
    X = rng.standard_normal((n_rows, n_features))
    for j in range(1, n_features):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1.0 - rho**2) * X[:, j]
    signal_sq = float(beta @ covariance(n_features, rho) @ beta)
    sigma = float(np.sqrt(signal_sq / setting.snr)) if setting.snr > 0.0 else 1.0
    y = X @ beta + sigma * rng.standard_normal(n_rows)
    return DataSet(X, y, sigma=sigma, beta=beta, support=support, correlation=rho)
