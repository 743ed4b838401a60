"""Algorithm 1 of zhao without rounding: every saddle is rational, every comparison is decided.

Notation: k coefficients, `r = y − Xk`, `u = Xᵀr`; over the saddles passed, `ν = Σ δ r`, `s = Xᵀν`.
A coefficient with `s = t⁺` may be positive, one with `s = −t⁻` negative (both, where the two times
are zero); all others are zero. Between two saddles s moves along u; where coefficients arrive at t⁺
or −t⁻, all of them together, k becomes the least-squares point under the signs that are then open.
The loss falls each time, so that the walk ends; s and Xk are unique whatever ties there are
(Burger, Möller, Benning and Osher 2013).

Saddles and slopes are rational. What is linear in the activation times (s, δ, ν) is computed in
balls, and exactly only where balls do not decide which of two coefficients arrives first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, fmpq, fmpq_mat

from limitpoint.theory.prove.exact.faces import reduce_to_face
from limitpoint.theory.prove.exact.nonnegative import best_fit
from limitpoint.theory.prove.exact.numbers import column, entries, some_columns
from limitpoint.theory.prove.outcome import MorePrecision
from limitpoint.theory.prove.vanishing.activation import Times
from limitpoint.theory.prove.vanishing.unit_sums import Parts, combined

__all__ = ["Arrival", "Saddle", "SaddleWalk"]


@dataclass(frozen=True)
class Saddle:
    """Coefficients, and what follows from them.

    Attributes
    ----------
    coef, residual, slopes
        k, r and u.
    used
        Independent columns of which Xk is made.
    other
        Different coefficients that are as good and have the same signs open; None if none are.
    """

    coef: list[fmpq]
    residual: list[fmpq]
    slopes: list[fmpq]
    used: list[int]
    other: list[fmpq] | None


@dataclass(frozen=True)
class Arrival:
    """The end of a wait: who arrives (the first of them tells the time), and δ in a ball."""

    columns: list[int]
    wait: arb


@dataclass(frozen=True)
class _Leg:
    """Since when the mirror coordinate of a coefficient has been under way, and where from."""

    start: Parts
    since: int


class SaddleWalk:
    """The walk, made at once.

    Parameters
    ----------
    matrix, target, times
        X, y and the activation times.
    lenient
        Whether to take for a tie what balls of this precision do not decide: the walk is then only
        a guess.

    Examples
    --------
    >>> from limitpoint.theory.prove.vanishing.activation import given_times
    >>> one = [fmpq(1)] * 4
    >>> data = fmpq_mat(2, 4, [10, 5, 7, 0, 5, 10, 1, 7])
    >>> walk = SaddleWalk(data, [fmpq(10), fmpq(0)], given_times(one, one))
    >>> [saddle.coef for saddle in walk.saddles][1:]
    [[4/5, 0, 0, 0], [0, 0, 7/5, 0], [0, 0, 10/7, -10/49]]
    >>> [walk.exact_wait(q) for q in range(3)]
    [{0: 1/100}, {0: 3/100}, {0: 4/245}]
    """

    def __init__(
        self, matrix: fmpq_mat, target: Sequence[fmpq], times: Times, lenient: bool = False
    ) -> None:
        self.matrix, self.target, self.times = matrix, list(target), times
        self.lenient = lenient
        self._transposed = matrix.transpose()
        self._rows = range(matrix.nrows())
        # A column of zeros has no part in anything.
        self.seen = [i for i in range(matrix.ncols()) if any(matrix[j, i] != 0 for j in self._rows)]
        self._waits: dict[int, Parts] = {}
        self._legs: dict[int, _Leg] = {}
        self._legs_of_first: list[_Leg] = []
        # Of those at an activation time: 1 at t⁺, −1 at −t⁻, 0 where both are zero.
        self.sides: dict[int, int] = {}
        self.mirror = [arb(0)] * matrix.ncols()
        self.arrivals: list[Arrival] = []
        self.saddles = [self._at([], [fmpq(0)] * matrix.ncols())]
        self._begin()
        while self._go_on():
            self.saddles.append(self._fitted())

    # ------------------------------------------------------------ what came of it

    @property
    def end(self) -> Saddle:
        """The last saddle."""
        return self.saddles[-1]

    def exact_wait(self, number: int) -> Parts:
        """δ of a wait, exactly."""
        if number not in self._waits:
            first = self.arrivals[number].columns[0]
            slope = self.saddles[number].slopes[first]
            left = self._left(first, number, self._legs_of_first[number])
            self._waits[number] = combined({}, 1 / abs(slope), left)
        return self._waits[number]

    def exact_mirror(self, place: int) -> Parts:
        """The mirror coordinate of a coefficient at the end, exactly."""
        if place in self.sides:
            return self._threshold(place, self.sides[place])
        if place not in self.seen:
            return {}
        return self._under_way(place, len(self.arrivals), self._legs[place])

    # ------------------------------------------------------------ one step

    def _begin(self) -> None:
        """All start at zero, some of them at an activation time that is zero."""
        for i in self.seen:
            pair = self.times.pairs[i]
            open_ = [side for side, time in zip((1, -1), pair, strict=True) if time == {}]
            if open_:
                self.sides[i] = sum(open_)
            self._legs[i] = _Leg({}, 0)
        if not self.sides:
            return
        found = self._fitted()
        if not any(found.coef):
            self.saddles = [found]
            return
        # They are there from the beginning: a saddle after no wait.
        self.arrivals.append(Arrival(sorted(self.sides), arb(0)))
        self._legs_of_first.append(_Leg({}, 0))
        self._waits[0] = {}
        self.saddles.append(found)

    def _go_on(self) -> bool:
        """Wait until coefficients arrive at an activation time; whether any does."""
        slopes, number = self.end.slopes, len(self.arrivals)
        for i, side in list(self.sides.items()):
            # What is not zero has no slope; the others are carried away from where they stand.
            if slopes[i] != 0:
                del self.sides[i]
                start = self._threshold(i, side)
                self._legs[i] = _Leg(start, number)
                self.mirror[i] = self.times.units.ball(start)
        waits = {}
        for i in self.seen:
            if i not in self.sides and slopes[i] != 0:
                goal = self._goal(i, slopes[i])
                if goal is not None:
                    left = self.times.units.ball(goal) - self.mirror[i]
                    waits[i] = left / slopes[i]
        if not waits:
            return False
        arriving = self._first(waits, number)
        wait = waits[arriving[0]]
        for i in self.seen:
            if i not in self.sides:
                self.mirror[i] += wait * slopes[i]
        self.arrivals.append(Arrival(arriving, wait))
        self._legs_of_first.append(self._legs[arriving[0]])
        for i in arriving:
            self.sides[i] = 1 if slopes[i] > 0 else -1
        return True

    def _first(self, waits: dict[int, arb], number: int) -> list[int]:
        """All whose wait is the shortest; equal ones are told by exact arithmetic."""
        shortest = min(arb(one.upper()) for one in waits.values())
        near = [i for i, one in waits.items() if not one.lower() > shortest]
        slopes, found = self.end.slopes, near[:1]
        for i in near[1:]:
            one, two = (self._left(j, number, self._legs[j]) for j in (i, found[0]))
            # δ_i − δ_j, times both speeds.
            difference = combined(combined({}, abs(slopes[found[0]]), one), -abs(slopes[i]), two)
            try:
                sign = self.times.units.sign(difference)
            except MorePrecision:
                if not self.lenient:
                    raise
                sign = 0
            if sign <= 0:
                found = [i] if sign < 0 else [*found, i]
        return found

    def _fitted(self) -> Saddle:
        """The least-squares point under the open signs, from the last one."""
        places = sorted(self.sides)
        turned = fmpq_mat(
            len(self._rows),
            len(places),
            [self.matrix[j, i] * (self.sides[i] or 1) for j in self._rows for i in places],
        )
        free = [k for k, i in enumerate(places) if self.sides[i] == 0]
        # Those used keep their sides, and their coefficients are the best fit on them.
        start = {places.index(i): self.end.coef[i] * (self.sides[i] or 1) for i in self.end.used}
        found = best_fit(turned, self.target, free, start=start or None)
        coef = [fmpq(0)] * self.matrix.ncols()
        for k, i in enumerate(places):
            coef[i] = found.coef[k] * (self.sides[i] or 1)
        return self._at(sorted(places[k] for k in found.used), coef)

    def _at(self, used: list[int], coef: list[fmpq]) -> Saddle:
        residual = self.target
        if used:
            fit = some_columns(self.matrix, used) * column([coef[i] for i in used])
            residual = [a - b for a, b in zip(self.target, entries(fit), strict=True)]
        slopes = entries(self._transposed * column(residual))
        return Saddle(coef, residual, slopes, used, self._other(used, coef, slopes))

    def _other(self, used: list[int], coef: list[fmpq], slopes: list[fmpq]) -> list[fmpq] | None:
        """Coefficients that are as good: `k + d`, `Xd = 0`, d open to all that move."""
        still = [i for i in self.sides if i not in used and slopes[i] == 0]
        if not still:
            return None
        places = [*used, *still]
        sides = [0] * len(used) + [self.sides[i] or 1 for i in still]
        zero = [fmpq(0)] * len(self._rows)
        step = reduce_to_face(some_columns(self.matrix, places), zero, sides).interior
        if not any(step):
            return None
        # To where the first of those that shrink is zero, or a step as it is.
        limits = [
            -coef[i] / d
            for i, d in zip(places, step, strict=True)
            if self.sides[i] and coef[i] * d < 0
        ]
        part = min(limits, default=fmpq(1))
        other = list(coef)
        for i, d in zip(places, step, strict=True):
            other[i] += part * d
        return other

    # ------------------------------------------------------------ mirror coordinates, exactly

    def _goal(self, i: int, slope: fmpq) -> Parts | None:
        """The activation time towards which a mirror coordinate moves; None if there is none."""
        plus, minus = self.times.pairs[i]
        if slope > 0:
            return plus
        return None if minus is None else combined({}, fmpq(-1), minus)

    def _threshold(self, i: int, side: int) -> Parts:
        """Where the mirror coordinate of one at an activation time stands."""
        goal = self._goal(i, fmpq(side or 1))
        assert goal is not None, "it stands there"
        return goal

    def _left(self, i: int, number: int, leg: _Leg) -> Parts:
        """How far a mirror coordinate is, at a saddle, from where it goes: a modulus."""
        slope = self.saddles[number].slopes[i]
        goal = self._goal(i, slope)
        assert goal is not None, "it is on its way there"
        there = combined(goal, fmpq(-1), self._under_way(i, number, leg))
        return there if slope > 0 else combined({}, fmpq(-1), there)

    def _under_way(self, i: int, number: int, leg: _Leg) -> Parts:
        """A mirror coordinate at a saddle: where it started, and `Σ δ u_i` since then."""
        found = leg.start
        for q in range(leg.since, number):
            found = combined(found, self.saddles[q].slopes[i], self.exact_wait(q))
        return found
