"""Arrays that are off by one per cent."""

import numpy as np
from tests.mutations.mutation import PART, NotApplicable

# Some vector that is orthogonal to nothing by chance.
GENERIC = np.array([1.0, -0.7, 0.45, -0.3, 0.25, 0.2, -0.15, 0.1, 0.05])
# A direction that is shorter is rounding.
NOTHING = 1e-8


def larger(array, X=None):
    """The largest entry one per cent larger, by what it contributes to the fit if X is given.

    Of zeros nothing can be.
    """
    array = np.array(array)
    weights = 1.0 if X is None else np.linalg.norm(X, axis=0)
    sizes = (np.abs(array).T * weights).T
    place = np.unravel_index(int(np.argmax(sizes)), array.shape)
    if array[place] == 0:
        raise NotApplicable
    array[place] *= 1 + PART
    return array


def aside(coef, X, size=None):
    """Coefficients with the same fit, one per cent of their size away."""
    coef = np.array(coef)
    columns = coef.reshape(len(coef), -1)
    seen = np.abs(X).max(axis=0) > 0
    along = np.resize(GENERIC, len(coef)) * seen
    along = along - np.linalg.pinv(X) @ (X @ along)
    length = float(np.linalg.norm(along))
    if length < NOTHING:
        raise NotApplicable
    moved = columns.copy()
    moved[:, 0] += PART * (size or float(np.linalg.norm(coef))) * along / length
    return moved.reshape(coef.shape)


def turned(vector):
    """A vector turned by one per cent, of the same length."""
    vector = np.array(vector)
    length = float(np.linalg.norm(vector))
    if vector.size < 2 or length == 0:
        raise NotApplicable
    across = np.resize(GENERIC, vector.size)
    across = across - vector * float(vector @ across) / length**2
    moved = vector + PART * length * across / float(np.linalg.norm(across))
    return moved * length / float(np.linalg.norm(moved))
