"""The page of the paper's claims in Markdown: what it says, what we measured, the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from shtarkov.experiments import tables
from shtarkov.experiments.claims import Claim
from shtarkov.experiments.designs import SINGULAR
from shtarkov.experiments.figures import NAMES
from shtarkov.experiments.grid import data_settings, paper
from shtarkov.experiments.results import Results
from shtarkov.experiments.verdicts import Verdict

TITLES = {
    "fig-scaling": "Figure 1: step time",
    "fig-equivalence": "Figure 2: two solvers, one chain",
    "fig-speedup": "Figure 3: dense and reduced steps",
    "fig-traces": "Figure 4: traces",
    "fig-acf": "Figure 5: autocorrelation",
}
TEMPLATE = Path(__file__).with_name("page.md")


def as_page(
    results: Results,
    claims: Sequence[Claim],
    table_rows: Mapping[str, Sequence[tables.TableRow]],
    pictures: Mapping[str, tuple[str, str]],
    command: str,
    folder: str,
) -> str:
    """Write the page.

    Parameters
    ----------
    results : the finished cells
    claims : checked claims
    table_rows : the tables made, by name
    pictures : link and caption of the figures made, by name
    command : what generated the page
    folder : link to the folder of the other files
    """
    found = Counter(claim.verdict for claim in claims)
    setting = paper()["setting"]
    return TEMPLATE.read_text(encoding="utf-8").format(
        command=command,
        folder=folder,
        counts=", ".join(f"{found[verdict]} {verdict.value}" for verdict in Verdict),
        claims=_claims(claims),
        preset=results.preset,
        machines=_machines(results),
        steps=_steps(results),
        tables="".join(_table(which, rows) for which, rows in table_rows.items()),
        figures="".join(_figure(name, *picture) for name, picture in pictures.items()),
        singular=SINGULAR,
        n_chains=setting["n_chains"],
        n_steps=setting["n_steps"],
        n_warmup=setting["n_warmup"],
        **{name: data_settings()[name] for name in ("n_nonzero", "size", "lam2", "group_size")},
    )


def _table(which: str, rows: Sequence[tables.TableRow]) -> str:
    title, body = tables.TITLES[which], tables.as_markdown(rows, which)
    return f"\n## {title}\n\n{body}\n{tables.NOTES[which]}\n"


def _figure(name: str, link: str, caption: str) -> str:
    # The picture shows its caption; here it is for who does not see the picture.
    return f"\n## {TITLES[name]}\n\n![{caption}]({link})\n"


def _claims(claims: Sequence[Claim]) -> str:
    lines = ["| the paper | where | measured | verdict | repeat |", "|---|---|---|---|---|"]
    lines += [
        f"| {_cell(claim.says)} | {claim.where} | {_cell(claim.measured)} | "
        f"**{claim.verdict.value}** | `{claim.target}` |"
        for claim in claims
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Keep a bar in a sentence from ending the table's cell."""
    return text.replace("|", "\\|")


def _machines(results: Results) -> str:
    rows = (row for members in results.rows.values() for row in members)
    return "; ".join(sorted({str(row["machine"]) for row in rows}))


def _steps(results: Results) -> str:
    steps = {row["method"]: row for row in results.rows["tables"]}
    return "; ".join(
        f"{NAMES[name]}: {row['n_chains']} chains of {row['n_draws']:,} after {row['n_warmup']:,}"
        for name, row in steps.items()
    )
