"""Compiled normal probabilities: an interval's mass and the quantile inside it, also far in a tail.

Slow twin: scipy.special.ndtr and ndtri.
"""

from __future__ import annotations

import math

from shtarkov._jit import kernel

_HALF_ROOT = math.sqrt(0.5)


@kernel
def normal_cdf(x: float) -> float:
    """P(z <= x), with full relative accuracy in the lower tail."""
    return 0.5 * math.erfc(-x * _HALF_ROOT)


@kernel
def _ratio(x: float, top: tuple[float, ...], bottom: tuple[float, ...]) -> float:
    """Ratio of two polynomials, coefficients from the constant up."""
    above, below = top[-1], bottom[-1]
    for i in range(len(top) - 2, -1, -1):
        above = above * x + top[i]
        below = below * x + bottom[i]
    return above / below


# Wichura (1988), algorithm AS 241, PPND16: relative error about 1e-16.
_CENTRE_TOP = (
    3.3871328727963666080e0,
    1.3314166789178437745e2,
    1.9715909503065514427e3,
    1.3731693765509461125e4,
    4.5921953931549871457e4,
    6.7265770927008700853e4,
    3.3430575583588128105e4,
    2.5090809287301226727e3,
)
_CENTRE_BOTTOM = (
    1.0,
    4.2313330701600911252e1,
    6.8718700749205790830e2,
    5.3941960214247511077e3,
    2.1213794301586595867e4,
    3.9307895800092710610e4,
    2.8729085735721942674e4,
    5.2264952788528545610e3,
)
_NEAR_TOP = (
    1.42343711074968357734e0,
    4.63033784615654529590e0,
    5.76949722146069140550e0,
    3.64784832476320460504e0,
    1.27045825245236838258e0,
    2.41780725177450611770e-1,
    2.27238449892691845833e-2,
    7.74545014278341407640e-4,
)
_NEAR_BOTTOM = (
    1.0,
    2.05319162663775882187e0,
    1.67638483018380384940e0,
    6.89767334985100004550e-1,
    1.48103976427480074590e-1,
    1.51986665636164571966e-2,
    5.47593808499534494600e-4,
    1.05075007164441684324e-9,
)
_FAR_TOP = (
    6.65790464350110377720e0,
    5.46378491116411436990e0,
    1.78482653991729133580e0,
    2.96560571828504891230e-1,
    2.65321895265761230930e-2,
    1.24266094738807843860e-3,
    2.71155556874348757815e-5,
    2.01033439929228813265e-7,
)
_FAR_BOTTOM = (
    1.0,
    5.99832206555887937690e-1,
    1.36929880922735805310e-1,
    1.48753612908506148525e-2,
    7.86869131145613259100e-4,
    1.84631831751005468180e-5,
    1.42151175831644588870e-7,
    2.04426310338993978564e-15,
)


@kernel
def normal_quantile(p: float) -> float:
    """Inverse of `normal_cdf`."""
    centred = p - 0.5
    if abs(centred) <= 0.425:
        near: float = _ratio(0.180625 - centred * centred, _CENTRE_TOP, _CENTRE_BOTTOM)
        return centred * near
    root = math.sqrt(-math.log(min(p, 1.0 - p)))
    if root <= 5.0:
        size: float = _ratio(root - 1.6, _NEAR_TOP, _NEAR_BOTTOM)
    else:
        size = _ratio(root - 5.0, _FAR_TOP, _FAR_BOTTOM)
    return -size if centred < 0.0 else size


@kernel
def interval(low: float, high: float, u: float) -> tuple[float, float]:
    """Mass of [low, high] under the normal law, and its quantile at share u of that mass."""
    # Mirrored to the lower tail, where probabilities keep their relative accuracy.
    mirrored = low > 0.0
    if mirrored:
        low, high, u = -high, -low, 1.0 - u
    below = normal_cdf(low)
    mass = normal_cdf(high) - below
    if mass <= 0.0:
        return 0.0, -high if mirrored else high
    # Kept inside, so that rounding cannot leave the interval or reach infinity.
    point = min(max(normal_quantile(below + u * mass), low), high)
    return mass, -point if mirrored else point
