"""How a distance falls as the margin grows."""

import numpy as np

from limitpoint.dynamics import Trajectory
from limitpoint.foundation.arrays import Float

__all__ = ["along_margins", "exponent", "exponent_error", "smallest_margins"]

# Coefficients of expansions that are said to be of order 1 are below this.
CONSTANT = 5.0


def smallest_margins(run: Trajectory) -> Float:
    """The smallest margin at each record."""
    if run.margins is None:
        raise TypeError("the record is not of a classification")
    smallest: Float = run.margins.min(axis=1)
    return smallest


def along_margins(run: Trajectory, margins: Float) -> Float:
    """The directions of a run where its smallest margin is as given, (margins, n).

    Interpolated between records in the logarithm of the margin, along which directions change by
    powers.
    """
    smallest = smallest_margins(run)
    grows = smallest > 0
    known = np.log(smallest[grows])
    wanted = np.clip(np.log(margins), known[0], known[-1])
    columns = [np.interp(wanted, known, column) for column in run.directions[grows].T]
    found: Float = np.stack(columns, axis=1)
    return found


def exponent(
    margins: Float,
    sizes: Float,
    first: float,
    last: float = np.inf,
    following: float | None = None,
) -> float:
    """The r of `size ~ margin^−r`, by least squares in logarithms between two margins.

    With `following`, that of `margin^−r·(1 + c·margin^−following)`, to first order in c.
    """
    seen = (margins >= first) & (margins <= last)
    columns = [np.log(margins[seen]), np.ones(seen.sum())]
    if following is not None:
        columns.append(margins[seen] ** -following)
    return -float(np.linalg.lstsq(np.stack(columns, axis=1), np.log(sizes[seen]))[0][0])


def exponent_error(
    margins: Float, after: float, first: float, last: float = np.inf, following: float | None = None
) -> float:
    """How far off `exponent` may be: a next term is `margin^−after` of the leading one.

    What the same fit makes of that term alone, times a constant of order 1.
    """
    return CONSTANT * abs(exponent(margins, 1 + margins**-after, first, last, following))
