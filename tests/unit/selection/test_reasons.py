"""Every reason to distrust a selection is reached from the public call, and says what to change."""

import numpy as np
import pytest

from shtarkov import ElasticNet, GroupLasso, Lasso, SparseSVM, complexity, complexity_path, select
from shtarkov.complexity import label_rung, ladder, path
from shtarkov.complexity.label_ladder import LabelLadder
from shtarkov.complexity.rung import Rung
from shtarkov.errors import NotConverged, SamplingWarning
from shtarkov.selection.data_part import DataPart
from shtarkov.selection.label_node import LabelNode

pytestmark = pytest.mark.needs_jit

N = 40
QUICK = {"seed": 1, "std_error": 0.3, "n_jobs": 1, "progress": False}
# What a reason may tell a reader to do.
REMEDIES = (
    "raise max_draws", "extend the grid", "give sigma=", "keep fewer", "ask for", "state eta",
    "raise the penalty",
)  # fmt: skip


@pytest.fixture(name="X")
def make_design():
    return np.random.default_rng(5).standard_normal((N, 4))


@pytest.fixture(name="y")
def make_response(X):
    return X.sum(axis=1) + 0.3 * np.random.default_rng(6).standard_normal(N)


@pytest.fixture(name="labels")
def make_labels(X):
    return X[:, 0] + 0.3 * np.random.default_rng(7).standard_normal(N) > 0.0


def choose(problem, y, **options):
    return select(problem, y, **{**QUICK, "criterion": "prediction", **options})


def assert_doubted(report, words):
    """The reason is there once, and every reason names a remedy."""
    assert not report.ok
    assert sum(words in reason for reason in report.reasons) == 1, report.reasons
    for reason in report.reasons:
        assert any(remedy in reason for remedy in REMEDIES), reason
    assert f"warning: {report.reasons[0]}" in str(report)


# ---- reached by natural inputs ---------------------------------------------


def test_chains_too_short_to_agree(X, y):
    report = choose(GroupLasso(X, [0, 0, 1, 1]), y, std_error=0.01, max_draws=5)
    assert_doubted(report, "at one rung: raise max_draws")
    assert_doubted(report, "the error asked for was not reached")


@pytest.mark.parametrize("criterion", ["prediction", "structure"])
def test_a_minimum_at_the_end_of_the_penalties_given(X, y, criterion):
    report = choose(Lasso(X), y, lams=[30.0, 25.0, 20.0], criterion=criterion)
    assert report.winner != "empty"
    assert_doubted(report, "at the smallest penalty")


def test_an_empty_model_that_wins_because_the_penalties_given_end_too_early(X, y, labels):
    report = choose(Lasso(X), y, lams=[40.0, 35.0, 30.0])
    assert report.winner == "empty"
    assert_doubted(report, "still gets shorter at the smallest penalty")
    noise = np.random.default_rng(8).standard_normal(N)
    assert choose(Lasso(X), noise, lams=[9.0, 6.0, 3.0]).ok
    of_labels = choose(SparseSVM(X, "squared_hinge"), labels, lams=[32.0, 28.0, 24.0])
    assert of_labels.winner == "empty"
    assert_doubted(of_labels, "still gets shorter at the smallest penalty")


def test_nearly_duplicated_columns_that_are_both_chosen(X, y):
    twins = np.column_stack([X, X[:, 0] + 1e-9 * X[:, 1]])
    assert_doubted(choose(GroupLasso(twins, [0, 0, 1, 1, 0]), y), "nearly dependent")
    alone = choose(Lasso(twins), y)  # takes one of the two
    assert alone.ok
    assert np.count_nonzero(alone.coef[[0, 4]]) == 1


def test_a_ridge_steadies_nearly_duplicated_columns(X, y):
    twins = np.column_stack([X, X[:, 0] + 1e-9 * X[:, 1]])
    for problem in (ElasticNet(twins, l2_ratio=0.1), ElasticNet(twins, lam2=0.1)):
        report = choose(problem, y, lams=[4.0, 2.0, 1.0, 0.5])
        assert report.coef[4] == pytest.approx(report.coef[0], rel=1e-6)
        assert not any("dependent" in reason for reason in report.reasons)


def test_an_exact_fit_and_too_few_rows(X):
    assert_doubted(choose(Lasso(X), 5.0 * X[:, 0]), "fit y exactly")
    assert_doubted(choose(Lasso(X[:2]), X[:2, 1]), "too few to tell noise from signal")


