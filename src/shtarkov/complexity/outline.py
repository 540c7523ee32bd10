"""A family's path in closed form, as if its pieces (columns, groups) were orthogonal.

The outline says where a path starts, how many nodes it needs, how many draws a rung is likely to
take and where a codelength will be least; no result is read off it, save the tail beyond the start
of a path, where the first order is all there is. Each family has its own.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from shtarkov.complexity.closed_form import lasso_ln_c
from shtarkov.complexity.group_outline import group_outline
from shtarkov.complexity.nuclear_outline import nuclear_outline
from shtarkov.complexity.quadrature import expected_active, first_order, stand_in, start_of_path
from shtarkov.families.group_lasso import GroupLassoFamily
from shtarkov.families.lasso import LassoFamily
from shtarkov.families.nuclear_work import NuclearFamily
from shtarkov.types import Floats

# So many lengths stand for all in a codelength's guess: the sum over columns is smooth in them.
_LENGTHS = 200


class Outline(Protocol):
    """What is known of a family's path without sampling, in units of the noise scale."""

    @property
    def is_empty(self) -> bool:
        """Say whether nothing can ever enter."""

    def first_order(self, lam: float) -> float:
        """Give the leading term of ln C for a large penalty, at most its own size away from it."""

    def start(self, negligible: float) -> float:
        """Find the penalty at which the first-order term has fallen to `negligible`."""

    def mean_df(self, log_lams: Floats) -> Floats:
        """Guess E[df] at each ln lam, saturating at the dimension of the data."""

    def mean_norm(self, lam: float, taus: Floats) -> Floats:
        """Guess the mean of tau * norm at each luckiness weight tau, saturating likewise."""

    def ln_c(self, lam: float, tau: float) -> float:
        """Guess ln C(lam, tau)."""


@functools.singledispatch
def outline_of(family: Any) -> Outline:
    """Give the outline of a family's path."""
    msg = f"outline_of is not implemented for {type(family).__name__}"
    raise NotImplementedError(msg)


@dataclass(frozen=True, slots=True, eq=False)
class LassoOutline:
    """The Lasso on orthogonal columns of the same lengths; a ridge is left out of it.

    Attributes
    ----------
    norms : lengths of the columns that are not zero
    n_dim : dimension of the data
    """

    norms: Floats
    n_dim: int

    @property
    def is_empty(self) -> bool:
        """Say whether every column is zero."""
        return self.norms.size == 0

    def first_order(self, lam: float) -> float:
        """Give the leading term of ln C for a large penalty."""
        return first_order(self.norms, lam)

    def start(self, negligible: float) -> float:
        """Find the penalty at which the first-order term has fallen to `negligible`."""
        return start_of_path(self.norms, negligible)

    def mean_df(self, log_lams: Floats) -> Floats:
        """Guess E[k] at each ln lam."""
        return stand_in(self.norms, self.n_dim, log_lams)

    def mean_norm(self, lam: float, taus: Floats) -> Floats:
        """Guess the mean of tau |beta|_1, which is that of k."""
        return expected_active(self.norms, self.n_dim, lam, taus)

    def ln_c(self, lam: float, tau: float) -> float:
        """Guess ln C(lam, tau)."""
        shares = np.linspace(0.5 / _LENGTHS, 1.0 - 0.5 / _LENGTHS, _LENGTHS)
        each = lasso_ln_c(np.quantile(self.norms, shares), lam, tau)
        return self.norms.size / _LENGTHS * each


def lasso_outline(family: LassoFamily) -> LassoOutline:
    """Give the outline of a family's path."""
    lengths = np.sqrt(np.einsum("ij,ij->i", family.Xt, family.Xt))
    return LassoOutline(lengths[lengths > 0.0], family.Xt.shape[1])


outline_of.register(LassoFamily, lasso_outline)
outline_of.register(GroupLassoFamily, group_outline)
outline_of.register(NuclearFamily, nuclear_outline)
