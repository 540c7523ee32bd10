"""All codes of `shtarkov.select` from one race, and what each criterion would have answered.

A race of all four codes holds the answers of every criterion: `prediction` is the shorter of the
empty and the matched code, `structure` of the empty and the free, `subset` of the empty and the
subset code. (A free code that cannot win `auto` is sampled less accurately here than
criterion="structure" would, and one that `auto` would not sample at all is sampled here.)
`average` mixes the codes, and their penalties and supports, with weights exp(-codelength).
`seconds` is that of the race; benchmarks/selection_time.py times the criteria one by one.
"""

import time

import numpy as np
from benchmarks.selection.choice import Choice
from benchmarks.selection.simulated import DataSet

import shtarkov
from shtarkov.progress import resolve_progress
from shtarkov.selection.candidates import Candidate
from shtarkov.selection.data_part import DataPart, make_data_part
from shtarkov.selection.lam_grid import penalty_grid
from shtarkov.selection.race import USELESS_ERROR, Race
from shtarkov.selection.select import CRITERIA
from shtarkov.selection.verdict import average

STD_ERROR = 0.1
# The free code wants many draws where signals are strong; here it gets few, and says its error.
OPTIONS = {"n_chains": 4, "n_jobs": None, "max_draws": 1_000}
ANSWERS = {name: CRITERIA[name] for name in ("auto", "prediction", "structure")} | {
    "subset": ("empty", "subset")
}


def codes(data: DataSet, rng: np.random.Generator) -> dict[str, Choice]:
    """Run one race and derive the answers."""
    start = time.perf_counter()
    part = make_data_part(shtarkov.Lasso(data.X, fit_intercept=True), data.y, None)
    grid = penalty_grid(part.kappa_max, part.n_dim, data.X.shape[1])
    seed = int(rng.integers(2**31))
    race = Race(part, grid, CRITERIA["auto"], True, seed, resolve_progress(False), OPTIONS)
    race.needs_free = True  # `structure` wants the free code even where it cannot win
    race.run(STD_ERROR, 0.0)
    seconds = time.perf_counter() - start
    lengths = {name: item.code.nats for name, item in race.candidates.items()}
    usable = {
        name: item for name, item in race.candidates.items() if item.code.std_error <= USELESS_ERROR
    }
    answers = {}
    for name, wanted in ANSWERS.items():
        competing = set(wanted) & set(usable if name == "auto" else lengths)
        winner = min(competing, key=lambda code: lengths[code])
        notes: dict[str, object] = {"winner": winner, "codelengths": lengths}
        answers[name] = _answer(part, race.candidates[winner], seconds, notes)
    intercept, coef = part.problem.design.full_coefficients(part.response, average(usable)[0])
    answers["average"] = Choice(coef, intercept, seconds)
    return answers


def _answer(
    part: DataPart, candidate: Candidate, seconds: float, notes: dict[str, object]
) -> Choice:
    intercept, coef = part.problem.design.full_coefficients(part.response, candidate.coef)
    lam = float("nan") if candidate.code.lam is None else candidate.code.lam
    return Choice(coef, intercept, seconds, lam, notes)
