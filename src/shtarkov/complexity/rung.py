"""One penalty of a ladder: its chains, and the best estimate of the mean they can give.

The estimate combines quantities of equal mean with the least variance (control variates with known
mean zero, THEORY section 4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shtarkov.diagnostics.convergence import Summary, mean_error, summarise
from shtarkov.families.observables import K
from shtarkov.sampling.chain import Chain
from shtarkov.types import Floats

# Fewer events than this do not know their own error: the expected count is used instead, where
# columns are active less often than this.
FEW_EVENTS = 50
RARE = 0.5
# A control that varies less than this is constant but for rounding: it says nothing of sampling.
ROUNDING = 1e-8
# An excursion of one column lasts a few draws. One that no draw has met yet is not evidence: a
# zero mean made of rare large values and common small ones looks shifted until the first is seen.
UNSEEN_DRAWS = 4.0
# The control variates are regressed over this many blocks at least, of this length at most.
BLOCKS = 40
LONGEST_BLOCK = 20

Integrand = Callable[[Chain], tuple[Floats, Floats]]


@dataclass(slots=True, eq=False)
class Rung:
    """One penalty of the ladder, its chains and what they say.

    `mean` and `variance` (its squared error) are those of the best combination, `own_variance` what
    its draws alone say of that; `expected` is a guess of the mean made beforehand, which serves
    where next to nothing was observed. `controls` is (control, chain, draw).
    """

    chains: list[Chain]
    expected: float
    mean: float = 0.0
    variance: float = np.inf
    own_variance: float = np.inf
    series: Floats = field(default_factory=lambda: np.zeros((1, 0)))
    controls: Floats = field(default_factory=lambda: np.zeros((0, 1, 0)))
    _summary: Summary | None = None

    @property
    def summary(self) -> Summary:
        """What the draws of the best combination say; made once for all who ask."""
        if self._summary is None:
            self._summary = summarise(self.series)
        return self._summary

    @property
    def n_draws(self) -> int:
        """Draws over all chains."""
        return sum(chain.n_draws for chain in self.chains)

    @property
    def work_per_draw(self) -> float:
        """Modelled cost, to spend draws where they are cheap."""
        return sum(chain.work_per_draw for chain in self.chains) / len(self.chains)

    def refresh(self, integrand: Integrand) -> None:
        """Recompute the estimate from all draws so far."""
        pairs = [integrand(chain) for chain in self.chains]
        target = stack_draws([pair[0] for pair in pairs])
        self.controls = stack_draws([pair[1] for pair in pairs]).swapaxes(0, 1)
        self.series, self._summary = target - _fitted(target, self.controls), None
        self.mean = float(self.series.mean())
        # The regression on the controls has used up their degrees of freedom.
        n_blocks = self.series.size // _block_length(self.series)
        freedom = n_blocks / (n_blocks - self.controls.shape[0] - 1.0)
        self.own_variance = max(freedom * mean_error(self.series) ** 2, self._least_variance())
        self.variance = self.own_variance

    def _least_variance(self) -> float:
        """Give the variance of a rare count: that of excursions of geometric length.

        The draws know it only once they hold many excursions; before that an estimate that came
        out small would also look precise.
        """
        if self.expected >= RARE:
            return 0.0
        n_draws, length = self.series.size, self._excursion()
        if self.expected * n_draws > FEW_EVENTS * length:
            return 0.0
        return max(2.0 * length * self.expected / n_draws, 0.5 / n_draws**2)

    def _excursion(self) -> float:
        """Give how many draws columns stay active at a time."""
        n_active = n_entries = 0
        for chain in self.chains:
            active = chain.column(K) > 0.0
            n_active += int(np.count_nonzero(active))
            n_entries += int(np.count_nonzero(active[1:] & ~active[:-1])) + int(active[0])
        return n_active / n_entries if n_entries else 1.0

    @property
    def checks(self) -> tuple[float, ...]:
        """The z-scores of the control variates, whose means are known to be zero."""
        return tuple(_z_score(control) for control in self.controls)


def _fitted(target: Floats, controls: Floats) -> Floats:
    """Combine the controls of each chain with coefficients found on the other chains.

    Coefficients found on the draws they are applied to follow those draws' own skewness: with the
    fewest draws a rung has, ln C came out a third of its standard error too small.
    """
    n_chains = target.shape[0]
    if n_chains == 1:
        return np.asarray(np.tensordot(_coefficients(target, controls), controls, axes=1))
    fitted = np.empty_like(target)
    for chain in range(n_chains):
        others = np.arange(n_chains) != chain
        coefficients = _coefficients(target[others], controls[:, others])
        fitted[chain] = np.tensordot(coefficients, controls[:, chain], axes=1)
    return fitted


def _coefficients(target: Floats, controls: Floats) -> Floats:
    """Regress the target on the controls over block means.

    Single draws would weigh a fast and a slow part alike; over blocks longer than the memory the
    regression sees what the mean's error is made of (measured: up to half the error at small tau).

    A control that owes its mean of zero to an event no draw has met yet has a small spread and a
    shifted mean: an unbounded coefficient would turn that shift into a bias with no error. So each
    control is given the sum of squares that one such event, one column's excursion, would add.
    """
    length = _block_length(target)
    blocks = _block_means(controls, length).reshape(controls.shape[0], -1)
    wanted = _block_means(target, length).ravel()
    centred = blocks - blocks.mean(axis=1, keepdims=True)
    share = UNSEEN_DRAWS / length
    unseen = np.sqrt(share * min(1.0, share)) * np.eye(controls.shape[0])
    rows = np.concatenate([centred, unseen], axis=1).T
    sought = np.concatenate([wanted - wanted.mean(), np.zeros(controls.shape[0])])
    return np.asarray(np.linalg.lstsq(rows, sought, rcond=None)[0])


def _block_length(series: Floats) -> int:
    return max(1, min(LONGEST_BLOCK, series.size // BLOCKS))


def _block_means(series: Floats, length: int) -> Floats:
    n_blocks = series.shape[-1] // length
    trimmed = series[..., : n_blocks * length]
    return np.asarray(trimmed.reshape(*series.shape[:-1], n_blocks, length).mean(axis=-1))


def _z_score(control: Floats) -> float:
    if np.ptp(control) < ROUNDING:
        return 0.0
    error = np.hypot(mean_error(control), UNSEEN_DRAWS / control.size)
    return float(control.mean() / error)


def stack_draws(arrays: list[Any]) -> Any:
    """Stack along a new first axis what chains recorded; an interrupted one may be shorter."""
    shortest = min(array.shape[-1] for array in arrays)
    return np.stack([array[..., :shortest] for array in arrays])
