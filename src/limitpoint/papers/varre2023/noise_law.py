"""The pure-noise process in two dimensions (Figure 3): many paths, and how fast det W vanishes.

Notation: `D = det W`, e the commutators' entries of both rows, `ρ = |e|/D`. With
`dD = |e| dβ` and `d|e| = (−|e| + D²/(2|e|))dt + D dβ`, one Brownian motion β for both,
`dρ = (1/(2ρ) − 2ρ + ρ³)dt + (1 − ρ²)dβ`, whose stationary density on (0, 1) is proportional to
`ρ(1 − ρ²)^{−3/2} e^{−1/(2(1 − ρ²))}`, and `d log D = ρ dβ − ½ρ² dt`. Ours; exact.

By Itô's formula ρ² drifts by `2 − 6ρ² + 3ρ⁴`, and by `2 − 4ρ² + ρ⁴` where paths are weighed by D,
which has mean one and adds ρ to the drift of β. Where the start is forgotten both have mean zero.
"""

import numpy as np
from scipy.integrate import quad

from limitpoint.foundation.arrays import Float

__all__ = ["log_determinant_rate", "noise_paths", "steadied"]


def log_determinant_rate() -> float:
    """`lim log(det W)/t = −½E ρ²`, almost surely: the commutators vanish at this rate as well.

    Examples
    --------
    >>> round(log_determinant_rate(), 6)
    -0.237432
    """

    def density(ratio: float) -> float:
        rest = 1 - ratio * ratio
        return float(ratio * rest**-1.5 * np.exp(-0.5 / rest))

    weight = quad(density, 0.0, 1.0, epsabs=1e-13)[0]
    second = quad(lambda ratio: ratio * ratio * density(ratio), 0.0, 1.0, epsabs=1e-13)[0]
    return -0.5 * float(second / weight)


def noise_paths(
    paths: int, t_end: float, steps: int, records: int, seed: int
) -> tuple[Float, Float, Float]:
    """Times, W and a of many paths from `W = I`, `a = 0` by Euler's method in plain NumPy.

    `simulate` does the same for any model, and ten times as slowly on this one. W is
    records × 2 × 2 × paths and a records × 2 × paths, the start included; `steps` is a multiple of
    `records`.
    """
    rng = np.random.default_rng(seed)
    step, each = t_end / steps, steps // records
    W = np.zeros((records + 1, 2, 2, paths))
    a = np.zeros((records + 1, 2, paths))
    W[0, 0, 0] = W[0, 1, 1] = 1.0
    now, second = W[0].copy(), a[0].copy()
    for record in range(1, records + 1):
        for _ in range(each):
            kick = np.sqrt(step) * rng.standard_normal((2, paths))
            driven = now[0] * kick[0] + now[1] * kick[1]
            now += kick[:, None] * second
            second += driven
        W[record], a[record] = now, second
    return np.linspace(0.0, t_end, records + 1), W, a


def steadied(values: Float, *controls: Float) -> Float:
    """Values of all paths, less what they share with controls whose mean is zero.

    The mean stays what it was, but for the controls' own, and the spread is what is left of it.
    """
    against = np.stack(controls, axis=1)
    centred = against - against.mean(axis=0)
    shares = np.linalg.lstsq(centred, values - values.mean(), rcond=None)[0]
    return np.asarray(values - against @ shares)
