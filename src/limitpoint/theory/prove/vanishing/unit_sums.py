"""Sums of rational multiples of a few positive numbers: equal ones are recognised exactly.

Activation times are rational, or rational multiples of integrals. What Algorithm 1 makes of them is
linear in them, with rational coefficients; two such sums whose coefficients agree are equal, and
others are told apart by balls.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import TypeAlias

from flint import arb, fmpq

from limitpoint.theory.prove.outcome import MorePrecision

__all__ = ["ONE", "Parts", "Units", "combined"]

# What multiplies each unit, by its number; what is zero is left out.
Parts: TypeAlias = Mapping[int, fmpq]
# The number of the unit 1.
ONE = 0


class Units:
    """Positive numbers, each in a ball, the first of them one.

    Examples
    --------
    >>> units = Units()
    >>> pi = units.number("π", arb.pi)
    >>> units.sign({ONE: fmpq(22, 7), pi: fmpq(-1)}), units.sign(combined({pi: 1}, -1, {pi: 1}))
    (1, 0)
    """

    def __init__(self) -> None:
        self.balls = [arb(1)]
        self._numbers: dict[Hashable, int] = {}

    @property
    def rational(self) -> bool:
        """Whether there is none but one."""
        return len(self.balls) == 1

    def number(self, key: Hashable, make: Callable[[], arb]) -> int:
        """The number of a unit; `make` encloses it where it is new."""
        if key not in self._numbers:
            ball = make()
            if not ball > 0:
                raise MorePrecision("an activation time cannot be told from zero")
            self._numbers[key] = len(self.balls)
            self.balls.append(ball)
        return self._numbers[key]

    def ball(self, parts: Parts) -> arb:
        """A sum, enclosed."""
        return sum((self.balls[unit] * factor for unit, factor in parts.items()), arb(0))

    def sign(self, parts: Parts) -> int:
        """1, −1, or 0 where all parts are zero."""
        if not parts:
            return 0
        if len(parts) == 1:
            (factor,) = parts.values()
            return 1 if factor > 0 else -1
        ball = self.ball(parts)
        if ball.contains(0):
            raise MorePrecision("which of two coefficients activates first is not decided")
        return 1 if ball > 0 else -1


def combined(parts: Parts, factor: fmpq, others: Parts) -> Parts:
    """`parts + factor · others`."""
    found = dict(parts)
    for unit, value in others.items():
        found[unit] = found.get(unit, fmpq(0)) + factor * value
    return {unit: value for unit, value in found.items() if value != 0}
