"""The codes of one penalty: a ladder of laws, climbed to where the labels are coded best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shtarkov.complexity.label_ladder import LabelLadder, law_of
from shtarkov.complexity.label_law import Law, distance
from shtarkov.errors import NotConverged
from shtarkov.families.sparse_svm import label_family
from shtarkov.progress import Progress
from shtarkov.selection.label_data import LabelData, LabelPoint
from shtarkov.selection.label_laws import LONGEST_STEP, Reweighting, Wanted, largest_eta

# Streams of one penalty start this far from those of the next.
STREAMS = 200
# Draws of every law before the best one is looked for.
FIRST_DRAWS = 40
# The ladder is climbed further if the best law has moved beyond its end.
MAX_CLIMBS = 2


@dataclass(frozen=True, slots=True)
class LabelCode:
    """One code of the labels.

    Attributes
    ----------
    nats, std_error : codelength and its Monte Carlo error
    ln_c : its complexity's part
    law : weights of F and |w|_1
    """

    nats: float
    std_error: float
    ln_c: float
    law: Law


class LabelNode:
    """One penalty: the data's fit, the ladder and the codes read off it.

    Attributes
    ----------
    point : the data's fit
    codes : "matched" and "free", those wanted
    trouble : why there is no code, if there is none
    """

    def __init__(
        self,
        data: LabelData,
        lam: float,
        wanted: tuple[str, ...],
        *,
        place: int,
        seed: int,
        n_chains: int,
        n_jobs: int | None,
        bar: Progress,
    ) -> None:
        self.data, self.point = data, data.point(lam)
        ceiling = largest_eta(data.n_samples)
        self.goals = {
            name: Wanted(self.point, data.eta, name == "free", ceiling) for name in wanted
        }
        self.laws: dict[str, Law] = {}
        self.codes: dict[str, LabelCode] = {}
        self.trouble = ""
        self.ladder = LabelLadder(
            label_family(data.problem, lam),
            seed=seed,
            n_chains=n_chains,
            n_jobs=n_jobs,
            bar=bar,
            n_positive=data.n_positive,
            first_index=STREAMS * place,
        )
        try:
            self._look()
        except NotConverged as error:
            self.trouble = str(error)

    @property
    def lam(self) -> float:
        """The penalty."""
        return self.point.lam

    def _look(self) -> None:
        """Climb to the best laws, sample, and correct them by all draws."""
        waiting = list(self.goals)
        for _ in range(MAX_CLIMBS + 1):
            for name in waiting:
                self.ladder.climb(self.goals[name])
            self.ladder.settle()
            self.ladder.extend(FIRST_DRAWS)
            weighed = Reweighting(self.ladder)
            self.laws = {name: self._best(weighed, goal) for name, goal in self.goals.items()}
            waiting = [name for name in self.goals if not self._within(weighed, name)]
            if not waiting:
                break

    def _best(self, weighed: Reweighting, goal: Wanted) -> Law:
        """Start from the rung that already codes the data best, or from where rungs point to."""
        laws = [law_of(rung) for rung in self.ladder.rungs[1:]]
        allowed = [law for law in laws if self._allows(goal, law)]
        starts = allowed or [goal(law, weighed.moments(law)) for law in laws]
        start = min(starts, key=lambda law: goal.length(law) + weighed.ln_c(law))
        return weighed.best(goal, start)

    def _allows(self, goal: Wanted, law: Law) -> bool:
        """Whether a rung's law is one of the goal's."""
        matched = abs(law.tau - self.lam) <= 1e-9 * self.lam
        stated = goal.eta is None or abs(law.a - goal.eta) <= 1e-9 * goal.eta
        return stated and (goal.free or matched)

    def _within(self, weighed: Reweighting, name: str) -> bool:
        """Whether a code's law is near a rung, and Newton's step from it goes nowhere."""
        law = self.laws[name]
        moments = weighed.moments(law)
        aim = self.goals[name](law, moments)
        return distance(law, aim, moments) < LONGEST_STEP and self.ladder.reaches(law)

    def refine(self, std_error: float, max_draws: int) -> None:
        """Draw until every code has the wanted error, if `max_draws` allows."""
        if self.trouble:
            return
        try:
            points = list(self.laws.values())
            _, covariance = self.ladder.refine(points, std_error, max_draws)
            weighed = Reweighting(self.ladder)
        except NotConverged as problem:
            self.trouble = str(problem)
            return
        for place, (name, law) in enumerate(self.laws.items()):
            best = weighed.best(self.goals[name], law)
            stated = self.data.stated_nats(2 if name == "free" else 1)
            complexity = weighed.ln_c(best)
            nats = self.goals[name].length(best) + complexity + stated
            error = math.sqrt(float(covariance[place, place]))
            self.codes[name] = LabelCode(nats, error, complexity, best)
            self.laws[name] = best

    def coefficients(self, name: str) -> LabelPoint:
        """Give the classifier a code reports: for the free code the relaxed one."""
        if name == "matched":
            return self.point
        return self.data.relaxed(self.point, self.codes[name].law.tau)

    def doubts(self) -> list[str]:
        """List what would make an expert distrust the codes."""
        beyond = [name for name, law in self.laws.items() if not self.ladder.reaches(law)]
        worries = [
            f"the {name} code's best weights lie beyond the laws drawn: state eta, or raise lams"
            for name in beyond
        ]
        return [*worries, *self.ladder.diagnostics()[2]]

    def evidence(self) -> dict[str, Any]:
        """Give the diagnostics behind the codes."""
        rank_rhat, ess, _ = self.ladder.diagnostics()
        return {"ess": ess, "rank_rhat": rank_rhat}
