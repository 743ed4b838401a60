"""Data matrices that are known exactly: floats, rationals, or numbers of number fields."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, arb_mat, arb_poly, fmpq, fmpq_mat, fmpq_poly

from limitpoint.foundation.arrays import Float
from limitpoint.theory.prove.exact.numbers import ball, ball_matrix, rational_matrix, some_columns
from limitpoint.theory.prove.outcome import MorePrecision

__all__ = ["AlgebraicData", "ExactData", "Place"]


@dataclass(frozen=True)
class Place:
    """A root of an irreducible polynomial: where polynomials are numbers of a field.

    Attributes
    ----------
    factor
        The irreducible polynomial; all of its roots are places of the same data.
    root
        A ball around the root.
    """

    factor: fmpq_poly
    root: arb

    def value(self, polynomial: fmpq_poly) -> fmpq | arb:
        """What it is here: a rational where it is one, like zero, else a ball without zero."""
        rest = polynomial % self.factor
        if rest.degree() < 1:
            return fmpq(rest[0])
        found = arb_poly([arb(one) for one in rest.coeffs()])(self.root)
        if found.contains(0):
            raise MorePrecision("a number that is not zero cannot be told from zero")
        return found


class ExactData:
    """X of floats, which are exact, or of rationals that are near them."""

    def __init__(self, near: Float, exact: fmpq_mat | None = None) -> None:
        self.near, self._exact = near, exact

    def some(self, columns: Sequence[int]) -> "ExactData":
        """These columns."""
        exact = None if self._exact is None else some_columns(self._exact, columns)
        return ExactData(np.ascontiguousarray(self.near[:, list(columns)]), exact)

    def seen(self, column: int) -> bool:
        """Whether a column is not zero."""
        if self._exact is None:
            return bool(self.near[:, column].any())
        return any(self._exact[j, column] != 0 for j in range(self._exact.nrows()))

    @property
    def rational(self) -> fmpq_mat:
        """The matrix itself."""
        return rational_matrix(self.near) if self._exact is None else self._exact

    @property
    def relations(self) -> fmpq_mat:
        """A rational matrix whose rows have the same linear relations: itself."""
        return self.rational

    def balls(self, rows: Sequence[int] | None) -> arb_mat:
        """The matrix, or some of its rows."""
        if self._exact is None:
            return ball_matrix(self.near if rows is None else self.near[list(rows)])
        whole = range(self._exact.nrows()) if rows is None else rows
        columns = range(self._exact.ncols())
        flat = [arb(self._exact[j, i]) for j in whole for i in columns]
        return arb_mat(len(whole), len(columns), flat)


class AlgebraicData:
    """`X_ji = g_j(λ_i)`: a rational polynomial for each row, a place for each column.

    The columns at all roots of a factor f are to be kept or left out together: the values of g at
    these are an invertible map of the coefficients of `g mod f`.
    """

    rational = None

    def __init__(self, rows: Sequence[fmpq_poly], places: Sequence[Place]) -> None:
        self.rows, self.places = list(rows), list(places)
        self.values = [[place.value(one) for place in places] for one in rows]
        near = [[float(ball(one).mid()) for one in row] for row in self.values]
        self.near: Float = np.array(near).reshape(len(self.rows), len(self.places))

    def some(self, columns: Sequence[int]) -> "AlgebraicData":
        """These columns."""
        return AlgebraicData(self.rows, [self.places[i] for i in columns])

    def seen(self, column: int) -> bool:
        """Whether a column is not zero."""
        return any(row[column] != 0 for row in self.values)

    @property
    def relations(self) -> fmpq_mat:
        """The coefficients of the polynomials modulo each factor, whose rows have the same ones."""
        factors: list[fmpq_poly] = []
        for place in self.places:
            if place.factor not in factors:
                factors.append(place.factor)
        flat: list[Any] = []
        for one in self.rows:
            rests = [(one % factor, factor.degree()) for factor in factors]
            flat += [fmpq(rest[k]) for rest, degree in rests for k in range(degree)]
        columns = sum(factor.degree() for factor in factors)
        return fmpq_mat(len(self.rows), columns, flat)

    def balls(self, rows: Sequence[int] | None) -> arb_mat:
        """The matrix, or some of its rows."""
        whole = self.values if rows is None else [self.values[j] for j in rows]
        flat = [ball(one) for row in whole for one in row]
        return arb_mat(len(whole), len(self.places), flat)
