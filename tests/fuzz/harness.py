"""Coverage-guided fuzzing of everything read from files: ``make fuzz``.

Usage: ``python tests/fuzz/harness.py [SURFACE] [libFuzzer options]``, SURFACE one of
`surfaces.SURFACES` (all of them in turn, chosen by the first byte, if none is named). A crash is an
exception that is no `InvalidProblem`; libFuzzer then writes the file that caused it.
"""

import sys
import tempfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[2]))
with atheris.instrument_imports(include=["shtarkov", "csv", "json"]):
    from tests.fuzz.surfaces import SURFACES

# One good file for each surface to start from; the draws' are made by hypothesis alone.
SEEDS = {
    "table": b'"a, b";y\n1;2.5\nNA;-3e2\n',
    "groups": b"a,1\nb,2\n",
    "run header": b'{"seed": 1, "n_chains": 2, "format": 1}',
    "stored row": b'a,b\n1,"[2.5, null]"\n',
}


def all_surfaces(content):
    """Feed one surface, chosen by the first byte."""
    if content:
        list(SURFACES.values())[content[0] % len(SURFACES)](content[1:])


def main(arguments):
    """Fuzz until libFuzzer's limits are reached."""
    target, rest, only = all_surfaces, arguments[1:], None
    if rest and rest[0] in SURFACES:
        only = rest.pop(0)
        target = SURFACES[only]
    with tempfile.TemporaryDirectory() as corpus:
        for index, name in enumerate(SURFACES):
            content = SEEDS.get(name, b"")
            if only in (None, name):
                first = b"" if only else bytes([index])
                Path(corpus, str(index)).write_bytes(first + content)
        atheris.Setup([arguments[0], corpus, *rest], target)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)
