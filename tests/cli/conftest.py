"""Run the command line inside the test's process, or in one of its own."""

import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

from shtarkov.cli.app import _run


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys):
    def run(*arguments):
        code = _run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def cli_process():
    def run(*arguments, timeout=300):
        command = [sys.executable, "-m", "shtarkov", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def csv_file(tmp_path):
    rng = np.random.default_rng(12)
    X = rng.standard_normal((40, 3)).round(3)
    y = (2.0 * X[:, 0] - X[:, 1] + 5.0 + 0.5 * rng.standard_normal(40)).round(3)
    path = tmp_path / "table.csv"
    lines = ["a,b,noise,y", *(",".join(map(str, [*row, t])) for row, t in zip(X, y, strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
