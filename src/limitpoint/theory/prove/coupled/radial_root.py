"""The one root of `e Π_k (e + s_k) = b²`, by monotonicity alone."""

from collections.abc import Sequence
from math import prod

from flint import arb, ctx

from limitpoint.theory.prove.outcome import MorePrecision

__all__ = ["radial_root"]

# Newton's method comes down from above, and doubles its digits once it is near: far more steps than
# any precision that is tried takes.
STEPS = 200


def radial_root(shifts: Sequence[arb], goal: arb) -> arb:
    """The e > 0 with `P(e) = e Π (e + s_k) = goal`, for all `s_k ≥ 0` and the goal in their balls.

    Every factor increases, so that there is one root only; and `P(e(1+ε)) ≥ (1+ε) P(e)`. Where
    `P(e) = (1+η) goal`, the root is therefore between `e(1 − 2|η|)` and `e(1 + 2|η|)` if
    `|η| ≤ ½`: at the ends P is on either side of the goal.
    """
    e = _near(shifts, goal)
    off = arb((prod((e + s for s in shifts), start=e) / goal - 1).abs_upper())
    if not off <= arb(0.5):
        raise MorePrecision("the radial equation is not met well enough at this precision")
    return arb(e, 2 * off * e)


def _near(shifts: Sequence[arb], goal: arb) -> arb:
    """By Newton's method in `log e`, in which the equation is convex: down from an upper bound."""
    t = (goal.log() / (len(shifts) + 1)).mid()
    for _ in range(STEPS):
        e = t.exp()
        value = t + sum(((e + s).log() for s in shifts), arb(0)) - goal.log()
        step = (value / (1 + sum((e / (e + s) for s in shifts), arb(0)))).mid()
        t = (t - step).mid()
        if abs(step) <= arb(2) ** (8 - ctx.prec) * (1 + abs(t)):
            return t.exp().mid()
    raise MorePrecision("Newton's method for the radial equation does not end")
