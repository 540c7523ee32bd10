"""Long runs: checkpoints, resuming, Ctrl-C, files."""

import json
import os
import signal

import numpy as np
import pytest

import shtarkov
from shtarkov.errors import InvalidProblem, ShtarkovError
from shtarkov.sampling import datatree, hmc_run
from shtarkov.sampling.chains import Chains
from shtarkov.sampling.sample import sample

CHUNK = 10


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    monkeypatch.setattr(hmc_run, "CHUNK_DRAWS", CHUNK)


@pytest.fixture(scope="module")
def problem():
    return shtarkov.Lasso(np.random.default_rng(7).standard_normal((6, 3)))


def run(problem, n_draws=3 * CHUNK, **more):
    settings = {"n_draws": n_draws, "n_warmup": 10, "n_chains": 2, "seed": 5, **more}
    return sample(problem, 1.0, **settings)


class Interrupt:
    """Stands for a progress bar and presses Ctrl-C after some chunks."""

    def __init__(self, after):
        self.after = after

    def start(self, total, description):
        self.total = total

    def advance(self, n, **numbers):
        self.after -= 1
        if self.after == 0:
            os.kill(os.getpid(), signal.SIGINT)

    def finish(self):
        pass


def test_a_resumed_run_finishes_the_total_with_the_same_draws(problem, tmp_path):
    whole = run(problem)
    folder = tmp_path / "run"
    part = run(problem, checkpoint=folder, progress=Interrupt(1))
    assert part.interrupted
    assert part.n_draws == CHUNK
    rest = run(problem, checkpoint=folder)
    assert not rest.interrupted
    assert rest.n_draws == whole.n_draws
    np.testing.assert_array_equal(rest.envelope, whole.envelope)
    np.testing.assert_array_equal(rest.accepted, whole.accepted)


def test_a_finished_run_is_read_and_a_larger_total_extends_it(problem, tmp_path):
    whole = run(problem, n_draws=4 * CHUNK)
    first = run(problem, checkpoint=tmp_path / "run", seed=None)
    again = run(problem, checkpoint=tmp_path / "run", seed=None)
    assert again.seed == first.seed
    np.testing.assert_array_equal(again.step_seconds, first.step_seconds)  # read, not drawn
    run(problem, checkpoint=tmp_path / "more")
    longer = run(problem, n_draws=4 * CHUNK, checkpoint=tmp_path / "more")
    np.testing.assert_array_equal(longer.envelope, whole.envelope)
    assert run(problem, n_draws=5, checkpoint=tmp_path / "more").n_draws == 5


def test_a_half_written_chunk_is_ignored(problem, tmp_path):
    whole = run(problem, checkpoint=tmp_path)
    (tmp_path / "chunk-00002.npz").rename(tmp_path / "chunk-00002.partial")
    np.testing.assert_array_equal(run(problem, checkpoint=tmp_path).envelope, whole.envelope)


def test_another_run_or_version_in_the_folder_is_refused(problem, tmp_path):
    run(problem, checkpoint=tmp_path)
    with pytest.raises(InvalidProblem, match=r"holds another run .*n_warmup: 10 there"):
        run(problem, checkpoint=tmp_path, n_warmup=11)
    header = tmp_path / "run.json"
    stamp = json.loads(header.read_text())
    header.write_text(json.dumps({**stamp, "version": "0.0.1"}))
    with pytest.raises(InvalidProblem, match=r"version: '0\.0\.1' there"):
        run(problem, checkpoint=tmp_path)
    header.unlink()
    with pytest.raises(InvalidProblem, match="not empty and holds no run"):
        run(problem, checkpoint=tmp_path)


def test_ctrl_c_before_the_first_chunk_raises(problem, monkeypatch):
    def press(self, n_steps):
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(hmc_run.HmcRun, "warm_up", press)
    with pytest.raises(KeyboardInterrupt):
        run(problem, n_chains=1)


def test_a_second_ctrl_c_does_not_wait(problem):
    class Twice(Interrupt):
        def advance(self, n, **numbers):
            super().advance(n)
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run(problem, progress=Twice(1))
    assert signal.getsignal(signal.SIGINT) is before


def test_saved_draws_come_back(problem, tmp_path):
    pytest.importorskip("h5netcdf")
    chains = run(problem, record=("active", "data"), seed=2**70)
    tree = chains.to_datatree()
    assert set(tree.children) == {"posterior", "sample_stats", "constants"}
    assert tree["posterior"]["k"].dims == ("chain", "draw")
    assert tree["posterior"]["active"].dims == ("chain", "draw", "feature")
    np.testing.assert_array_equal(tree["posterior"]["codelength_part"], chains.codelength_part)
    assert tree.attrs["inference_library_version"] == shtarkov.__version__
    chains.save(tmp_path / "draws.nc")
    assert [path.name for path in tmp_path.iterdir()] == ["draws.nc"]
    back = Chains.load(tmp_path / "draws.nc")
    assert repr(back) == repr(chains)
    for name in ("envelope", "k", "accepted", "codelength_part"):
        np.testing.assert_array_equal(getattr(back, name), getattr(chains, name))
    assert set(back.extras) == set(chains.extras)
    for name, array in chains.extras.items():
        np.testing.assert_array_equal(back.extras[name], array)
        assert back.extras[name].dtype == array.dtype


def test_files_of_others_are_refused(problem, tmp_path):
    pytest.importorskip("h5netcdf")
    with pytest.raises(InvalidProblem, match="there is no file"):
        Chains.load(tmp_path / "nothing.nc")
    tree = run(problem).to_datatree()
    tree.attrs["format"] = 0
    with pytest.raises(InvalidProblem, match="compatible version"):
        datatree.from_datatree(tree)


def test_without_xarray_the_error_names_the_extra(problem, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ShtarkovError, match=r"shtarkov\[arviz\]"):
        run(problem).to_datatree()
