"""Roots of `XΨ(Xᵀν) = y`, enclosed anew by Krawczyk's test."""

from fractions import Fraction

from mpmath import iv, mp
from tests.oracles.proof_checker.arithmetic import claimed, contain, dot, interval, solve
from tests.oracles.proof_checker.data import best_fits, data_of
from tests.oracles.proof_checker.inclusion import inclusion
from tests.oracles.proof_checker.mirror_maps import maps_of

__all__ = ["enclosed", "mirror_root"]


def mirror_root(problem, exported):
    """Krawczyk's test on `XΨ(Xᵀν) = y`, around the claimed dual."""
    maps = maps_of(problem)
    moving = [i for i, one in enumerate(maps) if one is not None]
    X, y = data_of(problem, moving)
    fits = best_fits(X, y, exported["witness"].get("rows", list(range(len(y)))))
    coef, mirror = [iv.mpf(0)] * len(maps), [iv.mpf(0)] * len(maps)
    rows = [[interval(one) for one in row] for row in fits[0]]
    moved = [maps[i] for i in moving]
    for i, (value, xi) in zip(moving, enclosed(moved, rows, fits, exported), strict=True):
        coef[i], mirror[i] = value, xi
    contain(exported["coef"], coef)
    contain(exported["mirror"], mirror)


def enclosed(maps, A, fits, exported):
    """Coefficients and their mirror coordinates, from the rows kept (intervals) and their fits.

    The claimed dual must contain the root that is found around it.
    """
    _, targets, T, square = fits
    said = [m for m, _ in claimed(exported["dual"])]
    # ν = T(TᵀT)⁻¹ν_R, so ν_R = Tᵀν.
    centre = [sum(t[a] * nu for t, nu in zip(T, said, strict=True)) for a in range(len(targets))]
    c = [interval(one) for one in targets]
    root = _krawczyk(maps, A, c, [mp.mpf(one.numerator) / one.denominator for one in centre])
    xi = [dot([row[k] for row in A], root) for k in range(len(maps))]
    inverse = _interval_solve(square, root)
    contain(exported["dual"], [dot([interval(one) for one in t], inverse) for t in T])
    return [(one(x)[0], x) for one, x in zip(maps, xi, strict=True)]


def _interval_solve(square, right):
    """Fractions times intervals: the columns of the inverse are rational."""
    n = len(right)
    columns = [solve(square, [Fraction(int(i == k)) for i in range(n)]) for k in range(n)]
    return [dot([interval(columns[k][i]) for k in range(n)], right) for i in range(n)]


def _krawczyk(maps, A, c, centre):
    return inclusion(lambda dual: _system(maps, A, c, dual), centre)


def _system(maps, A, c, dual):
    xi = [dot([row[k] for row in A], dual) for k in range(len(maps))]
    values, slopes = zip(*(one(x) for one, x in zip(maps, xi, strict=True)), strict=True)
    residual = [dot(row, values) - target for row, target in zip(A, c, strict=True)]
    scaled = [[a * s for a, s in zip(row, slopes, strict=True)] for row in A]
    return residual, [[dot(one, other) for other in A] for one in scaled]
