"""Random regressions in random units."""

from dataclasses import dataclass

import numpy as np

# Rows and columns are multiplied by 10 to a power drawn evenly between minus and plus this.
DECADES = 8
# Data that must be fitted exactly have entries of so many binary places, so that sums of a few of
# their products are exact in float64; their units are then powers of two.
PLACES = 64
KINDS = {"wide": 0.55, "tall": 0.1, "redundant": 0.1, "repeated": 0.12, "least squares": 0.13}
REPEATED_EXACTLY = 0.7
ZEROS = 0.25  # the share of problems with zeros in X …
ZERO = 0.4  # … and of the entries that are zero there


@dataclass(frozen=True)
class Data:
    """`X`, `y` (m,) or (m, k), and how they were made."""

    X: np.ndarray
    y: np.ndarray
    kind: str


def draw_data(rng, *, decades=DECADES, columns=True, signs=None, outputs=None, features=None):
    """A regression of 1 to 5 samples and 2 to 9 features.

    Parameters
    ----------
    decades
        Of the units; 0 leaves data as they are.
    columns
        Whether columns have units too.
    signs
        A function of n that draws signs: targets are then mostly those of coefficients with these.
    outputs
        The number of outputs, k; None for a vector.
    features
        The number of features, else drawn.
    """
    kind = str(rng.choice(list(KINDS), p=list(KINDS.values())))
    n = int(rng.integers(2, 10)) if features is None else features
    if kind in ("tall", "least squares") and n > 5:
        n = int(rng.integers(2, 5)) if features is None else features
    m = min(n - 1, int(rng.integers(1, 6)))
    if kind in ("tall", "least squares"):
        m = n + int(rng.integers(0, 3)) + (kind == "least squares")
    X = _matrix(rng, m, n)
    planted = _planted(rng, n, outputs, signs(rng, n) if signs is not None else None)
    y = _rounded(rng.standard_normal((m, *planted.shape[1:])))
    exact = kind in ("tall", "redundant") or (signs is not None and rng.random() < 0.7)
    if exact and kind != "least squares":
        y = X @ planted
    if kind == "redundant":
        weights = _rounded(rng.standard_normal(m))
        X, y = np.vstack([X, weights @ X]), np.concatenate([y, [weights @ y]])
    if kind == "repeated":
        # Other units than powers of two round the two rows apart: their rank is then hidden.
        exact = rng.random() < REPEATED_EXACTLY
        kind = kind if exact else "hidden rank"
        X, y = np.vstack([X, X[:1]]), np.concatenate([y, _rounded(rng.standard_normal(1) + y[:1])])
    rows = _units(rng, len(X), decades, exact)
    across = _units(rng, n, decades if columns else 0, exact)
    X = rows[:, None] * X * across
    y = (rows * y.T).T
    return Data(X, y, kind)


def _matrix(rng, m, n):
    X = _rounded(rng.standard_normal((m, n)))
    if rng.random() < ZEROS:
        X = np.where(rng.random((m, n)) < ZERO, 0.0, X)
    empty = ~X.any(axis=1)
    X[empty, rng.integers(0, n, size=int(empty.sum()))] = 1.0
    return X


def _planted(rng, n, outputs, signs):
    shape = (n,) if outputs is None else (n, outputs)
    coef = _rounded(rng.standard_normal(shape))
    return (
        coef if signs is None else np.where(signs == 0, coef, signs * (np.abs(coef) + 1 / PLACES))
    )


def _rounded(values):
    return np.round(values * PLACES) / PLACES


def _units(rng, count, decades, exact):
    powers = rng.uniform(-decades, decades, count)
    return 2.0 ** np.round(powers * np.log2(10)) if exact else 10.0**powers
