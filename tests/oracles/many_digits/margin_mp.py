"""Margin problems to many digits: `min Σ_g w_g‖ρ_g‖` with `Aρ ≥ 1`, by a barrier in mpmath.

The dual `max Σμ_i`, `μ ≥ 0`, `‖(Aᵀμ)_g‖ ≤ w_g` with the barrier
`Σ_i log μ_i + Σ_g log(w_g² − ‖(Aᵀμ)_g‖²)`, whose Newton's method no change of units can slow down.
None of this uses limitpoint.
"""

import mpmath as mp

DIGITS = 140
# The gap at which the barrier's path is left, relative to the value.
GAP = mp.mpf(10) ** -50
# What is exactly zero comes out as the gap, or at worst as its cube root where complementarity is
# not strict; what is not, of small whole numbers, is far above.
CLEAR = mp.mpf(10) ** -10


def solve_to_many_digits(rows, groups, weights):
    """Coordinates ρ and multipliers μ; groups are lists of neighbouring columns.

    Both are right to about `GAP` times a condition number, or to its square root where the
    solution is not strictly complementary; where it is not unique, they are the analytic centre.
    """
    with mp.workdps(DIGITS):
        A = [[mp.mpf(entry) for entry in row] for row in rows]
        w = [mp.mpf(weight) for weight in weights]
        mu = _inside(A, groups, w)
        parameters = len(A) + 2 * len(groups)
        mu, slope = _centre(A, groups, w, mu, mp.mpf(0))
        t = 1 / slope
        while True:
            mu, _ = _centre(A, groups, w, mu, t)
            if parameters / t < GAP * mp.fsum(mu):
                break
            t *= 16
        xi = _neg_grads(A, mu)
        rho = [mp.mpf(0)] * len(A[0])
        for g, weight in zip(groups, w, strict=True):
            room = weight**2 - mp.fsum(xi[k] ** 2 for k in g)
            for k in g:
                rho[k] = 2 * xi[k] / (t * room)
        return rho, mu


def fourier_rows(rows):
    """Rows in orthonormal real Fourier coordinates, with their groups and weights, to all digits.

    Frequency k and n − k are one group `√2 (Re, Im)` of weight √2; the frequencies 0 and n/2 are
    groups of one, of weight 1.
    """
    with mp.workdps(DIGITS):
        n = len(rows[0])
        lines, groups, weights = [], [], []
        for k in range(n // 2 + 1):
            single = 2 * k % n == 0
            size = mp.sqrt(mp.mpf(1 if single else 2) / n)
            lines.append([size * mp.cos(2 * mp.pi * k * j / n) for j in range(n)])
            if not single:
                lines.append([size * mp.sin(2 * mp.pi * k * j / n) for j in range(n)])
            width = 1 if single else 2
            groups.append(list(range(len(lines) - width, len(lines))))
            weights.append(mp.sqrt(width))
        turned = [
            [mp.fsum(mp.mpf(a) * b for a, b in zip(row, line, strict=True)) for line in lines]
            for row in rows
        ]
        return turned, groups, weights, lines


def _neg_grads(A, mu):
    return [mp.fsum(a[k] * x for a, x in zip(A, mu, strict=True)) for k in range(len(A[0]))]


def _inside(A, groups, w):
    """Equal multipliers of rows of equal size, small enough for all cones."""
    sizes = [max(abs(entry) for entry in row) for row in A]
    mu = [1 / size for size in sizes]
    xi = _neg_grads(A, mu)
    worst = max(
        mp.sqrt(mp.fsum(xi[k] ** 2 for k in g)) / weight
        for g, weight in zip(groups, w, strict=True)
    )
    return [x / (2 * worst + 1) for x in mu] if worst > 0 else mu


def _centre(A, groups, w, mu, t):
    """Newton's method on `−t Σμ − barrier`, damped while the decrement is large.

    Also the length of the objective there, `(1ᵀH⁻¹1)^½`, whose inverse is a t to begin with.
    """
    m = len(A)
    for _ in range(400):
        xi = _neg_grads(A, mu)
        gradient = [-t - 1 / x for x in mu]
        hessian = mp.matrix(m, m)
        for i in range(m):
            hessian[i, i] = 1 / mu[i] ** 2
        for g, weight in zip(groups, w, strict=True):
            room = weight**2 - mp.fsum(xi[k] ** 2 for k in g)
            inner = [mp.fsum(a[k] * xi[k] for k in g) for a in A]
            for i in range(m):
                gradient[i] += 2 * inner[i] / room
                for j in range(i + 1):
                    cross = mp.fsum(A[i][k] * A[j][k] for k in g)
                    entry = 2 * cross / room + 4 * inner[i] * inner[j] / room**2
                    hessian[i, j] += entry
                    if i != j:
                        hessian[j, i] += entry
        step = mp.lu_solve(hessian, mp.matrix([-c for c in gradient]))
        decrement = mp.sqrt(abs(mp.fsum(-c * s for c, s in zip(gradient, step, strict=True))))
        damped = 1 / (1 + decrement) if decrement > mp.mpf("0.25") else 1
        mu = [x + damped * s for x, s in zip(mu, step, strict=True)]
        if decrement < mp.mpf(10) ** -12:
            ones = mp.lu_solve(hessian, mp.matrix([1] * m))
            return mu, mp.sqrt(mp.fsum(ones))
    raise ArithmeticError("the barrier's centre was not reached")


def is_unique_to_many_digits(rows, groups, weights, solution=None):
    """Whether the solution is the only one, for data of ordinary size with exact or clear ties.

    The path of the barrier ends in the analytic centre of the solutions, which uses every group
    that some solution uses and has a margin above 1 wherever some solution has. In the solutions
    `ρ_g = t_g (Aᵀμ)_g/w_g`, so that there is only one if no t changes no margin that is 1 in all.
    """
    rho, mu = solution or solve_to_many_digits(rows, groups, weights)
    with mp.workdps(DIGITS):
        A = [[mp.mpf(entry) for entry in row] for row in rows]
        size = mp.fsum(mu)
        xi = _neg_grads(A, mu)
        used = [g for g in groups if mp.norm([rho[k] for k in g]) > CLEAR * size]
        tight = [a for a in A if mp.fdot(a, rho) - 1 < CLEAR]
        if len(tight) < len(used):
            return False
        along = mp.matrix([[mp.fsum(a[k] * xi[k] for k in g) for g in used] for a in tight])
        values = mp.eigsy(along.T * along, eigvals_only=True)
        return min(values) > CLEAR**2
