"""What each dependency adds: megabytes installed, seconds to import.

The table is quoted in docs/developer/dependencies.md. Megabytes count the distribution and whatever
it brings that none above it has brought. Seconds are the least of three fresh processes, each
importing the part of the dependency the library uses.
"""

import importlib.metadata as metadata
import subprocess
import sys

from packaging.requirements import Requirement

# distribution: the module the library imports of it
USED = {
    "numpy": "numpy",
    "scipy": "scipy.special",
    "numba": "numba",
    "scikit-learn": "sklearn.base",
    "arviz-stats": "arviz_stats.base",
    "threadpoolctl": "threadpoolctl",
    "joblib": "joblib",
    "rich": "rich.console",
    "typer": "typer",
    "jinja2": "jinja2",
    "matplotlib": "matplotlib.figure",
}
IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def closure(name: str, found: dict[str, metadata.Distribution]) -> None:
    """Add a distribution and, recursively, what it needs here."""
    if name.lower() in found:
        return
    found[name.lower()] = metadata.distribution(name)
    for line in metadata.requires(name) or []:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            closure(requirement.name, found)


def megabytes(distribution: metadata.Distribution) -> float:
    """Sum the sizes of a distribution's installed files."""
    paths = [distribution.locate_file(file) for file in distribution.files or []]
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def import_seconds(module: str) -> float:
    """Time an import in three fresh processes and take the least."""
    command = [sys.executable, "-c", IMPORT.format(module)]
    return min(float(subprocess.check_output(command, text=True)) for _ in range(3))


def main() -> None:
    """Print the table."""
    counted: set[str] = set()
    print("| dependency | MB added | packages added | import, s |\n|---|---:|---:|---:|")
    for name, module in USED.items():
        found: dict[str, metadata.Distribution] = {}
        closure(name, found)
        new = {key: found[key] for key in found.keys() - counted}
        counted |= new.keys()
        added = sum(megabytes(distribution) for distribution in new.values())
        print(f"| {name} | {added:.0f} | {len(new)} | {import_seconds(module):.2f} |")


if __name__ == "__main__":
    main()
