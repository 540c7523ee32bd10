"""Where compiled kernels are kept between processes, and what happens when that place fails.

Numba keeps machine code beside the sources or in the user's cache folder. It trusts every byte it
finds there, raises when the disk is full or a signature names a module that is not there, and
gives up where no folder can be written. Here files end in a checksum and a damaged one is compiled
again; a failed write costs the next process a compilation, not this one its answer; and without a
folder a private one among the temporary files is used. What is lost is said once.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import logging
import os
import pickle
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import IndexDataCacheFile

logger = logging.getLogger(__name__)

CHECKSUM_BYTES = 16
_config: Any = numba.config


class CheckedCacheFile(IndexDataCacheFile):
    """Numba's files of one function, each followed by its checksum, which numba never reads.

    The index lists signatures, and one of a family defined in some script can be read only where
    that script's module can be imported. Each is pickled by itself, so that those of others stay in
    the index, unread, instead of making all of it unreadable.
    """

    def __init__(self, cache_path: str, filename_base: str, source_stamp: Any) -> None:
        super().__init__(cache_path, filename_base, source_stamp)
        self._of_others: dict[bytes, str] = {}

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        with super()._open_for_write(filepath) as file:
            content = io.BytesIO()
            yield content
            file.write(content.getvalue() + _checksum(content.getvalue()))

    def _load_index(self) -> dict[Any, str]:
        pickled = super()._load_index() if _is_whole(Path(self._index_path)) else {}
        known = {}
        self._of_others = {}
        for signature, name in pickled.items():
            try:
                known[pickle.loads(signature)] = name
            except (ImportError, AttributeError):
                self._of_others[signature] = name
        return known

    def _save_index(self, overloads: dict[Any, str]) -> None:
        pickled = {self._dump(signature): name for signature, name in overloads.items()}
        super()._save_index({**self._of_others, **pickled})

    def _data_name(self, number: int) -> str:
        """Give the `number`-th name that holds no code of others."""
        names = map(super()._data_name, itertools.count(1))
        free = (name for name in names if name not in self._of_others.values())
        return str(next(itertools.islice(free, number - 1, None)))

    def _load_data(self, name: str) -> Any:
        path = Path(self._data_path(name))
        if not _is_whole(path):
            # Numba takes an OSError for a file that is gone, and compiles.
            msg = f"{path} is damaged"
            raise OSError(msg)
        return super()._load_data(name)


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=CHECKSUM_BYTES).digest()


def _is_whole(path: Path) -> bool:
    """Say whether a file of the cache is there, as it was written."""
    try:
        content = path.read_bytes()
    except OSError:
        return False
    if content[-CHECKSUM_BYTES:] == _checksum(content[:-CHECKSUM_BYTES]):
        return True
    logger.info("%s is damaged; its kernels are compiled again", path)
    return False


def compile_cached(function: Callable[..., Any], options: dict[str, Any], stamp: Any) -> Any:
    """Compile `function` on first use, keeping the machine code where that is possible.

    Parameters
    ----------
    function : what to compile
    options : for ``numba.njit``
    stamp : state of the sources; code kept under another one is not used
    """
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError as error:  # numba found no folder it may write to
        compiled = _compile_elsewhere(function, options, error)
    cache = getattr(compiled, "_cache", None)
    if hasattr(cache, "_cache_file"):
        _protect(cache, stamp)
    return compiled


def _compile_elsewhere(
    function: Callable[..., Any], options: dict[str, Any], error: RuntimeError
) -> Any:
    """Compile with the fallback folder, or keep nothing."""
    folder = fallback_folder()
    if folder is None:
        _tell_once(f"compiled kernels are kept nowhere ({error})")
        return numba.njit(**options)(function)
    given, _config.CACHE_DIR = _config.CACHE_DIR, str(folder)
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError as second:  # a function without a source file has no place in any folder
        logger.debug("%s", second)
        return numba.njit(**options)(function)
    finally:
        _config.CACHE_DIR = given
    _tell_once(f"compiled kernels are kept in {folder}, as numba's own folders cannot be written")
    return compiled


def fallback_folder() -> Path | None:
    """Give a folder of this user's alone among the temporary files, None if there can be none.

    Machine code is loaded from it, so one that somebody else owns or may write to is refused.
    """
    user = str(os.getuid()) if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"shtarkov-cache-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    if not hasattr(os, "getuid"):
        return folder  # temporary files are the user's own there
    private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return folder if private and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else None


def _protect(cache: Any, stamp: Any) -> None:
    """Check what is read, forgive what cannot be written, and make the cache notice edits.

    Numba looks only at the file a function stands in, so that a caller would keep the old machine
    code of a callee edited in another file. The stamp covers all of them.
    """
    plain = cache._cache_file
    cache._cache_file = CheckedCacheFile(
        plain._cache_path,
        plain._index_name.removesuffix(".nbi"),
        (plain._source_stamp, stamp),
    )
    save = cache.save_overload

    def save_overload(signature: Any, data: Any) -> None:
        try:
            save(signature, data)
        except OSError as error:
            _tell_once(f"compiled kernels cannot be kept in {cache.cache_path} ({error.strerror})")

    cache.save_overload = save_overload


_told: set[str] = set()


def _tell_once(text: str) -> None:
    """Say the first thing that goes wrong with the cache; the others follow from it."""
    if not _told:
        _told.add(text)
        logger.warning("shtarkov: %s; set NUMBA_CACHE_DIR to a folder that can be written", text)
