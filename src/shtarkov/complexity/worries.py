"""What sampled results warn of: one wording for every family, and each says what to change."""

from __future__ import annotations

_REPORT = "raise max_draws; if it stays, report it with the seed"


def disagreeing_chains(rhat: float | None, place: str = "rung") -> str:
    """Say that chains of one law tell different things; without R-hat none of them moved."""
    found = "chains that do not move" if rhat is None else f"rank R-hat {rhat:.3f}"
    return f"{found} at one {place}: raise max_draws"


def few_draws(size: float) -> str:
    """Say that chains remember too much for their length."""
    return f"{size:.0f} effective draws at one rung: raise max_draws"


def broken_identity(n_errors: float) -> str:
    """Say that means known to be equal are not."""
    return f"quantities of equal mean differ by {n_errors:.1f} standard errors: {_REPORT}"


def disagreeing_routes(n_errors: float) -> str:
    """Say that the derivative identity and Bennett's ratios contradict each other."""
    return f"path and bridge differ by {n_errors:.1f} standard errors: {_REPORT}"


def unbalanced_labels(n_errors: float) -> str:
    """Say that y and -y, which weigh the same, were not drawn alike."""
    return f"labels are {n_errors:.1f} standard errors from balance: raise max_draws"


def coarse_rule(nats: float, rule: str = "quadrature") -> str:
    """Say that the integrand bends more than the largest rule resolves."""
    return f"the {rule} may be off by {nats:.2g} nats: ask for a larger std_error or penalties"


def unchecked_path() -> str:
    """Say that neighbouring laws share too few draws for Bennett's ratios."""
    return "the bridge found no overlap between rungs: raise max_draws, or ask for larger penalties"
