"""Gauss's rule with as many nodes as the power of an integrand asks for.

The mirror coordinates of deep products are integrals of `Π_j (x² + Δ_j)^−½` over p factors, in a
variable τ (`x = c sinh τ`, or `x = e^τ`) in which each factor is analytic within π/2 of the real
axis. On the Bernstein ellipse with half-axes a and b < π/2 (in τ) around a panel of half-length h,

    a = h(ρ + 1/ρ)/2,   b = h(ρ − 1/ρ)/2,

a factor is at most `e^|x|/cos y` times its value in the panel's middle, x + iy the distance from
there, and N nodes leave at most `(64/15) M ρ^−2N / (1 − ρ^−2)` of that value, M the largest such
product on the ellipse: a bound that grows with the power p of the singularity, by `cos(b)^−p`. A
rule that is exact to rounding for three layers is not for ten.
"""

from functools import cache

import numpy as np

from limitpoint.foundation.arrays import Float

__all__ = ["gauss_rule"]

EPS = float(np.finfo(np.float64).eps)
# Numbers of nodes are multiples of this: a finer choice would save nothing.
STEP = 2
# Ellipses that are tried (by b), and points on a quarter of each: M is smooth, and a maximum off
# by a few per cent is a node's share of a tenth.
ELLIPSES, ANGLES = 60, 60


@cache
def gauss_rule(power: int, panel_length: float) -> tuple[Float, Float]:
    """Nodes and weights on [−1, 1] that integrate p such factors over a panel to rounding.

    Examples
    --------
    >>> len(gauss_rule(1, 0.5)[0]) < len(gauss_rule(20, 0.5)[0])
    True
    """
    half = panel_length / 2
    heights = np.linspace(0.05, 0.99 * np.pi / 2, ELLIPSES)
    ratio = heights / half + np.hypot(heights / half, 1.0)  # ρ
    angles = np.linspace(0, np.pi / 2, ANGLES)[:, None]
    along = half * (ratio + 1 / ratio) / 2 * np.cos(angles)
    log_largest = power * (along - np.log(np.cos(heights * np.sin(angles)))).max(axis=0)
    log_bound = np.log(64 / 15) + log_largest - np.log1p(-(ratio**-2.0))
    needed = (log_bound - np.log(EPS)) / (2 * np.log(ratio))
    count = STEP * int(np.ceil(needed.min() / STEP))
    return np.polynomial.legendre.leggauss(count)
