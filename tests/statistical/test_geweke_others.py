"""Geweke's joint test (see `test_geweke`) for ranks, for labels and on level sets.

The penalty and the point are drawn in turn: the penalty given the point exactly, the point given
the penalty by one transition. The shares of the penalties must be those of their prior, and a mean
known exactly must come out. On a level set the point is the free part z of the residual: its law is
normal inside walls that depend on the penalty, whose mass takes the place of C.
"""

import numpy as np
import pytest

import shtarkov
from shtarkov.complexity.label_enumeration import label_table
from shtarkov.complexity.level_set_mass import level_set_mass
from shtarkov.complexity.singular_values import (
    nuclear_ln_c,
    nuclear_mean_norm,
    nuclear_rank_law,
)
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of
from shtarkov.families.observables import NORM
from shtarkov.families.sparse_svm import label_family, solve_labels
from shtarkov.sampling import level_set, ppmh_run
from shtarkov.sampling.label_chain import LabelChain
from shtarkov.sampling.label_flips import place_labels
from shtarkov.sampling.label_loop import ENVELOPE
from shtarkov.sampling.runs import Request
from tests.laws import z_score

pytestmark = [pytest.mark.needs_jit, pytest.mark.slow]
LAMS = np.array([0.7, 1.1, 1.8])
PRIOR = np.array([0.3, 0.4, 0.3])
N_STEPS = 3000


def joint_scores(log_density, transition, point, mean, rng, n_steps=N_STEPS):
    """z-scores of the shares of the penalties, and of a quantity against its mean if one is given.

    `log_density(point)` gives ln of the point's density at each penalty, and `transition(index,
    point)` the next point and the quantity.
    """
    indices, values = np.zeros((1, n_steps)), np.zeros((1, n_steps))
    for t in range(n_steps):
        logs = np.log(PRIOR) + log_density(point)
        shares = np.exp(logs - logs.max())
        index = int(rng.choice(LAMS.size, p=shares / shares.sum()))
        point, values[0, t] = transition(index, point)
        indices[0, t] = index
    scores = [z_score(indices == i, share) for i, share in enumerate(PRIOR)]
    return np.array([*scores, 0.0 if mean is None else z_score(values, mean)])


def runs_of(plan, family, options, rng, n_warmup):
    """Make a run at each penalty, its step found."""
    runs = []
    for lam in LAMS:
        request = Request(
            family=protocol.with_lam(family, float(lam)), weight=float(lam), solver="auto",
            active=False, data=True, sigma=1.0, options=options,
        )  # fmt: skip
        runs.append(plan(request).make_run(rng))
        runs[-1].warm_up(n_warmup)
    return runs


def advanced(run, name, point):
    """Make one transition of a run from a point."""
    run.restore({**run.snapshot(), name: point})
    chunk = run.advance(1)
    return run.snapshot()[name], chunk


RANKS = {
    "ppmh, epsilon 1": (ppmh_run.plan, {"epsilon": 1.0, "thin": 3}),
    "ppmh, epsilon 0.3": (ppmh_run.plan, {"epsilon": 0.3, "thin": 3}),
    "ppmh, epsilon 0.05": (ppmh_run.plan, {"epsilon": 0.05, "thin": 6}),
}


def rank_scores(name, wrong=1.0):
    plan, options = RANKS[name]
    shape, rng = (2, 3), np.random.default_rng(11)
    family = family_of(shtarkov.NuclearNorm(shape=shape), 1.0)
    runs = runs_of(plan, family, options, rng, 200)
    ln_c = np.array([nuclear_ln_c(shape, lam) for lam in LAMS])
    work = protocol.new_work(family, 0)

    def log_density(y):
        fits = [protocol.solve(protocol.with_lam(family, lam), y, work) for lam in LAMS]
        return -wrong * np.array([fit.envelope for fit in fits]) - ln_c

    def transition(index, y):
        following, chunk = advanced(runs[index], "y", y)
        return following, chunk.trace[0, NORM]

    mean = PRIOR @ [nuclear_mean_norm(shape, lam) for lam in LAMS]
    return joint_scores(log_density, transition, rng.standard_normal(6), mean, rng)


@pytest.mark.parametrize("name", RANKS)
def test_ranks(name):
    assert np.abs(rank_scores(name)).max() < 4.0


def test_another_law_of_matrices_is_caught():
    assert np.abs(rank_scores("ppmh, epsilon 0.3", wrong=0.6)).max() > 5.0


SCANS = [
    ("random", False), ("random", True), ("systematic", False), ("systematic", True),
    ("blocks", False), ("pairs", False),
]  # fmt: skip


