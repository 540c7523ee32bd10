"""The wiring of a Ray cluster, with a stand-in that runs tasks in threads."""

import sys
from types import ModuleType

import joblib
import pytest
from joblib._parallel_backends import ThreadingBackend

from shtarkov.experiments import work
from shtarkov.experiments.cell_result import CellResult
from shtarkov.experiments.grid import make_cell
from shtarkov.experiments.runner import run_cells
from shtarkov.experiments.store import Store
from shtarkov.progress import SilentProgress

CELLS = [make_cell("divergence", {"place": i}) for i in range(11)]


@pytest.fixture
def heard(monkeypatch):
    """Put a module in Ray's place that notes how it is called."""
    calls = []
    ray, joblib_part = ModuleType("ray"), ModuleType("ray.util.joblib")
    ray.init = lambda **options: calls.append(("init", options))
    ray.shutdown = lambda: calls.append(("shutdown", {}))
    joblib_part.register_ray = lambda: joblib.register_parallel_backend("ray", ThreadingBackend)
    for name, module in {
        "ray": ray, "ray.util": ModuleType("ray.util"), "ray.util.joblib": joblib_part,
    }.items():  # fmt: skip
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(work.WORK, "divergence", lambda s: CellResult({"value": s["place"]}))
    return calls


@pytest.mark.parametrize(
    ("scheduler", "options"),
    [
        (None, {"num_cpus": 3, "include_dashboard": False}),
        ("ray://here", {"address": "ray://here"}),
    ],
)
def test_cells_run_on_ray(tmp_path, heard, scheduler, options):
    store = Store(tmp_path)
    run_cells(CELLS, store, SilentProgress(), backend="ray", n_jobs=3, scheduler=scheduler)
    assert [store.row(cell)["value"] for cell in CELLS] == list(range(11))
    assert heard == [("init", options), ("shutdown", {})]


def test_a_cluster_is_let_go_of_after_a_failure(tmp_path, heard):
    bad = make_cell("support", {})
    with pytest.raises(KeyError):
        run_cells([bad], Store(tmp_path), SilentProgress(), backend="ray")
    assert heard[-1] == ("shutdown", {})


def test_ray_that_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match="ray is not installed; pip install ray"):
        run_cells(CELLS, Store(tmp_path), SilentProgress(), backend="ray")
