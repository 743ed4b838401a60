"""One sample and two layers: tensors, short convolutions, dense networks."""

import numpy as np
from tests.campaign.coupled import case, layers_of
from tests.campaign.data import Data
from tests.campaign.family import family
from tests.oracles.exact.one_sample import dense_one_sample_limit, one_sample_limit
from tests.oracles.exact.rational import exact

import limitpoint as lp


def _sample(rng, n, decades):
    """One sample, its entries and target in units of their own."""
    units, whole = 10.0 ** rng.uniform(-decades, decades, n), 10.0 ** rng.uniform(-decades, decades)
    X = whole * (units * rng.standard_normal(n))[None]
    return Data(X, whole * rng.standard_normal(1), "one sample")


@family("one-s. Tensor")
def tensor(rng, scale, decades):
    n, first, second = (int(k) for k in rng.integers(1, 5, 3))
    data = _sample(rng, n, decades)
    M = rng.standard_normal((n, first, second))
    network = lp.Tensor(M)
    init = lp.Init([rng.standard_normal(first), rng.standard_normal(second)], scale)
    return case(data, network, f"lp.Tensor({M.tolist()!r})", init, _oracle(M, init, data))


@family("one-s. Convol.")
def convolutional(rng, scale, decades):
    n = int(rng.integers(2, 7))
    size = int(rng.integers(1, min(n, 4) + 1))
    data = _sample(rng, n, decades)
    network = lp.Convolutional((size, n))
    init = lp.Init([rng.standard_normal(size), rng.standard_normal(n)], scale)
    i, j, k = np.ogrid[:n, :size, :n]
    M = ((j + k) % n == i).astype(float)
    name = f"lp.Convolutional(({size}, {n}))"
    return case(data, network, name, init, _oracle(M, init, data))


def _oracle(M, init, data):
    def oracle():
        return one_sample_limit(exact(M), *layers_of(init), *exact(data.X), *exact(data.y))

    return oracle


@family("one-s. Fully C.")
def dense(rng, scale, decades):
    n, width = int(rng.integers(1, 8)), int(rng.integers(1, 4))
    data = _sample(rng, n, decades)
    network = lp.FullyConnected((width,))
    init = lp.Init([rng.standard_normal((n, width)), rng.standard_normal(width)], scale)

    def oracle():
        return dense_one_sample_limit(*layers_of(init), *exact(data.X), *exact(data.y))

    return case(data, network, f"lp.FullyConnected(({width},))", init, oracle)
