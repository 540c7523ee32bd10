"""What Python asks of a compiled family: sizes, the shape of its fibres, what a move costs.

The kernels' side is `families.protocol`. A family is a NamedTuple whose penalty is its field `lam`;
everything else about it is asked for here, so that chains, ladders and codes hold for any of them.
Each family registers its answers beside itself.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple


class Facts(NamedTuple):
    """What does not change while a chain runs.

    Attributes
    ----------
    n_dim : dimension of the reduced data vector
    n_recorded : columns a recording of active sets has (see `protocol.mark_active`)
    fibre_width : how far the target reaches along its flat directions, in noise scales, beyond
        what the fibre move redraws; 1 where that is all of them
    norm_counts_active : under the target tau * norm has the mean of k (exponential fibres)
    image_work : multiplications of one `protocol.image`
    """

    n_dim: int
    n_recorded: int
    fibre_width: float
    norm_counts_active: bool
    image_work: float


def _unknown(what: str, family: Any) -> NotImplementedError:
    return NotImplementedError(f"{what} is not implemented for {type(family).__name__}")


@functools.singledispatch
def facts_of(family: Any) -> Facts:
    """Give the facts of a family."""
    raise _unknown("facts_of", family)


@functools.singledispatch
def relax_work(family: Any, n_active: float) -> float:
    """Give the multiplications of one round of `protocol.relax` with `n_active` active columns."""
    raise _unknown("relax_work", family)


@functools.singledispatch
def at_penalties(family: Any, lam: float, lam2: float) -> Any:
    """Give the family with weight lam on its norm and lam2 on half the squared coefficients."""
    if lam2 != 0.0:
        raise _unknown("a weight of the squares", family)
    return family._replace(lam=float(lam))
