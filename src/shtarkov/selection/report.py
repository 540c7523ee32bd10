"""What a selection says: the choice, what every competitor would have cost, and how sure it is."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shtarkov.types import Floats, Ints

SCHEMA_VERSION = 1
NATS_PER_BIT = math.log(2.0)


@dataclass(frozen=True, slots=True)
class Code:
    """One competitor's codelength.

    Attributes
    ----------
    nats : codelength in nats, up to a constant shared by all competitors
    std_error : its Monte Carlo standard error
    lam, tau, sigma : the parameters it would choose; None where it has none
    n_nonzero : coefficients it would use
    eta : for labels, the weight of the objective
    """

    nats: float
    std_error: float
    lam: float | None
    tau: float | None
    sigma: float | None
    n_nonzero: int
    eta: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CodelengthCurve:
    """The matched code along the penalty grid, from large penalties to small.

    Attributes
    ----------
    lams : penalties in the user's units
    kappas : lams in units of the noise scale (of each penalty's own, when that is unknown)
    sigmas : noise scale at each penalty
    data_nats : the data's part: noise constant, residual and penalty
    ln_c : the complexity's part, that of the unknown scale included
    codelengths, std_errors : their sum plus the cost of stating the penalty, and its error
    n_active : active coefficients for the user's data; ranks for the nuclear norm
    mean_df : expected degrees of freedom under the model
    coefs : (L, D) coefficients of the penalised columns
    etas : for labels, the best weight of the objective at each penalty; `kappas` are then the
        penalties and `mean_df` is eta lam |w|_1, whose expectation is the slope of ln C
    """

    lams: Floats
    kappas: Floats
    sigmas: Floats
    data_nats: Floats
    ln_c: Floats
    codelengths: Floats
    std_errors: Floats
    n_active: Ints
    mean_df: Floats
    coefs: Floats
    etas: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SelectionReport:
    """The result of `select`.

    Attributes
    ----------
    family, criterion : what was asked
    winner : "empty", "matched", "free" or "subset"
    lam, tau, sigma : the winner's penalty, luckiness weight (None where it has none), noise scale
    coef, intercept : the winner's coefficients on the user's columns; with several targets all of a
        column's before the next's, and one intercept a target
    codelength, std_error : of the winner, in nats
    codelengths : every competitor's `Code`
    ln_c : the winner's complexity in nats (None for the subset code, which has no integral)
    curve : the matched code along the grid (None if no penalty could be tried)
    near_ties : penalties whose codelength is within two standard errors of the least
    ok, reasons : False with the reasons if an expert would distrust the answer
    notes : remarks that do not cast doubt
    sigma_known, conservative, n_samples, n_features, feature_names : the request
    n_draws, ess, rank_rhat, seed, seconds : the work behind it
    eta, classes : for labels, the winner's weight of the objective and the two values; sigma is
        then None
    """

    family: str
    criterion: str
    winner: str
    lam: float | None
    tau: float | None
    sigma: float | None
    coef: Floats
    intercept: float | Floats
    codelength: float
    std_error: float
    codelengths: dict[str, Code]
    ln_c: float | None
    curve: CodelengthCurve | None
    near_ties: tuple[float, ...]
    ok: bool
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    sigma_known: bool
    conservative: float
    n_samples: int
    n_features: int
    feature_names: tuple[str, ...] | None
    n_draws: int
    ess: float | None
    rank_rhat: float | None
    seed: int
    seconds: float
    eta: float | None = None
    classes: tuple[Any, ...] | None = None

    @property
    def support(self) -> Ints:
        """Columns with a coefficient other than zero."""
        return np.flatnonzero(self.coef)

    @property
    def ranking(self) -> list[tuple[str, Code]]:
        """The competitors, shortest first."""
        return sorted(self.codelengths.items(), key=lambda item: item[1].nats)

    def names(self) -> list[str]:
        """Column names, made up if there are none."""
        if self.feature_names is not None:
            return list(self.feature_names)
        return [f"x{index}" for index in range(self.n_features)]

    def summary(self) -> str:
        """Say the choice in a few lines."""
        head = f"{self.winner} code of the {self.family}: {self.codelength:.2f}"
        lines = [
            f"{head} ± {self.std_error:.2f} nats, {self.support.size} of {self.n_features} columns"
        ]
        chosen = [
            f"{name} = {value:.4g}" for name, value in self._parameters() if value is not None
        ]
        lines.append("  " + ", ".join(chosen))
        for name, code in self.ranking:
            gap = code.nats - self.codelength
            lines.append(f"  {name:8s} {code.nats:10.2f} ± {code.std_error:.2f} ({gap:+.2f})")
        lines.extend(f"  warning: {reason}" for reason in self.reasons)
        return "\n".join(lines)

    def _parameters(self) -> list[tuple[str, float | None]]:
        return [("lam", self.lam), ("tau", self.tau), ("sigma", self.sigma), ("eta", self.eta)]

    def __repr__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Give plain values (docs/report-schema.md), codelengths in nats."""
        plain: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
        for field in dataclasses.fields(self):
            plain[field.name] = _plain(getattr(self, field.name))
        plain["support"] = self.support.tolist()
        plain["codelength_bits"] = _plain(self.codelength / NATS_PER_BIT)
        return plain

    def to_json(self, path: str | Path | None = None) -> str:
        """Give the report as JSON; also write it if a path is given."""
        text = json.dumps(self.to_dict(), indent=2, allow_nan=False)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    def plot(self, ax: Any = None) -> Any:
        """Draw the codelength curve, the choice and its ties; returns matplotlib Axes."""
        return importlib.import_module("shtarkov.plots").plot_selection(self, ax=ax)

    def to_html(self, path: str | Path) -> Path:
        """Write a self-contained page."""
        return Path(importlib.import_module("shtarkov.report").write_html(self, path))


def _plain(value: Any) -> Any:
    """Turn arrays, codes and curves into lists and dictionaries; nothing infinite survives."""
    if isinstance(value, Code | CodelengthCurve):
        fields = dataclasses.fields(value)
        return {field.name: _plain(getattr(value, field.name)) for field in fields}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return [_plain(item) for item in value.tolist()]
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
