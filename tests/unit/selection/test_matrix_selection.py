"""Selection with matrix data: noise is empty, structure is found, and nothing depends on units."""

import numpy as np
import pytest

from shtarkov import NuclearNorm, compare, select
from shtarkov.errors import InvalidProblem


@pytest.fixture
def signal(rng):
    """A strong matrix of rank one in noise of scale one."""
    return 4.0 * np.outer(rng.standard_normal(6), rng.standard_normal(8)) + rng.standard_normal(
        (6, 8)
    )


@pytest.mark.parametrize("sigma", [1.0, "unknown"])
def test_noise_is_coded_as_noise(rng, sigma):
    report = select(NuclearNorm(shape=(6, 8)), rng.standard_normal((6, 8)), sigma=sigma, seed=1)
    assert report.winner == "empty"
    assert not report.coef.any()
    assert report.intercept.shape == (8,)


def test_structure_beats_noise_and_the_report_can_be_written(signal, tmp_path):
    report = select(NuclearNorm(shape=(6, 8)), signal, sigma=1.0, seed=1)
    assert report.winner == "matched"
    assert report.codelength < report.codelengths["empty"].nats - 20.0
    values = np.linalg.svd(signal, compute_uv=False)
    fitted = np.linalg.svd(report.coef.reshape(6, 8), compute_uv=False)
    np.testing.assert_allclose(fitted, np.maximum(values - report.lam, 0.0), atol=1e-9)
    assert np.all(np.diff(report.curve.n_active) >= 0)
    assert report.curve.n_active.max() <= 6
    assert report.std_error == 0.0  # the identity design's complexity is exact
    page = report.to_html(tmp_path / "report.html")
    assert "intercept" in page.read_text(encoding="utf-8")
    assert '"winner": "matched"' in report.to_json()


def test_units_and_rotations(signal):
    plain = select(NuclearNorm(shape=(6, 8)), signal, sigma=1.0, seed=1)
    scaled = select(NuclearNorm(shape=(6, 8)), 100.0 * signal, sigma=100.0, seed=1)
    assert scaled.lam == pytest.approx(100.0 * plain.lam, rel=1e-9)
    np.testing.assert_allclose(scaled.coef, 100.0 * plain.coef, rtol=1e-6, atol=1e-6)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0]
    turned = select(NuclearNorm(shape=(6, 8)), signal @ turn, sigma=1.0, seed=1)
    assert turned.codelength == pytest.approx(plain.codelength, abs=1e-8)
    transposed = select(NuclearNorm(shape=(8, 6)), signal.T, sigma=1.0, seed=1)
    assert transposed.codelength == pytest.approx(plain.codelength, abs=1e-8)


def test_designs_compete_in_one_currency(rng):
    X = rng.standard_normal((20, 3))
    other = rng.standard_normal((20, 3))
    Y = X @ np.outer([1.0, -1.0, 0.5], [2.0, 1.0]) + rng.standard_normal((20, 2))
    problems = {"right": NuclearNorm(X, n_targets=2), "wrong": NuclearNorm(other, n_targets=2)}
    report = compare(problems, Y, sigma=1.0, std_error=0.5, seed=1)
    assert report.winner == "right"
    assert report.reports["right"].winner == "matched"
    with pytest.raises(InvalidProblem, match="dimensions to code"):
        compare({**problems, "small": NuclearNorm(shape=(4, 2))}, Y, sigma=1.0, seed=1)
