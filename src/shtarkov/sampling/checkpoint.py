"""A long run on disk: one file per finished chunk, written whole or not at all.

The folder holds `run.json` (what was asked for, and by which version) and `chunk-00000.npz`, ...:
the draws of all chains and the state to continue from. A file is written under another name and
then renamed, so that a run killed at any moment leaves only finished chunks.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import shtarkov
from shtarkov.errors import InvalidProblem, NotStored
from shtarkov.sampling.runs import Chunk, Snapshot
from shtarkov.seeds import resolve_seed

# Raised when older folders can no longer be read.
FORMAT = 1
_FIELDS = ("trace", "accepted", "failures", "seconds")


def _write(path: Path, write: Any) -> None:
    """Write through a temporary name in the same folder."""
    partial = path.with_suffix(".partial")
    try:
        with partial.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        msg = (
            f"{path} could not be written ({error.strerror}); finished chunks are kept: make room "
            "and repeat the call"
        )
        raise NotStored(msg) from error


def _read_header(header: Path) -> dict[str, Any]:
    """Read what a folder's run was asked for."""
    try:
        stored = json.loads(header.read_text(encoding="utf-8"))
        int(stored["seed"])
    except (ValueError, KeyError, TypeError):
        msg = f"{header} is damaged, so nothing tells whose chunks these are; name another folder"
        raise InvalidProblem(msg) from None
    return dict(stored)


def resolve_stored_seed(seed: Any, folder: str | Path | None) -> int:
    """Give the seed asked for, else that of the run in `folder`, else a new one."""
    stored = stored_seed(folder) if seed is None and folder is not None else None
    return resolve_seed(seed) if stored is None else stored


def stored_seed(folder: str | Path) -> int | None:
    """Give the seed of the run in `folder`, if there is one: a seed of None then means that one."""
    header = Path(folder) / "run.json"
    if not header.exists():
        return None
    return int(_read_header(header)["seed"])


class Checkpoint:
    """The folder of one run.

    Parameters
    ----------
    folder : made if it does not exist
    request : what determines the draws, as plain values; a folder of another request is refused
    """

    def __init__(self, folder: str | Path, request: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.request = {"format": FORMAT, "version": shtarkov.__version__, **request}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = f"checkpoint folder {self.folder} cannot be made ({error.strerror})"
            raise NotStored(msg) from error
        self.n_chunks = 0
        header = self.folder / "run.json"
        if header.exists():
            self._compare(_read_header(header))
            while self._path(self.n_chunks).exists():
                self.n_chunks += 1
            return
        if any(self.folder.iterdir()):
            msg = f"checkpoint folder {self.folder} is not empty and holds no run; name another"
            raise InvalidProblem(msg)
        text = json.dumps(self.request, indent=1).encode()
        _write(header, lambda file: file.write(text))

    def _compare(self, stored: Mapping[str, Any]) -> None:
        wanted = json.loads(json.dumps(self.request))
        names = [name for name in wanted if stored.get(name) != wanted[name]]
        if names:
            gap = ", ".join(f"{name}: {stored.get(name)!r} there" for name in names)
            msg = (
                f"checkpoint folder {self.folder} holds another run ({gap}); repeat that call to "
                "finish it, or name another folder"
            )
            raise InvalidProblem(msg)

    def _path(self, index: int) -> Path:
        return self.folder / f"chunk-{index:05d}.npz"

    def append(self, chunks: Sequence[Chunk], snapshots: Sequence[Snapshot]) -> None:
        """Store one chunk of every chain."""
        arrays: dict[str, Any] = {}
        streams = []
        for chain, (chunk, snapshot) in enumerate(zip(chunks, snapshots, strict=True)):
            for name in _FIELDS:
                arrays[f"{chain}/{name}"] = getattr(chunk, name)
            for name, array in chunk.extras.items():
                arrays[f"{chain}/extra/{name}"] = array
            for name, array in snapshot.items():
                if name != "rng":
                    arrays[f"{chain}/state/{name}"] = array
            streams.append(snapshot["rng"])
        arrays["streams"] = np.array(json.dumps(streams))
        _write(self._path(self.n_chunks), lambda file: np.savez(file, **arrays))
        self.n_chunks += 1

    def read(self, index: int) -> tuple[list[Chunk], list[Snapshot]]:
        """Read back what `append` stored."""
        path = self._path(index)
        try:
            return _read_chunks(path)
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error):
            msg = f"{path} is damaged; delete it, and repeat the call to draw it again"
            raise InvalidProblem(msg) from None


def _read_chunks(path: Path) -> tuple[list[Chunk], list[Snapshot]]:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    streams = json.loads(str(arrays.pop("streams")))
    chunks, snapshots = [], []
    for chain, stream in enumerate(streams):
        own = {
            name.split("/", 1)[1]: array
            for name, array in arrays.items()
            if name.startswith(f"{chain}/")
        }
        fields = {name: own[name] for name in _FIELDS}
        chunks.append(Chunk(**fields, extras=_under(own, "extra")))
        snapshots.append({**_under(own, "state"), "rng": stream})
    return chunks, snapshots


def _under(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    start = len(prefix) + 1
    return {name[start:]: array for name, array in arrays.items() if name.startswith(f"{prefix}/")}
