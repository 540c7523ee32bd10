"""A package of three tiny kernels with our decorators: what its cache does shows in seconds."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "shtarkov"

INNER = """
from shtarkov._jit import kernel

@kernel
def increment():
    return {increment}
"""

OUTER = """
from typing import NamedTuple
import numpy as np
from shtarkov._jit import generic, kernel
from shtarkov.linalg.inner import increment

class Family(NamedTuple):
    X: np.ndarray
    lam: float

@generic
def solve(family, y):
    '''Return a number.'''

@solve.register(Family)
def _solve(family, y):
    return family.lam * y[0] + family.X[0, 0]

@kernel
def run_chain(family, y, n_steps, rng):
    total = 0.0
    for _ in range(n_steps):
        total += solve(family, y) + increment() + 0.0 * rng.standard_normal()
    return total

if __name__ == "__main__":
    raise SystemExit("import me: numba keeps nothing of what is defined in __main__")
"""

MEASURE = """
import numpy as np
from shtarkov.sampling.outer import Family, run_chain
value = run_chain(Family(np.ones((2, 2)), 3.0), np.ones(2), 10, np.random.default_rng(0))
stats = run_chain.stats
print(value, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


class Measured(NamedTuple):
    """What a process of its own got: the value (50 is right), the cache's hits and misses."""

    value: float
    hits: int
    misses: int
    complaints: str


def make_toy_package(folder: Path) -> Path:
    """Give a package with a callee in one room and its caller in another."""
    package = folder / "shtarkov"
    for room in ("linalg", "sampling"):
        (package / room).mkdir(parents=True)
        (package / room / "__init__.py").touch()
    (package / "__init__.py").touch()
    for name in ("_jit.py", "kernel_cache.py", "types.py"):
        shutil.copy(PACKAGE / name, package / name)
    (package / "linalg" / "inner.py").write_text(INNER.format(increment=1.0))
    (package / "sampling" / "outer.py").write_text(OUTER)
    return package


def measure(folder: Path, before: str = "", **environment: str) -> Measured:
    """Run the kernels in a new process, after the statements `before`."""
    run = subprocess.run(
        [sys.executable, "-c", before + MEASURE],
        env={
            **os.environ,
            "PYTHONPATH": str(folder),
            "NUMBA_CACHE_DIR": str(folder / "cache"),
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    value, hits, misses = run.stdout.split()
    return Measured(float(value), int(hits), int(misses), run.stderr)
