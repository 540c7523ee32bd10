"""`complexity_path`: order, edges, repetition, warnings, memory. Accuracy: tests/oracle."""

import tracemalloc

import numpy as np
import pytest

from shtarkov import ElasticNet, Lasso, SamplingWarning, complexity_path
from shtarkov.complexity import closed_form, ladder, threads
from shtarkov.errors import InvalidProblem
from shtarkov.families import compiled
from shtarkov.progress import METER_UNITS
from shtarkov.sampling import chain as chain_module
from shtarkov.sampling.chain import Chain

pytestmark = pytest.mark.needs_jit  # sampling as plain Python takes minutes


def design(n=10, n_features=6, seed=2):
    return np.random.default_rng(seed).standard_normal((n, n_features)) / np.sqrt(n)


def path_of(problem, lams, **options):
    return complexity_path(problem, lams, **{"std_error": 0.3, "seed": 7, **options})


def test_a_seed_repeats_whatever_the_number_of_threads():
    problem, lams = Lasso(design()), [0.5, 1.0]
    first = path_of(problem, lams, std_error=0.1)
    for n_jobs in (1, 2, -1):
        again = path_of(problem, lams, std_error=0.1, n_jobs=n_jobs)
        assert np.array_equal(again.ln_c, first.ln_c)
        assert np.array_equal(again.covariance, first.covariance)
        assert again.n_draws == first.n_draws
    other = path_of(problem, lams, std_error=0.1, seed=8)
    assert not np.array_equal(other.ln_c, first.ln_c)


def test_no_seed_records_the_one_it_drew():
    problem = Lasso(design())
    first = path_of(problem, [1.0], seed=None)
    assert np.array_equal(path_of(problem, [1.0], seed=first.seed).ln_c, first.ln_c)


def test_penalties_in_any_order_and_repeated():
    problem = Lasso(design())
    ordered = path_of(problem, [2.0, 1.0, 0.5])
    shuffled = path_of(problem, [1.0, 0.5, 2.0, 1.0])
    assert np.array_equal(shuffled.lams, [1.0, 0.5, 2.0, 1.0])
    assert np.array_equal(shuffled.ln_c, ordered.ln_c[[1, 2, 0, 1]])
    assert np.array_equal(shuffled.mean_df, ordered.mean_df[[1, 2, 0, 1]])
    assert shuffled.difference_error(0, 3) == 0.0
    assert shuffled.difference_error(0, 1) > 0.0
    assert list(shuffled.to_dataframe().columns) == ["lam", "ln_c", "std_error", "mean_df"]


@pytest.mark.parametrize("sigma", [1e-4, 3.0])
def test_only_the_ratio_of_penalty_and_noise_matters(sigma):
    problem, lams = Lasso(design()), np.array([0.5, 1.0])
    unit, scaled = path_of(problem, lams), path_of(problem, sigma * lams, sigma=sigma)
    assert scaled.ln_c == pytest.approx(unit.ln_c, rel=1e-6)
    assert scaled.node_lams == pytest.approx(sigma * unit.node_lams)
    tied = path_of(ElasticNet(design(), l2_ratio=0.5), lams)
    spread = path_of(ElasticNet(design(), l2_ratio=0.5 / sigma), sigma * lams, sigma=sigma)
    assert spread.ln_c == pytest.approx(tied.ln_c, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_scale_of_the_design(scale):
    unit, scaled = path_of(Lasso(design()), [1.0]), path_of(Lasso(scale * design()), [scale])
    assert scaled.ln_c == pytest.approx(unit.ln_c, rel=1e-4)


def test_awkward_columns():
    X = design()
    plain = path_of(Lasso(X), [0.8], std_error=0.1)
    empty = path_of(Lasso(np.column_stack([X, np.zeros(10)])), [0.8], std_error=0.1)
    assert empty.ln_c[0] == pytest.approx(plain.ln_c[0], abs=0.4)
    twice = path_of(Lasso(np.column_stack([X, X[:, :2], -X[:, 3]])), [0.8], std_error=0.1)
    # Copies of a column change neither the estimate's fit nor the envelope.
    gap = abs(twice.ln_c[0] - plain.ln_c[0])
    assert gap < 4.0 * np.hypot(twice.std_error[0], plain.std_error[0])
    nothing = path_of(Lasso(np.zeros((4, 3))), [1.0, 2.0])
    assert not nothing.ln_c.any()
    assert not nothing.std_error.any()


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1)])
def test_smallest_designs(shape):
    X = np.linspace(0.5, 1.5, shape[0] * shape[1]).reshape(shape)
    path = path_of(Lasso(X), [0.7], std_error=0.05)
    # One row, or one column: all estimates lie on one line.
    norms = np.array([np.abs(X).max() if shape[0] == 1 else np.linalg.norm(X)])
    exact = closed_form.lasso_ln_c(norms, 0.7)
    assert abs(path.ln_c[0] - exact) < 4.0 * path.std_error[0]


