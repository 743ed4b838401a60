"""Roots of which some coefficients end beside the poles of their maps.

From a small scale s the mirror coordinate of an active coefficient of L > 2 layers ends within a
part `s^{L−2}` of its pole: in the dual alone all those digits are needed before the first one of
the coefficient is right. Here each such coefficient has an unknown of its own, τ, the logarithm of
the layer that has grown; `ξ(τ)` and `β(τ)` are known to all digits from it. With A these
coefficients and I the others,

    X_A β(τ) + X_I Ψ(X_Iᵀν) = c,    X_Aᵀν = ξ(τ),

whose roots are those of the dual problem, and whose Jacobian is no worse conditioned than the data.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from flint import arb, arb_mat, ctx

from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory.prove.exact.interval_newton import enclosed_root, solved
from limitpoint.theory.prove.exact.numbers import ball_column, entries, midpoints
from limitpoint.theory.prove.outcome import MorePrecision

__all__ = ["LOST", "BesidePoles", "lost_bits"]

# Networks that lose more bits than this to their poles are proved this way.
LOST = 128
# Newton steps; a logarithm moves by no more than one in each.
STEPS = 60
# The square of a step is below rounding by so many bits.
SQUARED = 32


def lost_bits(problem: Problem) -> int:
    """The bits of the dual that are used up before a coefficient beside a pole has any."""
    if not (problem.init.is_finite and isinstance(problem.task, Regression)):
        return 0
    lost = (problem.network.degree - 2) * -problem.init.log_scale / float(np.log(2.0))
    return max(0, int(lost))


class Dual(Protocol):
    """The dual problem: maps, X, its transpose, and the targets."""

    maps: list[Any]
    matrix: arb_mat
    transposed: arb_mat
    targets: arb_mat

    def weighted(self, slopes: Sequence[arb]) -> arb_mat:
        """`X diag(slopes) Xᵀ`."""
        ...


Slopes = tuple[list[arb], list[arb], list[arb]]


class BesidePoles:
    """The two systems of equations, in the unknowns `(τ, ν)`.

    Attributes
    ----------
    places, sides
        Which coefficients have an unknown τ, and on which side their pole is.
    """

    def __init__(self, dual: Dual, signs: Sequence[float], logs: Sequence[float]) -> None:
        self.dual, self.signs, self.logs = dual, signs, logs
        found = [one.pole(sign, log) for one, sign, log in zip(dual.maps, signs, logs, strict=True)]
        self.places = [k for k, side in enumerate(found) if side]
        self.sides = [side for side in found if side]
        self.others = [k for k, side in enumerate(found) if not side]
        self.rows, self.columns = dual.matrix.nrows(), dual.matrix.ncols()
        # Relative to the mirror coordinates, which are large: elimination must not mix what they
        # are rounded by into the rows of the data.
        self.units = []
        for k, side in zip(self.places, self.sides, strict=True):
            at = dual.maps[k].along(side, dual.maps[k].grown(side, logs[k]).mid())[0].mid()
            self.units.append((1 / abs(at)).mid() if at != 0 else arb(1))

    def root(self) -> list[arb]:
        """A ball around the root, near what the hint says."""
        return enclosed_root(self, self._near(self._start()))

    def answers(self, root: Sequence[arb]) -> tuple[list[arb], list[Any], list[Any]]:
        """The dual, the mirror coordinates and the coefficients, from a root."""
        logs, dual = root[: len(self.places)], list(root[len(self.places) :])
        mirror = entries(self.dual.transposed * ball_column(dual))
        coef: list[Any] = [None] * self.columns
        for k in self.others:
            coef[k] = self.dual.maps[k].at(mirror[k])[0]
        for k, side, log in zip(self.places, self.sides, logs, strict=True):
            mirror[k], _, coef[k], _ = self.dual.maps[k].along(side, log)
        return dual, mirror, coef

    def __call__(self, unknowns: list[arb]) -> tuple[arb_mat, Slopes]:
        """The residuals on a box, those of the data first, and what the Jacobian is made of."""
        count = len(self.places)
        xi = entries(self.dual.transposed * ball_column(unknowns[count:]))
        values, slopes = [arb(0)] * self.columns, [arb(0)] * self.columns
        for k in self.others:
            values[k], slopes[k] = self.dual.maps[k].at(xi[k])
        apart: list[arb] = []
        turns, rises = [], []
        for k, side, log in zip(self.places, self.sides, unknowns, strict=False):
            mirror, turn, values[k], rise = self.dual.maps[k].along(side, log)
            apart.append((xi[k] - mirror) * self.units[len(apart)])
            turns.append(turn)
            rises.append(rise)
        missed = entries(self.dual.matrix * ball_column(values) - self.dual.targets)
        return ball_column([*missed, *apart]), (turns, rises, slopes)

    def weighted(self, slopes: Slopes) -> arb_mat:
        """The Jacobian."""
        turns, rises, others = slopes
        seen = entries(self.dual.weighted(others))
        lines = []
        for j in range(self.rows):
            own = [self.dual.matrix[j, k] * r for k, r in zip(self.places, rises, strict=True)]
            lines += [*own, *seen[j * self.rows : (j + 1) * self.rows]]
        for place, k in enumerate(self.places):
            own = [arb(0)] * len(self.places)
            unit = self.units[place]
            own[place] = -turns[place] * unit
            lines += [*own, *(self.dual.matrix[j, k] * unit for j in range(self.rows))]
        size = self.rows + len(self.places)
        return arb_mat(size, size, lines)

    def _start(self) -> list[arb]:
        """A Newton step from the coefficients of the hint, each by the unknown that it has."""
        maps, turns, rises = self.dual.maps, [], []
        values, slopes = [arb(0)] * self.columns, [arb(0)] * self.columns
        mirrors: list[arb] = []
        shifted, logs = [arb(0)] * self.columns, []
        for k in self.others:
            at = maps[k].mirror_of(self.signs[k], self.logs[k]).mid()
            values[k], slopes[k] = maps[k].at(at)
            shifted[k] = values[k] - slopes[k] * at
        for k, side in zip(self.places, self.sides, strict=True):
            log = maps[k].grown(side, self.logs[k]).mid()
            mirror, turn, shifted[k], rise = maps[k].along(side, log)
            logs.append(log)
            mirrors.append(mirror * self.units[len(mirrors)])
            turns.append(turn)
            rises.append(rise)
        right = entries(self.dual.targets - self.dual.matrix * ball_column(shifted))
        found = solved(self.weighted((turns, rises, slopes)), ball_column([*right, *mirrors]))
        steps, dual = found[: len(logs)], found[len(logs) :]
        moved = [
            log + min(max(s.mid(), arb(-1)), arb(1)) for log, s in zip(logs, steps, strict=True)
        ]
        return midpoints([*moved, *dual])

    def _near(self, start: list[arb]) -> list[arb]:
        """Newton's method on midpoints."""
        current, smallest, count = start, None, len(self.places)
        for _ in range(STEPS):
            values, slopes = self(current)
            step = midpoints(solved(self.weighted(slopes), values))
            longest = max((abs(s) for s in step[:count]), default=arb(0))
            share = (1 / longest).mid() if longest > 1 else arb(1)
            current = [(c - share * s).mid() for c, s in zip(current, step, strict=True)]
            size = max(
                abs(s) / (abs(c) + abs(s) + arb(2) ** -999999)
                for s, c in zip(step, current, strict=True)
            ).mid()
            if size < arb(2) ** (-(ctx.prec + SQUARED) // 2):
                return current
            if smallest is not None and size < arb(2) ** -20 and not size < smallest / 2:
                return current
            smallest = size
        raise MorePrecision("Newton's method does not come to an end beside the poles")
