"""Samples the polyhedron of an .npz file with hopsy and times it, in an environment of its own.

Called by `benchmarks.level_set.run`; needs numpy and hopsy alone. The file holds A, b (A z <= b,
z a standard normal), a point inside, a proposal's name, its thinning and the seconds to spend.
"""

from __future__ import annotations

import sys
import time

import hopsy
import numpy as np

PROPOSALS = {
    "Gibbs": hopsy.TruncatedGaussianProposal,
    "hit-and-run": hopsy.GaussianHitAndRunProposal,
    "coordinate hit-and-run": hopsy.GaussianCoordinateHitAndRunProposal,
}
FIRST_DRAWS = 20


def chain_of(asked, thinning):  # type: ignore[no-untyped-def]
    n = asked["start"].size
    problem = hopsy.Problem(
        asked["A"],
        asked["b"],
        hopsy.Gaussian(np.zeros(n), np.eye(n)),
        starting_point=asked["start"],
    )
    proposal = PROPOSALS[str(asked["proposal"])](problem, starting_point=asked["start"])
    return hopsy.MarkovChain(problem, proposal=proposal, starting_point=asked["start"])


def main(source, target):  # type: ignore[no-untyped-def]
    asked = dict(np.load(source))
    thinning, seconds = int(asked["thinning"]), float(asked["seconds"])
    chain, rng = chain_of(asked, thinning), hopsy.RandomNumberGenerator(7)
    began = time.process_time()
    hopsy.sample(chain, rng, n_samples=FIRST_DRAWS, thinning=thinning)
    each = (time.process_time() - began) / FIRST_DRAWS
    n_draws = int(np.clip(seconds / each, 100, 20_000))
    began = time.process_time()
    _, draws = hopsy.sample(chain, rng, n_samples=n_draws, thinning=thinning)
    spent = time.process_time() - began
    np.savez(target, draws=np.asarray(draws)[0], seconds=spent)


if __name__ == "__main__":
    main(*sys.argv[1:])
