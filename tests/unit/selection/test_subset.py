import numpy as np
import pytest

import shtarkov
from shtarkov.errors import InvalidProblem
from shtarkov.selection.subset import subset_code, subset_coefficients
from shtarkov.selection.subset_length import SubsetLength, g_grid


def made(rng, n, n_features, n_signals, size=1.5):
    X = rng.standard_normal((n, n_features))
    beta = np.zeros(n_features)
    beta[:n_signals] = size
    return X, X @ beta + rng.standard_normal(n)


def code_of(X, y, **options):
    return subset_code(X, y, 0.0, X.shape[0], **options)


def test_strong_signals_are_found_and_their_coefficients_hardly_shrunk(rng):
    X, y = made(rng, 60, 200, 4)
    code = code_of(X, y)
    assert code.support.tolist() == [0, 1, 2, 3]
    assert code.k == 4
    assert code.delta_nats < -20.0
    exact = subset_coefficients(X, y, [0, 1, 2, 3])
    np.testing.assert_allclose(code.coef, code.shrinkage * exact)
    assert 0.9 < code.shrinkage < 1.0
    assert 0.7 < code.sigma < 1.3
    assert code.g in g_grid(60)[0]
    assert code.g_weights.sum() == pytest.approx(1.0)


def test_runner_ups_are_worse_and_in_order(rng):
    X, y = made(rng, 50, 30, 3)
    code = code_of(X, y)
    nats = [value for _, value in code.runner_ups]
    assert len(nats) == 5
    assert nats == sorted(nats)
    assert nats[0] >= code.delta_nats
    assert code.n_tried > 5


@pytest.mark.parametrize("n_features", [20, 200])
def test_pure_noise_is_left_to_the_empty_code(n_features):
    generator = np.random.default_rng(11)
    n_beaten = 0
    for _ in range(40):
        X = generator.standard_normal((60, n_features))
        n_beaten += code_of(X, generator.standard_normal(60)).delta_nats < 0.0
    assert n_beaten <= 3


@pytest.mark.parametrize("sigma", [None, 1.3])
def test_a_reduced_design_gives_the_code_of_the_full_one(rng, sigma):
    X, y = made(rng, 80, 6, 3)
    design = shtarkov.Lasso(X).design
    reduced = design.reduce_response(y)
    assert design.X.shape == (6, 6)
    short = subset_code(design.X, reduced.y, reduced.orthogonal_sq, design.n_dim, sigma=sigma)
    full = code_of(X, y, sigma=sigma)
    assert short.delta_nats == pytest.approx(full.delta_nats, abs=1e-8)
    np.testing.assert_allclose(short.coef, full.coef, atol=1e-10)


def test_an_intercept_lowers_the_dimension(rng):
    X, y = made(rng, 40, 60, 2)
    design = shtarkov.Lasso(X, fit_intercept=True).design
    reduced = design.reduce_response(y + 100.0)
    code = subset_code(design.X, reduced.y, reduced.orthogonal_sq, design.n_dim)
    centred = subset_code(X - X.mean(0), y - y.mean(), 0.0, 39)
    assert code.delta_nats == pytest.approx(centred.delta_nats, abs=1e-8)
    intercept, _ = design.unpenalised_coef(reduced, code.coef)
    assert intercept == pytest.approx(100.0 + np.mean(y - X @ code.coef), abs=1e-8)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_units_of_the_data_change_nothing(rng, scale):
    X, y = made(rng, 40, 50, 3)
    code, scaled = code_of(X, y), code_of(X, scale * y)
    assert scaled.delta_nats == pytest.approx(code.delta_nats, abs=1e-7)
    np.testing.assert_allclose(scaled.coef, scale * code.coef, rtol=1e-8)
    assert scaled.sigma == pytest.approx(scale * code.sigma)
    known = code_of(X, y, sigma=0.8)
    both = code_of(X, scale * y, sigma=0.8 * scale)
    assert both.delta_nats == pytest.approx(known.delta_nats, abs=1e-7)
    assert known.sigma == 0.8


def test_the_units_of_a_column_change_nothing(rng):
    X, y = made(rng, 40, 15, 3)
    scales = 10.0 ** rng.uniform(-6.0, 6.0, 15)
    code, scaled = code_of(X, y), code_of(X * scales, y)
    assert scaled.support.tolist() == code.support.tolist()
    assert scaled.delta_nats == pytest.approx(code.delta_nats, abs=1e-6)


