"""Algorithm 1 in exact rational arithmetic, for data in any units.

Floats are taken as the exact numbers they are. Where `exact_scale_space` tries every support, this
one follows the signs by an exact active set (Lawson & Hanson 1974), so that a dozen columns take
milliseconds; and it proves what it found: every saddle by the optimality conditions of its
least-squares problem, the end by linear programming duality, all without a tolerance.
"""

from dataclasses import dataclass
from fractions import Fraction

ZERO = Fraction(0)


@dataclass(frozen=True)
class ExactPath:
    """Saddles from the start on, and what is known of the last one."""

    times: list
    coefs: list
    mirror: list
    fitted: bool  # Xk = y at the end; else k is a least-squares fit
    unique: bool  # no other coefficients have the same fit and penalty


def exact_saddles(X, y, t_plus, t_minus, max_events=1000):
    """Follow the saddles of ``½‖Xk − y‖²`` with finite, positive growth times."""
    X = [[Fraction(float(v)) for v in row] for row in X]
    y = [Fraction(float(v)) for v in y]
    up = [Fraction(float(v)) for v in t_plus]
    down = [-Fraction(float(v)) for v in t_minus]
    n = len(X[0])
    columns = [[row[i] for row in X] for i in range(n)]
    gram = [[dot(a, b) for b in columns] for a in columns]
    moments = [dot(a, y) for a in columns]
    k, s, time = [ZERO] * n, [ZERO] * n, ZERO
    times, coefs, xi = [time], [k], [s]
    for _ in range(max_events):
        u = slopes(gram, moments, k)
        waits = [wait(s[i], u[i], down[i], up[i]) for i in range(n)]
        if all(w is None for w in waits):
            fitted = residual(X, y, k) == [ZERO] * len(y)
            prove_end(k, s, down, up)
            return ExactPath(times, coefs, xi, fitted, is_unique(gram, k, s, down, up))
        delta = min(w for w in waits if w is not None)
        s = [s[i] + delta * u[i] for i in range(n)]
        time += delta
        k = constrained_fit(gram, moments, k, s, down, up)
        times.append(time)
        coefs.append(k)
        xi.append(s)
    raise RuntimeError("too many events")


def wait(s, u, down, up):
    """How long until the mirror coordinate reaches a wall.

    None if it never does, or stands at it.
    """
    if u > 0:
        return None if s == up else (up - s) / u
    if u < 0:
        return None if s == down else (down - s) / u
    return None


def constrained_fit(gram, moments, k, s, down, up):
    """Least squares over ``kᵢ ≥ 0 where sᵢ = up, kᵢ ≤ 0 where sᵢ = down, kᵢ = 0 elsewhere``."""
    n = len(k)
    sides = [1 if s[i] == up[i] else -1 if s[i] == down[i] else 0 for i in range(n)]
    k = list(k)
    passive = [i for i in range(n) if k[i] != 0]
    while True:
        u = slopes(gram, moments, k)
        open_ = [i for i in range(n) if i not in passive and u[i] * sides[i] > 0]
        if not open_ and all(u[i] == 0 for i in passive):
            prove_fit(u, k, sides)
            return k
        if open_ and all(u[i] == 0 for i in passive):
            passive.append(max(open_, key=lambda i: u[i] ** 2 / gram[i][i]))
        k, passive = walk_to_fit(gram, moments, k, sides, passive)


def walk_to_fit(gram, moments, k, sides, passive):
    """To the least-squares point of the passive set, dropping what would change its sign."""
    while True:
        values = solve(
            [[gram[i][j] for j in passive] for i in passive], [moments[i] for i in passive]
        )
        goal = dict(zip(passive, values, strict=True))
        wrong = [i for i in passive if goal[i] * sides[i] <= 0]
        if not wrong:
            return [goal.get(i, ZERO) for i in range(len(k))], passive
        step = min(k[i] / (k[i] - goal[i]) if k[i] != goal[i] else ZERO for i in wrong)
        k = [k[i] + step * (goal[i] - k[i]) if i in goal else ZERO for i in range(len(k))]
        passive = [i for i in passive if k[i] != 0]
        if not passive:
            return k, passive


def prove_fit(u, k, sides):
    """The optimality conditions of the least-squares problem over its signs."""
    for slope, value, side in zip(u, k, sides, strict=True):
        assert value * side > 0 if value != 0 else slope * side <= 0
        assert value == 0 or slope == 0


def prove_end(k, s, down, up):
    """Duality.

    Every mirror coordinate within its walls, and at the right one where k is not zero.
    """
    for value, xi, low, high in zip(k, s, down, up, strict=True):
        assert low <= xi <= high
        assert value <= 0 or xi == high
        assert value >= 0 or xi == low


def is_unique(gram, k, s, down, up):
    """Whether only the support stands at a wall (its columns are independent)."""
    wall = [i for i in range(len(k)) if gram[i][i] != 0 and s[i] in (down[i], up[i])]
    return all(k[i] != 0 for i in wall)


def slopes(gram, moments, k):
    support = [i for i, value in enumerate(k) if value != 0]
    return [
        b - sum((row[i] * k[i] for i in support), ZERO)
        for row, b in zip(gram, moments, strict=True)
    ]


def residual(X, y, k):
    return [b - dot(row, k) for row, b in zip(X, y, strict=True)]


def dot(a, b):
    return sum((p * q for p, q in zip(a, b, strict=True)), ZERO)


def solve(matrix, rhs):
    """Gaussian elimination on a positive definite system."""
    rows = [[*row, b] for row, b in zip(matrix, rhs, strict=True)]
    size = len(rows)
    for pivot in range(size):
        head = rows[pivot][pivot]
        assert head > 0, "dependent columns"
        for r in range(pivot + 1, size):
            factor = rows[r][pivot] / head
            if factor:
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[pivot], strict=True)]
    values = [ZERO] * size
    for i in reversed(range(size)):
        rest = sum((rows[i][j] * values[j] for j in range(i + 1, size)), ZERO)
        values[i] = (rows[i][size] - rest) / rows[i][i]
    return values


def contribution_error(X, y, exact, coef):
    """``max |x_ji Δβ_i| / (|x_j|ᵀ|β| + |y_j|)``, β the exact coefficients."""
    X = [[Fraction(float(v)) for v in row] for row in X]
    change = [abs(a - Fraction(float(b))) for a, b in zip(exact, coef, strict=True)]
    worst = ZERO
    for row, target in zip(X, y, strict=True):
        size = abs(Fraction(float(target)))
        size += sum((abs(a * b) for a, b in zip(row, exact, strict=True)), ZERO)
        most = max(abs(a) * d for a, d in zip(row, change, strict=True))
        if most:
            worst = max(worst, most / size)
    return float(worst)
