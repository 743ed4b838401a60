"""`T(x) = ∫_x^∞ du / Π_j √(u²+Δ_j)`, enclosed: Carlson's R_F, or series with bounded remainders.

For two factors `T(x) = R_F(x², x²+Δ₁, x²+Δ₂)`. For more, beyond a power of two `R ≥ 2√Δ_max` the
product is a power series in `1/u²`; below R, on each of the intervals `[R/2^{k+1}, R/2^k]`, and at
last on `[0, b]`, it is a Taylor series about a point. Remainders by Cauchy's bound.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flint import acb, arb, arb_poly, arb_series, ctx

from limitpoint.theory.prove.outcome import MorePrecision

__all__ = ["TailIntegral"]

# A Taylor series is bounded on a circle of this part of its radius of convergence; within a cell
# its argument is at most 1/3 of that radius, 1/2 about zero.
CIRCLE = 0.875


@dataclass(frozen=True)
class _Series:
    """The antiderivative of the integrand about a point, and a bound on its remainder."""

    centre: arb
    reach: arb
    antiderivative: arb_poly
    remainder: arb

    def between(self, low: arb, high: arb) -> arb:
        """The integral from one point to another, both of its cell."""
        value = self.antiderivative(high - self.centre) - self.antiderivative(low - self.centre)
        return value + arb(0, 2 * self.remainder.upper())


class TailIntegral:
    """The tail for these `Δ_j ≥ 0`, two or more, balls; what it computes is kept.

    It belongs to the precision in which it was made.
    """

    def __init__(self, excesses: Sequence[arb]) -> None:
        self.excesses = tuple(excesses)
        self.factors = len(self.excesses)
        self.largest = max((arb(one.abs_upper()) for one in self.excesses), key=float_log)
        self.smallest = min((arb(one.abs_lower()) for one in self.excesses), key=float_log)
        self.kept: dict[Any, Any] = {}

    def whole(self) -> Any:
        """`T(0)`; all Δ must be positive."""
        return self.beyond(arb(0))

    def beyond(self, x: arb) -> Any:
        """`T(x)`, x ≥ 0."""
        if self.largest.is_zero():
            return x ** (1 - self.factors) / (self.factors - 1)
        if not x.is_exact():
            low = arb(x.abs_lower())
            steepest = self._product(low * low).rsqrt()
            return self.beyond(x.mid()) + arb(0, (x.rad() * steepest).upper())
        return self._once(x.man_exp(), self._beyond, x)

    def _once(self, key: Any, make: Callable[..., Any], *arguments: Any) -> Any:
        if key not in self.kept:
            self.kept[key] = make(*arguments)
        return self.kept[key]

    def _product(self, square: arb) -> arb:
        """`Π(u²+Δ)`."""
        found = arb(1)
        for one in self.excesses:
            found *= square + one
        return found

    def _beyond(self, x: arb) -> arb:
        if self.factors == 2:
            square, (first, second) = x * x, self.excesses
            found = acb.elliptic_rf(acb(square), acb(square + first), acb(square + second)).real
        elif x >= self._border(0):
            found = self._far(x)
        else:
            found = self._from_cells(x)
        if not found.is_finite():
            raise MorePrecision("an integral is not enclosed at this precision")
        return found

    def _border(self, k: int) -> arb:
        """`R/2^k`."""
        return arb(2) ** (math.ceil(float_log(self.largest) / 2) + 2 - k)

    def _from_cells(self, x: arb) -> Any:
        """Down from R, cell by cell."""
        k, total = 0, self._once("far", self._far, self._border(0))
        while True:
            cell, high = self._once(("cell", k), self._cell, k), self._border(k)
            low = cell.centre - cell.reach
            if x >= low:
                return total + cell.between(x, high)
            total += self._once(("all", k), cell.between, low, high)
            k += 1

    def _cell(self, k: int) -> _Series:
        """The series on `[R/2^{k+1}, R/2^k]`, or on `[0, R/2^k]` where that is near zero."""
        high, low = self._border(k), self._border(k + 1)
        centre, reach = (low + high) / 2, (high - low) / 2
        if (2 * high) ** 2 <= self.smallest:
            centre, reach = arb(0), high
        square = centre * centre
        circle = (square + self.smallest).sqrt() * CIRCLE
        ratio = reach / circle
        terms = _terms(ratio)
        factors = [[square + one, 2 * centre, arb(1)] for one in self.excesses]
        coefs = _inverse_root_of_product(factors, terms)
        antiderivative = arb_poly([arb(0)] + [c / (i + 1) for i, c in enumerate(coefs)])
        # On the circle |u²+Δ| ≥ (√(c²+Δ) − r)²: both ±i√Δ are that far from the centre.
        bound = arb(1)
        for one in self.excesses:
            bound /= (square + one).sqrt() - circle
        remainder = bound * reach * ratio**terms / (1 - ratio)
        return _Series(centre, reach, antiderivative, remainder)

    def _far(self, x: arb) -> arb:
        """`x^{1−p} Σ c_k (1/x²)^k / (p−1+2k)`, `Σ c_k z^k = Π(1+Δ_j z)^{−1/2}`, p factors."""
        factors, z = self.factors, 1 / (x * x)
        ratio = self.largest * z
        terms = _terms(ratio)
        linear = [[arb(1), one] for one in self.excesses]
        coefs = self._once(("coefs", terms), _inverse_root_of_product, linear, terms)
        total = arb_poly([c / (factors - 1 + 2 * k) for k, c in enumerate(coefs)])(z)
        # |c_k| is at most that of (1 − Δ_max z)^{−p/2}, which is at most C(k+p−1, p−1) Δ_max^k;
        # from one such term to the next the factor is at most (1 + p/terms)·ratio.
        binomial = arb(1)
        for j in range(1, factors):
            binomial = binomial * (terms + j) / j
        falls = ratio * (1 + arb(factors) / terms)
        if not falls < 1:
            raise MorePrecision("a series does not converge")
        remainder = binomial * ratio**terms / (1 - falls) / (factors - 1 + 2 * terms)
        return (total + arb(0, remainder.upper())) * x ** (1 - factors)


def _inverse_root_of_product(polynomials: Sequence[Sequence[arb]], terms: int) -> list[arb]:
    """The first coefficients of one over the root of a product of polynomials."""
    cap, ctx.cap = ctx.cap, terms
    try:
        product = arb_series([arb(1)], terms)
        for one in polynomials:
            product = product * arb_series(list(one), terms)
        return list(product.rsqrt())
    finally:
        ctx.cap = cap


def float_log(value: arb) -> float:
    """About the logarithm to base 2, also beyond the range of floats; −∞ of zero."""
    if value.is_zero():
        return -math.inf
    mantissa, exponent = value.mid().man_exp()
    return math.log2(abs(int(mantissa))) + int(exponent)


def _terms(ratio: arb) -> int:
    """So many terms that what is left is below the precision."""
    return max(8, int(ctx.prec / -float_log(ratio)) + 16)
