"""`shtarkov check`: what a design is like before anything is computed with it.

Rank and condition are those of the columns after the intercept is projected out and each is
divided by its length, so that units do not count. The cost is measured: a short run of the sampler
where the threshold is one noise standard deviation of a column.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.markup import escape

from shtarkov.cli.live import LiveStatus
from shtarkov.cli.show import console, grid
from shtarkov.cli.table_file import Table, read_table
from shtarkov.complexity.closed_form import orthogonal_norms
from shtarkov.complexity.spectrum import ENUMERATE_UP_TO
from shtarkov.estimators.scaling import CONSTANT_SHARE
from shtarkov.families.problems import Lasso
from shtarkov.sampling.sample import sample
from shtarkov.types import Floats

# Beyond this the singular values take longer than an impatient look should.
LARGEST_SVD = 3000
# Correlations this close to one make two columns one.
DUPLICATE = 1.0 - 1e-10
PILOT_DRAWS, PILOT_CHAINS, PILOT_SEED = 200, 2, 0
COST_DRAWS = 10_000
BADLY_CONDITIONED = 1e7
UNEQUAL_SCALES = 100.0


@dataclass(frozen=True, slots=True)
class DesignCheck:
    """What was found.

    Attributes
    ----------
    n_rows, n_columns : shape of X
    missing : number of missing or infinite values by column; nothing else is known if there are any
    constant : columns that do not vary
    duplicated : groups of columns that are multiples of each other, up to a constant
    rank, condition : of the scaled columns, None if too large to say
    scale_ratio : largest spread of a column over the smallest
    method : how ln C would be computed at one penalty
    mean_active : coefficients the pilot had on average
    seconds : wall time of `COST_DRAWS` draws, from the pilot
    advice : what to change, if anything
    """

    n_rows: int
    n_columns: int
    missing: dict[str, int]
    constant: list[str]
    duplicated: list[list[str]]
    rank: int | None
    condition: float | None
    scale_ratio: float | None
    method: str | None
    mean_active: float | None
    seconds: float | None
    advice: list[str]


def run(
    file: Path | None,
    target: str | None,
    demo: str | None,
    drop: tuple[str, ...],
    intercept: bool,
    as_json: bool,
) -> None:
    """Look at the design and print what was found."""
    table = read_table(file, demo, target, drop, needs_target=False, allow_missing=True)
    found = check_design(table, intercept)
    if as_json:
        sys.stdout.write(json.dumps(asdict(found), indent=2, allow_nan=False) + "\n")
        return
    _show(found, table)


def check_design(table: Table, intercept: bool) -> DesignCheck:
    """Look for what makes a design awkward, and time a short run."""
    n_rows, n_columns = table.X.shape
    counts = np.sum(~np.isfinite(table.X), axis=0)
    if counts.any():
        missing = {table.names[j]: int(counts[j]) for j in np.flatnonzero(counts)}
        advice = ["fill in the missing values, drop those rows, or --drop those columns"]
        return DesignCheck(
            n_rows, n_columns, missing, [], [], None, None, None, None, None, None, advice
        )
    centred = table.X - table.X.mean(axis=0) if intercept else table.X
    lengths = np.linalg.norm(centred, axis=0)
    varies = lengths > CONSTANT_SHARE * np.linalg.norm(table.X, axis=0)
    unit = centred[:, varies] / lengths[varies]
    names = np.array(table.names, dtype=object)[varies]
    rank, condition = _rank(unit)
    method, active, seconds = _pilot(table.X, intercept) if varies.any() else (None, None, None)
    constant = [table.names[j] for j in np.flatnonzero(~varies)]
    duplicated = _duplicates(unit, list(names))
    ratio = float(lengths[varies].max() / lengths[varies].min()) if varies.any() else None
    return DesignCheck(
        n_rows=n_rows,
        n_columns=n_columns,
        missing={},
        constant=constant,
        duplicated=duplicated,
        rank=rank,
        condition=condition,
        scale_ratio=ratio,
        method=method,
        mean_active=active,
        seconds=seconds,
        advice=_advice(constant, duplicated, condition, ratio),
    )


def _rank(unit: Floats) -> tuple[int | None, float | None]:
    """Count singular values above rounding; condition within the column space."""
    if unit.shape[1] == 0 or min(unit.shape) > LARGEST_SVD:
        return (0, None) if unit.shape[1] == 0 else (None, None)
    values = np.linalg.svd(unit, compute_uv=False)
    kept = values[values > max(unit.shape) * np.finfo(float).eps * values[0]]
    return int(kept.size), float(kept[0] / kept[-1])


def _duplicates(unit: Floats, names: list[str]) -> list[list[str]]:
    """Group columns whose correlation is one in size, looking along one random direction first."""
    direction = np.random.default_rng(PILOT_SEED).standard_normal(unit.shape[0])
    shadow = np.abs(direction @ unit)
    groups: list[list[int]] = []
    for column in np.argsort(shadow, kind="stable"):
        close = groups and shadow[column] - shadow[groups[-1][0]] < 1e-4
        if close and abs(unit[:, column] @ unit[:, groups[-1][0]]) > DUPLICATE:
            groups[-1].append(int(column))
        else:
            groups.append([int(column)])
    return [[names[j] for j in sorted(group)] for group in groups if len(group) > 1]


def _pilot(X: Floats, intercept: bool) -> tuple[str, float, float]:
    """Name the method for one penalty, and time a few draws."""
    problem = Lasso(X, fit_intercept=intercept)
    reduced = problem.design.X
    method = "sampling"
    if orthogonal_norms(reduced) is not None:
        method = "closed form"
    elif reduced.shape[1] <= ENUMERATE_UP_TO:
        method = "enumeration"
    lengths = np.linalg.norm(reduced, axis=0)
    chains = sample(
        problem,
        float(np.median(lengths[lengths > 0.0])),
        n_draws=PILOT_DRAWS,
        n_chains=PILOT_CHAINS,
        seed=PILOT_SEED,
        n_jobs=1,
        progress=LiveStatus("timing the sampler"),
    )
    seconds = COST_DRAWS * float(np.median(chains.step_seconds))
    return method, float(chains.k.mean()), seconds


def _advice(
    constant: list[str],
    duplicated: list[list[str]],
    condition: float | None,
    ratio: float | None,
) -> list[str]:
    advice = []
    if constant:
        advice.append("constant columns can never enter: leave them out with --drop")
    if duplicated:
        advice.append("columns that are multiples of each other share one coefficient: keep one")
    if condition is not None and condition > BADLY_CONDITIONED:
        advice.append("columns are nearly dependent: expect unstable coefficients")
    if ratio is not None and ratio > UNEQUAL_SCALES:
        advice.append(
            "the spreads of the columns differ widely, and the penalty favours the wide ones: "
            "rescale them, or use select --standardize"
        )
    return advice


def _show(found: DesignCheck, table: Table) -> None:
    out = console()
    out.print(f"Design of {escape(table.source)}")
    shown = grid("", "")
    facts: list[tuple[str, str]] = [
        ("rows, columns", f"{found.n_rows}, {found.n_columns}"),
        ("missing values", _counted(found.missing)),
        ("constant columns", ", ".join(found.constant[:8]) or "none"),
        ("multiples of each other", "; ".join(" = ".join(g) for g in found.duplicated) or "none"),
    ]
    if found.rank is not None:
        facts.append(("rank", str(found.rank)))
    if found.condition is not None:
        facts.append(("condition of scaled columns", f"{found.condition:.3g}"))
    if found.scale_ratio is not None:
        facts.append(("largest over smallest spread", f"{found.scale_ratio:.3g}"))
    if found.seconds is not None:
        cost = f"{found.seconds:.2g} s at {found.mean_active:.1f} columns in use"
        facts += [("ln C at one penalty by", str(found.method)), (f"{COST_DRAWS:,} draws", cost)]
    for name, value in facts:
        shown.add_row(name, escape(value))
    out.print(shown)
    for text in found.advice:
        out.print(f"[bold]advice:[/bold] {escape(text)}")


def _counted(missing: dict[str, int]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in list(missing.items())[:8]) or "none"
