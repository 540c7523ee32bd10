"""Geweke's joint test: penalty and data drawn in turn keep the penalty's own law.

lam has a known law p on a few values, and y given lam the law q_lam. Drawing lam given y exactly
and y given lam by one transition of a sampler leaves p(lam) q_lam(y) invariant if, and in general
only if, the sampler leaves q_lam invariant. What is compared: the shares of lam with p, and k with
its mean under the joint law, both from enumeration. Replica exchange draws the data of all its
rungs, so the joint law has one factor for each. Ranks, labels and level sets: `test_geweke_others`.
"""

import numpy as np
import pytest

import shtarkov
from shtarkov.complexity.enumeration import enumerate_strata
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of
from shtarkov.sampling import coarea, hmc_run, ppmh_run, tempering_run
from shtarkov.sampling.runs import Request
from tests.laws import oracles, z_score

X = np.asarray(oracles("lasso_enumeration")[1]["X"])
LAMS = np.array([0.7, 1.1, 1.8])
PRIOR = np.array([0.3, 0.4, 0.3])
N_STEPS, N_WARMUP = 3000, 64
# Penalties of a sampler's rungs, in units of lam.
ALONE, LADDER = (1.0,), (1.0, 1.6)
SAMPLERS = {
    "hmc": (hmc_run.plan, {}, ALONE),
    "ppmh": (ppmh_run.plan, {"thin": 4}, ALONE),
    "ppmh, epsilon 1": (ppmh_run.plan, {"thin": 4, "epsilon": 1.0}, ALONE),
    "ppmh, epsilon 0.05": (ppmh_run.plan, {"thin": 8, "epsilon": 0.05}, ALONE),
    "coarea": (coarea.plan, {"crossings": 3}, ALONE),
    "tempering": (tempering_run.plan, {}, LADDER),
}


class Joint:
    """The two conditionals, and the runs that make the transitions."""

    def __init__(self, name, rng, broken=False):
        plan, options, self.factors = SAMPLERS[name]
        self.rng, self.family = rng, family_of(shtarkov.Lasso(X), 1.0)
        self.runs = []
        for lam in LAMS:
            own = dict(options)
            if name == "tempering":
                own["lams"] = [lam * factor for factor in self.factors]
            request = Request(
                family=protocol.with_lam(self.family, float(lam)), weight=float(lam),
                solver="auto", active=False, data=False, sigma=1.0, options=own,
            )  # fmt: skip
            run = plan(request).make_run(rng)
            run.warm_up(N_WARMUP)
            if broken:  # without the determinants of the proposal's covariance
                run.proposal = run.proposal._replace(log_epsilon=0.0, step=3.0)
            self.runs.append(run)
        self.ln_c = [[enumerate_strata(X, lam * f).ln_c(lam * f)[0] for f in self.factors]
                     for lam in LAMS]  # fmt: skip
        self.work = protocol.new_work(self.family, 8)

    def envelope(self, y, lam):
        return protocol.solve(protocol.with_lam(self.family, lam), y, self.work).envelope

    def draw_lam(self, points):
        logs = np.log(PRIOR)
        for i, lam in enumerate(LAMS):
            for y, factor, ln_c in zip(points, self.factors, self.ln_c[i], strict=True):
                logs[i] -= self.envelope(y, lam * factor) + ln_c
        shares = np.exp(logs - logs.max())
        return int(self.rng.choice(LAMS.size, p=shares / shares.sum()))

    def draw_data(self, points, index):
        run = self.runs[index]
        name = "y" if len(self.factors) == 1 else "points"
        run.restore({**run.snapshot(), name: points[0] if name == "y" else points})
        chunk = run.advance(1)
        return np.atleast_2d(run.snapshot()[name]), chunk.trace[0, 0]


def joint_scores(name, broken=False, seed=3):
    """z-scores of the shares of the penalties and of k."""
    rng = np.random.default_rng(seed)
    joint = Joint(name, rng, broken)
    points = rng.standard_normal((len(joint.factors), X.shape[1]))
    indices, k = np.zeros((1, N_STEPS)), np.zeros((1, N_STEPS))
    for t in range(N_STEPS):
        indices[0, t] = joint.draw_lam(points)
        points, k[0, t] = joint.draw_data(points, int(indices[0, t]))
    means = [enumerate_strata(X, lam).mean_k(lam)[0] for lam in LAMS]
    scores = [z_score(indices == i, share) for i, share in enumerate(PRIOR)]
    return np.array([*scores, z_score(k, PRIOR @ means)])


@pytest.mark.needs_jit
@pytest.mark.parametrize("name", SAMPLERS)
def test_the_joint_law_is_kept(name):
    assert np.abs(joint_scores(name)).max() < 4.0


@pytest.mark.needs_jit
def test_a_ratio_without_its_determinant_is_caught():
    assert np.abs(joint_scores("ppmh", broken=True)).max() > 5.0