def label_scores(scan, screen, loss, eta=1.5, sampled_eta=1.5):
    n, rng = 6, np.random.default_rng(12)
    n_positive = 2 if scan == "pairs" else None
    rows, intercept = np.random.default_rng(3).standard_normal((n, 3)), scan == "pairs"
    if loss == "logistic":
        problem = shtarkov.SparseLogistic(rows, fit_intercept=intercept)
    else:
        problem = shtarkov.SparseSVM(rows, loss, fit_intercept=intercept)
    tables = [label_table(problem, lam) for lam in LAMS]
    pairs = list(zip(LAMS, tables, strict=True))
    ln_c = np.array([table.ln_c(eta, lam, n_positive) for lam, table in pairs])
    chains = [
        LabelChain(
            label_family(problem, lam), sampled_eta, lam, rng, scan=scan, screen=screen, thin=2,
            n_positive=n_positive,
        )
        for lam in LAMS
    ]  # fmt: skip

    def log_density(labels):
        fits = [solve_labels(problem, labels, lam) for lam in LAMS]
        return -eta * np.array([fit.objective for fit in fits]) - ln_c

    def transition(index, labels):
        chain = chains[index]
        place_labels(chain.family, labels, chain.state)
        chain.segments.clear()
        chain.extend(1)
        return chain.state.y.copy(), chain.column(ENVELOPE)[0]

    start = np.where(np.arange(n) < 2, 1.0, -1.0)
    means = [table.mean(table.envelope, eta, lam, n_positive) for lam, table in pairs]
    return joint_scores(log_density, transition, start, PRIOR @ means, rng)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize(("scan", "screen"), SCANS)
def test_labels(scan, screen, loss):
    assert np.abs(label_scores(scan, screen, loss)).max() < 4.0


def test_another_law_of_labels_is_caught():
    scores = label_scores("systematic", False, "squared_hinge", sampled_eta=1.0)
    assert np.abs(scores).max() > 5.0


# Column 0 is active; the walls of the others meet at an angle in the directions left.
CELL = np.array([[1.0, 0.3, -0.2], [0.0, 1.0, 0.7], [0.0, 0.0, 0.9]])
COEF = np.array([1.5, 0.0, 0.0])


def level_set_scores(move, shrink=1.0):
    problem, rng = shtarkov.Lasso(CELL), np.random.default_rng(13)
    family = family_of(problem, 1.0)
    runs = runs_of(level_set.plan, family, {"coef": COEF, "move": move, "thin": 2}, rng, 100)
    masses = [level_set_mass(problem, lam, [0], [1], std_error=1e-4, seed=1) for lam in LAMS]
    levels = [run.level for run in runs]

    def log_density(z):
        fits = [
            np.all((level.walls.low <= image) & (image <= level.walls.high))
            for level in levels
            for image in [level.walls.rows @ z]
        ]
        return np.where(fits, [-mass.ln_c for mass in masses], -np.inf)

    def transition(index, z):
        _, chunk = advanced(runs[index], "z", z)
        level = levels[index]
        return shrink * (chunk.extras["data"][0] - level.fitted - level.centre), 0.0

    return joint_scores(log_density, transition, np.zeros(3), None, rng)


@pytest.mark.parametrize("move", ["bounce", "coordinate", "tangent", "tilting"])
def test_level_sets(move):
    assert np.abs(level_set_scores(move)).max() < 4.0


def test_a_narrower_law_inside_the_walls_is_caught():
    assert np.abs(level_set_scores("bounce", shrink=0.8)).max() > 5.0


def test_level_sets_of_a_rank():
    # At rank one the free part of the residual is a matrix of norm at most lam.
    shape, inner, rng = (3, 4), (2, 3), np.random.default_rng(14)
    coef = np.zeros(shape)
    coef[0, 0] = 2.0
    family = family_of(shtarkov.NuclearNorm(shape=shape), 1.0)
    runs = runs_of(level_set.plan, family, {"coef": coef, "thin": 3}, rng, 300)
    ln_mass = np.array(
        [np.log(nuclear_rank_law(inner, lam)[0]) + nuclear_ln_c(inner, lam) for lam in LAMS]
    )

    def log_density(free):
        return np.where(np.linalg.norm(free, 2) <= LAMS, -ln_mass, -np.inf)

    def transition(index, free):
        residual = np.zeros(shape)
        residual[0, 0], residual[1:, 1:] = LAMS[index], free
        following, _ = advanced(runs[index], "y", residual.ravel())
        return following.reshape(shape)[1:, 1:].copy(), 0.0

    scores = joint_scores(log_density, transition, np.zeros(inner), None, rng)
    assert np.abs(scores).max() < 4.0
