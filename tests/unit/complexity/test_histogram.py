"""The stratum spectrum from draws of k with a known law: values, errors, and where it ends."""

import numpy as np
import pytest
from scipy.special import ndtr

from shtarkov.complexity import closed_form, strata
from shtarkov.complexity.histogram import combine_histograms, jackknife_error
from shtarkov.errors import InvalidProblem, SamplingWarning

D, LAM = 20, 1.5
NORMS = np.ones(D)
LN_A = closed_form.lasso_log_strata(NORMS, LAM)
TAUS = LAM * np.geomspace(1, 0.02, 7)
REFERENCE = (LAM, closed_form.lasso_ln_c(NORMS, LAM), 0.0)


def draw(rng, taus=TAUS, shape=(4, 400), memory=0.6, coupled=False):
    """Autocorrelated draws of k with the exact law at each tau."""
    z = rng.standard_normal((1 if coupled else len(taus), *shape)).repeat(
        len(taus) if coupled else 1, axis=0
    )
    for t in range(1, shape[1]):
        z[:, :, t] = memory * z[:, :, t - 1] + np.sqrt(1 - memory**2) * z[:, :, t]
    laws = [np.cumsum(strata.stratum_law(LN_A, tau)) for tau in taus]
    share = ndtr(z)
    return [
        np.minimum(np.searchsorted(law, part), D) for law, part in zip(laws, share, strict=True)
    ]


def test_every_tau_and_radius_from_one_ladder(rng):
    found = combine_histograms(draw(rng, shape=(4, 2000)), TAUS, largest=D, reference=REFERENCE)
    for tau in LAM * np.array([1.0, 0.7, 0.2, 0.05, 0.02]):
        value, error = found.ln_c(tau)
        assert abs(value - closed_form.lasso_ln_c(NORMS, LAM, tau)) <= 4 * error + 1e-12
        assert error < 0.1
        mean, error = found.mean_k(tau)
        assert abs(mean - strata.mean_active(LN_A, tau)) < 4 * error
    for radius in (3.0, 10.0, 100.0):
        value, error = found.ln_c_restricted(radius)
        assert abs(value - closed_form.lasso_ln_c_restricted(NORMS, LAM, radius)) < 4 * error
        assert error < 0.15
    seen = np.isfinite(found.ln_a)
    gap = found.ln_a[seen] - LN_A[: found.ln_a.size][seen]
    assert np.all(np.abs(gap) < 4 * found.std_error[seen])


@pytest.mark.parametrize("coupled", [False, True])
def test_errors_are_calibrated(rng, coupled):
    z = []
    for _ in range(100):
        found = combine_histograms(
            draw(rng, shape=(4, 200), coupled=coupled), TAUS, largest=D, reference=REFERENCE
        )
        value, error = found.ln_c(TAUS[-1])
        radius, spread = found.ln_c_restricted(10.0)
        truth = closed_form.lasso_ln_c(NORMS, LAM, TAUS[-1])
        ball = closed_form.lasso_ln_c_restricted(NORMS, LAM, 10.0)
        z.append([(value - truth) / error, (radius - ball) / spread])
    share = np.mean(np.abs(z) < 2, axis=0)
    assert np.all((share >= 0.88) & (share <= 1.0)), share
    assert np.all(np.std(z, axis=0) > 0.6)


def test_reference_error_is_carried_and_drops_out_of_differences(rng):
    draws = draw(rng)
    loose = combine_histograms(draws, TAUS, largest=D, reference=(LAM, 1.0, 0.5))
    assert loose.ln_c(LAM) == (pytest.approx(1.0), pytest.approx(0.5))
    floating = combine_histograms(draws, TAUS, largest=D)
    assert floating.ln_c(LAM) == (pytest.approx(0.0), np.inf)
    value, error = floating.ln_c_difference(TAUS[-1], LAM)
    assert np.isfinite(error)
    assert value == pytest.approx(loose.ln_c_difference(TAUS[-1], LAM)[0])


def test_one_level_is_the_plain_histogram(rng):
    draws = draw(rng, TAUS[3:4])
    found = combine_histograms(draws, TAUS[3:4], largest=D)
    shares = np.bincount(draws[0].ravel()) / draws[0].size
    assert strata.stratum_law(found.ln_a, TAUS[3]) == pytest.approx(shares)


def test_sigma_is_the_unit_of_the_weights(rng):
    draws, sigma = draw(rng), 3.0
    plain = combine_histograms(draws, TAUS, largest=D)
    scaled = combine_histograms(draws, TAUS * sigma, sigma=sigma, largest=D)
    assert scaled.ln_c_difference(0.1 * sigma, 0.5 * sigma) == pytest.approx(
        plain.ln_c_difference(0.1, 0.5)
    )


def test_it_says_where_it_ends(rng):
    found = combine_histograms(draw(rng, TAUS[:3]), TAUS[:3], largest=D, reference=REFERENCE)
    assert found.covers_tau(TAUS[1])
    assert not found.covers_tau(TAUS[-1])
    assert found.covers_radius(10.0)
    assert not found.covers_radius(1e3)
    with pytest.warns(SamplingWarning, match="extend the ladder"):
        found.ln_c(TAUS[-1])
    with pytest.warns(SamplingWarning, match="radius = 1000"):
        found.ln_c_restricted(1e3)


def test_all_draws_empty():
    found = combine_histograms([np.zeros((4, 50), dtype=int)], [8.0], largest=D)
    assert found.ln_c(8.0) == (0.0, np.inf)
    assert found.ln_c_difference(8.0, 8.0) == (0.0, 0.0)
    with pytest.warns(SamplingWarning, match="100%"):
        found.ln_c(1.0)


def test_a_count_seen_once_has_error_one(rng):
    draws = rng.integers(0, 2, (4, 100))
    draws[2, 50] = 5
    found = combine_histograms([draws], [1.0], reference=(1.0, 0.0, 0.0))
    assert found.std_error[5] == pytest.approx(1.0, abs=0.1)
    assert found.std_error[3] == np.inf
    assert found.ln_a[3] == -np.inf


def test_jackknife_of_a_mean_is_the_standard_error(rng):
    values = rng.standard_normal(30)
    left_out = (values.sum() - values) / 29
    assert jackknife_error(left_out) == pytest.approx(values.std(ddof=1) / np.sqrt(30))


@pytest.mark.parametrize(
    ("draws", "taus", "message"),
    [
        ([np.zeros((2, 9), dtype=int)], [1.0, 2.0], "one array of draws per tau"),
        ([np.zeros((2, 9), dtype=int)], [-1.0], "positive"),
        ([np.zeros((2, 9))], [1.0], "integers"),
        ([np.zeros((2, 9), dtype=int), np.zeros((3, 9), dtype=int)], [1.0, 2.0], "same number"),
        ([np.arange(9)[None]], [1.0], "two groups"),
    ],
)
def test_bad_input(draws, taus, message):
    with pytest.raises(InvalidProblem, match=message):
        combine_histograms(draws, taus)
