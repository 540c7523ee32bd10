"""`shtarkov complexity` and `shtarkov sample`: what depends on the design alone."""

from __future__ import annotations

import json
import math
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from rich.markup import escape

from shtarkov.cli.family_options import FamilyOptions, Problem, make_problem, of_labels
from shtarkov.cli.live import LiveStatus
from shtarkov.cli.show import console, grid
from shtarkov.cli.table_file import Table, read_table
from shtarkov.complexity.estimate import complexity
from shtarkov.complexity.path import complexity_path
from shtarkov.errors import InvalidProblem, SamplingWarning
from shtarkov.sampling.sample import sample
from shtarkov.seeds import resolve_seed


class DesignRequest(NamedTuple):
    """The options both commands share, in their order."""

    file: Path | None
    target: str | None
    demo: str | None
    drop: tuple[str, ...]
    family: str
    l2_ratio: float
    groups: str | None
    intercept: bool
    json: bool
    seed: int | None
    jobs: int | None

    def read(self) -> tuple[Table, Problem]:
        """Read the design and make the problem."""
        table = read_table(
            self.file,
            self.demo,
            self.target,
            self.drop,
            needs_target=False,
            labels=of_labels(self.family),
        )
        options = FamilyOptions(self.family, self.l2_ratio, self.groups, self.intercept, eta=1.0)
        return table, make_problem(options, table.X, table.names)


class Draws(NamedTuple):
    """What to draw, and where to keep it."""

    sampler: str
    n_draws: int
    n_chains: int
    output: Path | None


def run_complexity(
    request: DesignRequest, lams: list[float], sigma: float, std_error: float
) -> None:
    """Print ln C at every penalty, with errors."""
    table, problem = request.read()
    options: dict[str, Any] = {
        "sigma": sigma,
        "std_error": std_error,
        "n_jobs": request.jobs,
        "seed": resolve_seed(request.seed),
        "progress": LiveStatus("sampling ln C"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplingWarning)
        rows, method, doubts = _ln_c(problem, lams, options)
    if request.json:
        answer = {
            "family": problem.name,
            "sigma": sigma,
            "method": method,
            "seed": options["seed"],
            "warnings": doubts,
            "path": rows,
        }
        sys.stdout.write(json.dumps(answer, indent=2, allow_nan=False) + "\n")
        return
    out = console()
    out.print(f"{problem.name} on {escape(table.source)}: {problem.design.n_samples} rows")
    out.print(f"Stochastic complexity at sigma = {sigma:g}, by {method.replace('_', ' ')}")
    shown = grid("lam", "ln C", "error")
    for row in rows:
        shown.add_row(f"{row['lam']:.6g}", f"{row['ln_c']:.4f}", f"{row['std_error']:.4f}")
    out.print(shown)
    for text in doubts:
        out.print(f"[red]warning: {escape(text)}[/red]")
    out.print(f"seed {options['seed']}")


def _ln_c(
    problem: Any, lams: list[float], options: dict[str, Any]
) -> tuple[list[dict[str, float]], str, list[str]]:
    """Estimate one penalty by whatever is exact and cheap, several along one path."""
    if len(lams) == 1:
        result = complexity(problem, lams[0], **options)
        row = {"lam": lams[0], "ln_c": result.ln_c, "std_error": result.std_error}
        return [row], result.method, list(result.warnings)
    path = complexity_path(problem, lams, **options)
    rows = [
        {"lam": lam, "ln_c": float(value), "std_error": float(error)}
        for lam, value, error in zip(lams, path.ln_c, path.std_error, strict=True)
    ]
    return rows, path.method, list(path.warnings)


def run_sample(request: DesignRequest, lam: float, sigma: float, draws: Draws) -> None:
    """Draw, summarise, and keep the draws if asked."""
    if draws.output is not None and not draws.output.parent.is_dir():
        msg = f"there is no folder {draws.output.parent} to keep the draws in; make it first"
        raise InvalidProblem(msg)
    _, problem = request.read()
    chains = sample(
        problem,
        lam,
        sigma=sigma,
        sampler=draws.sampler,
        n_draws=draws.n_draws,
        n_chains=draws.n_chains,
        seed=resolve_seed(request.seed),
        n_jobs=request.jobs,
        progress=LiveStatus("sampling"),
    )
    if draws.output is not None:
        chains.save(draws.output)
    summary = chains.summary()
    if request.json:
        plain = {name: _finite(row._asdict()) for name, row in summary.items()}
        answer = {"seed": chains.seed, "interrupted": chains.interrupted, "summary": plain}
        sys.stdout.write(json.dumps(answer, indent=2, allow_nan=False) + "\n")
        return
    out = console()
    out.print(escape(repr(chains)))
    first = next(iter(summary.values()))
    shown = grid("quantity", *(name.replace("_", " ") for name in first._fields))
    for name, row in summary.items():
        shown.add_row(name, *(_text(value) for value in row))
    out.print(shown)


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }


def _text(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:.5g}" if isinstance(value, float) else str(value)
