"""Exact numbers: floats as the rationals that they are, balls around what is not rational.

A ball of Arb, `[mid ± rad]`, contains the number it stands for whatever is computed with it; every
rational function, exponential, root and matrix product here is enclosed that way.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq, fmpq_mat
from numpy.typing import NDArray

from limitpoint.init import Init

__all__ = [
    "as_balls",
    "as_rationals",
    "ball",
    "ball_column",
    "ball_matrix",
    "column",
    "entries",
    "largest",
    "magnitude",
    "midpoints",
    "object_array",
    "primitive",
    "rational",
    "rational_matrix",
    "scale_ball",
    "scale_rational",
    "size_of",
    "some_columns",
]


def rational(value: float) -> fmpq:
    """The rational number that a float is."""
    return fmpq(*float(value).as_integer_ratio())


def ball(value: Any) -> arb:
    """A float, an integer or a rational as a ball; the first two are exact."""
    return arb(value) if isinstance(value, fmpq | int | arb) else arb(float(value))


def as_rationals(values: Iterable[float]) -> list[fmpq]:
    """Floats as the rationals that they are."""
    return [rational(value) for value in values]


def as_balls(values: Iterable[Any]) -> list[arb]:
    """Numbers as balls."""
    return [ball(value) for value in values]


def rational_matrix(array: NDArray[Any]) -> fmpq_mat:
    """A matrix of floats as rationals."""
    rows, columns = array.shape
    return fmpq_mat(rows, columns, as_rationals(array.ravel().tolist()))


def ball_matrix(array: NDArray[Any]) -> arb_mat:
    """A matrix of floats as exact balls."""
    rows, columns = array.shape
    return arb_mat(rows, columns, array.ravel().tolist())


def column(values: Sequence[fmpq]) -> fmpq_mat:
    """Rationals as a matrix of one column."""
    return fmpq_mat(len(values), 1, list(values))


def some_columns(matrix: fmpq_mat, places: Sequence[int]) -> fmpq_mat:
    """The columns of a matrix at these places, in this order."""
    rows = range(matrix.nrows())
    return fmpq_mat(matrix.nrows(), len(places), [matrix[j, i] for j in rows for i in places])


def size_of(value: fmpq) -> int:
    """The exponent e with `2^(e−1) < |value| < 2^(e+1)`, of a rational that is not zero."""
    return int(value.p).bit_length() - int(value.q).bit_length()


def primitive(values: Sequence[fmpq]) -> list[fmpq]:
    """A positive multiple that consists of integers without a common factor."""
    multiple = math.lcm(*(int(value.q) for value in values))
    whole = [int(value.p) * (multiple // int(value.q)) for value in values]
    factor = math.gcd(*whole) or 1
    return [fmpq(one // factor) for one in whole]


def ball_column(values: Sequence[Any]) -> arb_mat:
    """Numbers as a matrix of balls of one column."""
    return arb_mat(len(values), 1, [ball(value) for value in values])


def entries(matrix: Any) -> list[Any]:
    """All entries of a matrix, row by row."""
    return list(matrix.entries())


def largest(matrix: fmpq_mat) -> fmpq:
    """The largest modulus of all entries."""
    over, under = matrix.numer_denom()
    return fmpq(max(abs(one) for one in over.entries()), under)


def midpoints(values: Iterable[arb]) -> list[arb]:
    """The midpoints, as exact balls."""
    return [value.mid() for value in values]


def object_array(values: Sequence[Any]) -> NDArray[Any]:
    """Balls or rationals as an array of objects, of one dimension."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def magnitude(value: arb) -> arb:
    """The largest modulus within a ball, rounded up, as an exact ball."""
    return arb(value.abs_upper())


def scale_rational(init: Init) -> fmpq | None:
    """The scale where it was given as a float; None where its logarithm was."""
    return None if init.log_scale_given else rational(init.scale)


def scale_ball(init: Init) -> arb:
    """The scale: the float that was given, or the exponential of the float `log_scale`."""
    given = scale_rational(init)
    return arb(float(init.log_scale)).exp() if given is None else arb(given)
