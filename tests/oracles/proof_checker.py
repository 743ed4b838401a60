"""Check a proof from its problem and its JSON export alone: fractions and mpmath's intervals.

None of our code: an hour with a textbook of interval arithmetic should suffice to write it again.
`check` raises `Rejected` unless the claimed balls contain enclosures that are computed here anew.
"""

import re
from fractions import Fraction

import mpmath
from mpmath import iv, mp

__all__ = ["Rejected", "check"]


class Rejected(Exception):
    """The proof is not one of this problem, or a ball does not contain what it should."""


def check(problem, exported):
    """`problem`: network, direction, scale or log_scale, X and y, as in the export."""
    if exported.get("format") != "limitpoint proof 1" or exported.get("ok") is not True:
        raise Rejected("not a proof")
    if exported["problem"] != problem:
        raise Rejected("a proof of another problem")
    kinds = {"mirror root": _mirror_root, "weighted least norm": _least_norm}
    if exported["kind"] not in kinds:
        raise Rejected(f"a kind of proof that is not known: {exported['kind']}")
    _accurate(exported)
    precision = mp.prec, iv.prec
    mp.prec = iv.prec = 2 * exported["bits"] + 8 * exported["digits"] + 200
    try:
        kinds[exported["kind"]](problem, exported)
    finally:
        mp.prec, iv.prec = precision


def _claimed(balls):
    return [
        (Fraction(m), Fraction(r)) for m, r in zip(balls["midpoint"], balls["radius"], strict=True)
    ]


def _accurate(exported):
    """As many digits as it says, of every coefficient whose sign is decided."""
    for middle, radius in _claimed(exported["coef"]):
        if radius < 0 or (radius < abs(middle) and radius > abs(middle) / 10 ** exported["digits"]):
            raise Rejected("a radius is not what the digits say")


def _contain(balls, found):
    """Each claimed ball contains the interval (or fraction) found here."""
    claimed = _claimed(balls)
    if len(claimed) != len(found):
        raise Rejected("of another length")
    for (middle, radius), one in zip(claimed, found, strict=True):
        low, high = (one, one) if isinstance(one, Fraction) else (_exact(one.a), _exact(one.b))
        if not middle - radius <= low <= high <= middle + radius:
            raise Rejected("a ball does not contain its number")


def _exact(number):
    sign, mantissa, exponent, _ = mpmath.mpf(number)._mpf_
    value = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return -value if sign else value


def _interval(value):
    value = Fraction(value)
    return iv.mpf(int(value.numerator)) / iv.mpf(int(value.denominator))


# ------------------------------------------------------------ rational linear algebra


def _solve(matrix, right):
    """The solution of a regular system of fractions."""
    rows = [[*line, b] for line, b in zip(matrix, right, strict=True)]
    n = len(rows)
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k] != 0), None)
        if pivot is None:
            raise Rejected("a matrix is singular")
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [one / rows[k][k] for one in rows[k]]
        for i in range(n):
            if i != k and rows[i][k] != 0:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [line[n] for line in rows]


def _dot(a, b):
    return sum((p * q for p, q in zip(a, b, strict=True)), a[0] * 0)


def _best_fits(X, y, kept):
    """What the best fits give in the kept rows, and the way from those to the dual.

    Every row is a combination `T` of the kept ones, found from `X_R X_Rᵀ t = X_R x` and checked.
    """
    rows = [X[j] for j in kept]
    gram = [[_dot(a, b) for b in rows] for a in rows]
    T = [_solve(gram, [_dot(row, x) for row in rows]) for x in X]
    for t, x in zip(T, X, strict=True):
        if [_dot(t, [row[i] for row in rows]) for i in range(len(x))] != x:
            raise Rejected("a row left out is not made of those kept")
    square = [[sum(t[a] * t[b] for t in T) for b in range(len(kept))] for a in range(len(kept))]
    right = [sum(t[a] * target for t, target in zip(T, y, strict=True)) for a in range(len(kept))]
    return rows, _solve(square, right), T, square


def _data(problem, moving):
    X = [[Fraction(row[i]) for i in moving] for row in problem["X"]]
    return X, [Fraction(one) for one in problem["y"]]


# ------------------------------------------------------------ the two kinds


def _least_norm(problem, exported):
    """`β = DXᵀν` fits the data as well as anything: all in fractions."""
    name, depth = _network(problem)
    rows = [[Fraction(one) for one in row] for row in zip(*problem["direction"], strict=True)]
    if name in ("Diagonal", "Paired"):
        weights = [sum(one**2 for one in row) for row in rows]
        starts = [row[0] * row[1] - (row[2] * row[3] if name == "Paired" else 0) for row in rows]
    else:
        weights = [sum((depth * one ** (depth - 1)) ** 2 for one in row) for row in rows]
        starts = [row[0] ** depth - (row[1] ** depth if len(row) > 1 else 0) for row in rows]
    if problem.get("scale") != float("inf") or any(starts):
        raise Rejected("no least norm")
    moving = [i for i, weight in enumerate(weights) if weight]
    X, y = _data(problem, moving)
    kept, targets, _, _ = _best_fits(X, y, exported["witness"]["rows"])
    weighted = [[weights[i] * one for i, one in zip(moving, row, strict=True)] for row in kept]
    dual = _solve([[_dot(a, b) for b in weighted] for a in kept], targets)
    coef = [Fraction(0)] * len(weights)
    for k, i in enumerate(moving):
        coef[i] = sum(nu * row[k] for nu, row in zip(dual, weighted, strict=True))
    _contain(exported["coef"], coef)


