"""Roots of `XΨ(Xᵀν) = y`, enclosed anew by Krawczyk's test."""

from fractions import Fraction

from mpmath import iv, mp
from tests.oracles.proof_checker.arithmetic import (
    NotKnown,
    Rejected,
    claimed,
    contain,
    dot,
    interval,
    solve,
)
from tests.oracles.proof_checker.data import best_fits, data_of
from tests.oracles.proof_checker.inclusion import inclusion
from tests.oracles.proof_checker.mirror_maps import maps_of, starts_of

__all__ = ["enclosed", "mirror_root", "poles_of"]


def mirror_root(problem, exported):
    """Krawczyk's test on `XΨ(Xᵀν) = y`, around the claimed dual."""
    maps = maps_of(problem)
    columns = list(zip(*problem["X"], strict=True))
    # A coefficient that no sample sees stays where it starts.
    moving = [i for i, one in enumerate(maps) if one is not None and any(columns[i])]
    X, y = data_of(problem, moving)
    fits = best_fits(X, y, exported["witness"].get("rows", list(range(len(y)))))
    coef, mirror = starts_of(problem), [Fraction(0)] * len(maps)
    rows = [[interval(one) for one in row] for row in fits[0]]
    moved = [maps[i] for i in moving]
    pairs = enclosed(moved, rows, fits, exported, poles_of(exported, moving, moved))
    for i, (value, xi) in zip(moving, pairs, strict=True):
        coef[i], mirror[i] = value, xi
    contain(exported["coef"], coef)
    contain(exported["mirror"], mirror)


def enclosed(maps, A, fits, exported, poles=()):
    """Coefficients and their mirror coordinates, from the rows kept (intervals) and their fits.

    The claimed dual must contain the root that is found around it.
    """
    _, targets, T, square = fits
    said = [m for m, _ in claimed(exported["dual"])]
    # ν = T(TᵀT)⁻¹ν_R, so ν_R = Tᵀν.
    centre = [sum(t[a] * nu for t, nu in zip(T, said, strict=True)) for a in range(len(targets))]
    start = [mp.mpf(one.numerator) / one.denominator for one in centre]
    root, xi, values = _answers(maps, A, [interval(one) for one in targets], start, poles)
    inverse = _interval_solve(square, root)
    contain(exported["dual"], [dot([interval(one) for one in t], inverse) for t in T])
    return list(zip(values, xi, strict=True))


def _interval_solve(square, right):
    """Fractions times intervals: the columns of the inverse are rational."""
    n = len(right)
    columns = [solve(square, [Fraction(int(i == k)) for i in range(n)]) for k in range(n)]
    return [dot([interval(columns[k][i]) for k in range(n)], right) for i in range(n)]


def poles_of(exported, moving, maps):
    """Those with an unknown of their own, the logarithm of what grows: place, side, start."""
    said, found = claimed(exported["coef"]), []
    for i in exported["witness"].get("poles", []):
        if i not in moving or said[i][0] == 0:
            raise Rejected("no coefficient that can end beside a pole")
        middle = said[i][0]
        place = moving.index(i)
        if not hasattr(maps[place], "along"):
            raise NotKnown("a map whose poles are not known here")
        size = abs(mp.mpf(middle.numerator) / middle.denominator)
        found.append((place, 1 if middle > 0 else -1, mp.log(size) / maps[place].depth))
    return found


def _answers(maps, A, c, centre, poles):
    """The dual, and by it ξ and β of each: `X_Aβ(τ) + X_IΨ(X_Iᵀν) = c`, `X_Aᵀν = ξ(τ)`."""
    own = {place: k for k, (place, _, _) in enumerate(poles)}
    sizes = [abs(mp.mpf(maps[k].along(side, iv.mpf(log))[0].mid)) for k, side, log in poles]
    units = [iv.mpf(1 / size) for size in sizes]
    # The dual in a unit in which mirror coordinates beside poles are of order one.
    unit = iv.mpf(1 / max(sizes, default=mp.mpf(1)))

    def answers(unknowns):
        """`(ξ, β, dβ)` of each, dβ by τ or by ξ, and of those with τ ξ(τ) and dξ."""
        dual = [one / unit for one in unknowns[len(poles) :]]
        xi = [dot([row[k] for row in A], dual) for k in range(len(maps))]
        beside = [
            maps[k].along(side, log) for (k, side, _), log in zip(poles, unknowns, strict=False)
        ]
        pairs = [beside[own[k]][2:] if k in own else one(xi[k]) for k, one in enumerate(maps)]
        return xi, pairs, beside

    def system(unknowns):
        xi, pairs, beside = answers(unknowns)
        values = [
            dot(row, [value for value, _ in pairs]) - target
            for row, target in zip(A, c, strict=True)
        ]
        slopes = [iv.mpf(0) if k in own else slope for k, (_, slope) in enumerate(pairs)]
        lines = []
        for row in A:
            scaled = [a * s for a, s in zip(row, slopes, strict=True)]
            lines.append(
                [row[k] * pairs[k][1] for k in own] + [dot(scaled, other) / unit for other in A]
            )
        for place, (k, _, _) in enumerate(poles):
            values.append((xi[k] - beside[place][0]) * units[place])
            turns = [-beside[place][1] if j == place else iv.mpf(0) for j in range(len(poles))]
            lines.append([one * units[place] for one in [*turns, *(row[k] / unit for row in A)]])
        return values, lines

    scaled = [one * mp.mpf(unit.mid) for one in centre]
    root = inclusion(system, [*(log for _, _, log in poles), *scaled], apart=bool(poles))
    xi, pairs, beside = answers(root)
    for place, k in enumerate(own):
        xi[k] = beside[place][0]
    return [one / unit for one in root[len(poles) :]], xi, [value for value, _ in pairs]
