"""Coefficients as functions of their mirror coordinates, in closed form and in balls.

Notation: `β = Ψ(ξ)`, `ξ = x_iᵀν`, `s` the scale. Two layers (MATH: Paired, Diagonal, powers of 2):
`β = A e^{κξ} − B e^{−κξ}` with A, B ≥ 0. Powers of L ≥ 3: `β = Σ ±|u|^L`, each term with
`|u|^{2−L} = |u(0)|^{2−L} ∓ L(L−2)ξ`, which ends at a pole.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from flint import arb, fmpq

from limitpoint.networks import Diagonal, Network, Paired, Power, SignedPower
from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.numbers import rational, scale_ball
from limitpoint.theory.prove.outcome import CannotProve, MorePrecision

__all__ = [
    "Exponential",
    "Monomials",
    "closed_form_maps",
    "coefs_of_direction",
    "exponentials",
    "power_terms",
]

# Newton steps for the start of one coefficient, and how often each may be halved.
STEPS_OF_ONE, HALVINGS_OF_ONE = 40, 60
# The logarithm of how many times a layer has grown that makes its coefficient end beside a pole.
FAR = 12


@dataclass(frozen=True)
class Exponential:
    """`β = A e^{κξ} − B e^{−κξ}`, `A` and `B` balls, not both zero."""

    grows: arb
    decays: arb
    rate: int

    @property
    def lower(self) -> bool:
        """Whether it cannot become negative."""
        return bool(self.decays.is_zero())

    @property
    def upper(self) -> bool:
        """Whether it cannot become positive."""
        return bool(self.grows.is_zero())

    def at(self, xi: arb) -> tuple[arb, arb]:
        """The coefficient and its derivative, on all of a ball."""
        up, down = self.grows * (self.rate * xi).exp(), self.decays * (-self.rate * xi).exp()
        return up - down, self.rate * (up + down)

    def mirror_of(self, sign: float, log_abs: float) -> arb:
        """About where the coefficient is this: `e^{κξ}` solves a quadratic equation."""
        size = arb(float(log_abs)).exp() if np.isfinite(log_abs) else arb(0)
        half = size / 2
        root = (half * half + self.grows * self.decays).sqrt()
        if (sign >= 0 and not self.upper) or self.lower:
            return ((half + root) / self.grows).log() / self.rate
        return -((half + root) / self.decays).log() / self.rate

    def pole(self, sign: float, log_abs: float) -> int:
        """On which side a coefficient of this size has a pole beside it: on none."""
        return 0


@dataclass(frozen=True)
class Monomials:
    """`β = Σ σ|u|^L`, `|u|^{2−L} = |u(0)|^{2−L} − σL(L−2)ξ`: `(σ, |u(0)|^{2−L})` of each term."""

    degree: int
    terms: tuple[tuple[int, arb], ...]

    @property
    def lower(self) -> bool:
        """Whether it cannot become negative."""
        return all(sign > 0 for sign, _ in self.terms)

    @property
    def upper(self) -> bool:
        """Whether it cannot become positive."""
        return all(sign < 0 for sign, _ in self.terms)

    def at(self, xi: arb) -> tuple[arb, arb]:
        """The coefficient and its derivative, on all of a ball; it must end before the pole."""
        power, total, slope = self.degree, arb(0), arb(0)
        for sign, start in self.terms:
            left = start - sign * power * (power - 2) * xi
            if not left > 0:
                raise MorePrecision("a mirror coordinate cannot be told from its pole")
            size = left ** (arb(-1) / (power - 2))
            total += sign * size**power
            slope += power * power * size ** (2 * power - 2)
        return total, slope

    def mirror_of(self, sign: float, log_abs: float) -> arb:
        """About where the coefficient is this: Newton's method, from the term that grows to it."""
        if not np.isfinite(log_abs):
            return self._near(arb(0), arb(0))
        power, modulus = self.degree, arb(float(log_abs)).exp()
        wanted = 1 if (sign >= 0 and not self.upper) or self.lower else -1
        starts = [one for direction, one in self.terms if direction == wanted]
        sizes = sum((one ** (arb(-power) / (power - 2)) for _, one in self.terms), arb(0))
        first = arb(0)
        if len(starts) == len(self.terms) or modulus > sizes:
            # Where the largest term alone is as large: short of all poles.
            left = min(starts, key=float) - modulus ** (arb(2 - power) / power)
            first = wanted * left / (power * (power - 2))
        return self._near(first.mid(), (sign * modulus).mid() if sign else arb(0))

    def _near(self, first: arb, wanted: arb) -> arb:
        """A few steps, shortened where they would pass a pole; only nearness is asked for."""
        current = first
        for _ in range(STEPS_OF_ONE if len(self.terms) > 1 else 0):
            value, slope = self.at(current)
            step = ((value - wanted) / slope).mid()
            for _ in range(HALVINGS_OF_ONE):
                try:
                    self.at((current - step).mid())
                    break
                except MorePrecision:
                    step = step / 2
            current = (current - step).mid()
            if not abs(step) > abs(current) * 1e-15:
                break
        return current

    # ------------------------------------------------------ beside a pole: by τ = log |u|

    def pole(self, sign: float, log_abs: float) -> int:
        """On which side a coefficient of this size has a pole beside it; 0 where on none."""
        side = int(np.sign(sign))
        if not np.isfinite(log_abs) or not any(one == side for one, _ in self.terms):
            return 0
        start = -self._first(side).log() / (self.degree - 2)
        return side if arb(float(log_abs)) / self.degree > start + FAR else 0

    def grown(self, side: int, log_abs: float) -> arb:
        """About τ of a coefficient."""
        return arb(float(log_abs)) / self.degree

    def along(self, side: int, log: arb) -> tuple[arb, arb, arb, arb]:
        """`ξ, dξ/dτ, β, dβ/dτ` on all of a ball around τ."""
        power, first = self.degree, self._first(side)
        left = (-(power - 2) * log).exp()
        xi, turn = side * (first - left) / (power * (power - 2)), side * left / power
        value, slope = arb(0), arb(0)
        for sign, start in self.terms:
            # Terms that start alike stay alike, though their pole be lost to rounding.
            alike = sign == side and start.mid() == first.mid() and start.rad() == first.rad()
            rest = left if alike else start - sign * power * (power - 2) * xi
            if not rest > 0:
                raise MorePrecision("a mirror coordinate cannot be told from its pole")
            size = rest ** (arb(-1) / (power - 2))
            value += sign * size**power
            slope += power * power * size ** (2 * power - 2)
        return xi, turn, value, slope * turn

    def _first(self, side: int) -> arb:
        """The term whose pole is the nearest on a side."""
        starts = (one for sign, one in self.terms if sign == side)
        return min(starts, key=lambda one: one.mid())


