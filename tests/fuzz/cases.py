"""Random problems on purpose outside anyone's comfort, and the loop that tries many of them."""

import faulthandler

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# A case that takes longer hangs: the run ends, with the stack it hung in. The first case is not
# timed, as it compiles.
HANGS = 300.0
LOSSES = ("hinge", "squared_hinge", "logistic")


def try_cases(check, strategy, n_cases):
    """Check this many cases, always the same; return how many were checked to the end."""
    done = []

    @settings(
        max_examples=n_cases, deadline=None, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def run(case):
        if done:
            faulthandler.dump_traceback_later(HANGS, exit=True)
        try:
            check(case)
            done.append(1)
        finally:
            faulthandler.cancel_dump_traceback_later()

    run()
    return len(done)


@st.composite
def designs(draw, most_rows=8, most_columns=10):
    """Designs with ties, repeated, opposite, zero and nearly equal columns, at many scales."""
    n, d = draw(st.integers(1, most_rows)), draw(st.integers(1, most_columns))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.standard_normal((n, d))
    if draw(st.booleans()):
        X = np.rint(1.5 * X)
    for _ in range(draw(st.integers(0, 3))):
        here, there = draw(st.integers(0, d - 1)), draw(st.integers(0, d - 1))
        kind = draw(st.sampled_from(["equal", "opposite", "zero", "near", "long"]))
        if kind in ("equal", "opposite"):
            X[:, here] = X[:, there] if kind == "equal" else -X[:, there]
        elif kind == "near":
            X[:, here] = X[:, there] * (1.0 + 1e-9 * rng.standard_normal(n))
        else:
            X[:, here] *= 0.0 if kind == "zero" else 1e3
    return 10.0 ** draw(st.sampled_from([0, 0, 0, -6, 6])) * X, rng


@st.composite
def solves(draw):
    """A design, data vectors to be solved one after another, a penalty and a ridge."""
    X, rng = draw(designs())
    size = np.abs(X).max()
    Y = size * rng.standard_normal((3, X.shape[0]))
    if draw(st.booleans()):
        Y[1] = X @ rng.standard_normal(X.shape[1])
    top = np.abs(Y @ X).max()
    share = 10.0 ** draw(st.floats(-4.0, 0.1))
    lam = share * top if top > 0.0 else 1.0
    ridge = draw(st.sampled_from([0.0, 0.0, 1.0])) * size**2
    return X, Y, float(lam), float(ridge), draw(st.booleans())


@st.composite
def group_solves(draw):
    """A design in groups, data vectors, weights and a penalty relative to the largest."""
    X, rng = draw(designs(most_columns=8))
    d = X.shape[1]
    group_of = np.sort(np.array(draw(st.lists(st.integers(0, 2), min_size=d, max_size=d))))
    group_of = np.unique(group_of, return_inverse=True)[1]
    weights = 0.5 + rng.random(group_of.max() + 1)
    Y = np.abs(X).max() * rng.standard_normal((3, X.shape[0]))
    return X, group_of, weights, Y, 10.0 ** draw(st.floats(-2.5, 0.1))


@st.composite
def matrix_solves(draw):
    """Singular values of a design, targets, data matrices and a penalty relative to the largest."""
    p, q = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([1.0, 3.0, 20.0]))
    Y = 10.0 ** draw(st.sampled_from([0, 0, -4, 4])) * rng.standard_normal((3, p * q))
    if draw(st.booleans()):  # equal singular values
        Y[1] = np.eye(p, q).ravel()
    return np.geomspace(3.0, 3.0 / spread, p), q, Y, 10.0 ** draw(st.floats(-2.0, 0.1))


@st.composite
def label_solves(draw):
    """Rows, labels, a loss, options, and a penalty relative to the largest."""
    X, rng = draw(designs(most_columns=6).filter(lambda drawn: drawn[0].any()))
    signs = np.where(rng.random(X.shape[0]) < 0.5, -1.0, 1.0)
    X = X / np.abs(X).max() * 10.0 ** draw(st.sampled_from([0, 0, 2]))
    options = {
        "ridge": draw(st.sampled_from([0.0, 0.0, 0.5])),
        "fit_intercept": draw(st.booleans()),
    }
    return X, signs, draw(st.sampled_from(LOSSES)), options, 10.0 ** draw(st.floats(-2.5, 0.1))


@st.composite
def pairs_of_sets(draw):
    """A design and two subsets of its columns, which may overlap, coincide or be empty."""
    n = draw(st.integers(1, 10))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.standard_normal((n, 12)) + draw(st.sampled_from([0.0, 1.0, 10.0]))
    sets = [draw(st.lists(st.integers(0, 11), unique=True, max_size=min(n, 8))) for _ in range(2)]
    return X, sets


@st.composite
def integrals(draw):
    """A design of up to three columns, a penalty, a noise scale, a weight and a seed."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.standard_normal((draw(st.integers(1, 4)), draw(st.integers(1, 3))))
    X = X + draw(st.sampled_from([0.0, 1.0]))
    sigma = draw(st.sampled_from([1.0, 0.1, 30.0]))
    lam = sigma * np.linalg.norm(X, axis=0).max() * draw(st.floats(0.3, 2.5))
    kind = draw(st.sampled_from(["lasso", "lasso", "elastic_net"]))
    return X, float(lam), sigma, draw(st.sampled_from([None, None, 0.5])), kind


@st.composite
def tables(draw):
    """A tiny table with a target: signal or none, in units that may be anything."""
    X, rng = draw(designs(most_rows=12, most_columns=4))
    y = rng.standard_normal(X.shape[0])
    if draw(st.booleans()):
        y = y + X[:, 0] / max(np.abs(X).max(), 1e-300) * 5.0
    y = y * 10.0 ** draw(st.sampled_from([0, 0, -5, 5]))
    sigma = draw(st.sampled_from(["unknown", "unknown", 1.0]))
    return X, y, sigma, draw(st.booleans()), draw(st.sampled_from(["auto", "prediction"]))
