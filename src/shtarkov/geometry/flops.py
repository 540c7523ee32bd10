"""Leading-order work of each route, counted in multiplications as in the paper's section 3.3.

`flops_kkt` and `flops_schur` are the paper's; their ratio `schur_to_kkt` depends on rho = k / N
alone, is below one on (0, 1] and 5/8 at one. `flops_gram_pair` is the Gram-only pair volume
(THEORY section 7), in which N does not appear.
"""

from __future__ import annotations


def flops_kkt(n: float, k: float) -> float:
    """Factor the (N + k) x (N + k) KKT matrix (the paper's F_KKT)."""
    return (n + k) ** 3 / 3.0


def flops_schur(n: float, k: float) -> float:
    """Schur projection and Sylvester determinant with an explicit basis (the paper's F_Schur)."""
    rho = k / n
    return n**3 * (rho + 2.0 * rho**2 - 4.0 * rho**3 / 3.0)


def flops_gram_pair(k_current: float, k_proposed: float) -> float:
    """Gram-only pair volume: factor the proposed set, then one elimination or triangular solves."""
    if k_proposed == k_current:
        return k_proposed**3 / 6.0 + k_proposed**3 / 3.0
    return k_proposed**3 / 6.0 + k_proposed * k_current**2 / 2.0 + k_current * k_proposed**2


def schur_to_kkt(rho: float) -> float:
    """Ratio F_Schur / F_KKT at rho = k / N (the paper's eta)."""
    return (3.0 * rho + 6.0 * rho**2 - 4.0 * rho**3) / (1.0 + rho) ** 3


def flops_support_side(k: float, n_features: float) -> float:
    """M11 by its k x k side: inner products of the rows, then a factor.

    With the arguments exchanged this is the D x D side, so the cheaper side is the smaller one.
    """
    return k**2 * n_features + k**3 / 3.0
