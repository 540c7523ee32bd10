"""Group Lasso problems for the tests, and the slow way to their estimates."""

import numpy as np

from shtarkov import GroupLasso
from shtarkov.families.compiled import family_of, group_family


def correlated_groups(rng, n, sizes, shared=0.6):
    """A design whose columns have a common part, and each column's group."""
    group_of = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.standard_normal((n, group_of.size)) + shared * rng.standard_normal((n, 1))
    return X, rng.permutation(group_of)


def make_family(X, group_of, lam, weights=None, gram=True, l1=0.0):
    sizes = np.bincount(group_of)
    family = group_family(X, group_of, np.sqrt(sizes) if weights is None else weights, lam, l1)
    return family if gram else family._replace(gram=np.zeros((0, 0)))


def problem_family(X, groups, lam, **options):
    problem = GroupLasso(X, groups, **options)
    return problem, family_of(problem, lam)


def descend(X, y, group_of, weights, lam, n_sweeps=100_000, l1=0.0):
    """Block coordinate descent with proximal steps: the slow twin of the solver."""
    coef, residual = np.zeros(X.shape[1]), y.copy()
    groups = [np.flatnonzero(group_of == g) for g in range(weights.size)]
    steps = [np.linalg.norm(X[:, g], 2) ** 2 for g in groups]
    for _ in range(n_sweeps):
        change = 0.0
        for g, weight, step in zip(groups, weights, steps, strict=True):
            if step == 0.0:
                continue
            v = coef[g] + X[:, g].T @ residual / step
            v = np.sign(v) * np.maximum(np.abs(v) - lam * l1 / step, 0.0)
            size = np.linalg.norm(v)
            new = v * max(0.0, 1.0 - lam * weight / step / size) if size > 0.0 else 0.0 * v
            residual += X[:, g] @ (coef[g] - new)
            change = max(change, np.abs(new - coef[g]).max())
            coef[g] = new
        if change < 1e-14 * (1.0 + np.abs(coef).max()):
            break
    return coef
