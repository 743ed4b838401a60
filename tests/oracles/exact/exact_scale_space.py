"""Inverse scale space by brute force, in exact rational arithmetic.

``ds/dt = Xᵀ(y − Xk)``, ``s ∈ ∂R(k)``, from s = 0. At every event the least-squares point over
``{k : kᵢ ≥ 0 where sᵢ = t⁺ᵢ, kᵢ ≤ 0 where sᵢ = −t⁻ᵢ, kᵢ = 0 elsewhere}`` is found by trying every
support and checking the optimality conditions exactly. Exponential; for a handful of columns.
"""

from fractions import Fraction
from itertools import combinations


def exact_path(X, y, t_plus, t_minus, max_events=1000):
    """Return lists (times, coefs, ξ, ambiguous) of exact rationals, starting at 0."""
    X = [[Fraction(v) for v in row] for row in X]
    y = [Fraction(v) for v in y]
    n = len(X[0])
    t_plus, t_minus = [Fraction(v) for v in t_plus], [Fraction(v) for v in t_minus]
    k, s, time = [Fraction(0)] * n, [Fraction(0)] * n, Fraction(0)
    times, coefs, xi, ambiguous = [time], [k], [s], [False]
    for _ in range(max_events):
        u = gradient(X, y, k)
        waits = [wait(s[i], u[i], t_plus[i], t_minus[i]) for i in range(n)]
        waits = [w for w in waits if w is not None]
        if not waits:
            return times, coefs, xi, ambiguous
        delta = min(waits)
        s = [s[i] + delta * u[i] for i in range(n)]
        time += delta
        solutions = constrained_least_squares(X, y, s, t_plus, t_minus)
        k = solutions[0]
        times.append(time)
        coefs.append(k)
        xi.append(s)
        ambiguous.append(len(solutions) > 1)
    raise RuntimeError("too many events")


def wait(s, u, plus, minus):
    """How long until the mirror coordinate reaches a wall.

    None if it stands still or leaves a wall outward.
    """
    if u > 0:
        return None if s == plus else (plus - s) / u
    if u < 0:
        return None if s == -minus else (s + minus) / -u
    return None


def gradient(X, y, k):
    residual = [
        b - sum(a * c for a, c in zip(row, k, strict=True)) for row, b in zip(X, y, strict=True)
    ]
    return [sum(row[i] * r for row, r in zip(X, residual, strict=True)) for i in range(len(k))]


def constrained_least_squares(X, y, s, t_plus, t_minus):
    """All basic solutions (independent columns): more than one means an ambiguous saddle."""
    n = len(s)
    wall = [i for i in range(n) if s[i] == t_plus[i] or s[i] == -t_minus[i]]
    found = []
    for size in range(len(wall) + 1):
        for support in combinations(wall, size):
            values = normal_equations(X, y, support)
            if values is None or any(v == 0 for v in values):
                continue
            k = [Fraction(0)] * n
            for i, v in zip(support, values, strict=True):
                k[i] = v
            if is_optimal(X, y, k, s, t_plus, t_minus, wall):
                found.append(k)
    return found


def is_optimal(X, y, k, s, t_plus, t_minus, wall):
    u = gradient(X, y, k)
    for i in wall:
        may_grow, may_fall = s[i] == t_plus[i], s[i] == -t_minus[i]
        if (k[i] > 0 and not may_grow) or (k[i] < 0 and not may_fall):
            return False
        if k[i] != 0 and u[i] != 0:
            return False
        if k[i] == 0 and ((may_grow and u[i] > 0) or (may_fall and u[i] < 0)):
            return False
    return True


def normal_equations(X, y, support):
    """Gaussian elimination on ``X_SᵀX_S v = X_Sᵀy``; None if the columns are dependent."""
    rows = [
        [sum(row[i] * row[j] for row in X) for j in support]
        + [sum(row[i] * b for row, b in zip(X, y, strict=True))]
        for i in support
    ]
    size = len(support)
    for pivot in range(size):
        swap = next((r for r in range(pivot, size) if rows[r][pivot] != 0), None)
        if swap is None:
            return None
        rows[pivot], rows[swap] = rows[swap], rows[pivot]
        rows[pivot] = [v / rows[pivot][pivot] for v in rows[pivot]]
        for r in range(size):
            if r != pivot and rows[r][pivot] != 0:
                factor = rows[r][pivot]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[pivot], strict=True)]
    return [rows[i][size] for i in range(size)]
