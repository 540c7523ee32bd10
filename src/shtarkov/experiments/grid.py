"""The declarative grid: cells of work, read from `grid.toml` for a preset.

A cell is a kind of work and its settings. Its key is a hash of both and of the code that does the
work, so that a result is never taken for that of another configuration or another version.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import shtarkov
from shtarkov.errors import InvalidProblem

HERE = Path(__file__).parent
# Rooms and files whose code decides what a cell's numbers are.
CODE = (
    "_jit.py", "types.py", "seeds.py", "linalg", "geometry", "families", "diagnostics", "sampling",
    "complexity", "experiments/designs.py", "experiments/label_fits.py", "experiments/measures.py",
    "experiments/operators.py", "experiments/work.py",
)  # fmt: skip

# The blocks each table, figure or page is made from.
TARGETS = {
    "table1": ("tables",),
    "table2": ("tables",),
    "fig-scaling": ("tables",),
    "fig-equivalence": ("solvers",),
    "fig-speedup": ("solvers",),
    "fig-traces": ("traces",),
    "fig-acf": ("traces",),
    "claims": (
        "tables", "solvers", "traces", "full_rank", "gap", "efficiency", "operators", "collapse",
        "identity", "support", "group_blocks", "projector_error", "divergence",
    ),
}  # fmt: skip
PRESETS = ("smoke", "laptop", "paper")


@dataclass(frozen=True, slots=True)
class Cell:
    """One piece of work.

    Attributes
    ----------
    kind : what is done, a name in `work.WORK`
    settings : everything that determines the result, as plain values in order of their names
    """

    kind: str
    settings: tuple[tuple[str, Any], ...]

    def __getitem__(self, name: str) -> Any:
        return dict(self.settings)[name]

    def replace(self, **changes: Any) -> Cell:
        """Give the cell with some settings changed or added."""
        return make_cell(self.kind, {**dict(self.settings), **changes})

    def without(self, *names: str) -> Cell:
        """Give the cell without some settings."""
        kept = tuple((name, value) for name, value in self.settings if name not in names)
        return Cell(self.kind, kept)

    @property
    def key(self) -> str:
        """The name of its result."""
        text = json.dumps([self.kind, self.settings, code_version()])
        return hashlib.sha256(text.encode()).hexdigest()[:20]


def make_cell(kind: str, settings: Mapping[str, Any]) -> Cell:
    """Make a cell of settings in any order."""
    return Cell(kind, tuple(sorted(settings.items())))


@functools.cache
def code_version() -> str:
    """Hash the code that cells run."""
    root = Path(shtarkov.__file__).parent
    digest = hashlib.sha256()
    for name in CODE:
        source = root / name
        for path in [source] if source.is_file() else sorted(source.rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def read_toml(name: str) -> dict[str, Any]:
    """Read one of the files shipped here."""
    return tomllib.loads((HERE / name).read_text(encoding="utf-8"))


def paper() -> dict[str, Any]:
    """Give the numbers transcribed from the paper."""
    return read_toml("paper.toml")


def data_settings() -> dict[str, Any]:
    """Give what all data sets share."""
    return dict(read_toml("grid.toml")["data"])


def check_targets(targets: Iterable[str]) -> tuple[str, ...]:
    """Give the targets in a fixed order, "all" spelled out."""
    wanted = set(targets)
    unknown = sorted(wanted - {*TARGETS, "all"})
    if unknown or not wanted:
        msg = f"name what to reproduce: any of {', '.join(TARGETS)}, or all; got {unknown}"
        raise InvalidProblem(msg)
    return tuple(TARGETS) if "all" in wanted else tuple(t for t in TARGETS if t in wanted)


def blocks_of(targets: Iterable[str]) -> tuple[str, ...]:
    """Give the blocks that targets need, each once."""
    return tuple(dict.fromkeys(block for target in targets for block in TARGETS[target]))


def cells_of(block: str, preset: str) -> list[Cell]:
    """Give the cells of a block; those of kind "sample" still need their penalty."""
    grid = read_toml("grid.toml")
    if preset not in PRESETS:
        msg = f"preset must be one of {', '.join(PRESETS)}; got {preset!r}"
        raise InvalidProblem(msg)
    sizes = grid["presets"][preset]
    spec = {**grid["blocks"][block], **sizes.get("blocks", {}).get(block, {})}
    spec["replicate"] = list(range(sizes.get("replicates", {}).get(block, 1)))
    return expand(spec, sizes)


def expand(spec: Mapping[str, Any], sizes: Mapping[str, Any]) -> list[Cell]:
    """Multiply out the lists of a block."""
    kind = spec["kind"]
    axes = {name: value for name, value in spec.items() if name != "kind"}
    names, values = list(axes), [v if isinstance(v, list) else [v] for v in axes.values()]
    cells = []
    for point in itertools.product(*values):
        settings = {**data_settings(), **dict(zip(names, point, strict=True))}
        if kind == "sample":
            settings = _sized(settings, sizes, axes["n_features"])
        cells.append(make_cell(kind, settings))
    return cells


def _sized(settings: dict[str, Any], sizes: Mapping[str, Any], all_features: Any) -> dict[str, Any]:
    """Put in steps and chains, and the paper's mean k."""
    n_warmup, n_draws = sizes["steps"][settings["method"]]
    usual = {"n_warmup": n_warmup, "n_draws": n_draws, "n_chains": sizes["n_chains"]}
    settings = {**usual, **settings}
    if settings["wanted_k"] == "table1":
        # A block with a single D stands for the middle of the paper's three.
        many = isinstance(all_features, list)
        place = list(all_features).index(settings["n_features"]) if many else 1
        rows = [row for row in paper()["table1"] if row["model"] == settings["model"]]
        settings["wanted_k"] = rows[place]["mean_k"] * settings["n_samples"] / 100.0
    return settings
