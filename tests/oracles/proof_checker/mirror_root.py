"""Roots of `XΨ(Xᵀν) = y`, enclosed anew by Krawczyk's test."""

from fractions import Fraction

from mpmath import iv, mp
from tests.oracles.proof_checker.arithmetic import Rejected, claimed, contain, dot, interval, solve
from tests.oracles.proof_checker.data import best_fits, data_of
from tests.oracles.proof_checker.mirror_maps import maps_of, starts_of

__all__ = ["enclosed", "mirror_root", "poles_of"]


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
    start = [mp.mpf(one.numerator) / one.denominator for one in centre]
    root, xi, values = enclosed(moved, A, c, start, poles_of(exported, moving, moved))
    coef, mirror = starts_of(problem), [Fraction(0)] * len(maps)
    for i, value, x in zip(moving, values, xi, strict=True):
        coef[i], mirror[i] = value, x
    contain(exported["coef"], coef)
    contain(exported["mirror"], mirror)
    inverse = _interval_solve(square, root)
    contain(exported["dual"], [dot([interval(one) for one in t], inverse) for t in T])


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
            raise Rejected("a map without poles")
        size = abs(mp.mpf(middle.numerator) / middle.denominator)
        found.append((place, 1 if middle > 0 else -1, mp.log(size) / maps[place].depth))
    return found


def enclosed(maps, A, c, centre, poles):
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
    root = _krawczyk(system, [*(log for _, _, log in poles), *scaled])
    xi, pairs, beside = answers(root)
    for place, k in enumerate(own):
        xi[k] = beside[place][0]
    return [one / unit for one in root[len(poles) :]], xi, [value for value, _ in pairs]


def _krawczyk(system, centre):
    """Newton on midpoints, then one inclusion: existence and uniqueness."""
    for _ in range(60):
        values, slopes = system([iv.mpf(one) for one in centre])
        J = mp.matrix([[mp.mpf(one.mid) for one in row] for row in slopes])
        step = mp.lu_solve(J, mp.matrix([mp.mpf(one.mid) for one in values]))
        centre = [a - s for a, s in zip(centre, step, strict=True)]
        small = mp.mpf(2) ** (-mp.prec * 5 // 8)
        if all(abs(s) <= small * abs(a) for a, s in zip(centre, step, strict=True)):
            break
    else:
        raise Rejected("no root near the claimed dual")
    values, slopes = system([iv.mpf(one) for one in centre])
    C = mp.matrix([[mp.mpf(one.mid) for one in row] for row in slopes]) ** -1
    radii = [mp.mpf(2) ** (-mp.prec // 2) * abs(one) for one in centre]
    wide = [iv.mpf([-radius, radius]) for radius in radii]
    _, slopes = system([iv.mpf(a) + one for a, one in zip(centre, wide, strict=True)])
    found = []
    for i, radius in enumerate(radii):
        row = [iv.mpf(C[i, k]) for k in range(len(centre))]
        product = [dot(row, [line[j] for line in slopes]) for j in range(len(centre))]
        rest = [iv.mpf(int(i == j)) - one for j, one in enumerate(product)]
        inner = dot(rest, wide) - dot(row, values)
        if not (-radius < inner.a and inner.b < radius):
            raise Rejected("the inclusion does not hold")
        found.append(iv.mpf(centre[i]) + inner)
    return found
