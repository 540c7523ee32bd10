"""`--groups`: a label for each column, from a file or from what the columns' names begin with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shtarkov.errors import InvalidProblem
from shtarkov.families.groups import groups_by_prefix

LONGEST_SEPARATOR = 3


def read_labels(text: str | None, names: Sequence[str]) -> list[str]:
    """Give each column's label.

    Parameters
    ----------
    text : a file with a line ``column,label`` for each column, in any order; or a separator, which
        makes what stands before its last occurrence in a column's name the label
    names : the columns
    """
    if text is None:
        raise InvalidProblem(
            "--family group-lasso needs --groups: a file, or a separator such as _"
        )
    path = Path(text)
    if not _is_file(path):
        if len(text) > LONGEST_SEPARATOR or not text:
            msg = f"--groups names no file and is too long for a separator: {text!r}"
            raise InvalidProblem(msg)
        return groups_by_prefix(names, text)
    labels = _read_file(path)
    missing = [name for name in names if name not in labels]
    if missing:
        msg = f"{path.name} has no label for {missing[0]!r} ({len(missing)} missing)"
        raise InvalidProblem(msg)
    return [labels[name] for name in names]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name longer than names can be
        return False


def _read_file(path: Path) -> dict[str, str]:
    labels: dict[str, str] = {}
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        msg = f"{path.name} is not text in UTF-8; save it as CSV in UTF-8"
        raise InvalidProblem(msg) from None
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        column, comma, label = (part.strip() for part in line.rpartition(","))
        if not comma or not column or not label:
            msg = f"line {number} of {path.name} is not column,label: {line!r}"
            raise InvalidProblem(msg)
        if column in labels:
            msg = f"{path.name} labels {column!r} twice; groups may not overlap"
            raise InvalidProblem(msg)
        labels[column] = label
    return labels