def closed_form_maps(problem: Problem) -> list[Exponential | Monomials | None]:
    """The map of every coefficient, exact but for the scale; None for one that never moves."""
    network, layers = problem.network, problem.init.direction
    depth = getattr(network, "depth", 2)
    if not (isinstance(network, Power | SignedPower | Paired) or network == Diagonal(2)):
        raise CannotProve(f"the mirror map of {network} is not in closed form")
    square = scale_ball(problem.init) ** 2
    rows = list(zip(*([rational(v) for v in layer.tolist()] for layer in layers), strict=True))
    if isinstance(network, Power | SignedPower) and depth > 2:
        return [_monomials(row, depth, scale_ball(problem.init)) for row in rows]
    return [_exponential(*exponentials(network, row), square) for row in rows]


def exponentials(network: Network, row: Sequence[fmpq]) -> tuple[fmpq, fmpq, int]:
    """A, B and κ of one coefficient of two layers, from its entries, at scale 1."""
    if isinstance(network, Power | SignedPower):
        u, w = row if len(row) > 1 else (row[0], fmpq(0))
        return u**2, w**2, 4
    a, b, c, d = row if isinstance(network, Paired) else (*row, fmpq(0), fmpq(0))
    return ((a + b) ** 2 + (c - d) ** 2) / 4, ((a - b) ** 2 + (c + d) ** 2) / 4, 2


def coefs_of_direction(problem: Problem) -> list[fmpq]:
    """The coefficients at the direction, as rationals; at the start they are `s^L` times these."""
    network = problem.network
    columns = [[rational(v) for v in layer.tolist()] for layer in problem.init.direction]
    rows = zip(*columns, strict=True)
    if isinstance(network, Diagonal):
        return [prod(row, start=fmpq(1)) for row in rows]
    if isinstance(network, Paired):
        return [a * b - c * d for a, b, c, d in rows]
    if isinstance(network, Power | SignedPower):
        return [
            sum(
                (sign * one**network.depth for sign, one in zip((1, -1), row, strict=False)),
                fmpq(0),
            )
            for row in rows
        ]
    raise CannotProve(f"the coefficients of {network} are not products or powers of its layers")


def _exponential(grows: fmpq, decays: fmpq, rate: int, square: arb) -> Exponential | None:
    if grows == 0 and decays == 0:
        return None
    return Exponential(arb(grows) * square, arb(decays) * square, rate)


def _monomials(values: Sequence[fmpq], degree: int, scale: arb) -> Monomials | None:
    terms = tuple(
        (sign, 1 / (arb(size) * scale) ** (degree - 2))
        for sign, size in power_terms(values, degree)
    )
    return Monomials(degree, terms) if terms else None


def power_terms(values: Sequence[fmpq], degree: int) -> list[tuple[int, fmpq]]:
    """The sign that each term `±|u|^L` of a coefficient has, and |u|; none where u is zero."""
    found = []
    for outer, value in zip((1, -1), values, strict=False):
        inner = -1 if degree % 2 and value < 0 else 1
        if value != 0:
            found.append((outer * inner, abs(value)))
    return found
