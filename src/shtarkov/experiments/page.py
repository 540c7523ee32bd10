"""The page of the paper's claims in Markdown: what it says, what we measured, the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from shtarkov.experiments import tables
from shtarkov.experiments.claims import Claim
from shtarkov.experiments.figures import NAMES
from shtarkov.experiments.grid import data_settings, paper
from shtarkov.experiments.results import Results
from shtarkov.experiments.verdicts import Verdict

TEMPLATE = Path(__file__).with_name("page.md")


def as_page(
    results: Results,
    claims: Sequence[Claim],
    table_rows: Mapping[str, Sequence[tables.TableRow]],
    pictures: Mapping[str, tuple[str, str]],
    command: str,
) -> str:
    """Write the page.

    Parameters
    ----------
    results : the finished cells
    claims : checked claims
    table_rows : the tables made, by name
    pictures : link and caption of the figures made, by name
    command : what generated the page
    """
    found = Counter(claim.verdict for claim in claims)
    setting = paper()["setting"]
    return TEMPLATE.read_text(encoding="utf-8").format(
        command=command,
        counts=", ".join(f"{found[verdict]} {verdict.value}" for verdict in Verdict),
        claims=_claims(claims),
        preset=results.preset,
        machines=_machines(results),
        steps=_steps(results),
        tables="".join(_table(which, rows) for which, rows in table_rows.items()),
        figures="".join(_figure(name, *picture) for name, picture in pictures.items()),
        n_chains=setting["n_chains"],
        n_steps=setting["n_steps"],
        n_warmup=setting["n_warmup"],
        **{name: data_settings()[name] for name in ("n_nonzero", "size", "lam2", "group_size")},
    )


def _table(which: str, rows: Sequence[tables.TableRow]) -> str:
    title, body = tables.TITLES[which], tables.as_markdown(rows, which)
    return f"\n## {title}\n\n{body}\n{tables.NOTES[which]}\n"


def _figure(name: str, link: str, caption: str) -> str:
    return f"\n![{name}]({link})\n\n*{caption}*\n"


def _claims(claims: Sequence[Claim]) -> str:
    lines = ["| the paper | where | measured | verdict |", "|---|---|---|---|"]
    lines += [
        f"| {claim.says} | {claim.where} | {claim.measured} | **{claim.verdict.value}** |"
        for claim in claims
    ]
    commands: dict[str, list[str]] = {}
    for claim in claims:
        commands.setdefault(claim.command, []).append(claim.id)
    lines.append("\nTo repeat a row (DIR is any folder; finished cells are not run twice):\n")
    lines += [f"* `{command}`: {', '.join(names)}" for command, names in commands.items()]
    return "\n".join(lines) + "\n"


def _machines(results: Results) -> str:
    rows = (row for members in results.rows.values() for row in members)
    return "; ".join(sorted({str(row["machine"]) for row in rows}))


def _steps(results: Results) -> str:
    steps = {row["method"]: row for row in results.rows["tables"]}
    return "; ".join(
        f"{NAMES[name]}: {row['n_chains']} chains of {row['n_draws']:,} after {row['n_warmup']:,}"
        for name, row in steps.items()
    )
