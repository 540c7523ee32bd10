"""How the grid of g in the subset code was chosen: codelength, risk and size under other grids.

    python -m benchmarks.selection.g_grid

N = 100 rows unless said, correlation rho^|i-j| with rho = 0.35, s equal coefficients, sigma = 1;
forward stepwise supports, sigma unknown. `stated` pays ln(number of g) for the best g; `mixed`
averages. Means over the data sets; nats are relative to the empty code (0 where that wins).
"""

import numpy as np
from scipy.special import logsumexp

from shtarkov.selection import subset_length
from shtarkov.selection.subset_length import SubsetLength, g_grid
from shtarkov.selection.subset_search import Candidates, greedy_order

N_DATA_SETS = 40
# rows, columns, non-zero coefficients, SNR
CASES = (
    (100, 20, 4, 0.5),
    (100, 20, 4, 3.0),
    (100, 20, 10, 1.0),
    (100, 200, 5, 1.0),
    (100, 200, 5, 5.0),
    (100, 200, 5, 200.0),
    (100, 200, 5, 1e6),
    (500, 100, 5, 1.0),
)


def grids(n: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Give values of g and their log weights by name."""
    fine = np.geomspace(1e-4 * n, 1e8 * n, 200)
    hyper = np.log(fine) - 1.5 * np.log1p(fine / n)  # density (1 + g / n)^-3/2
    siow = -0.5 * np.log(fine) - n / (2.0 * fine)  # Zellner and Siow
    uniform = {
        "n": np.array([float(n)]),
        "n/4..4n": n * 4.0 ** np.arange(-1, 2),
        "n/16..16n": n * 4.0 ** np.arange(-2, 3),
        "1..n^2, 60 values": np.geomspace(1.0, n**2, 60),
    }
    made = {name: (gs, np.full(gs.size, -np.log(gs.size))) for name, gs in uniform.items()}
    made["hyper-g/n"] = (fine, hyper - logsumexp(hyper))
    made["Zellner-Siow"] = (fine, siow - logsumexp(siow))
    return made | {"used": g_grid(n)}


def draw(case: tuple[int, int, int, float], rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    n, n_features, n_strong, snr = case
    X = rng.standard_normal((n, n_features))
    for j in range(1, n_features):
        X[:, j] = 0.35 * X[:, j - 1] + np.sqrt(1.0 - 0.35**2) * X[:, j]
    beta = np.zeros(n_features)
    beta[np.linspace(0, n_features - 1, n_strong).astype(int)] = 1.0
    signal = X @ beta
    signal *= np.sqrt(snr / signal.var())
    return X, signal, signal + rng.standard_normal(n)


def score(case: tuple[int, int, int, float], seed: int) -> list[tuple[str, float, float, float]]:
    """Give (grid and way, nats, risk, size) on one data set."""
    X, signal, y = draw(case, np.random.default_rng(seed))
    n, n_features = X.shape
    length = SubsetLength(float(y @ y), n, n_features)
    candidates = Candidates(X, y, length, min(n_features, 40))
    order = np.array(greedy_order(candidates, by_drop=True))
    basis, _ = np.linalg.qr(X[:, order])
    explained = np.cumsum((basis.T @ y) ** 2)
    sizes = np.arange(1, order.size + 1)
    rows = []
    for name, (gs, log_weights) in grids(n).items():
        subset_length.g_grid = lambda _, held=(gs, log_weights): held
        given = length.given_g(sizes, explained)
        support = length.support_nats(sizes)
        mixed = support - logsumexp(log_weights - given, axis=1)
        stated = support + given.min(axis=1) + np.log(gs.size)
        weights = np.exp(log_weights - given)
        shares = gs / (1.0 + gs)
        shrink = weights @ shares / weights.sum(axis=1)
        ways = (("mixed", mixed, shrink), ("stated", stated, shares[given.argmin(axis=1)]))
        for way, nats, factor in ways:
            best = int(np.argmin(nats))
            k = best + 1 if nats[best] < 0.0 else 0
            fit = factor[best] * (basis[:, :k] @ (basis[:, :k].T @ y)) if k else np.zeros(n)
            risk = float(np.mean((fit - signal) ** 2))
            rows.append((f"{name}, {way}", min(float(nats[best]), 0.0), risk, float(k)))
    subset_length.g_grid = g_grid
    return rows


def main() -> None:
    for case in CASES:
        print("\nN = {}, D = {}, s = {}, SNR = {:g}".format(*case))
        print(f"{'grid':32} {'nats':>9} {'risk':>8} {'size':>6}")
        runs = [score(case, seed) for seed in range(N_DATA_SETS)]
        for rows in zip(*runs, strict=True):
            nats, risk, size = np.mean([row[1:] for row in rows], axis=0)
            print(f"{rows[0][0]:32} {nats:9.2f} {risk:8.4f} {size:6.1f}")


if __name__ == "__main__":
    main()
