"""The interval Newton test: existence, uniqueness and a ball, for a system of equations.

Let `f` be continuously differentiable on a box `B` with centre `c`, and `J` a matrix of balls that
contains the Jacobian at every point of `B`. If every matrix in `J` is regular and
`N = c − J⁻¹ f(c)` lies in the interior of `B`, then `f` has exactly one root in `B`, and it lies in
`N` (Moore 1966; Krawczyk 1969; Neumaier 1990, Theorem 5.1.7).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from flint import arb, arb_mat, ctx

from limitpoint.theory.prove.exact.numbers import entries, magnitude, midpoints
from limitpoint.theory.prove.outcome import MorePrecision

__all__ = ["Equations", "enclosed_root", "solved"]

# A box is this many times as wide as the last Newton step seems to need, and is widened so often.
INFLATION, WIDENINGS = 4, 6
# The first box is as wide as rounding that has grown by so many bits.
GROWN = 32


class System(Protocol):
    """`f` with slopes of something on a box, and the Jacobian from these."""

    def __call__(self, unknowns: list[arb], /) -> tuple[arb_mat, Any]:
        """Balls that contain `f` and the slopes at every point of a box."""
        ...

    def weighted(self, slopes: Any, /) -> arb_mat:
        """Balls that contain the Jacobian there."""
        ...


@dataclass(frozen=True)
class Equations:
    """Equations whose Jacobian comes with them."""

    at: Callable[[list[arb]], tuple[arb_mat, arb_mat]]

    def __call__(self, unknowns: list[arb], /) -> tuple[arb_mat, arb_mat]:
        """Balls that contain `f` and its Jacobian at every point of a box."""
        return self.at(unknowns)

    def weighted(self, slopes: arb_mat, /) -> arb_mat:
        """The Jacobian itself."""
        return slopes


def enclosed_root(system: System, centre: Sequence[arb]) -> list[arb]:
    """A ball around the one root near `centre`, or `MorePrecision`.

    Parameters
    ----------
    system
        The equations.
    centre
        An approximate root: any numbers; only their quality decides whether the test succeeds.
    """
    middle = midpoints(centre)
    values, slopes = system(middle)
    tiny = arb(2) ** (-ctx.prec)
    try:
        # A good centre needs no other Jacobian to tell how wide a box must be.
        found = _in_box(system, middle, values, [magnitude(c) * tiny * 2**GROWN for c in middle])
    except MorePrecision:
        found = None
    if found is not None:
        return found
    step = solved(system.weighted(slopes), values)
    widths = [
        magnitude(s) * INFLATION + magnitude(c) * tiny + tiny**8
        for s, c in zip(step, middle, strict=True)
    ]
    for _ in range(WIDENINGS):
        found = _in_box(system, middle, values, widths)
        if found is not None:
            return found
        widths = [w * INFLATION**2 for w in widths]
    raise MorePrecision("the interval Newton test does not close at this precision")


def _in_box(
    system: System, middle: Sequence[arb], values: arb_mat, widths: Sequence[arb]
) -> list[arb] | None:
    """`N`, if it lies inside the box of these widths."""
    box = [arb(c, w) for c, w in zip(middle, widths, strict=True)]
    _, slopes = system(box)
    found = [c - s for c, s in zip(middle, solved(system.weighted(slopes), values), strict=True)]
    inside = all(b.contains_interior(n) for b, n in zip(box, found, strict=True))
    return found if inside else None


def solved(matrix: arb_mat, right: arb_mat) -> list[Any]:
    """Balls around the solution of a linear system of balls, or `MorePrecision`."""
    try:
        found = entries(matrix.solve(right))
    except ZeroDivisionError:
        raise MorePrecision("a matrix cannot be told from a singular one") from None
    if not all(one.is_finite() for one in found):
        raise MorePrecision("a linear system is too ill-conditioned for this precision")
    return found
