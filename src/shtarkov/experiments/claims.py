"""The paper's claims, each with what was measured and a verdict computed from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shtarkov.experiments import claims_of_algebra, claims_of_cost, claims_of_law
from shtarkov.experiments.grid import read_toml
from shtarkov.experiments.results import Results
from shtarkov.experiments.store import csv_bytes
from shtarkov.experiments.verdicts import Verdict

CHECKS = {**claims_of_algebra.CHECKS, **claims_of_cost.CHECKS, **claims_of_law.CHECKS}


class Claim(NamedTuple):
    """One row of the page.

    Attributes
    ----------
    id, where, says : the claim, and its place in the paper
    measured, verdict : ours
    target, command : what `shtarkov reproduce` makes to repeat the measurement, and the whole call
    """

    id: str
    where: str
    says: str
    measured: str
    verdict: Verdict
    target: str
    command: str


def check_claims(results: Results) -> list[Claim]:
    """Check every claim."""
    claims = []
    for claim in read_toml("claims.toml")["claims"]:
        finding = CHECKS[claim["id"]](results)
        command = f"shtarkov reproduce {claim['target']} --preset {results.preset} --out DIR"
        claims.append(
            Claim(
                claim["id"], claim["where"], claim["says"], finding.measured, finding.verdict,
                claim["target"], command,
            )
        )  # fmt: skip
    return claims


def as_csv(claims: Sequence[Claim]) -> bytes:
    """Give the claims as CSV."""
    return csv_bytes([claim._asdict() for claim in claims])
