"""The stratum spectrum ln a_k at one penalty, and every integral that follows from it (THEORY 4b).

C(lam, tau) = sum_k a_k (sigma^2/tau)^k for every luckiness weight tau, and the paper's restricted
integral C_R = sum_k a_k R^k / k! for every radius R. The draws of a ladder in tau give both ln C
along tau (by control variates and quadrature, `luckiness`) and the shape of the spectrum (by MBAR
over histograms of k, `histogram`); each functional of the spectrum is anchored at the weight whose
law of k is nearest to its own. Exact designs get exact weights. Lasso only: with a ridge, strata
have no common weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shtarkov.blas import one_blas_thread
from shtarkov.complexity import strata
from shtarkov.complexity.closed_form import lasso_log_strata, orthogonal_norms
from shtarkov.complexity.enumeration import enumerate_strata
from shtarkov.complexity.histogram import HistogramSpectrum, combine_histograms, jackknife_error
from shtarkov.complexity.ladder import INTERRUPTED, TOLERATED
from shtarkov.complexity.luckiness import LuckinessLadder, luckiness_ladder
from shtarkov.complexity.path import penalty_path
from shtarkov.complexity.path_result import ComplexityPath
from shtarkov.complexity.region import Luckiness
from shtarkov.errors import InvalidProblem
from shtarkov.families.build import check_lam, check_sigma
from shtarkov.families.compiled import family_of
from shtarkov.families.problems import Lasso
from shtarkov.progress import METER_UNITS, InnerProgress, Progress, resolve_progress, tracked
from shtarkov.sampling.collect import InterruptWatch
from shtarkov.seeds import resolve_seed
from shtarkov.settings import check_run
from shtarkov.types import Floats

# Up to this many columns all cells are enumerated in about a tenth of a second.
ENUMERATE_UP_TO = 6
DEFAULT_TAU_RATIO = 0.02
# The ladder is widened or sharpened this often, widened by this factor each time.
MAX_LADDERS = 6
WIDENING = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class StratumSpectrum:
    """ln a_k with errors.

    Attributes
    ----------
    lam, sigma : the penalty and the noise standard deviation
    ln_a, std_error : (K,) ln a_k and its standard error; -inf and inf where k was never visited
    method : "closed_form", "enumerate" or "sampled"
    n_draws, ess, rank_rhat, failures, seed, warnings : as in `ComplexityResult`
    """

    lam: float
    sigma: float
    ln_a: Floats
    std_error: Floats
    method: str
    n_draws: int | None = None
    ess: float | None = None
    rank_rhat: float | None = None
    failures: int = 0
    seed: int | None = None
    warnings: tuple[str, ...] = ()
    _matched: tuple[float, float] = (0.0, 0.0)
    _ladder: LuckinessLadder | None = None
    _histogram: HistogramSpectrum | None = None

    def ln_c(self, tau: float) -> tuple[float, float]:
        """Give ln C with luckiness weight tau, and its standard error."""
        ladder = self._ladder
        if ladder is not None and ladder.holds(tau / self.sigma):
            rise, error = ladder.relative_ln_c(tau / self.sigma, ladder.kappa)
            return self._matched[0] + rise, math.hypot(error, self._matched[1])
        if self._histogram is not None:
            return self._histogram.ln_c(tau)
        law = strata.stratum_law(self.ln_a, tau, self.sigma)
        value = float(strata.log_luckiness(self.ln_a, tau, self.sigma))
        return value, float(np.linalg.norm(law * self.std_error))

    def ln_c_restricted(self, radius: float) -> tuple[float, float]:
        """Give ln C over the data whose estimate has sum |coef| <= radius, and its error."""
        value = float(strata.log_restricted(self.ln_a, radius))
        if self._histogram is None or self._ladder is None:
            law = strata.restricted_law(self.ln_a, radius)
            return value, float(np.linalg.norm(law * self.std_error))
        if not self._histogram.covers_radius(radius):
            return self._histogram.ln_c_restricted(radius)  # warns
        anchor = self._nearest_weight(strata.restricted_law(self.ln_a, radius))

        def above_anchor(ln_a: Floats) -> Floats:
            at_anchor = strata.log_luckiness(ln_a, anchor, self.sigma)
            return np.asarray(strata.log_restricted(ln_a, radius) - at_anchor)

        spread = float(jackknife_error(above_anchor(self._histogram.replicates)))
        ln_c, error = self.ln_c(anchor)
        return float(above_anchor(self.ln_a)) + ln_c, math.hypot(spread, error)

    def mean_k(self, tau: float) -> float:
        """Give the expected number of active coefficients under weight tau."""
        return float(strata.mean_active(self.ln_a, tau, self.sigma))

    def covers(self, *, tau: float | None = None, radius: float | None = None) -> bool:
        """Say whether the draws visited every k that matters for a weight or a radius."""
        if self._histogram is None:
            return True
        fine = tau is None or self._histogram.covers_tau(tau)
        return fine and (radius is None or self._histogram.covers_radius(radius))

    def _nearest_weight(self, law: Floats) -> float:
        """Find the rung whose mean k is nearest to that of a law of k."""
        assert self._ladder is not None
        wanted = float(law @ np.arange(law.size))
        taus = np.exp(self._ladder.log_taus) * self.sigma
        found = [abs(self.mean_k(float(tau)) - wanted) for tau in taus]
        return float(taus[int(np.argmin(found))])


def stratum_spectrum(
    problem: Any,
    lam: float,
    *,
    sigma: float = 1.0,
    tau_min: float | None = None,
    tau_max: float | None = None,
    radius: float | None = None,
    method: str = "auto",
    std_error: float = 0.05,
    n_chains: int = 4,
    n_jobs: int | None = None,
    seed: int | np.random.SeedSequence | None = None,
    progress: bool | Progress | None = None,
    max_draws: int = 200_000,
) -> StratumSpectrum:
    """Estimate the weights a_k of the strata with k active coefficients.

    Parameters
    ----------
    problem : `Lasso`
    lam, sigma : the penalty and the noise standard deviation
    tau_min, tau_max : the luckiness weights that must be covered; by default lam / 50 to lam
    radius : a radius of the restricted integral that must be covered as well
    method : "auto" takes the exact weights where they are cheap; "sampled", "enumerate" or
        "closed_form" insist
    std_error : standard error wanted for ln C at every covered tau, in nats
    n_chains, n_jobs, seed, progress, max_draws : as for `complexity_path`
    """
    check_run(std_error=std_error, max_draws=max_draws, n_chains=n_chains, n_jobs=n_jobs)
    kappa, scale = check_lam(lam) / check_sigma(sigma), check_sigma(sigma)
    if not isinstance(problem, Lasso):
        msg = "the stratum spectrum exists for Lasso only; for ElasticNet ask complexity(tau=...)"
        raise InvalidProblem(msg)
    exact = _exact_weights(problem, lam, sigma, method)
    if exact is not None:
        return StratumSpectrum(lam, scale, exact[0], exact[1], exact[2])
    for weight in (tau_min, tau_max):
        Luckiness(weight)  # refuses what cannot be a weight
    low = DEFAULT_TAU_RATIO * kappa if tau_min is None else tau_min / scale
    high = kappa if tau_max is None else tau_max / scale
    options = {"n_chains": n_chains, "n_jobs": n_jobs, "max_draws": max_draws}
    run = _Sampling(problem, lam, scale, resolve_seed(seed), std_error / math.sqrt(2.0), options)
    bar = resolve_progress(progress)
    with InterruptWatch(), one_blas_thread(), tracked(bar, 2 * METER_UNITS, "stratum spectrum"):
        return run.covering(low, high, radius, bar)


def _exact_weights(
    problem: Lasso, lam: float, sigma: float, method: str
) -> tuple[Floats, Floats, str] | None:
    """Give exact ln a_k where the design allows it and the method asks for it."""
    if method not in ("auto", "sampled", "enumerate", "closed_form"):
        msg = f"method must be auto, sampled, enumerate or closed_form; got {method!r}"
        raise InvalidProblem(msg)
    X = problem.design.X
    if method in ("auto", "closed_form"):
        norms = orthogonal_norms(X)
        if norms is not None:
            ln_a = lasso_log_strata(norms, lam, sigma)
            return ln_a, np.zeros(ln_a.size), "closed_form"
        if method == "closed_form":
            raise InvalidProblem("closed_form needs orthogonal columns; use method='sampled'")
    if method == "enumerate" or (method == "auto" and X.shape[1] <= ENUMERATE_UP_TO):
        table = enumerate_strata(X, lam, sigma)
        return table.ln_a, table.std_error, "enumerate"
    return None


@dataclass(frozen=True, slots=True)
class _Sampling:
    """What is sampled for one spectrum: the matched path to lam, and a ladder in tau there."""

    problem: Lasso
    lam: float
    sigma: float
    seed: int
    std_error: float
    options: dict[str, Any]

    def covering(
        self, low: float, high: float, radius: float | None, bar: Progress
    ) -> StratumSpectrum:
        """Sample; widen the ladder until it holds the law of k at `radius`, then sharpen it."""
        matched = penalty_path(
            self.problem,
            [self.lam],
            sigma=self.sigma,
            std_error=self.std_error,
            seed=self.seed,
            progress=InnerProgress(bar),
            **self.options,
        )
        spectrum = self._spectrum(matched, low, high, self.std_error, bar)
        if radius is None:
            return spectrum
        share = self.std_error
        for _ in range(MAX_LADDERS):
            if INTERRUPTED in spectrum.warnings:
                break
            if not spectrum.covers(radius=radius):
                assert spectrum._histogram is not None
                if spectrum._histogram.misses_below(radius):
                    high *= WIDENING
                else:
                    low /= WIDENING
            else:
                excess = self._excess(spectrum, radius)
                if excess <= TOLERATED:
                    break
                share /= 1.1 * excess
            spectrum = self._spectrum(matched, low, high, share, bar)
        return spectrum

    def _excess(self, spectrum: StratumSpectrum, radius: float) -> float:
        """Give the ladder's part of the error at a radius, in units of the part it may have.

        The ladder is sampled for its ln C along tau; the weights of single k at a radius cost more.
        """
        error = spectrum.ln_c_restricted(radius)[1]
        return math.sqrt(max(error**2 - spectrum._matched[1] ** 2, 0.0)) / self.std_error

    def _spectrum(
        self, matched: ComplexityPath, low: float, high: float, share: float, bar: Progress
    ) -> StratumSpectrum:
        ladder = luckiness_ladder(
            family_of(self.problem, self.lam, self.sigma),
            low,
            high,
            std_error=share,
            seed=self.seed + 1,
            bar=bar,
            **self.options,
        )
        return _assemble(self.problem, self.lam, self.sigma, matched, ladder, self.seed)


def _assemble(
    problem: Lasso,
    lam: float,
    sigma: float,
    matched: ComplexityPath,
    ladder: LuckinessLadder,
    seed: int,
) -> StratumSpectrum:
    """Combine the matched path, the ladder and the histograms of k."""
    reference = (lam, float(matched.ln_c[0]), float(matched.std_error[0]))
    histogram = combine_histograms(
        ladder.active,
        np.exp(ladder.log_taus) * sigma,
        sigma=sigma,
        largest=min(problem.design.X.shape),
        reference=reference,
    )
    return StratumSpectrum(
        lam,
        sigma,
        histogram.ln_a,
        histogram.std_error,
        "sampled",
        matched.n_draws + ladder.n_draws,
        ladder.ess,
        ladder.rank_rhat,
        matched.failures + ladder.failures,
        seed,
        (*matched.warnings, *ladder.warnings),
        reference[1:],
        ladder,
        histogram,
    )
