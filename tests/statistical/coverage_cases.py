"""Families and methods whose stated errors are compared with their spread, and the truths.

A case gives the z-scores of one seed: (estimate - truth) / stated standard error. Truths come from
closed forms, enumeration and one-dimensional quadrature.
"""

import functools

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.stats import norm

import shtarkov
from shtarkov.complexity import closed_form
from shtarkov.complexity.enumeration import enumerate_strata
from shtarkov.complexity.label_enumeration import label_table
from shtarkov.complexity.level_set_mass import level_set_mass
from shtarkov.complexity.path import penalty_path
from shtarkov.complexity.singular_values import nuclear_ln_c
from shtarkov.complexity.spectrum import stratum_spectrum
from shtarkov.complexity.tempered import ladder_complexity
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of

ERROR = 0.1
PATH = {"sigma": 1.0, "std_error": ERROR, "n_chains": 4, "n_jobs": None, "progress": False}
LABEL_ROWS = np.random.default_rng(21).standard_normal((8, 4))


def correlated_design():
    rng = np.random.default_rng(2)
    shared = rng.standard_normal((10, 1))
    return (rng.standard_normal((10, 6)) + 0.7 * shared) / np.sqrt(10.0)


def table_at(X, lam, lam2=0.0, tau=None):
    return enumerate_strata(X, lam, lam2=lam2, tau=tau)


class Continuous:
    """A problem whose ln C is known at any penalty and weight."""

    def __init__(self, problem, exact, lams):
        self.problem, self.exact, self.lams = problem, exact, lams

    @functools.cached_property
    def truths(self):
        return np.array([self.exact(lam, lam) for lam in self.lams])

    def path(self, seed):
        path = penalty_path(self.problem, self.lams, seed=seed, max_draws=200_000, **PATH)
        return (path.ln_c - self.truths) / path.std_error

    def bridge(self, seed):
        result = shtarkov.complexity(
            self.problem, self.lams[0], method="bridge", std_error=ERROR, seed=seed
        )
        assert result.method == "bridge"
        return [(result.ln_c - self.truths[0]) / result.std_error]

    def free_weight(self, seed):
        lam, tau = self.lams[1], 0.4 * self.lams[1]
        result = shtarkov.complexity(
            self.problem, lam, tau=tau, method="path", std_error=ERROR, seed=seed
        )
        return [(result.ln_c - self.truth_of(lam, tau)) / result.std_error]

    def ladder(self, seed):
        lams = [self.lams[0], self.lams[1], 2.0 * self.lams[1]]
        chains = shtarkov.sample(
            self.problem, lams[0], sampler="tempering", lams=lams, n_draws=400, n_chains=2,
            energies_every=2, seed=seed,
        )  # fmt: skip
        found = ladder_complexity(chains)
        truth = self.truth_of(lams[0], lams[0]) - self.truth_of(lams[-1], lams[-1])
        return [(found.ln_ratio[0] - truth) / found.std_error[0]]

    @functools.cache  # noqa: B019 - a few numbers of a few problems that live as long as the tests
    def truth_of(self, lam, tau):
        return self.exact(lam, tau)


