"""How a distance falls as the margin grows."""

import numpy as np

from limitpoint.arrays import Float
from limitpoint.dynamics import Trajectory

__all__ = ["along_margins", "exponent", "smallest_margins"]


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


def exponent(margins: Float, sizes: Float, first: float, last: float = np.inf) -> float:
    """The r of `size ~ margin^−r`, by least squares in logarithms between two margins."""
    seen = (margins >= first) & (margins <= last)
    return -float(np.polyfit(np.log(margins[seen]), np.log(sizes[seen]), 1)[0])
