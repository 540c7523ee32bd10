"""Ctrl-C in processes of their own: what is known is the answer, and nothing else is printed."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time

import pytest

pytestmark = pytest.mark.needs_jit

# Beyond what compiling the kernels takes on a busy machine.
SECONDS = 240.0
# The three calls one after the other; each says when it knows something, and is then stopped.
CALLS = """
import numpy as np
import shtarkov

class Watch:
    def __init__(self, name):
        self.name, self.said = name, False
    def start(self, total, description):
        pass
    def advance(self, n, **numbers):
        if not self.said and {"nats", "std_error", "accepted"} & set(numbers):
            self.said = True
            print("known", self.name, flush=True)
    def finish(self):
        pass

rng = np.random.default_rng(3)
X = rng.standard_normal((30, 8)) + rng.standard_normal((30, 1))
y = X[:, 0] + rng.standard_normal(30)
problem = shtarkov.Lasso(X)

def quietly(call, name, **options):
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", shtarkov.errors.SamplingWarning)
        return call(problem, progress=Watch(name), seed=1, n_jobs=2, **options)

chains = quietly(shtarkov.sample, "sample", lam=2.0, n_draws=10**7)
print("answer", chains.interrupted, 0 < chains.n_draws < 10**7, flush=True)
path = quietly(shtarkov.complexity_path, "path", lams=[1.0, 2.0, 4.0], std_error=2e-3)
print("answer", any("interrupted" in text for text in path.warnings),
      bool(np.all(path.std_error > 2e-3)), flush=True)
report = quietly(shtarkov.select, "select", y=y, std_error=3e-3, criterion="prediction")
print("answer", any("interrupted" in text for text in report.reasons), not report.ok, flush=True)
"""


# The same for labels, where `complexity` has chains of its own.
LABEL_CALLS = """
labels = y > 0.0
problem = shtarkov.SparseSVM(X, "squared_hinge")

chains = quietly(shtarkov.sample, "sample", lam=2.0, sampler="label_flips", n_draws=10**7)
print("answer", chains.interrupted, 0 < chains.n_draws < 10**7, flush=True)
path = quietly(shtarkov.complexity_path, "path", lams=[1.0, 2.0], std_error=2e-3)
print("answer", any("interrupted" in text for text in path.warnings),
      bool(np.all(path.std_error > 2e-3)), flush=True)
found = quietly(shtarkov.complexity, "bridge", lam=1.0, method="bridge", std_error=2e-3)
print("answer", any("interrupted" in text for text in found.warnings),
      found.std_error > 2e-3, flush=True)
report = quietly(shtarkov.select, "select", y=labels, std_error=0.02, max_draws=10**7,
                 lams=[4.0, 2.0])
print("answer", any("interrupted" in text for text in report.reasons), not report.ok, flush=True)
"""
HEAD = CALLS[: CALLS.index("\nchains =")]


@pytest.mark.parametrize(
    ("calls", "names"),
    [
        (CALLS, ("sample", "path", "select")),
        (HEAD + LABEL_CALLS, ("sample", "path", "bridge", "select")),
    ],
    ids=["continuous", "labels"],
)
def test_every_public_call_gives_what_it_knows(calls, names):
    with subprocess.Popen(
        [sys.executable, "-c", calls], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        too_long = threading.Timer(SECONDS, process.kill)
        too_long.start()
        for name in names:
            assert process.stdout.readline() == f"known {name}\n"
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "answer True True\n", process.stderr.read()
        assert process.wait() == 0
        assert process.stderr.read() == ""
        too_long.cancel()


@contextlib.contextmanager
def at_a_terminal(*arguments):
    """Start a command whose standard error is a terminal: give it and the terminal's other end."""
    pty = pytest.importorskip("pty")
    outer, inner = pty.openpty()
    command = [sys.executable, "-m", "shtarkov", *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=inner, env={**os.environ, "TERM": "xterm"}
    ) as process:
        os.close(inner)
        try:
            yield process, outer
        finally:
            process.kill()
            os.close(outer)


def wait_for(process, terminal, words):
    """Read the terminal until it shows the words; give all that was read."""
    seen, deadline = "", time.monotonic() + SECONDS
    while words not in seen:
        assert time.monotonic() < deadline, seen
        if select.select([terminal], [], [], 0.2)[0]:
            seen += os.read(terminal, 4096).decode(errors="replace")
        assert process.poll() is None, seen
    return seen


@pytest.fixture
def label_file(csv_file):
    """The same table with a word for every y."""
    head, *rows = csv_file.read_text(encoding="utf-8").splitlines()
    cells = [row.rpartition(",") for row in rows]
    middle = sorted(float(value) for *_, value in cells)[len(cells) // 2]
    words = [f"{left},{'high' if float(value) > middle else 'low'}" for left, _, value in cells]
    path = csv_file.with_name("labels.csv")
    path.write_text("\n".join([head, *words]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("table", "family", "std_error"),
    [("csv_file", "lasso", "2e-3"), ("label_file", "sparse-svm", "2e-2")],
    ids=["continuous", "labels"],
)
def test_a_selection_stopped_at_a_terminal_leaves_the_best_so_far(
    table, family, std_error, request
):
    with at_a_terminal(
        "select", request.getfixturevalue(table), "--target", "y", "--family", family,
        "--criterion", "prediction", "--std-error", std_error, "--seed", "3", "--json",
    ) as (process, terminal):  # fmt: skip
        shown = wait_for(process, terminal, "best so far")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    answer = json.loads(out)
    assert answer["winner"] == "matched"
    assert not answer["ok"]
    assert any(word in " ".join(answer["reasons"]) for word in ("interrupted", "Ctrl-C"))
    assert "Traceback" not in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("sample", "--draws", "10000000", "--lam", "3"),
        ("complexity", "--lam", "0.05", "--lam", "3", "--std-error", "1e-4"),
    ],
    ids=["sample", "complexity"],
)
def test_other_commands_stopped_while_they_run(csv_file, arguments):
    command = [sys.executable, "-m", "shtarkov", *arguments, str(csv_file), "--seed", "3", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(15.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, err.decode()) == (0, "")
    answer = json.loads(out)
    assert answer.get("interrupted") or "interrupted" in " ".join(answer["warnings"])
