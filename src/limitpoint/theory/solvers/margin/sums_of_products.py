"""Sums of products as if in twice the precision (Ogita, Rump and Oishi 2005, Dot2)."""

import numpy as np

from limitpoint.foundation.arrays import Float

__all__ = ["sums_of_products", "two_sum"]

# Veltkamp's constant, 2^27 + 1: cuts a float64 into two halves of 26 bits.
SPLITTER = 134217729.0


def sums_of_products(rows: Float, factors: Float, corrections: Float, less: Float) -> Float:
    """`Σ_i (factors_i + corrections_i) rows_i − less`, for every column.

    Rounded once, and by some eps² of the sum of the moduli: products and their sums are carried
    with what each of them rounds off. The numbers must not be so large that 2^27 times one
    overflows; those of an equilibrated problem are not.

    Examples
    --------
    >>> rows = np.array([[1.0], [1.0]])
    >>> sums_of_products(rows, np.array([1.0, -1.0]), np.array([1e-20, 0.0]), np.zeros(1)).tolist()
    [1e-20]
    """
    total, lost = -np.asarray(less, dtype=np.float64), np.zeros(rows.shape[1])
    for row, factor, correction in zip(rows, factors, corrections, strict=True):
        if factor == 0.0 and correction == 0.0:
            continue
        product, rest = _two_product(row, float(factor))
        total, error = two_sum(total, product)
        lost = lost + (rest + error + correction * row)
    sums: Float = total + lost
    return sums


def two_sum(one: Float, other: Float) -> tuple[Float, Float]:
    """The rounded sum and what rounding took off it (Knuth)."""
    total = one + other
    part = total - one
    return total, (one - (total - part)) + (other - part)


def _two_product(row: Float, factor: float) -> tuple[Float, Float]:
    """The rounded products and what rounding took off them (Dekker)."""
    product = row * factor
    high, low = _split(row)
    upper, lower = _split(np.asarray(factor))
    rest = ((high * upper - product) + high * lower + low * upper) + low * lower
    return product, rest


def _split(value: Float) -> tuple[Float, Float]:
    swollen = SPLITTER * value
    high = swollen - (swollen - value)
    return high, value - high
