"""Files that cannot be written or read: killed runs, full disks, damage."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import shtarkov
from shtarkov.cli.app import _run
from shtarkov.errors import InvalidProblem, NotStored
from shtarkov.report import write_html
from shtarkov.sampling import hmc_run
from shtarkov.sampling.chains import Chains
from tests.reports import make_report

pytestmark = pytest.mark.needs_jit

CHUNK = 10
N_DRAWS = 40 * CHUNK
# A device that refuses every write as a full disk does.
FULL = Path("/dev/full")
RUN = """
import sys
from shtarkov.sampling import hmc_run
from tests.faults import test_storage
hmc_run.CHUNK_DRAWS = test_storage.CHUNK
test_storage.draw(sys.argv[1], progress=test_storage.Slow())
"""


class Slow:
    """A progress bar that leaves time to be killed in."""

    def start(self, total, description):
        pass

    def advance(self, n, **numbers):
        time.sleep(0.02)

    def finish(self):
        pass


def draw(folder=None, n_draws=N_DRAWS, **more):
    problem = shtarkov.Lasso(np.random.default_rng(7).standard_normal((6, 3)))
    settings = {"n_draws": n_draws, "n_warmup": 10, "n_chains": 2, "seed": 5, "n_jobs": 1}
    return shtarkov.sample(problem, 1.0, checkpoint=folder, **settings, **more)


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    monkeypatch.setattr(hmc_run, "CHUNK_DRAWS", CHUNK)


@pytest.fixture(name="full_disk")
def make_full_disk():
    if not FULL.exists():
        pytest.skip("there is no device that stands for a full disk")
    return FULL


# ---- killed -------------------------------------------------------------------------------


def test_a_killed_run_is_finished_with_the_draws_it_would_have_made(tmp_path):
    folder = tmp_path / "run"
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    with subprocess.Popen([sys.executable, "-c", RUN, str(folder)], env=environment) as process:
        deadline = time.monotonic() + 120.0
        while not (folder / "chunk-00002.npz").exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    n_kept = len(list(folder.glob("chunk-*.npz")))
    assert 3 <= n_kept < N_DRAWS // CHUNK
    resumed, whole = draw(folder), draw()
    assert resumed.n_draws == whole.n_draws == N_DRAWS
    for name in ("envelope", "k", "accepted", "residual_sq"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))


# ---- damaged ------------------------------------------------------------------------------


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def empty(path):
    path.write_bytes(b"")


def other(path):
    np.savez(path.with_suffix(""), a=np.ones(3))


@pytest.mark.parametrize("damage", [cut, flip, empty, other])
def test_a_damaged_chunk_is_named_and_can_be_drawn_again(tmp_path, damage):
    whole = draw(tmp_path / "run", 3 * CHUNK)
    damaged = tmp_path / "run" / "chunk-00001.npz"
    damage(damaged)
    with pytest.raises(InvalidProblem, match=r"chunk-00001\.npz is damaged; delete it, and repeat"):
        draw(tmp_path / "run", 3 * CHUNK)
    damaged.unlink()
    again = draw(tmp_path / "run", 3 * CHUNK)
    np.testing.assert_array_equal(again.envelope, whole.envelope)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"seed": "x"}', "\0\0"])
def test_a_damaged_heading_of_a_run_is_refused(tmp_path, text):
    draw(tmp_path / "run", CHUNK)
    (tmp_path / "run" / "run.json").write_text(text)
    with pytest.raises(InvalidProblem, match=r"run\.json is damaged.*name another folder"):
        draw(tmp_path / "run", CHUNK)


def test_a_checkpoint_where_a_file_stands_is_refused(tmp_path):
    (tmp_path / "run").touch()
    with pytest.raises(NotStored, match="run cannot be made"):
        draw(tmp_path / "run", CHUNK)


def test_damaged_draws_are_refused(tmp_path):
    pytest.importorskip("h5netcdf")
    path = tmp_path / "draws.nc"
    draw(n_draws=CHUNK).save(path)
    for damage in (cut, empty):
        damage(path)
        with pytest.raises(InvalidProblem, match=r"draws\.nc holds no draws, or is damaged"):
            Chains.load(path)


# ---- a full disk --------------------------------------------------------------------------


def test_a_full_disk_keeps_the_finished_chunks_and_leaves_no_halves(tmp_path, full_disk):
    folder = tmp_path / "run"
    draw(folder, CHUNK)
    (folder / "chunk-00001.partial").symlink_to(full_disk)
    with pytest.raises(NotStored, match=r"chunk-00001\.npz could not .*No space left.*are kept"):
        draw(folder, 3 * CHUNK)
    assert sorted(path.name for path in folder.iterdir()) == ["chunk-00000.npz", "run.json"]
    np.testing.assert_array_equal(draw(folder, 3 * CHUNK).k, draw(None, 3 * CHUNK).k)


def refuse_space(*args, **options):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_page_or_draws_without_room_leave_what_was_there(tmp_path, monkeypatch):
    page, kept = tmp_path / "page.html", tmp_path / "draws.nc"
    chains = draw(n_draws=CHUNK)
    for path in (page, kept):
        path.write_text("before")
    monkeypatch.setattr(os, "fdopen", refuse_space)
    with pytest.raises(OSError, match="No space left"):
        write_html(make_report(), page)
    xarray = pytest.importorskip("xarray")
    monkeypatch.setattr(xarray.DataTree, "to_netcdf", refuse_space)
    with pytest.raises(NotStored, match=r"draws\.nc could not be written \(No space left"):
        chains.save(kept)
    assert [path.read_text() for path in (page, kept)] == ["before", "before"]
    assert len(list(tmp_path.iterdir())) == 2


def test_an_answer_that_cannot_be_printed_is_one_line(csv_file, full_disk, capfd):
    command = [sys.executable, "-m", "shtarkov", "check", str(csv_file), "--target", "y", "--json"]
    with full_disk.open("w") as out:
        done = subprocess.run(
            command, stdout=out, stderr=subprocess.PIPE, text=True, timeout=120, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "shtarkov: error: [Errno 28] No space left on device\n"


def test_a_page_without_room_is_one_line_at_the_command_line(csv_file, monkeypatch, capsys):
    from shtarkov.cli import select_command

    monkeypatch.setattr(
        select_command, "select", lambda *args, **options: make_report(n_features=3)
    )
    monkeypatch.setattr(os, "fdopen", refuse_space)
    page = csv_file.parent / "page.html"
    code = _run(["select", str(csv_file), "--target", "y", "--report", str(page)])
    captured = capsys.readouterr()
    assert (code, captured.out) == (1, "")
    assert captured.err == "shtarkov: error: [Errno 28] No space left on device\n"
    assert [path.name for path in csv_file.parent.iterdir()] == [csv_file.name]


@pytest.mark.skipif(shutil.which("head") is None, reason="needs head")
def test_a_reader_that_leaves_early_hears_no_complaint(csv_file):
    command = f"{sys.executable} -m shtarkov check {csv_file} --target y --json | head -c 1"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "{", "")
