"""Random regression problems for comparing engines: all families, depths and scales. NumPy only.

Layers are standard normal, of both signs, times the scale. Depth 2 is the only one of `paired`.
"""

import numpy as np

SMALLEST_SCALE, LARGEST_SCALE = 1e-6, 1e2
MOST_SAMPLES, MOST_FEATURES = 20, 60
FAMILIES = ("diagonal", "diagonal ties", "power", "signed power", "paired")
# How often there are as many samples as features, and how often the truth is sparse.
SQUARE, SPARSE = 0.1, 0.5
# How often a coefficient has a layer entry that is exactly zero, or two of one modulus.
SPECIAL = 0.2
# The rest of a "sparse" truth that must stay off the boundary, relative to its support.
BACKGROUND = 1e-2


def random_problems(
    count, seed, family, depth, most_samples=MOST_SAMPLES, most_features=MOST_FEATURES
):
    """Yield `count` problems (X, y, layers, scale); `layers` is (layers, n), scale included.

    `y` is `X·truth` for a sparse or a dense truth that the family can represent: where a
    coefficient is confined to one sign, the truth is inside it, so that the flow interpolates
    at a point with all coefficients inside.

    Families: "diagonal" (at most one zero per coefficient, no two layers of equal modulus),
    "diagonal ties" (some coefficients with two smallest layers of equal modulus, not zero),
    "power" (one layer), "signed power" (two, none zero), "paired" (four; at most one zero per
    pair).
    """
    rng = np.random.default_rng([seed, depth, FAMILIES.index(family)])
    for _ in range(count):
        features = int(rng.integers(2, most_features + 1))
        if rng.random() < SQUARE:
            samples = features = min(features, most_samples)
        else:
            samples = int(rng.integers(1, min(features, most_samples) + 1))
        scale = float(np.exp(rng.uniform(np.log(SMALLEST_SCALE), np.log(LARGEST_SCALE))))
        direction, rises, falls = _direction(rng, family, depth, features)
        X = rng.standard_normal((samples, features))
        truth = _truth(rng, rises, falls, samples)
        yield X, X @ truth, scale * direction, scale


def _direction(rng, family, depth, features):
    """Layers of scale 1, and whether each coefficient can be positive, and negative."""
    special = rng.random(features) < SPECIAL
    both = np.ones(features, dtype=bool)
    if family == "diagonal":
        layers = rng.standard_normal((depth, features))
        _strike_one(rng, layers, special)
        return layers, both, both
    if family == "diagonal ties":
        layers = rng.standard_normal((depth, features))
        order = np.argsort(np.abs(layers), axis=0)
        for i in np.flatnonzero(special):
            first, second = order[:2, i]
            layers[second, i] = np.copysign(layers[first, i], layers[second, i])
        sign = np.prod(np.sign(layers), axis=0)
        return layers, ~special | (sign > 0), ~special | (sign < 0)
    if family == "power":
        layers = rng.standard_normal((1, features))
        terms = np.sign(layers) ** depth
        return layers, terms[0] > 0, terms[0] < 0
    if family == "signed power":
        layers = rng.standard_normal((2, features))
        terms = np.array([[1.0], [-1.0]]) * np.sign(layers) ** depth
        return layers, np.any(terms > 0, axis=0), np.any(terms < 0, axis=0)
    if family == "paired":
        layers = rng.standard_normal((4, features))
        _strike_one(rng, layers[:2], special)
        _strike_one(rng, layers[2:], rng.random(features) < SPECIAL)
        return layers, both, both
    raise ValueError(f"family: expected one of {FAMILIES}, got {family!r}")


def _strike_one(rng, layers, where):
    """Set one layer entry to zero, in place, for the coefficients named by the mask."""
    columns = np.flatnonzero(where)
    layers[rng.integers(len(layers), size=columns.size), columns] = 0.0


def _truth(rng, rises, falls, samples):
    """Coefficients of order one, in the sign constraints given; half of the time sparse."""
    features = rises.size
    truth = rng.standard_normal(features)
    confined = ~(rises & falls)
    truth[confined] = np.abs(truth[confined]) * np.where(rises, 1.0, -1.0)[confined]
    if rng.random() < SPARSE:
        support = int(rng.integers(1, max(1, samples // 2) + 1))
        off = np.ones(features, dtype=bool)
        off[rng.choice(features, size=support, replace=False)] = False
        truth[off] *= np.where(confined[off], BACKGROUND, 0.0)
    return truth
