"""The compiled-function decorators: dispatch on the family's type, and the cache on disk."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from shtarkov._jit import generic, inlined_kernel, kernel, reduction_kernel

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "shtarkov"


class Scaled(NamedTuple):
    factor: float


class Shifted(NamedTuple):
    offset: float
    times: int


@generic
def transform(family, value):
    """Return the family's image of value."""


@transform.register(Scaled)
def _transform_scaled(family, value):
    return family.factor * value


@transform.register(Shifted)
def _transform_shifted(family, value):
    return family.offset * family.times + value


@kernel
def repeat_transform(family, value, n_times):
    for _ in range(n_times):
        value = transform(family, value)
    return value


@kernel
def ratio(numerator, denominator):
    return numerator / denominator


@reduction_kernel
def inner(left, right):
    total = 0.0
    for i in range(left.shape[0]):
        total += left[i] * right[i]
    return total


@pytest.mark.parametrize(
    ("family", "expected"),
    [(Scaled(2.0), 24.0), (Shifted(1.5, 2), 12.0)],
    ids=["scaled", "shifted"],
)
def test_generic_selects_by_type_in_python_and_inside_a_kernel(family, expected):
    value = 3.0
    for _ in range(3):
        value = transform(family, value)
    assert value == expected
    assert repeat_transform(family, 3.0, 3) == expected


def test_generic_names_the_missing_implementation():
    class Unknown(NamedTuple):
        factor: float

    with pytest.raises(NotImplementedError, match="transform is not implemented for Unknown"):
        transform(Unknown(1.0), 1.0)


def test_generic_keeps_the_contract_as_its_documentation():
    assert transform.__doc__ == "Return the family's image of value."


@pytest.mark.needs_jit
def test_kernels_divide_as_numpy_does():
    assert ratio(1.0, 0.0) == np.inf
    assert np.isnan(ratio(0.0, 0.0))


@inlined_kernel
def raised(value):
    if value < 0.0:
        return 0.0
    return value + 1.0


@kernel
def raise_twice(value):
    return raised(raised(value))


def test_inlined_kernel_works_from_both_sides():
    assert raised(1.0) == 2.0
    assert raise_twice(1.0) == 3.0
    assert raise_twice(-3.0) == 1.0


def test_reduction_kernel_sees_nan_and_infinity():
    ones = np.ones(9)
    assert np.isnan(inner(np.full(9, np.nan), ones))
    assert inner(np.full(9, np.inf), ones) == np.inf
    assert inner(np.arange(9.0), ones) == 36.0


# ---- the cache on disk, measured in processes of their own --------------------------------

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


def _toy_package(folder: Path) -> Path:
    """Give a package with our decorators, a callee in one room and its caller in another."""
    package = folder / "shtarkov"
    for room in ("linalg", "sampling"):
        (package / room).mkdir(parents=True)
        (package / room / "__init__.py").touch()
    (package / "__init__.py").touch()
    for name in ("_jit.py", "types.py"):
        shutil.copy(PACKAGE / name, package / name)
    (package / "linalg" / "inner.py").write_text(INNER.format(increment=1.0))
    (package / "sampling" / "outer.py").write_text(OUTER)
    return package


def _measure(folder: Path) -> tuple[float, int, int]:
    environment = os.environ | {
        "PYTHONPATH": str(folder),
        "NUMBA_CACHE_DIR": str(folder / "cache"),
    }
    run = subprocess.run(
        [sys.executable, "-c", MEASURE], env=environment, capture_output=True, text=True, check=True
    )
    value, hits, misses = run.stdout.split()
    return float(value), int(hits), int(misses)


@pytest.mark.needs_jit
def test_second_process_loads_a_family_kernel_from_disk_until_a_callee_is_edited(tmp_path):
    package = _toy_package(tmp_path)
    assert _measure(tmp_path) == (50.0, 0, 1)
    assert _measure(tmp_path) == (50.0, 1, 0)
    # The caller's file is untouched: numba alone would go on returning 50.
    (package / "linalg" / "inner.py").write_text(INNER.format(increment=2.0))
    assert _measure(tmp_path) == (60.0, 0, 1)
    assert _measure(tmp_path) == (60.0, 1, 0)


@pytest.mark.needs_jit
def test_kernels_compile_where_no_folder_is_writable(monkeypatch):
    def refuse(*args, **options):
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr("shtarkov._jit.numba.njit", refuse)
    assert kernel(max)(1, 2) == 2
