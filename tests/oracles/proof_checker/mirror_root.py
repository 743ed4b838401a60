"""Roots of `XΨ(Xᵀν) = y`, enclosed anew by Krawczyk's test."""

from fractions import Fraction

from mpmath import iv, mp
from tests.oracles.proof_checker.arithmetic import Rejected, claimed, contain, dot, interval, solve
from tests.oracles.proof_checker.data import best_fits, data_of
from tests.oracles.proof_checker.mirror_maps import maps_of, starts_of

__all__ = ["mirror_root"]


def mirror_root(problem, exported):
    """Krawczyk's test on `XΨ(Xᵀν) = y`, around the claimed dual."""
    maps = maps_of(problem)
    columns = list(zip(*problem["X"], strict=True))
    # A coefficient that no sample sees stays where it starts.
    moving = [i for i, one in enumerate(maps) if one is not None and any(columns[i])]
    X, y = data_of(problem, moving)
    kept = exported["witness"].get("rows", list(range(len(y))))
    rows, targets, T, square = best_fits(X, y, kept)
    said = [m for m, _ in claimed(exported["dual"])]
    # ν = T(TᵀT)⁻¹ν_R, so ν_R = Tᵀν.
    centre = [sum(t[a] * nu for t, nu in zip(T, said, strict=True)) for a in range(len(kept))]
    moved = [maps[i] for i in moving]
    A = [[interval(one) for one in row] for row in rows]
    c = [interval(one) for one in targets]
    root = _krawczyk(moved, A, c, [mp.mpf(one.numerator) / one.denominator for one in centre])
    xi = [dot([row[k] for row in A], root) for k in range(len(moving))]
    coef, mirror = starts_of(problem), [Fraction(0)] * len(maps)
    for i, one, x in zip(moving, moved, xi, strict=True):
        coef[i], mirror[i] = one(x)[0], x
    contain(exported["coef"], coef)
    contain(exported["mirror"], mirror)
    inverse = _interval_solve(square, root)
    contain(exported["dual"], [dot([interval(one) for one in t], inverse) for t in T])


def _interval_solve(square, right):
    """Fractions times intervals: the columns of the inverse are rational."""
    n = len(right)
    columns = [solve(square, [Fraction(int(i == k)) for i in range(n)]) for k in range(n)]
    return [dot([interval(columns[k][i]) for k in range(n)], right) for i in range(n)]


def _krawczyk(maps, A, c, centre):
    """Newton on midpoints, then one inclusion: existence and uniqueness."""
    m = len(A)
    for _ in range(60):
        values, slopes = _system(maps, A, c, [iv.mpf(one) for one in centre])
        J = mp.matrix([[mp.mpf(one.mid) for one in row] for row in slopes])
        step = mp.lu_solve(J, mp.matrix([mp.mpf(one.mid) for one in values]))
        centre = [a - s for a, s in zip(centre, step, strict=True)]
        size = max(abs(s) for s in step)
        if size <= mp.mpf(2) ** (-mp.prec * 3 // 4) * max(abs(one) for one in centre):
            break
    else:
        raise Rejected("no root near the claimed dual")
    values, slopes = _system(maps, A, c, [iv.mpf(one) for one in centre])
    C = mp.matrix([[mp.mpf(one.mid) for one in row] for row in slopes]) ** -1
    radius = mp.mpf(2) ** (-mp.prec // 2) * max(abs(one) for one in centre)
    wide = iv.mpf([-radius, radius])
    _, slopes = _system(maps, A, c, [iv.mpf(one) + wide for one in centre])
    found = []
    for i in range(m):
        row = [iv.mpf(C[i, k]) for k in range(m)]
        product = [dot(row, [slopes[k][j] for k in range(m)]) for j in range(m)]
        rest = [iv.mpf(int(i == j)) - one for j, one in enumerate(product)]
        inner = dot(rest, [wide] * m) - dot(row, values)
        if not (-radius < inner.a and inner.b < radius):
            raise Rejected("the inclusion does not hold")
        found.append(iv.mpf(centre[i]) + inner)
    return found


def _system(maps, A, c, dual):
    xi = [dot([row[k] for row in A], dual) for k in range(len(maps))]
    values, slopes = zip(*(one(x) for one, x in zip(maps, xi, strict=True)), strict=True)
    residual = [dot(row, values) - target for row, target in zip(A, c, strict=True)]
    scaled = [[a * s for a, s in zip(row, slopes, strict=True)] for row in A]
    return residual, [[dot(one, other) for other in A] for one in scaled]
