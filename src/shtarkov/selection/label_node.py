"""The codes of one penalty: a ladder of laws, climbed to where the labels are coded best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shtarkov.complexity.label_ladder import LabelLadder, Law, law_of
from shtarkov.errors import NotConverged
from shtarkov.families.sparse_svm import label_family
from shtarkov.progress import Progress
from shtarkov.selection.label_data import LabelData, LabelPoint
from shtarkov.selection.label_laws import Reweighting, Wanted

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
        self.goals = {name: Wanted(self.point, data.eta, name == "free") for name in wanted}
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
        laws: dict[str, Law] = {}
        for attempt in range(MAX_CLIMBS + 1):
            for goal in self.goals.values():
                self.ladder.climb(goal)
            self.ladder.settle()
            self.ladder.extend(FIRST_DRAWS)
            weighed = Reweighting(self.ladder)
            laws = {name: self._best(weighed, goal) for name, goal in self.goals.items()}
            if attempt == MAX_CLIMBS or all(
                self._within(weighed, goal, laws[name]) for name, goal in self.goals.items()
            ):
                break
        self.laws = laws

    def _best(self, weighed: Reweighting, goal: Wanted) -> Law:
        """Start from the rung that already codes the data best."""
        allowed = [law_of(rung) for rung in self.ladder.rungs[1:]]
        allowed = [law for law in allowed if self._allows(goal, law)] or allowed[-1:]
        start = min(allowed, key=lambda law: goal.length(law) + weighed.ln_c(law))
        return weighed.best(goal, start)

    def _allows(self, goal: Wanted, law: Law) -> bool:
        """Whether a rung's law is one of the goal's."""
        matched = abs(law.tau - self.lam) <= 1e-9 * self.lam
        stated = goal.eta is None or abs(law.a - goal.eta) <= 1e-9 * goal.eta
        return stated and (goal.free or matched)

    def _within(self, weighed: Reweighting, goal: Wanted, law: Law) -> bool:
        """Whether Newton's step from the law goes nowhere: it is the best, not the last reached."""
        moments = weighed.moments(law)
        aim = goal(law, moments)
        step = (aim.a - law.a, aim.b - law.b)
        spread = sum(
            step[i] * step[j] * float(moments.covariance[i, j]) for i in (0, 1) for j in (0, 1)
        )
        return math.sqrt(max(spread, 0.0)) < 1.0

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
        return list(self.ladder.diagnostics()[2])

    def evidence(self) -> dict[str, Any]:
        """Give the diagnostics behind the codes."""
        rank_rhat, ess, _ = self.ladder.diagnostics()
        return {"ess": ess, "rank_rhat": rank_rhat}