def test_known_and_unknown_scale_agree_in_high_dimension():
    n = 1_000_000
    unknown, known = SubsetLength(float(n), n, 50), SubsetLength(float(n), n, 50, 1.0)
    for k, explained in ((1, 3.0), (4, 40.0), (10, 100.0)):
        assert unknown.delta(k, explained) == pytest.approx(known.delta(k, explained), abs=0.01)


def test_the_mixture_is_no_longer_than_any_g_with_the_nats_to_state_it():
    length = SubsetLength(100.0, 60, 40)
    _, log_weights = g_grid(60)
    assert np.exp(log_weights).sum() == pytest.approx(1.0)
    sizes = np.arange(1, 20)
    explained = 100.0 * (1.0 - 0.8**sizes)
    stated = (length.given_g(sizes, explained) - log_weights).min(axis=1)
    assert np.all(length.delta(sizes, explained) <= stated + length.support_nats(sizes))
    shrinkages = [length.shrinkage(3, share * 100.0) for share in (0.05, 0.5, 0.99)]
    assert shrinkages == sorted(shrinkages)


@pytest.mark.parametrize("sigma", [None, 1.0])
def test_duplicated_and_zero_columns_are_passed_over(rng, sigma):
    X, y = made(rng, 40, 8, 3)
    padded = np.column_stack((X, X, np.zeros((40, 3)), X[:, 0] + X[:, 1]))
    code = code_of(padded, y, sigma=sigma)
    assert np.linalg.matrix_rank(padded[:, code.support]) == code.k
    assert np.all(np.isfinite(code.coef))
    assert code.delta_nats < -10.0


def test_a_perfect_fit_is_finite_and_chosen(rng):
    X = rng.standard_normal((30, 50))
    y = X[:, 3] - 2.0 * X[:, 17]
    code = code_of(X, y)
    assert code.support.tolist() == [3, 17]
    assert np.isfinite(code.delta_nats)
    assert code.delta_nats < -100.0
    np.testing.assert_allclose(code.coef[[3, 17]], [1.0, -2.0], rtol=1e-4)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("n_features", [1, 7])
@pytest.mark.parametrize("sigma", [None, 1.0])
def test_few_dimensions_give_few_columns_or_none(rng, n, n_features, sigma):
    X, y = rng.standard_normal((n, n_features)), rng.standard_normal(n)
    code = code_of(X, y, sigma=sigma)
    assert code.k <= max(n - 2, 0)
    assert (code.delta_nats == np.inf) == (code.k == 0)


@pytest.mark.parametrize("sigma", [None, 1.0])
def test_data_with_nothing_to_explain_have_no_code(rng, sigma):
    X = rng.standard_normal((20, 5))
    for columns, y in ((X, np.zeros(20)), (np.zeros((20, 5)), rng.standard_normal(20))):
        code = code_of(columns, y, sigma=sigma)
        assert code.k == 0
        assert code.delta_nats == np.inf
        assert not code.coef.any()
        assert code.runner_ups == ()


def test_the_lasso_path_may_come_from_the_caller(rng):
    X, y = made(rng, 50, 40, 3)
    given = code_of(X, y, supports=[[0], [0, 1], np.array([2, 1, 0]), []])
    assert given.delta_nats == pytest.approx(code_of(X, y).delta_nats)


def test_the_size_can_be_limited(rng):
    X, y = made(rng, 50, 40, 5)
    assert code_of(X, y, max_size=2).k <= 2
    assert code_of(X, y, max_size=0).delta_nats == np.inf


def test_inputs_are_checked(rng):
    X, y = made(rng, 10, 4, 1)
    with pytest.raises(InvalidProblem, match="shapes"):
        subset_code(X, y[:-1], 0.0, 10)
    with pytest.raises(InvalidProblem, match="finite"):
        subset_code(X, np.full(10, np.nan), 0.0, 10)
    with pytest.raises(InvalidProblem, match="orthogonal_sq"):
        subset_code(X, y, -1.0, 10)
    with pytest.raises(InvalidProblem, match="sigma"):
        subset_code(X, y, 0.0, 10, sigma=0.0)
