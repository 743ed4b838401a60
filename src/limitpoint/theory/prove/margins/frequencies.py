"""Discrete Fourier transforms of rational vectors: in balls, and zero or not exactly.

Notation: `â_k = Σ_j a_j ω^{jk}`, `ω = e^{−2πi/n}`, for k from 0 to n/2: the others are conjugate to
these. It is zero exactly if the polynomial `Σ a_j z^j` is a multiple of the cyclotomic polynomial
Φ_d, `d = n/gcd(k, n)`: so that what is left of a by division are rational coordinates of all
frequencies with the same d together.
"""

import math
from collections.abc import Iterable, Sequence

from flint import arb, arb_mat, fmpq, fmpq_mat, fmpq_poly, fmpz_poly

__all__ = ["Transforms", "coordinates", "order", "vanishes"]


class Transforms:
    """Cosine and sine sums of the rows of a matrix, `â_k = R_k − iI_k`.

    Attributes
    ----------
    cosines, sines
        `cos(2πjk/n)` and `sin(2πjk/n)`, shape (n, n//2 + 1).
    real, imaginary
        R and I, one row for each row of the matrix.
    counts
        How many of all n frequencies each stands for: 1 of 0 and n/2, 2 of the others.
    """

    def __init__(self, rows: fmpq_mat) -> None:
        n = rows.ncols()
        frequencies = range(n // 2 + 1)
        angles = [fmpq(2 * (j * k % n), n) for j in range(n) for k in frequencies]
        self.cosines = arb_mat(n, len(frequencies), [arb.cos_pi_fmpq(one) for one in angles])
        self.sines = arb_mat(n, len(frequencies), [arb.sin_pi_fmpq(one) for one in angles])
        balls = arb_mat(rows)
        self.real, self.imaginary = balls * self.cosines, balls * self.sines
        self.counts = [1 if 2 * k % n == 0 else 2 for k in frequencies]

    def form(self, k: int) -> arb_mat:
        """`K_k = c_k Re(â_i,k* â_l,k)`, for all pairs of rows."""
        m = self.real.nrows()
        pairs = [(self.real[i, k], self.imaginary[i, k]) for i in range(m)]
        part = arb_mat(m, 2, [one for pair in pairs for one in pair])
        return part * part.transpose() * self.counts[k]


def coordinates(vector: Sequence[fmpq], orders: Iterable[int]) -> list[fmpq]:
    """Rational coordinates of its frequencies of these orders d, zero exactly if these are."""
    polynomial = fmpq_poly(list(vector))
    found = []
    for order in sorted(set(orders)):
        cyclotomic = fmpq_poly(fmpz_poly.cyclotomic(order))
        left = polynomial % cyclotomic
        found += [left[i] for i in range(cyclotomic.degree())]
    return found


def vanishes(vector: Sequence[fmpq], k: int) -> bool:
    """Whether the transform at frequency k is zero exactly."""
    return not any(coordinates(vector, [order(k, len(vector))]))


def order(k: int, n: int) -> int:
    """The d of a frequency."""
    return n // math.gcd(k, n)