def test_a_penalty_at_which_nothing_happens_is_not_sampled():
    path = path_of(Lasso(np.eye(4)), [50.0, 30.0])
    assert path.n_draws == 0
    assert np.all(path.ln_c < 1e-9)
    assert path.bridge_ln_c is None


def test_a_small_penalty_activates_everything():
    path = path_of(Lasso(np.eye(3)), [1e-3], std_error=0.2)
    exact = closed_form.lasso_ln_c(np.ones(3), 1e-3)
    assert abs(path.ln_c[0] - exact) < 4.0 * path.std_error[0]
    assert path.mean_df[0] == pytest.approx(3.0, abs=0.1)


@pytest.mark.filterwarnings("ignore::shtarkov.SamplingWarning")
def test_what_was_not_reached_is_said():
    with pytest.warns(SamplingWarning, match="raise max_draws"):
        path = path_of(Lasso(design()), [0.5], std_error=1e-3, max_draws=60)
    assert path.std_error[0] > 1e-3


@pytest.mark.filterwarnings("ignore::shtarkov.SamplingWarning")
def test_ctrl_c_gives_what_is_known(monkeypatch):
    monkeypatch.setattr(threads, "CHUNK_WORK", 1.0)
    calls = []

    class Impatient:
        def start(self, total, description):
            assert (total, description) == (METER_UNITS, "ln C")

        def advance(self, n, **numbers):
            calls.append(numbers)
            if "std_error" in numbers and numbers["std_error"] < 0.05:
                raise KeyboardInterrupt

        def finish(self):
            calls.append("finished")

    with pytest.warns(SamplingWarning, match="interrupted"):
        path = path_of(Lasso(design()), [0.5], std_error=0.005, progress=Impatient())
    assert calls[-1] == "finished"
    assert 0.005 < path.std_error[0] < 0.2
    assert ladder.INTERRUPTED in path.warnings


def test_more_active_columns_than_there_was_room_for(monkeypatch):
    problem = Lasso(design(30, 60))
    roomy = path_of(problem, [0.2], std_error=0.5)
    monkeypatch.setattr(chain_module, "FIRST_CAPACITY", 2)
    tight = path_of(problem, [0.2], std_error=0.5)
    gap = abs(tight.ln_c[0] - roomy.ln_c[0])  # a move that found no room draws its momentum anew
    assert gap < 4.0 * np.hypot(tight.std_error[0], roomy.std_error[0])
    assert tight.failures == 0


def peak_bytes(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_beyond_the_limit_no_gram_matrix_is_formed():
    n, n_features = 20, compiled.GRAM_LIMIT + 1
    X = np.random.default_rng(0).standard_normal((n, n_features)) / np.sqrt(n)

    def run():
        family = compiled.family_of(Lasso(X), 3.0)
        assert family.gram.size == 0
        chain = Chain(family, 3.0, np.random.default_rng(1))
        chain.warm_up(10)
        chain.extend(50)
        assert chain.column(0).max() > 0
        assert chain.failures[1:].sum() == 0

    run()
    # A D by D array alone would be 200 MB, the design is 0.8 MB.
    assert peak_bytes(run) < 8e6


def test_no_matrix_of_the_size_of_the_rows_squared_is_formed():
    X = np.random.default_rng(0).standard_normal((3000, 5))
    problem = Lasso(X)
    path_of(problem, [60.0])
    assert problem.design.X.shape == (5, 5)
    assert peak_bytes(lambda: path_of(Lasso(X), [60.0])) < 8e6  # 3000 squared would be 72 MB


def test_bad_arguments_are_refused():
    problem = Lasso(design())
    for bad in ([], [0.0], [-1.0], [np.nan]):
        with pytest.raises(InvalidProblem):
            complexity_path(problem, bad)
    with pytest.raises(InvalidProblem):
        complexity_path(problem, [1.0], sigma=0.0)
    with pytest.raises(InvalidProblem, match="problem must be one such as"):
        complexity_path("a design", [1.0])
