"""Krawczyk's test: a root of a system, the only one nearby, enclosed."""

from mpmath import iv, mp
from tests.oracles.proof_checker.arithmetic import Rejected, dot

__all__ = ["inclusion"]


def inclusion(system, centre, apart=False):
    """Newton on midpoints, then one inclusion: existence and uniqueness.

    `system` takes intervals to those of its values and of its Jacobian. Unknowns that are apart are
    each of a size of its own, and none is zero.
    """
    m = len(centre)
    small = mp.mpf(2) ** (-mp.prec * 5 // 8)
    for _ in range(60):
        values, slopes = system([iv.mpf(one) for one in centre])
        J = mp.matrix([[mp.mpf(one.mid) for one in row] for row in slopes])
        step = mp.lu_solve(J, mp.matrix([mp.mpf(one.mid) for one in values]))
        centre = [a - s for a, s in zip(centre, step, strict=True)]
        sizes = [abs(one) for one in centre]
        sizes = sizes if apart else [max(sizes)] * m
        if all(abs(s) <= small * size for s, size in zip(step, sizes, strict=True)):
            break
    else:
        raise Rejected("no root near the claimed dual")
    values, slopes = system([iv.mpf(one) for one in centre])
    C = mp.matrix([[mp.mpf(one.mid) for one in row] for row in slopes]) ** -1
    radii = [mp.mpf(2) ** (-mp.prec // 2) * size for size in sizes]
    wide = [iv.mpf([-radius, radius]) for radius in radii]
    _, slopes = system([iv.mpf(one) + w for one, w in zip(centre, wide, strict=True)])
    found = []
    for i, radius in enumerate(radii):
        row = [iv.mpf(C[i, k]) for k in range(m)]
        product = [dot(row, [slopes[k][j] for k in range(m)]) for j in range(m)]
        rest = [iv.mpf(int(i == j)) - one for j, one in enumerate(product)]
        inner = dot(rest, wide) - dot(row, values)
        if not (-radius < inner.a and inner.b < radius):
            raise Rejected("the inclusion does not hold")
        found.append(iv.mpf(centre[i]) + inner)
    return found
