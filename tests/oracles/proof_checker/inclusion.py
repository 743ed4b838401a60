"""Krawczyk's test: a root of a system, the only one nearby, enclosed."""

from mpmath import iv, mp
from tests.oracles.proof_checker.arithmetic import Rejected, dot

__all__ = ["inclusion"]


def inclusion(system, centre):
    """Newton on midpoints, then one inclusion: existence and uniqueness.

    `system` takes intervals to those of its values and of its Jacobian.
    """
    m = len(centre)
    for _ in range(60):
        values, slopes = system([iv.mpf(one) for one in centre])
        J = mp.matrix([[mp.mpf(one.mid) for one in row] for row in slopes])
        step = mp.lu_solve(J, mp.matrix([mp.mpf(one.mid) for one in values]))
        centre = [a - s for a, s in zip(centre, step, strict=True)]
        size = max(abs(s) for s in step)
        if size <= mp.mpf(2) ** (-mp.prec * 3 // 4) * max(abs(one) for one in centre):
            break
    else:
        raise Rejected("no root near the claimed dual")
    values, slopes = system([iv.mpf(one) for one in centre])
    C = mp.matrix([[mp.mpf(one.mid) for one in row] for row in slopes]) ** -1
    radius = mp.mpf(2) ** (-mp.prec // 2) * max(abs(one) for one in centre)
    wide = iv.mpf([-radius, radius])
    _, slopes = system([iv.mpf(one) + wide for one in centre])
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
