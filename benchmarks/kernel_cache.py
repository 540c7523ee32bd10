"""Which way of handing a family to a compiled loop is kept on disk from one process to the next.

Prints, for each way, the seconds of the first call in a first and in a second process, and how many
times the second process compiled. Quoted in docs/developer/design.md.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

LOOP = """
def run_chain(family, y, n_steps, rng):
    total = 0.0
    for _ in range(n_steps):
        total += {call} + 0.0 * rng.standard_normal()
    return total
"""

TYPED = """
from typing import NamedTuple
from shtarkov._jit import generic, kernel

class Family(NamedTuple):
    lam: float

@generic
def solve(family, y):
    '''Return a number.'''

@solve.register(Family)
def _solve(family, y):
    return family.lam * y[0]

@kernel
""" + LOOP.format(call="solve(family, y)")

CLASS = """
from numba import float64
from numba.experimental import jitclass
from shtarkov._jit import kernel

@jitclass([("lam", float64)])
class Family:
    def __init__(self, lam):
        self.lam = lam
    def solve(self, y):
        return self.lam * y[0]

@kernel
""" + LOOP.format(call="family.solve(y)")

ARGUMENT = """
from shtarkov._jit import kernel

@kernel
def solve(y):
    return 3.0 * y[0]

def Family(lam):
    return solve

@kernel
""" + LOOP.format(call="family(y)")

CLOSURE = (
    """
from shtarkov._jit import kernel

def Family(lam):
    return lam

def make(solve):
"""
    + LOOP.format(call="solve(y)")
    .replace("\n", "\n    ")
    .replace("def run_chain", "@kernel\n    def run_chain")
    + """
    return run_chain

run_chain = make(kernel(lambda y: 3.0 * y[0]))
"""
)

MEASURE = """
import time
import numpy as np
from {module} import Family, run_chain
arguments = Family(3.0), np.ones(2), 10, np.random.default_rng(0)
start = time.perf_counter()
run_chain(*arguments)
print(time.perf_counter() - start, sum(run_chain.stats.cache_misses.values()))
"""

WAYS = {
    "NamedTuple, function selected by type": TYPED,
    "jitclass instance": CLASS,
    "compiled function as argument": ARGUMENT,
    "closure factory": CLOSURE,
}


def measure(folder: Path, module: str) -> tuple[float, int]:
    """Run a process that calls the compiled loop once."""
    environment = os.environ | {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "-c", MEASURE.format(module=module)]
    seconds, misses = subprocess.check_output(command, env=environment, text=True).split()
    return float(seconds), int(misses)


def main() -> None:
    """Print the table."""
    print(
        "| how the family is passed | first, s | second, s | compiled again |\n|---|---:|---:|---|"
    )
    with tempfile.TemporaryDirectory() as name:
        for number, (way, source) in enumerate(WAYS.items()):
            module = f"way_{number}"
            (Path(name) / f"{module}.py").write_text(source)
            first, _ = measure(Path(name), module)
            second, misses = measure(Path(name), module)
            again = "yes" if misses else "no"
            print(f"| {way} | {first:.2f} | {second:.2f} | {again} |")


if __name__ == "__main__":
    main()