X = correlated_design()
NET = shtarkov.ElasticNet(X, lam2=0.5)
GROUPS = shtarkov.GroupLasso(np.eye(12), np.arange(12) // 4)
CONTINUOUS = {
    "lasso orthonormal": Continuous(
        shtarkov.Lasso(np.eye(20)),
        lambda lam, tau: closed_form.lasso_ln_c(np.ones(20), lam, tau),
        [0.7, 1.5],
    ),
    "lasso": Continuous(
        shtarkov.Lasso(X), lambda lam, tau: table_at(X, lam).ln_c(tau)[0], [0.4, 0.9]
    ),
    "elastic net": Continuous(
        NET, lambda lam, tau: table_at(X, lam, 0.5, tau).ln_c(tau)[0], [0.4, 0.9]
    ),
    "group lasso": Continuous(
        GROUPS,
        lambda lam, tau: closed_form.group_lasso_ln_c(
            np.ones(3), np.full(3, 4), lam, weights=GROUPS.weights, tau=tau
        ),
        [0.6, 1.2],
    ),
    "nuclear norm": Continuous(
        shtarkov.NuclearNorm(shape=(3, 4)),
        lambda lam, tau: nuclear_ln_c((3, 4), lam, tau),
        [1.2, 2.0],
    ),
}


def spectrum_scores(seed):
    """Weights and radii across the spectrum, all of one run."""
    lam, taus, radii = 0.9, (0.9, 0.3, 0.1), (0.5, 5.0)
    spectrum = stratum_spectrum(
        shtarkov.Lasso(X),
        lam,
        tau_min=0.1,
        radius=5.0,
        method="sampled",
        std_error=ERROR,
        seed=seed,
    )
    exact, scores = table_at(X, lam), []
    for tau in taus:
        value, error = spectrum.ln_c(tau)
        scores.append((value - exact.ln_c(tau)[0]) / error)
    for radius in radii:
        value, error = spectrum.ln_c_restricted(radius)
        scores.append((value - exact.ln_c_restricted(radius)[0]) / error)
    return scores


PLANE = np.array([[1.0, 0.6], [0.0, 0.8]])


def directions(n_points):
    angles = (np.arange(n_points) + 0.5) * 2.0 * np.pi / n_points
    return np.column_stack([np.cos(angles), np.sin(angles)])


def polar_ln_c(problem, kappa, n_points=100, furthest=40.0):
    """Integrate exp(-E) over the plane: trapezoid in the angle, Gauss-Legendre along the rays."""
    family = family_of(problem, kappa)
    work = protocol.new_work(family, 8)
    nodes, weights = np.polynomial.legendre.leggauss(100)
    radii, weights = 0.5 * furthest * (nodes + 1.0), 0.5 * furthest * weights
    rays = directions(n_points)[:, None, :] * radii[:, None]
    heights = [[protocol.solve(family, y, work).envelope for y in ray] for ray in rays]
    return np.log(np.mean(np.exp(-np.array(heights)) @ (weights * radii)))


SCALE = {
    "lasso": (shtarkov.Lasso(PLANE), lambda kappa: table_at(PLANE, kappa).ln_c(kappa)[0]),
    "elastic net": (
        shtarkov.ElasticNet(PLANE, lam2=0.5),
        lambda kappa: table_at(PLANE, kappa, 0.5, kappa).ln_c(kappa)[0],
    ),
    # On orthogonal columns of one length these are alike in every direction: ln I would be known
    # after one draw, and its stated error, a floor, would say nothing of any spread.
    "group lasso": (
        shtarkov.GroupLasso(PLANE, [0, 0]),
        lambda kappa: polar_ln_c(SCALE["group lasso"][0], kappa),
    ),
    "nuclear norm": (
        shtarkov.NuclearNorm(PLANE, n_targets=1),
        lambda kappa: polar_ln_c(SCALE["nuclear norm"][0], kappa),
    ),
}


@functools.cache
def exact_ln_i(name, kappa, n_points=200):
    """Average max_t t^2 q(t u) over the directions of the plane."""
    problem, ln_c = SCALE[name]
    family, values = family_of(problem, kappa), []
    for direction in directions(n_points):

        def loss(log_t, direction=direction):
            y = np.exp(log_t) * direction
            return protocol.solve(family, y, protocol.new_work(family, 8)).envelope - 2.0 * log_t

        best = minimize_scalar(loss, bounds=(-4.0, 5.0), options={"xatol": 1e-8})
        values.append(np.exp(-best.fun - ln_c(kappa) - np.log(2.0 * np.pi)))
    return np.log(2.0 * np.pi * np.mean(values))


def scale_scores(name, seed):
    kappa = 1.0
    found = shtarkov.scale_complexity(SCALE[name][0], kappa, std_error=0.02, seed=seed)
    return [(found.ln_c - exact_ln_i(name, kappa)) / found.std_error]


# Column 0 is active; in the two directions left the others are walls at an angle.
CELL = np.array([[1.0, 0.3, -0.2], [0.0, 1.0, 0.7], [0.0, 0.0, 0.9]])
CELL_LAM = 1.1


@functools.cache
def exact_mass():
    low1, high1 = -CELL_LAM * 1.3, CELL_LAM * 0.7

    def slab(u):  # given the second coordinate, the third lies between two walls
        ends = [(side * CELL_LAM + 0.2 * CELL_LAM - 0.7 * u) / 0.9 for side in (-1.0, 1.0)]
        return norm.pdf(u) * (norm.cdf(ends[1]) - norm.cdf(ends[0]))

    return np.log(quad(slab, low1, high1, epsabs=1e-12)[0])


def mass_scores(method, seed):
    wanted = 0.002 if method == "sobol" else 0.05
    found = level_set_mass(
        shtarkov.Lasso(CELL), CELL_LAM, [0], [1], method=method, std_error=wanted, seed=seed
    )
    return [(found.ln_c - exact_mass()) / found.std_error]


def label_problem(loss):
    if loss == "logistic":
        return shtarkov.SparseLogistic(LABEL_ROWS)
    return shtarkov.SparseSVM(LABEL_ROWS, loss, eta=1.3)


@functools.cache
def label_truth(loss, lam, tau):
    problem = label_problem(loss)
    return label_table(problem, lam).ln_c(1.0 if loss == "logistic" else 1.3, tau)


def label_scores(loss, method, seed):
    lam, tau = 0.6, 0.3 if method == "free_weight" else 0.6
    options = {"method": "bridge" if method == "free_weight" else method, "seed": seed}
    found = shtarkov.complexity(
        label_problem(loss), lam, tau=tau if method == "free_weight" else None, std_error=ERROR,
        **options,
    )  # fmt: skip
    return [(found.ln_c - label_truth(loss, lam, tau)) / found.std_error]


LOSSES = ("hinge", "squared_hinge", "logistic")
CASES = {
    **{
        f"{name}, {method}": getattr(case, method)
        for name, case in CONTINUOUS.items()
        for method in ("path", "bridge", "free_weight", "ladder")
    },
    "lasso, spectrum and restricted": spectrum_scores,
    **{f"{name}, noise scale": functools.partial(scale_scores, name) for name in SCALE},
    **{
        f"lasso, level set by {method}": functools.partial(mass_scores, method)
        for method in ("sobol", "tilting", "splitting")
    },
    **{
        f"{loss}, {method}": functools.partial(label_scores, loss, method)
        for loss in LOSSES
        for method in ("path", "bridge", "free_weight")
    },
}