def test_labels_whose_shortest_code_is_at_the_end_of_the_penalties(X, labels):
    problem = SparseSVM(X, "squared_hinge")
    assert_doubted(choose(problem, labels, lams=[20.0, 15.0, 10.0]), "extend the grid")


def test_labels_sampled_too_little(X, labels):
    report = choose(
        SparseSVM(X, "squared_hinge"), labels, lams=[4.0, 2.0, 1.0], std_error=0.01, max_draws=100
    )
    assert_doubted(report, "the error asked for was not reached")


def test_a_path_of_labels_that_freeze():
    """At a large eta the path misses modes; the routes that could tell the difference do."""
    rows = np.random.default_rng(0).standard_normal((8, 3))
    problem = SparseSVM(rows, "squared_hinge", eta=50.0)
    with pytest.warns(SamplingWarning, match="raise max_draws"):
        sampled = complexity_path(problem, [0.5], std_error=0.1, seed=1, n_jobs=1, progress=False)
    exact = complexity(problem, 0.5, method="enumerate").ln_c
    assert sampled.warnings
    assert abs(sampled.ln_c[0] - exact) > 1.0


# ---- reached by a fault planted in a part -----------------------------------


def test_path_against_bridge(X, y, monkeypatch):
    honest = path.bar_ladder

    def shifted(*work):
        found = honest(*work)
        return found._replace(ln_ratio=found.ln_ratio + 5.0)

    monkeypatch.setattr(path, "bar_ladder", shifted)
    assert_doubted(choose(Lasso(X), y), "path and bridge differ by")


def test_a_ladder_without_overlap(X, y, monkeypatch):
    def apart(*work):
        raise NotConverged("no overlap")

    monkeypatch.setattr(path, "bar_ladder", apart)
    assert_doubted(choose(Lasso(X), y), "no overlap between rungs")


def test_means_that_should_be_equal(X, y, monkeypatch):
    monkeypatch.setattr(Rung, "checks", property(lambda _: (9.0,)))
    assert_doubted(choose(Lasso(X), y), "quantities of equal mean differ by 9.0")


def test_an_integrand_too_bent_for_the_quadrature(X, y, monkeypatch):
    monkeypatch.setattr(path, "unresolved_part", lambda *_: 7.0)
    assert_doubted(choose(Lasso(X), y), "the quadrature may be off by 7 nats")


def test_chains_of_the_noise_scale_that_disagree(X, y, monkeypatch):
    monkeypatch.setattr(ladder, "unconverged", lambda *_: True)
    assert_doubted(choose(Lasso(X), y), "at one node: raise max_draws")


def test_chains_that_do_not_move(X, y, monkeypatch):
    def stuck(rungs):
        return None, None

    monkeypatch.setattr(ladder, "convergence", stuck)
    monkeypatch.setattr(ladder, "unsettled", lambda _: True)
    report = choose(Lasso(X), y, sigma=0.3, max_draws=50)
    assert_doubted(report, "chains that do not move at one rung")


def test_a_codelength_that_is_not_finite(X, y, monkeypatch):
    monkeypatch.setattr(DataPart, "empty_nats", lambda _: -np.inf)
    report = choose(Lasso(X), y)
    assert_doubted(report, "the codelength is not finite")
    assert '"codelength": null' in report.to_json()


def test_labels_whose_chains_forget_too_slowly(X, labels, monkeypatch):
    monkeypatch.setattr(label_rung, "LEAST_SIZE", 1e9)
    report = choose(SparseSVM(X, "squared_hinge"), labels, lams=[4.0, 2.0])
    assert any("effective draws at one rung: raise max_draws" in text for text in report.reasons)


def test_labels_whose_best_weights_were_not_drawn(X, labels, monkeypatch):
    monkeypatch.setattr(LabelLadder, "reaches", lambda *_: False)
    report = choose(SparseSVM(X, "squared_hinge", eta="unknown"), labels, lams=[4.0, 2.0])
    assert_doubted(report, "best weights lie beyond the laws drawn")


def test_labels_that_could_not_be_solved_below_the_shortest_code(X, labels, monkeypatch):
    honest = LabelNode._look

    def limited(node):
        if node.lam < 5.0:
            raise NotConverged("the solver used up its iterations; raise the penalty")
        honest(node)

    monkeypatch.setattr(LabelNode, "_look", limited)
    report = choose(SparseSVM(X, "squared_hinge"), labels, lams=[20.0, 10.0, 4.0])
    assert report.lam == 10.0
    assert_doubted(report, "the smallest penalty that could be sampled; below it the solver")
