"""Groups of methods by name: each takes a data set and gives one or more named choices.

A group is the unit of work of the runner, so that methods can share a path or folds. What a group
needs is imported when it is run: opponents run without this library, and abess in an environment
of its own. To add one, write such a function and name it in `GROUPS`.
"""

import time
from collections.abc import Callable, Mapping

import numpy as np
from benchmarks.selection.choice import Choice
from benchmarks.selection.criteria import criteria
from benchmarks.selection.cross_validated import cross_validated
from benchmarks.selection.simulated import DataSet

Group = Callable[[DataSet, np.random.Generator], dict[str, Choice]]


def ours(criterion: str) -> Group:
    """Make the group of `shtarkov.select` with one criterion."""

    def run(data: DataSet, rng: np.random.Generator) -> dict[str, Choice]:
        import shtarkov

        seed = int(rng.integers(2**31))
        start = time.perf_counter()
        problem = shtarkov.Lasso(data.X, fit_intercept=True)
        report = shtarkov.select(problem, data.y, criterion=criterion, seed=seed)
        seconds = time.perf_counter() - start
        lengths = getattr(report, "codelengths", None)
        notes = {
            "winner": report.winner,
            "tau": _number(report.tau),
            "sigma": _number(report.sigma),
            "ok": bool(report.ok),
            "reasons": list(report.reasons),
            "near_ties": len(report.near_ties),
        }
        if isinstance(lengths, Mapping):
            notes["codelengths"] = {
                str(name): _number(getattr(code, "nats", code)) for name, code in lengths.items()
            }
        lam = _number(report.lam)
        coef = np.asarray(report.coef, dtype=float)
        penalty = float("nan") if lam is None else lam
        return {criterion: Choice(coef, float(report.intercept), seconds, penalty, notes)}

    return run


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float | np.number) else None


def subset(data: DataSet, rng: np.random.Generator) -> dict[str, Choice]:
    """Run the subset code alone, against the empty model."""
    del rng
    import shtarkov
    from shtarkov.selection.subset import subset_code

    start = time.perf_counter()
    design = shtarkov.Lasso(data.X, fit_intercept=True).design
    reduced = design.reduce_response(data.y)
    code = subset_code(design.X, reduced.y, reduced.orthogonal_sq, design.n_dim)
    coef = code.coef if code.delta_nats < 0.0 else np.zeros(data.X.shape[1])
    intercept, _ = design.unpenalised_coef(reduced, coef)
    seconds = time.perf_counter() - start
    return {"subset": Choice(coef, intercept, seconds, notes={"nats": code.delta_nats})}


def abess(data: DataSet, rng: np.random.Generator) -> dict[str, Choice]:
    """Run best subsets by splicing with the library's default criterion (EBIC) and with GIC."""
    del rng
    from abess.linear import LinearRegression

    answers = {}
    for name in ("ebic", "gic"):
        start = time.perf_counter()
        fitted = LinearRegression(ic_type=name, thread=1).fit(data.X, data.y)
        seconds = time.perf_counter() - start
        coef = np.asarray(fitted.coef_, dtype=float).reshape(-1)
        intercept = float(np.asarray(fitted.intercept_).reshape(-1)[0])
        answers[f"abess_{name}"] = Choice(coef, intercept, seconds)
    return answers


GROUPS: dict[str, Group] = {
    "cv": cross_validated,
    "criteria": criteria,
    "subset": subset,
    "auto": ours("auto"),
    "prediction": ours("prediction"),
    "structure": ours("structure"),
    "abess": abess,
}
# Methods that are told the truth: compared, but no user could run them.
TOLD = ("oracle", "bic_known", "ebic_known")
