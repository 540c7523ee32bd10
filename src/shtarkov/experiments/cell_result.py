"""What the work on a cell takes and gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from shtarkov.sampling.chains import Chains

Settings = Mapping[str, Any]


class CellResult(NamedTuple):
    """A row of plain values, and the draws if they are kept."""

    row: dict[str, Any]
    chains: Chains | None = None
