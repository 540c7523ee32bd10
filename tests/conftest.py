"""Fixtures shared by all tests; sets the kernel cache folder before anything is compiled."""

import hashlib
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

_SOURCES = Path(__file__).resolve().parents[1] / "src" / "shtarkov"


def _kernel_cache_folder() -> str:
    """Name a folder by the hash of all sources: numba's cache does not see edits in other files."""
    digest = hashlib.sha256()
    for path in sorted(_SOURCES.rglob("*.py")):
        digest.update(path.read_bytes())
    return str(Path(tempfile.gettempdir()) / f"shtarkov-kernels-{digest.hexdigest()[:16]}")


os.environ.setdefault("NUMBA_CACHE_DIR", _kernel_cache_folder())


@pytest.fixture
def rng() -> np.random.Generator:
    """Give a generator with a fixed seed; a test that needs others names them itself."""
    return np.random.default_rng(20240501)
