"""The mirror map of one coefficient of a diagonal network of three layers or more, in balls.

Notation (MATH 1.1), in units of the scale s: `w` the layer that is smallest at the start, turned by
the sign of the product of the others, `Δ_j ≥ 0` what the squares of the others exceed its square
by. `β = s^L w Π_j √(w²+Δ_j)`, and `s^{L−2} ξ = H(w) − H(w(0))` with `H' = 1/Π_j √(w²+Δ_j)`. With
the tail `T(x) = ∫_x^∞ H'`, x ≥ 0, `H(w) = sign(w)(T(0) − T(|w|))`. Where some Δ_j is zero, T(0) is
infinite and w keeps its sign.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flint import arb, ctx

from limitpoint.theory.prove.exact.numbers import ball, magnitude
from limitpoint.theory.prove.outcome import MorePrecision
from limitpoint.theory.prove.separable.tail_integral import TailIntegral

__all__ = ["DeepDiagonal", "deep_diagonal_map"]

# Newton steps for one curve parameter, each of which doubles the digits once it is near.
STEPS = 200
# The logarithm of how many times a layer has grown that makes its coefficient end beside a pole.
FAR = 12
# A box for a curve parameter is this many times as wide as it seems to need.
INFLATION = 4


@dataclass(frozen=True)
class DeepDiagonal:
    """`β = Ψ(ξ)` by the curve parameter w.

    Attributes
    ----------
    start
        `w(0)`.
    excesses
        `Δ_j` of the other layers.
    scale
        s.
    last
        The curve parameter at which it was asked last: the next one is near.
    """

    start: arb
    excesses: tuple[arb, ...]
    scale: arb
    tail: TailIntegral
    last: list[arb] = field(default_factory=list)

    @property
    def one_sided(self) -> bool:
        """Whether it keeps its sign: two layers are the smallest."""
        return any(one.is_zero() for one in self.excesses)

    @property
    def lower(self) -> bool:
        """Whether it cannot become negative."""
        return self.one_sided and self.start > 0

    @property
    def upper(self) -> bool:
        """Whether it cannot become positive."""
        return self.one_sided and self.start < 0

    def at(self, xi: arb) -> tuple[arb, arb]:
        """The coefficient and its derivative, on all of a ball; it must end before the pole."""
        height = xi * self.scale ** (len(self.excesses) - 1)
        return self._coef(self._parameter(height))

    def _coef(self, w: arb) -> tuple[arb, arb]:
        """The coefficient and its derivative `Ψ' = Σ_l Π_{k≠l} a_k²` by the curve parameter."""
        # The product without w², and w² times those without another.
        product, without_one = arb(1), arb(0)
        for one in self.excesses:
            square = w * w + one
            product, without_one = product * square, without_one * square + product
        depth = len(self.excesses) + 1
        slope = self.scale ** (2 * depth - 2) * (product + w * w * without_one)
        return self.scale**depth * w * product.sqrt(), slope

    # ------------------------------------------------------ beside a pole: by τ = log |w|

    def pole(self, sign: float, log_abs: float) -> int:
        """On which side a coefficient of this size has a pole beside it; 0 where on none."""
        side = int(np.sign(sign))
        if not np.isfinite(log_abs) or (side < 0 and self.lower) or (side > 0 and self.upper):
            return 0
        size = max(arb(self.tail.largest.abs_upper()), self.start * self.start)
        return side if self.grown(side, log_abs) > size.log() / 2 + FAR else 0

    def grown(self, side: int, log_abs: float) -> Any:
        """About τ of a coefficient."""
        return arb(float(log_abs)) / (len(self.excesses) + 1) - self.scale.log()

    def along(self, side: int, log: arb) -> tuple[arb, arb, arb, arb]:
        """`ξ, dξ/dτ, β, dβ/dτ` on all of a ball around τ."""
        size = log.exp()
        unit = self.scale ** (1 - len(self.excesses))
        if self.one_sided:
            passed = self.tail.beyond(abs(self.start)) - self.tail.beyond(size)
        else:
            passed = self.tail.whole() - self.tail.beyond(size) - side * self._from_zero(self.start)
        value, slope = self._coef(side * size)
        turn = side * unit * size / self._steepness(size)
        return side * unit * passed, turn, value, slope * turn

    def mirror_of(self, sign: float, log_abs: float) -> Any:
        """About where the coefficient is this."""
        depth = len(self.excesses) + 1
        if np.isneginf(log_abs) and not self.one_sided:
            found = arb(0)
        elif np.isneginf(log_abs):
            found = self.start
        else:
            found = self._parameter_of(float(sign), arb(float(log_abs)).exp() / self.scale**depth)
        self.last[:] = [found.mid()]
        return (self._height(found.mid()) / self.scale ** (depth - 2)).mid()

    def _parameter_of(self, sign: float, modulus: arb) -> arb:
        """`w Π√(w²+Δ) = modulus`, by Newton's method in the logarithms: slopes are 1 to L."""
        logs, wanted = arb(0), modulus.log().mid()
        for _ in range(STEPS):
            square = (2 * logs).exp()
            value = logs + sum(((square + one).log() / 2 for one in self.excesses), arb(0))
            slope = 1 + sum((square / (square + one) for one in self.excesses), arb(0))
            step = ((value - wanted) / slope).mid()
            logs = (logs - step).mid()
            if abs(step) < 1e-18:
                break
        outward = -1 if self.upper or (sign < 0 and not self.lower) else 1
        return outward * logs.exp()

    # ------------------------------------------------------------ the integral and its inverse

    def _height(self, w: arb) -> Any:
        """`H(w) − H(w(0))` at an exact w."""
        start = self.start
        if self.one_sided or (w > 0 and self.start > 0) or (w < 0 and self.start < 0):
            side = 1 if self.start > 0 else -1
            return side * (self.tail.beyond(abs(start)) - self.tail.beyond(abs(w)))
        return self._from_zero(w) - self._from_zero(start)

    def _from_zero(self, w: arb) -> Any:
        """`H(w)`, from one side or the other."""
        if w.is_zero():
            return arb(0)
        if w.contains(0):
            raise MorePrecision("the sign of a layer at the start is not decided")
        found = self.tail.whole() - self.tail.beyond(abs(w))
        return found if w > 0 else -found

    def _steepness(self, w: arb) -> arb:
        """`1/H' = Π√(w²+Δ)`."""
        product = arb(1)
        for one in self.excesses:
            product *= w * w + one
        return product.sqrt()

    def _parameter(self, height: arb) -> Any:
        """A ball around all w with `H(w) − H(w(0))` in a ball: H' is known, and falls with |w|."""
        middle = self._near(height.mid())
        off = height - self._height(middle)
        reach = magnitude(off) * magnitude(self._steepness(middle)) * INFLATION
        box = arb(middle, reach)
        if self.one_sided and box.contains(0):
            raise MorePrecision("a coefficient that keeps its sign cannot be told from zero")
        found = middle + off * self._steepness(box)
        if not box.contains(found):
            raise MorePrecision("a mirror coordinate cannot be told from its pole")
        return found

    def _near(self, height: arb) -> arb:
        """About the w of a height, by Newton's method from the last one asked for.

        H is concave for w > 0: from the left no step passes the root. Far out, `1/T` to the power
        `1/(L−2)` is almost linear in w, and the steps are those of that function.
        """
        sides = self._ends(height)
        current = self.last[0] if self.last else self.start
        if self.one_sided and not current * (1 if self.start > 0 else -1) > 0:
            current = self.start
        smallest = None
        for _ in range(STEPS):
            step = self._step(current, height, sides)
            current = (current + step).mid()
            size = abs(step) / (abs(current) + abs(step) + arb(2) ** -999999)
            if size < arb(2) ** (-ctx.prec // 2) or (
                smallest is not None and size < arb(2) ** -20 and not size < smallest / 2
            ):
                break
            smallest = size.mid()
        self.last[:] = [current]
        return current

    def _ends(self, height: arb) -> tuple[arb, arb]:
        """What is left of T on the positive and the negative side at this height; both positive."""
        if self.one_sided:
            side = 1 if self.start > 0 else -1
            left = self.tail.beyond(abs(self.start)) - side * height
            ends = (left, left)
        else:
            zero, whole = self._from_zero(self.start), self.tail.whole()
            ends = (whole - zero - height, whole + zero + height)
        if not (ends[0] > 0 and ends[1] > 0):
            raise MorePrecision("a mirror coordinate cannot be told from its pole")
        return ends

    def _step(self, w: arb, height: arb, ends: tuple[arb, arb]) -> Any:
        """One step of Newton's method: on `log T` against `log |w|`, or on H near zero."""
        side = 1 if w > 0 else -1
        left = ends[0] if side > 0 else ends[1]
        if not w.is_zero():
            here = self.tail.beyond(abs(w))
            far = self.one_sided or (here < self.tail.whole() / 2 and left < self.tail.whole() / 2)
            if far:
                # d log T / d log|w| = −|w| H'/T
                step = ((here / left).log() * here * self._steepness(w) / abs(w)).mid()
                bounded = min(max(step, arb(-700)), arb(700)) if abs(step) > 700 else step
                return (w * bounded.exp() - w).mid()
        step = ((height - self._height(w)) * self._steepness(w)).mid()
        # From far out towards zero and beyond H' changes a lot: go to zero first.
        if not w.is_zero() and abs(step) > 2 * abs(w) and step * w < 0 and not self.one_sided:
            return -w
        return step


def deep_diagonal_map(layers: Sequence[Any], scale: arb) -> DeepDiagonal | None:
    """The map of one coefficient, its layers in units of the scale; None if it never moves.

    Layers are rationals, or balls, whose order must then be decided.
    """
    order = sorted(range(len(layers)), key=lambda j: float(abs(ball(layers[j])).mid()))
    smallest, others = layers[order[0]], [layers[j] for j in order[1:]]
    if smallest == 0 and others[0] == 0:
        return None
    turned = smallest
    for one in others:
        turned = -turned if one < 0 else turned
    excesses = tuple(ball(one * one - smallest * smallest) for one in others)
    if not all(one >= 0 for one in excesses):
        raise MorePrecision("which layer is the smallest is not decided")
    return DeepDiagonal(ball(turned), excesses, scale, TailIntegral(excesses))
