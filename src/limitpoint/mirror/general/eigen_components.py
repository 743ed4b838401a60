"""Blocks in the eigenbasis of their Hessian, to as many digits as the Hessian has.

A component that is small beside the block is a difference of large terms, `Σ_a θ_a V_aj`: with
eigenvectors in float64 it is right relative to the block only. The eigenvectors of a Hessian that
is exact in float64 (`ab` has [[0, 1], [1, 0]]) are therefore refined, by the iteration of Ogita and
Aishima (2018, Algorithm 1), which doubles their digits, in decimal arithmetic.
"""

from decimal import Decimal, localcontext

import numpy as np

from limitpoint.foundation.arrays import Float

__all__ = ["eigen_components"]

EPS = float(np.finfo(np.float64).eps)
# Of the 53 binary digits of a number, so many zeros at the end are no accident: one in a thousand
# rounded numbers has them.
TRAILING_ZEROS = 10
# Digits of the refined eigenvectors: those of a float64 block whose components cancel to 1e-16 of
# it, and as many again. Two iterations take sixteen digits to more than that.
DIGITS, ITERATIONS = 50, 2
# Eigenvalues closer than this part of the largest are equal up to rounding.
EQUAL = 1e-12


def eigen_components(
    hessian: Float, eigenvalues: Float, basis: Float, blocks: Float
) -> tuple[Float, Float]:
    """`z = Vᵀθ` of blocks (N, p), and the error that rounding of H and V may have made (N, p)."""
    if (np.count_nonzero(basis, axis=0) == 1).all():
        return blocks @ basis, EPS * np.abs(blocks @ basis)
    if _is_short(hessian):
        z = _refined_components(hessian, basis, blocks)
        return z, EPS * np.abs(z)
    z = blocks @ basis
    gaps = np.abs(eigenvalues[:, None] - eigenvalues)
    largest = float(np.abs(eigenvalues).max())
    apart = gaps > EQUAL * largest
    turns = np.where(apart, largest / np.where(apart, gaps, 1.0), 0.0)
    return z, EPS * (np.abs(z) + np.abs(z) @ turns)


def _is_short(numbers: Float) -> bool:
    """Whether all have zeros at the end of their binary digits: no rounding has made them."""
    mantissas, _ = np.frexp(numbers)
    return bool((np.remainder(mantissas * 2.0 ** (53 - TRAILING_ZEROS), 1.0) == 0).all())


def _refined_components(hessian: Float, basis: Float, blocks: Float) -> Float:
    """The components by refined eigenvectors, rounded once."""
    with localcontext() as context:
        context.prec = DIGITS
        columns = _refined(_decimals(hessian), _decimals(basis.T))
        rows = [[_dot(row, column) for column in columns] for row in _decimals(blocks)]
        return np.array([[float(x) for x in row] for row in rows]).reshape(blocks.shape)


def _refined(hessian: list[list[Decimal]], columns: list[list[Decimal]]) -> list[list[Decimal]]:
    """Eigenvectors, as rows, with twice the digits after each iteration."""
    size = range(len(columns))
    for _ in range(ITERATIONS):
        images = [[_dot(row, column) for row in hessian] for column in columns]
        excess = [[Decimal(int(i == j)) - _dot(columns[i], columns[j]) for j in size] for i in size]
        forms = [[_dot(columns[i], images[j]) for j in size] for i in size]
        values = [forms[i][i] / (1 - excess[i][i]) for i in size]
        close = Decimal(EQUAL) * max(abs(value) for value in values)
        mixed = [
            [
                excess[i][j] / 2
                if abs(values[j] - values[i]) <= close
                else (forms[i][j] + values[j] * excess[i][j]) / (values[j] - values[i])
                for j in size
            ]
            for i in size
        ]
        columns = [
            [columns[j][a] + sum(mixed[i][j] * columns[i][a] for i in size) for a in size]
            for j in size
        ]
    return columns


def _decimals(rows: Float) -> list[list[Decimal]]:
    return [[Decimal(float(x)) for x in row] for row in rows]


def _dot(left: list[Decimal], right: list[Decimal]) -> Decimal:
    return sum((a * b for a, b in zip(left, right, strict=True)), Decimal(0))
