"""Networks whose coefficients move together: rank-one, dense, two-layer.

Balanced and orthonormal starts are exact in float64, so that the oracles need no tolerance for
them: vectors of whole numbers whose norm is a whole number, and unit vectors with entries 0, ±½ and
±1.
"""

from functools import partial
from itertools import pairwise

import numpy as np
from tests.campaign.data import draw_data
from tests.campaign.family import family
from tests.oracles.exact.ends_of_scale import least_norm_limit
from tests.oracles.exact.radial import balanced_limit, can_turn, rank_one_limit
from tests.oracles.exact.rational import exact

import limitpoint as lp

BALANCED = 0.5  # the share of rank-one networks that start balanced, where both are known
ATTEMPTS = 20


def whole_vector(rng, n):
    """A vector whose norm float64 holds, both divided by a power of two; and that norm.

    `(2qp, |p|² − q²)` has the norm `|p|² + q²`.
    """
    p, q = rng.integers(-9, 10, n - 1), int(rng.integers(1, 10))
    p[rng.integers(n - 1)] |= 1
    square = int(p @ p)
    vector = np.append(2 * q * p, square - q * q).astype(float)
    norm = float(square + q * q)
    unit = 2.0 ** np.round(np.log2(norm))
    return rng.permutation(vector) / unit, norm / unit


def unit_vector(rng, n):
    """One entry ±1, or four ±½."""
    vector = np.zeros(n)
    if n >= 4 and rng.random() < 0.5:
        vector[rng.permutation(n)[:4]] = rng.choice([-0.5, 0.5], 4)
    else:
        vector[rng.integers(n)] = rng.choice([-1.0, 1.0])
    return vector


def layers_of(init):
    """The layers as fractions, direction × scale."""
    (scale,) = exact([init.scale])

    def times(entry):
        return [times(e) for e in entry] if isinstance(entry, list) else scale * entry

    return [times(exact(layer)) for layer in init.direction]


def case(data, network, name, init, oracle):
    task = lp.Regression(data.X, data.y)
    return {
        "kind": data.kind,
        "problem": lp.Problem(network, init, task),
        "network": name,
        "oracle": oracle,
        "design": task.X,
    }


def _rank_one(rng, scale, decades, depth):
    data = draw_data(rng, decades=decades)
    n, width = data.X.shape[1], int(rng.integers(1, 5))
    first, norm = whole_vector(rng, n)
    inner = []
    for _ in range(depth - 1):
        u = norm * unit_vector(rng, width)
        inner += [u, u * rng.choice([-1.0, 1.0])]
    direction = [first, *inner]
    for _ in range(0 if rng.random() < BALANCED else ATTEMPTS):
        # The null space of X must keep enough of v₁: larger inner vectors make it more likely.
        drawn = [rng.standard_normal(n), *(rng.standard_normal(width) for _ in inner)]
        if not can_turn(exact(drawn), data.X):
            direction = drawn
            break
    network, init = lp.RankOne(depth, width), lp.Init(direction, scale)
    name = f"lp.RankOne({depth}, {width})"
    return case(data, network, name, init, lambda: rank_one_limit(layers_of(init), data.X, data.y))


for _depth in (2, 3, 4):
    family(f"RankOne {_depth}")(partial(_rank_one, depth=_depth))


def _dense(rng, scale, decades, depth):
    data = draw_data(rng, decades=decades)
    n = data.X.shape[1]
    widths = tuple(int(w) for w in rng.integers(1, 6, depth - 1))
    first, norm = whole_vector(rng, n)
    units = [unit_vector(rng, w) for w in widths]
    direction = [np.outer(first, units[0])]
    direction += [norm * np.outer(a, b) for a, b in pairwise(units)]
    sign = float(rng.choice([-1.0, 1.0]))
    direction.append(sign * norm * units[-1])
    network, init = lp.FullyConnected(widths), lp.Init(direction, scale)

    def oracle():
        (factor,) = exact([sign * norm ** (depth - 1)])
        (size,) = exact([scale])
        start = [factor * size**depth * a for a in exact(first)]
        return balanced_limit(start, depth, data.X, data.y)

    return case(data, network, f"lp.FullyConnected({widths})", init, oracle)


for _depth in (2, 3, 4):
    family(f"FullyConnected {_depth}")(partial(_dense, depth=_depth))


@family("TwoLayer")
def two_layer(rng, scale, decades):
    """Orthonormal rows and a second layer of zero: the solution of least norm at every scale."""
    outputs = None if rng.random() < 0.3 else int(rng.integers(1, 4))
    data = draw_data(rng, decades=decades, outputs=outputs)
    n = data.X.shape[1]
    width = n + int(rng.integers(0, 4))
    rows = np.zeros((n, width))
    places = rng.permutation(width)[:n]
    rows[np.arange(n), places] = rng.choice([-1.0, 1.0], n)
    if n >= 4:  # four of them mixed by a Hadamard matrix
        two = np.array([[1.0, 1.0], [1.0, -1.0]])
        rows[:4] = np.kron(two, two) @ rows[:4] / 2
    second = np.zeros(width) if outputs is None else np.zeros((width, outputs))
    network, init = lp.TwoLayer(width), lp.Init([rows, second], scale)
    return case(
        data, network, f"lp.TwoLayer({width})", init, lambda: least_norm_limit(data.X, data.y)
    )
