"""The commands and their options; each imports what it needs when it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from shtarkov.errors import InvalidProblem, ShtarkovError

USAGE, FAILED, INTERRUPTED = 2, 1, 130
PENALTY = "Penalty: scikit-learn's alpha times the number of rows"
SAMPLERS = "hmc, ppmh, coarea or tempering; for labels label_flips."
# What someone who types one of these is looking for.
HINTS = {
    "--alpha": "a penalty here is --lam, scikit-learn's alpha times the number of rows; select and "
    "compare find it themselves",
    "--lam": "select and compare find the penalty themselves",
}

app = typer.Typer(
    add_completion=False,
    no_args_is_help=False,
    help="Choose penalties and models by their codelength, without cross-validation.",
    pretty_exceptions_enable=False,
)

File = Annotated[Path | None, typer.Argument(help="CSV or Parquet file with a line of names.")]
Target = Annotated[str | None, typer.Option(help="Column to explain.")]
Demo = Annotated[str | None, typer.Option(help="Data shipped with scikit-learn: diabetes.")]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")]
Family = Annotated[
    str,
    typer.Option(help="lasso, elastic-net, group-lasso; for labels sparse-svm, sparse-logistic."),
]
L2Ratio = Annotated[float, typer.Option(help="elastic-net: weight of the squares over lam.")]
Groups = Annotated[
    str | None,
    typer.Option(help="group-lasso: file of column,label lines, or a separator in the names."),
]
Sigma = Annotated[str, typer.Option(help="Noise standard deviation, or unknown.")]
KnownSigma = Annotated[float, typer.Option(help="Noise standard deviation.")]
Criterion = Annotated[str, typer.Option(help="auto, prediction, structure or average.")]
StdError = Annotated[float, typer.Option(help="Standard error wanted, in nats.")]
Seed = Annotated[int | None, typer.Option(help="Repeats the result exactly.")]
Jobs = Annotated[int | None, typer.Option(help="Threads; -1 for all cores.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print JSON (of select: docs/report-schema.md).")
]
Standardize = Annotated[
    bool, typer.Option("--standardize", help="Divide columns by their standard deviations.")
]
Intercept = Annotated[bool, typer.Option(help="Leave an intercept unpenalised.")]


@app.command()
def select(
    file: File = None,
    target: Target = None,
    demo: Demo = None,
    drop: Drop = None,
    family: Family = "lasso",
    l2_ratio: L2Ratio = 0.1,
    groups: Groups = None,
    sigma: Sigma = "unknown",
    criterion: Criterion = "auto",
    conservative: Annotated[
        float, typer.Option(help="Largest penalty within this many standard errors.")
    ] = 0.0,
    std_error: StdError = 0.1,
    standardize: Standardize = False,
    intercept: Intercept = True,
    json: Json = False,
    report: Annotated[Path | None, typer.Option(help="Write a page (HTML).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture (png, svg, pdf).")] = None,
    path: Annotated[bool, typer.Option("--path", help="Print every penalty tried.")] = False,
    seed: Seed = None,
    jobs: Jobs = None,
    loss: Annotated[
        str, typer.Option(help="sparse-svm: hinge or squared_hinge.")
    ] = "squared_hinge",
) -> None:
    """Choose the penalty: which columns matter, how much, and how sure that is."""
    from shtarkov.cli.select_command import Request, run

    run(
        Request(
            file, target, demo, tuple(drop or ()), family, l2_ratio, groups, sigma,
            criterion, conservative, std_error, standardize, intercept, json, report, plot, path,
            seed, jobs, loss,
        )
    )  # fmt: skip


@app.command()
def compare(
    file: File = None,
    target: Target = None,
    demo: Demo = None,
    drop: Drop = None,
    family: Annotated[
        list[str] | None,
        typer.Option(help="Family to compare; may be repeated. Default: lasso and elastic-net."),
    ] = None,
    l2_ratio: Annotated[
        list[float] | None,
        typer.Option(help="elastic-net: weight of the squares over lam; may be repeated."),
    ] = None,
    groups: Groups = None,
    sigma: Sigma = "unknown",
    criterion: Criterion = "auto",
    std_error: StdError = 0.1,
    intercept: Intercept = True,
    json: Json = False,
    seed: Seed = None,
    jobs: Jobs = None,
) -> None:
    """Compare families: which describes the data in the fewest nats."""
    from shtarkov.cli.compare_command import ComparisonRequest, run

    run(
        ComparisonRequest(
            file, target, demo, tuple(drop or ()), tuple(family or ()), tuple(l2_ratio or ()),
            groups, sigma, criterion, std_error, intercept, json, seed, jobs,
        )
    )  # fmt: skip


@app.command()
def complexity(
    lam: Annotated[list[float], typer.Option(help=f"{PENALTY}; may be repeated.")],
    file: File = None,
    target: Annotated[str | None, typer.Option(help="Column that is not in X.")] = None,
    demo: Demo = None,
    drop: Drop = None,
    family: Family = "lasso",
    l2_ratio: L2Ratio = 0.1,
    groups: Groups = None,
    sigma: KnownSigma = 1.0,
    std_error: StdError = 0.05,
    intercept: Intercept = True,
    json: Json = False,
    seed: Seed = None,
    jobs: Jobs = None,
) -> None:
    """Estimate the stochastic complexity ln C of a design at one or more penalties."""
    from shtarkov.cli.design_commands import DesignRequest, run_complexity

    run_complexity(
        DesignRequest(
            file,
            target,
            demo,
            tuple(drop or ()),
            family,
            l2_ratio,
            groups,
            intercept,
            json,
            seed,
            jobs,
        ),
        lam,
        sigma,
        std_error,
    )


@app.command()
def sample(
    lam: Annotated[float, typer.Option(help=f"{PENALTY}.")],
    file: File = None,
    target: Annotated[str | None, typer.Option(help="Column that is not in X.")] = None,
    demo: Demo = None,
    drop: Drop = None,
    family: Family = "lasso",
    l2_ratio: L2Ratio = 0.1,
    groups: Groups = None,
    sigma: KnownSigma = 1.0,
    sampler: Annotated[str, typer.Option(help=SAMPLERS)] = "hmc",
    draws: Annotated[int, typer.Option(help="Draws of each chain.")] = 1000,
    chains: Annotated[int, typer.Option(help="Chains.")] = 4,
    output: Annotated[Path | None, typer.Option(help="Keep the draws (netCDF).")] = None,
    intercept: Intercept = True,
    json: Json = False,
    seed: Seed = None,
    jobs: Jobs = None,
) -> None:
    """Draw data vectors from the model of a penalty and summarise their estimates."""
    from shtarkov.cli.design_commands import DesignRequest, Draws, run_sample

    run_sample(
        DesignRequest(
            file,
            target,
            demo,
            tuple(drop or ()),
            family,
            l2_ratio,
            groups,
            intercept,
            json,
            seed,
            jobs,
        ),
        lam,
        sigma,
        Draws(sampler, draws, chains, output),
    )


@app.command()
def reproduce(
    targets: Annotated[
        list[str],
        typer.Argument(
            help="table1 table2 fig-scaling fig-equivalence fig-speedup fig-traces fig-acf claims, "
            "or all."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder; what is finished there is not run again.")],
    preset: Annotated[str, typer.Option(help="smoke, laptop or paper.")] = "laptop",
    backend: Annotated[str, typer.Option(help="local, dask or ray.")] = "local",
    scheduler: Annotated[str | None, typer.Option(help="Address of a running cluster.")] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="Page of claims; tables and figures go in a folder beside it."),
    ] = None,
    json: Json = False,
    jobs: Annotated[int | None, typer.Option(help="Processes; all cores if not given.")] = None,
) -> None:
    """Run the paper's experiments again: tables, figures, and a verdict on every claim."""
    from shtarkov.cli.reproduce_command import ReproduceRequest, run

    run(ReproduceRequest(tuple(targets), out, preset, backend, scheduler, page, json, jobs))