def _mirror_root(problem, exported):
    """Krawczyk's test on `XΨ(Xᵀν) = y`, around the claimed dual."""
    maps = _maps(problem)
    moving = [i for i, one in enumerate(maps) if one is not None]
    X, y = _data(problem, moving)
    kept = exported["witness"].get("rows", list(range(len(y))))
    rows, targets, T, square = _best_fits(X, y, kept)
    claimed = [m for m, _ in _claimed(exported["dual"])]
    # ν = T(TᵀT)⁻¹ν_R, so ν_R = Tᵀν.
    centre = [sum(t[a] * nu for t, nu in zip(T, claimed, strict=True)) for a in range(len(kept))]
    moved = [maps[i] for i in moving]
    A = [[_interval(one) for one in row] for row in rows]
    c = [_interval(one) for one in targets]
    root = _krawczyk(moved, A, c, [mp.mpf(one.numerator) / one.denominator for one in centre])
    xi = [_dot([row[k] for row in A], root) for k in range(len(moving))]
    coef, mirror = [iv.mpf(0)] * len(maps), [iv.mpf(0)] * len(maps)
    for i, one, x in zip(moving, moved, xi, strict=True):
        coef[i], mirror[i] = one(x)[0], x
    _contain(exported["coef"], coef)
    _contain(exported["mirror"], mirror)
    inverse = _interval_solve(square, root)
    _contain(exported["dual"], [_dot([_interval(one) for one in t], inverse) for t in T])


def _interval_solve(square, right):
    """Fractions times intervals: the columns of the inverse are rational."""
    n = len(right)
    columns = [_solve(square, [Fraction(int(i == k)) for i in range(n)]) for k in range(n)]
    return [_dot([_interval(columns[k][i]) for k in range(n)], right) for i in range(n)]


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
        product = [_dot(row, [slopes[k][j] for k in range(m)]) for j in range(m)]
        rest = [iv.mpf(int(i == j)) - one for j, one in enumerate(product)]
        inner = _dot(rest, [wide] * m) - _dot(row, values)
        if not (-radius < inner.a and inner.b < radius):
            raise Rejected("the inclusion does not hold")
        found.append(iv.mpf(centre[i]) + inner)
    return found


def _system(maps, A, c, dual):
    xi = [_dot([row[k] for row in A], dual) for k in range(len(maps))]
    values, slopes = zip(*(one(x) for one, x in zip(maps, xi, strict=True)), strict=True)
    residual = [_dot(row, values) - target for row, target in zip(A, c, strict=True)]
    scaled = [[a * s for a, s in zip(row, slopes, strict=True)] for row in A]
    return residual, [[_dot(one, other) for other in A] for one in scaled]


# ------------------------------------------------------------ the networks


def _network(problem):
    name, depth = re.fullmatch(r"(\w+)\((?:depth=(\d+))?\)", problem["network"]).groups()
    return name, int(depth or 2)


def _maps(problem):
    """`ξ ↦ (β, β')` of each coefficient, by what MATH 1.1 and 1.2 say; None if it never moves."""
    name, depth = _network(problem)
    log_scale = problem.get("log_scale")
    s = iv.exp(_interval(log_scale)) if log_scale is not None else _interval(problem["scale"])
    rows = [[_interval(one) for one in row] for row in zip(*problem["direction"], strict=True)]
    made = []
    for row in rows:
        if name == "Diagonal" and depth == 2:
            a, b = row
            made.append(_exponential((a + b) ** 2 * s**2 / 4, (a - b) ** 2 * s**2 / 4, 2))
        elif name == "Paired":
            a, b, c, d = row
            grows, decays = (a + b) ** 2 + (c - d) ** 2, (a - b) ** 2 + (c + d) ** 2
            made.append(_exponential(grows * s**2 / 4, decays * s**2 / 4, 2))
        elif depth == 2:
            last = row[1] if len(row) > 1 else iv.mpf(0)
            made.append(_exponential((row[0] * s) ** 2, (last * s) ** 2, 4))
        else:
            made.append(_powers([one * s for one in row], depth))
    return made


def _exponential(grows, decays, rate):
    if grows == 0 and decays == 0:
        return None

    def at(x):
        up, down = grows * iv.exp(rate * x), decays * iv.exp(-rate * x)
        return up - down, rate * (up + down)

    return at


def _powers(starts, depth):
    """`u' = Lu^{L−1}` upwards, `w' = −Lw^{L−1}`: `u^{2−L} = u(0)^{2−L} − L(L−2)ξ`, w at −ξ."""
    if all(one == 0 for one in starts):
        return None

    def at(x):
        value = slope = iv.mpf(0)
        for start, outer in zip(starts, (1, -1), strict=False):
            if start == 0:
                continue
            negative = start < 0
            size = -start if negative else start
            # With |u|: d|u|/dξ = ±L|u|^{L−1}, downwards for a negative odd power.
            sign = -outer if negative and depth % 2 else outer
            left = 1 / size ** (depth - 2) - sign * depth * (depth - 2) * x
            if not left.a > 0:
                raise Rejected("beyond a pole")
            size = iv.exp(-iv.log(left) / (depth - 2))
            value += sign * size**depth
            slope += (depth * size ** (depth - 1)) ** 2
        return value, slope

    return at
