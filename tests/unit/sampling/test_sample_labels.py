"""`sample` for labels: what it returns, repeats, resumes and refuses."""

import numpy as np
import pytest

from shtarkov import NormBall, SparseLogistic, SparseSVM, complexity, sample
from shtarkov.errors import InvalidProblem
from shtarkov.families.sparse_svm import solve_labels


@pytest.fixture
def problem(rng):
    return SparseSVM(rng.standard_normal((8, 3)), "hinge", fit_intercept=True)


def draw(problem, **changes):
    options = {"sampler": "label_flips", "n_draws": 12, "n_warmup": 20, "n_chains": 2, "seed": 3}
    return sample(problem, 0.8, **{**options, **changes})


def test_draws_are_described_by_their_classifiers(problem):
    chains = draw(problem, record=["data"])
    assert (chains.n_chains, chains.n_draws) == (2, 12)
    assert chains.extras["data"].shape == (2, 12, 8)
    assert chains.kkt_residual.max() < 1e-7
    assert chains.gap.max() < 1e-8
    for draw_index in (0, 11):
        fit = solve_labels(problem, chains.extras["data"][1, draw_index].astype(float), 0.8)
        assert chains.envelope[1, draw_index] == pytest.approx(fit.objective, abs=1e-8)
        assert chains.k[1, draw_index] == np.count_nonzero(fit.coef)
    assert np.allclose(chains.penalty, 0.8 * chains.norm)
    assert np.allclose(chains.codelength_part, chains.envelope)
    assert "LabelChains(sparse_svm_hinge" in repr(chains)
    assert set(chains.summary()) >= {"envelope", "n_margin"}


@pytest.mark.needs_jit
def test_a_seed_repeats_and_a_checkpoint_resumes(problem, tmp_path):
    whole = draw(problem, n_draws=300)
    draw(problem, n_draws=250, checkpoint=tmp_path / "run")
    resumed = draw(problem, n_draws=300, checkpoint=tmp_path / "run")
    assert np.array_equal(whole.envelope, resumed.envelope)
    with pytest.raises(InvalidProblem, match="another run"):
        draw(problem, seed=4, checkpoint=tmp_path / "run")


def test_every_scan_is_available(problem):
    for scan in ("random", "systematic", "blocks"):
        assert draw(problem, scan=scan, thin=3).n_draws == 12


def test_as_a_data_tree(problem):
    pytest.importorskip("xarray")
    tree = draw(problem, record="data").to_datatree()
    assert tree["posterior"]["data"].dims == ("chain", "draw", "row")
    assert float(tree["constants"]["eta"]) == 1.0


def test_what_belongs_to_continuous_data_is_refused(problem, rng):
    for wrong in (
        {"sampler": "hmc"},
        {"sigma": 2.0},
        {"truth": np.zeros(3)},
        {"record": "active"},
        {"scan": "pairs"},
        {"thin": 0},
        {"width": 1.0},
    ):
        with pytest.raises(InvalidProblem):
            draw(problem, **wrong)
    unknown = SparseLogistic(rng.standard_normal((6, 2)), eta="unknown")
    with pytest.raises(InvalidProblem, match="eta"):
        draw(unknown)


def test_complexity_refuses_what_labels_have_not(problem, rng):
    wide = SparseSVM(rng.standard_normal((20, 2)))
    for options in (
        {"sigma": 2.0},
        {"method": "closed_form"},
        {"method": "enumerate"},
        {"method": "path", "tau": 0.1},
    ):
        with pytest.raises(InvalidProblem):
            complexity(wide, 0.5, **options)
    with pytest.raises(InvalidProblem, match="region"):
        complexity(wide, 0.5, region=NormBall(1.0))
    assert complexity(problem, 0.5).method == "enumerate"
    assert complexity(wide, 1e6).std_error == 0.0
