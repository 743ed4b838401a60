"""Saddle paths of the papers' worked examples, proved in fractions."""

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.examples import zhao_eq7
from limitpoint.theory import Balls, Proof, prove, saddle_path

__all__ = ["TENFOLD", "differ", "path_of_eq7"]

# The data (7) have one decimal place: ten times as large they are whole numbers, as floats can be.
TENFOLD = 10


def path_of_eq7(activation_times: ArrayLike) -> Proof:
    """The saddle path of the data (7), in rationals.

    X and y times ten make u a hundred times as large, and activation times a hundred times as large
    make s so: k and δ are those of (7).
    """
    task = zhao_eq7()
    X, y = np.round(TENFOLD * task.X), np.round(TENFOLD * task.y)
    times = TENFOLD**2 * np.asarray(activation_times, np.float64)
    return prove(saddle_path(X, y, t_plus=times, t_minus=times))


def differ(proved: Balls | None, printed: ArrayLike) -> int:
    """How many of these fractions, written like `"10/7"`, are not those that were proved."""
    expected = np.asarray(printed, str)
    if proved is None or proved.exact is None or proved.exact.shape != expected.shape:
        return expected.size
    return int((proved.exact != expected).sum())
