"""The quick way to a root: residuals in balls, and one inverse of the Jacobian in float64.

Each step `ν − C f(ν)` gains the digits that the inverse C has, and Krawczyk's test asks of the
Jacobian on a box no more than that `I − CJ` is small: if

    c − C f(c) + (I − CJ)(B − c)

lies in the interior of the box B with centre c, there is exactly one root in B, and it lies there
(Krawczyk 1969; Neumaier 1990, Theorem 5.1.8). Where float64 cannot invert, all this fails, and says
so.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from flint import arb, arb_mat, ctx

from limitpoint.foundation.arrays import Float
from limitpoint.theory.prove.exact.numbers import ball_column, entries, magnitude, midpoints
from limitpoint.theory.prove.outcome import MorePrecision

__all__ = ["quick_root", "rough_inverse"]

# Steps, each of which must take away all but this part of what is left, but for rounding.
STEPS, FALL = 40, 1e-2
# Bits of the Jacobian in Krawczyk's test: as many as the inverse has, and some.
COARSE_BITS = 64
# The box is as wide as the last step and as rounding that has grown by so many bits.
GROWN = 24


class System(Protocol):
    """`f` and the slopes on a box, and the Jacobian from these; the data as floats."""

    floats: Float

    def __call__(self, dual: list[arb]) -> tuple[arb_mat, list[arb]]:
        """Balls that contain `f` and the slopes at every point of a box."""
        ...

    def weighted(self, slopes: Sequence[arb]) -> arb_mat:
        """The Jacobian."""
        ...


def rough_inverse(rows: Float, slopes: Sequence[arb]) -> arb_mat:
    """About `(X diag(slopes) Xᵀ)⁻¹`, from floats, in the unit of the largest slope."""
    middles = midpoints(slopes)
    largest = max(middles)
    if not (largest > 0 and largest.is_finite()):
        raise MorePrecision("slopes are not known")
    relative = np.array([float(one / largest) for one in middles])
    scaled = rows * np.sqrt(relative)
    sizes = np.linalg.norm(scaled, axis=1)
    if not (np.isfinite(sizes).all() and sizes.all()):
        raise MorePrecision("float64 cannot hold the Jacobian")
    scaled = scaled / sizes[:, None]
    try:
        inverse = np.linalg.inv(scaled @ scaled.T) / sizes / sizes[:, None]
    except np.linalg.LinAlgError:
        raise MorePrecision("float64 cannot invert the Jacobian") from None
    if not np.isfinite(inverse).all():
        raise MorePrecision("float64 cannot invert the Jacobian")
    size = len(inverse)
    return arb_mat(size, size, inverse.ravel().tolist()) / largest.mid()


def quick_root(system: System, start: Sequence[arb], inverse: arb_mat) -> list[arb]:
    """A ball around the one root near a start, or `MorePrecision`."""
    inverse = arb_mat(inverse.nrows(), inverse.ncols(), midpoints(entries(inverse)))
    current, before = midpoints(start), None
    tiny = arb(2) ** (GROWN - ctx.prec)
    for _ in range(STEPS):
        values, _ = system(current)
        steps = midpoints(entries(inverse * values))
        widths = [2 * abs(s) + abs(c) * tiny for s, c in zip(steps, current, strict=True)]
        size = max(abs(s) / w if w > 0 else arb(0) for s, w in zip(steps, widths, strict=True))
        if size < FALL:  # the steps are rounding
            return _enclosed(system, current, values, inverse, midpoints(widths))
        size = max(
            abs(s) / (abs(c) + abs(s)) if s != 0 else arb(0)
            for s, c in zip(steps, current, strict=True)
        ).mid()
        if before is not None and not size < FALL * before:
            break
        current, before = [(c - s).mid() for c, s in zip(current, steps, strict=True)], size
    raise MorePrecision("steps by a rough inverse do not converge")


def _enclosed(
    system: System, middle: list[arb], values: arb_mat, inverse: arb_mat, widths: list[arb]
) -> list[arb]:
    """Krawczyk's test."""
    radii = [arb(w.upper()) for w in widths]
    box = [arb(c, r) for c, r in zip(middle, radii, strict=True)]
    _, slopes = system(box)
    with ctx.workprec(COARSE_BITS):
        size = inverse.nrows()
        left = arb_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])
        left = left - inverse * system.weighted(slopes)
        spread = entries(left * ball_column([arb(0, r) for r in radii]))
    moved = entries(inverse * values)
    found: list[Any] = [
        c - m + arb(0, magnitude(s)) for c, m, s in zip(middle, moved, spread, strict=True)
    ]
    if not all(b.contains_interior(n) for b, n in zip(box, found, strict=True)):
        raise MorePrecision("Krawczyk's test does not close")
    return found