@app.command()
def check(
    file: File = None,
    target: Annotated[str | None, typer.Option(help="Column that is not in X.")] = None,
    demo: Demo = None,
    drop: Drop = None,
    intercept: Intercept = True,
    json: Json = False,
) -> None:
    """Look at a design before using it: rank, conditioning, odd columns, and what it will cost."""
    from shtarkov.cli.check_command import run

    run(file, target, demo, tuple(drop or ()), intercept, json)


def main(arguments: list[str] | None = None) -> None:
    """Run a command; what went wrong becomes one line on standard error and an exit code."""
    sys.exit(_run(arguments))


def _run(arguments: list[str] | None) -> int:
    try:
        given = sys.argv[1:] if arguments is None else arguments
        code = app(args=given or ["--help"], prog_name="shtarkov", standalone_mode=False)
    except (InvalidProblem, ImportError) as error:
        return _complain(str(error), USAGE)
    except (ShtarkovError, OSError, MemoryError) as error:
        return _complain(str(error) or type(error).__name__, FAILED)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        # typer's own complaints about options: the only other errors with these attributes.
        if not hasattr(error, "format_message"):
            raise
        hint = HINTS.get(getattr(error, "option_name", ""))
        message = error.format_message()
        said = message if hint is None else f"{message}; {hint}"
        return _complain(said, getattr(error, "exit_code", USAGE))
    # Some releases of typer turn Ctrl-C into this exit code themselves.
    if code == INTERRUPTED:
        return _complain("stopped before anything was known", INTERRUPTED)
    return code if isinstance(code, int) else 0


def _complain(message: str, code: int) -> int:
    line = " ".join(message.split())
    sys.stderr.write(f"shtarkov: error: {line}\n")
    return code
