"""The one shape in which every method states ln C: a value, its standard error and the evidence."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from shtarkov.complexity.region import Luckiness, Region


@dataclass(frozen=True, slots=True)
class ComplexityResult:
    """A stochastic complexity in nats, with its standard error and how it was made.

    Attributes
    ----------
    ln_c : the logarithm of the Shtarkov integral, in nats
    std_error : its standard error (sampling), or its numerical error (deterministic methods)
    method : the method that made it
    region : what makes the integral finite
    n_draws : recorded draws behind it; `None` for a deterministic method
    ess : smallest effective sample size behind it; `None` for a deterministic method
    rank_rhat : largest rank-normalised R-hat behind it; `None` for a deterministic method
    failures : steps or strata that failed and were counted
    seed : the seed that repeats it; `None` where nothing was drawn
    warnings : what an expert would want to look at
    """

    ln_c: float
    std_error: float
    method: str
    region: Region = dataclasses.field(default_factory=Luckiness)
    n_draws: int | None = None
    ess: float | None = None
    rank_rhat: float | None = None
    failures: int = 0
    seed: int | None = None
    warnings: tuple[str, ...] = ()

    def summary(self) -> str:
        """Say the result in one line."""
        digits = 6 if self.std_error == 0.0 else _error_digits(self.std_error)
        head = f"ln C = {self.ln_c:.{digits}f} ± {self.std_error:.{digits}f} nats"
        notes = [self.method, str(self.region)]
        if self.n_draws is not None:
            notes.append(f"{self.n_draws} draws")
        if self.ess is not None:
            notes.append(f"ESS {self.ess:.0f}")
        if self.rank_rhat is not None:
            notes.append(f"R-hat {self.rank_rhat:.3f}")
        if self.failures:
            notes.append(f"{self.failures} failed")
        lines = [f"{head} ({', '.join(notes)})", *(f"  warning: {text}" for text in self.warnings)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for JSON; the region becomes its kind and its parameters."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        plain["region"] = {"kind": type(self.region).__name__, **dataclasses.asdict(self.region)}
        plain["warnings"] = list(self.warnings)
        return plain


def _error_digits(std_error: float) -> int:
    """Give the decimals that show two significant digits of the error."""
    if not math.isfinite(std_error):
        return 3
    return min(12, max(2, 1 - math.floor(math.log10(std_error))))
