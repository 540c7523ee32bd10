"""What a run was made on, without names of people, hosts or folders."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

import shtarkov

_CPU_FILE = Path("/proc/cpuinfo")
_PACKAGES = ("numpy", "scipy", "numba", "joblib", "arviz-stats")


def _processor() -> str:
    if _CPU_FILE.exists():
        for line in _CPU_FILE.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


@functools.cache
def machine() -> str:
    """Name the processor a cell ran on."""
    return f"{_processor()}, {os.cpu_count()} cores, {platform.system()}"


def description() -> dict[str, Any]:
    """Describe this machine and what is installed."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "shtarkov": shtarkov.__version__,
        **{name: importlib.metadata.version(name) for name in _PACKAGES},
    }
