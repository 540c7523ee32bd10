"""The competitors of a selection: each with its codelength and the coefficients it would report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from shtarkov.selection import mixtures
from shtarkov.selection.codes import free_coefficients
from shtarkov.selection.data_part import DataPart
from shtarkov.selection.free import FreeChoice
from shtarkov.selection.matched_curve import MatchedCurve
from shtarkov.selection.mixtures import Mixture
from shtarkov.selection.report import Code
from shtarkov.selection.subset import subset_code
from shtarkov.types import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One competitor.

    Attributes
    ----------
    code : its codelength and parameters
    coef : (D,) coefficients of the penalised columns
    ln_c : its complexity, None where it has no integral
    mixture : gives the code's mixture over its penalties or supports
    """

    code: Code
    coef: Floats
    ln_c: float | None
    mixture: Callable[[], Mixture]


def empty(data: DataPart, ln_i: float) -> Candidate:
    """Code y as noise."""
    code = Code(data.empty_nats() + ln_i, 0.0, None, None, data.empty_sigma, 0)
    coef = np.zeros(data.problem.design.n_features)
    return Candidate(code, coef, ln_i, partial(mixtures.single, code.nats, coef))


def matched(data: DataPart, curve: MatchedCurve, conservative: float) -> Candidate:
    """Take the least of the matched curve, or the largest penalty within the errors of it."""
    index = curve.best
    if conservative > 0.0:
        allowed = conservative * curve.difference_errors(index)
        excess = curve.codelengths - curve.codelengths[index]
        index = int(np.flatnonzero(excess <= allowed)[0])
    table = curve.data
    lam, lam2 = table.lams[index : index + 1], table.lam2s[index : index + 1]
    coef = np.asarray(data.solve_at(lam, lam2)[0].coef)
    code = Code(
        float(curve.codelengths[index]),
        float(curve.std_errors[index]),
        float(lam[0]),
        float(lam[0]),
        float(table.sigmas[index]),
        int(np.count_nonzero(coef)),
    )
    mixture = partial(mixtures.of_penalties, data, curve)
    return Candidate(code, coef, float(curve.path.ln_c[index]), mixture)


def free(data: DataPart, choice: FreeChoice) -> Candidate:
    """Report the estimate with penalty tau on what penalty lam leaves active."""
    lam, tau = choice.kappa * choice.sigma, choice.tau * choice.sigma
    coef = free_coefficients(data.problem, data, lam, tau)
    nonzero = int(np.count_nonzero(coef))
    code = Code(choice.codelength, choice.std_error, lam, tau, choice.sigma, nonzero)
    return Candidate(code, coef, choice.ln_c, partial(mixtures.of_weights, data, choice))


def subset(data: DataPart, empty_nats: float) -> Candidate:
    """Code a support and least squares on it."""
    response = data.response
    found = subset_code(
        data.problem.design.X, response.y, response.orthogonal_sq, data.n_dim, sigma=data.sigma
    )
    code = Code(empty_nats + found.delta_nats, 0.0, None, None, found.sigma, found.k)
    return Candidate(code, found.coef, None, partial(mixtures.of_supports, found, empty_nats))
