"""Results on disk: one line of JSON per finished piece of work, written at once.

Each process appends to a file of its own. A line is either there in full or, if the machine stopped
in the middle of it, ignored when read and done again. What is on disk is never done twice; files
that were compressed to be kept count as well.
"""

import gzip
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Key = tuple[str, str, int, str]  # kind, setting, repeat, group


def key_of(row: dict[str, Any]) -> Key:
    return row["kind"], row["setting"], row["repeat"], row["group"]


def read(folder: Path) -> Iterator[dict[str, Any]]:
    """Give all complete rows; a line cut short by a crash is passed over."""
    kept = [gzip.decompress(path.read_bytes()) for path in sorted(folder.glob("rows-*.jsonl.gz"))]
    fresh = [path.read_bytes() for path in sorted(folder.glob("rows-*.jsonl"))]
    for content in (*kept, *fresh):
        for line in content.decode().splitlines():
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                continue


def latest(folder: Path) -> dict[Key, dict[str, Any]]:
    return {key_of(row): row for row in read(folder)}


def forget(folder: Path, groups: Iterable[str]) -> None:
    """Remove the rows of some groups, so that they are run again."""
    dropped = set(groups)
    for path in sorted(folder.glob("rows-*.jsonl")):
        lines = path.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if _group(line) not in dropped]
        fresh = path.with_suffix(".tmp")
        fresh.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
        fresh.replace(path)


def _group(line: str) -> str | None:
    try:
        return str(json.loads(line)["group"])
    except json.JSONDecodeError:
        return None


class Writer:
    """Appends rows to this process's file."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"rows-{name}.jsonl"
        is_torn = path.exists() and path.stat().st_size > 0 and path.read_bytes()[-1:] != b"\n"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        if is_torn:
            os.write(self._file, b"\n")

    def append(self, row: dict[str, Any]) -> None:
        os.write(self._file, (json.dumps(row) + "\n").encode())
        os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)
