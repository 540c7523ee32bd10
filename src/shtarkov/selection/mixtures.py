"""The mixtures behind each code, for coefficients that hedge instead of choose.

A code's length is that of its best penalty or support; close behind come others. Weighted by
exp(-codelength) they make a mixture whose mean coefficients predict better than those of the best
alone, where several are near it. Used by `criterion="average"`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shtarkov.selection.codes import free_coefficients
from shtarkov.selection.data_part import DataPart
from shtarkov.selection.free import FreeChoice
from shtarkov.selection.matched_curve import MatchedCurve
from shtarkov.selection.subset import SubsetCode
from shtarkov.types import Floats

# Members this many nats longer than the shortest weigh nothing.
NEGLIGIBLE = 5.0
# At most so many members are fitted for a mixture over two penalties.
MOST_FITS = 60


class Mixture(NamedTuple):
    """The codelength of a mixture and its mean coefficients."""

    nats: float
    coef: Floats


def single(nats: float, coef: Floats) -> Mixture:
    """Mix one code with nothing."""
    return Mixture(nats, coef)


def of_penalties(data: DataPart, curve: MatchedCurve) -> Mixture:
    """Mix the matched code over its penalties; stating one is in the length of each."""
    excess = curve.codelengths - curve.codelengths[curve.best]
    near = excess < NEGLIGIBLE
    fits = data.solve_at(curve.data.lams[near], curve.data.lam2s[near])
    weights = _shares(excess[near])
    coef = np.einsum("i,ij->j", weights, np.array([fit.coef for fit in fits]))
    return Mixture(float(curve.codelengths[curve.best]), coef)


def of_weights(data: DataPart, choice: FreeChoice) -> Mixture:
    """Mix the free code over the thresholds and weights of its last window."""
    surface = choice.surface
    excess = surface.lengths - surface.lengths.min()
    heaviest = np.argsort(excess, axis=None, kind="stable")[:MOST_FITS]
    members = heaviest[excess.ravel()[heaviest] < NEGLIGIBLE]
    rows, columns = np.unravel_index(members, excess.shape)
    sigmas = surface.sigmas[rows, columns]
    lams = surface.kappas[rows] * sigmas
    taus = surface.kappas[rows] * surface.ratios[columns] * sigmas
    coefs = [
        free_coefficients(data.problem, data, float(lam), float(tau))
        for lam, tau in zip(lams, taus, strict=True)
    ]
    weights = _shares(excess[rows, columns])
    return Mixture(choice.codelength, np.einsum("i,ij->j", weights, np.array(coefs)))


def of_supports(found: SubsetCode, empty_nats: float) -> Mixture:
    """Mix the subset code over the supports near the best one: a code shorter than any of them."""
    delta, coef = found.mixture()
    return Mixture(empty_nats + delta, coef)


def _shares(excess: Floats) -> Floats:
    weights = np.exp(-excess)
    return np.asarray(weights / weights.sum())
