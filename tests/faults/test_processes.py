"""Fork, spawn, threads, and no network: the answers are those of a call alone."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import shtarkov
from shtarkov.blas import one_blas_thread

pytestmark = pytest.mark.needs_jit

QUICK = {"std_error": 1.0, "n_jobs": 2, "progress": False}
N_SEEDS = 3
# What a process of its own runs: alone first, then in children started by the given method.
CHILDREN = """
import json, multiprocessing, sys
from tests.faults.test_processes import N_SEEDS, answer

if __name__ == "__main__":
    alone = [answer(seed) for seed in range(N_SEEDS)]
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(json.dumps([alone, pool.map(answer, range(N_SEEDS))]))
"""


def answer(seed):
    """Use the sampler, a path and the selection once."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal((20, 4))
    problem = shtarkov.Lasso(X)
    path = shtarkov.complexity_path(problem, [1.0, 3.0], seed=seed, **QUICK)
    chains = shtarkov.sample(problem, 2.0, n_draws=50, n_jobs=2, seed=seed, progress=False)
    y = X[:, 0] + rng.standard_normal(20)
    report = shtarkov.select(problem, y, seed=seed, criterion="prediction", **QUICK)
    return [*path.ln_c.tolist(), float(chains.envelope.sum()), report.codelength]


def test_threads_get_the_answers_of_calls_alone():
    alone = [answer(seed) for seed in range(N_SEEDS)]
    together = {}

    def run(seed):
        together[seed] = answer(seed)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(N_SEEDS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[seed] for seed in range(N_SEEDS)] == alone


def n_blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_the_limit_on_blas_ends_with_the_last_call_and_not_before():
    before = n_blas_threads()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    assert n_blas_threads() == {1}
    first.__exit__(None, None, None)
    assert n_blas_threads() == {1}
    second.__exit__(None, None, None)
    assert n_blas_threads() == before


@pytest.mark.parametrize(
    "method", ["fork", pytest.param("spawn", marks=[pytest.mark.slow, pytest.mark.ci_sample])]
)
def test_children_get_the_answers_of_their_parent(tmp_path, method):
    if method == "fork" and not hasattr(os, "fork"):
        pytest.skip("there is no fork here")
    script = tmp_path / "children.py"
    script.write_text(CHILDREN)
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", str(script), method],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([root, *sys.path])},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    alone, children = json.loads(done.stdout)
    assert children == alone


def test_nothing_reaches_for_the_network(cli, csv_file, tmp_path, monkeypatch):
    import socket

    def refuse(*args, **options):
        raise AssertionError("a socket was opened")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)
    answer(0)
    page, draws = tmp_path / "page.html", tmp_path / "draws.nc"
    for command in (
        ("select", csv_file, "--target", "y", "--criterion", "prediction", "--report", page),
        ("check", "--demo", "diabetes"),
        ("complexity", csv_file, "--target", "y", "--lam", "3"),
        ("sample", csv_file, "--target", "y", "--lam", "3", "--draws", "20", "--output", draws),
    ):
        done = cli(*command)
        assert (done.code, done.err) == (0, "")
    assert page.exists()
