"""Derivatives of the coefficients in the layers, written out.

Notation: `g` is a direction in the space of coefficients, and the gradient in layer l is that of
`⟨β, g⟩`. Leading axes of layers and direction are broadcast against each other.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from limitpoint.foundation.arrays import Float

if TYPE_CHECKING:
    from limitpoint.networks.network import Network

__all__ = [
    "flattened",
    "gradients_of_chain",
    "gradients_of_product",
    "hessian_of_multilinear",
    "jacobian",
]


def gradients_of_product(factors: Sequence[Float], direction: Float) -> tuple[Float, ...]:
    """Of `β = a₁ ⊙ ⋯ ⊙ a_L`: `g ⊙ Π_{k≠l} a_k`, without divisions."""
    ones = np.ones_like(factors[0])
    before = accumulate(factors[:-1], np.multiply, initial=ones)
    after = [*accumulate(factors[:0:-1], np.multiply, initial=ones)][::-1]
    return tuple(direction * (a * b) for a, b in zip(before, after, strict=True))


def gradients_of_chain(matrices: Sequence[Float], direction: Float) -> tuple[Float, ...]:
    """Of `β = W₁ ⋯ W_L`: `(W₁ ⋯ W_{l−1})ᵀ g (W_{l+1} ⋯ W_L)ᵀ`."""
    left = [direction]
    for matrix in matrices[:-1]:
        left.append(np.swapaxes(matrix, -1, -2) @ left[-1])
    right = [*accumulate(matrices[:0:-1], lambda product, matrix: matrix @ product)][::-1]
    inner = [a @ np.swapaxes(b, -1, -2) for a, b in zip(left[:-1], right, strict=True)]
    return (*inner, left[-1])


def hessian_of_multilinear(network: "Network", layers: Sequence[Float], direction: Float) -> Float:
    """The second derivatives of `⟨β, g⟩` in all entries of the layers, one after the other.

    A gradient is linear in every other layer, so that its derivatives are gradients at unit layers.
    """
    cuts = [0, *accumulate(layer.size for layer in layers)]
    whole = np.zeros((cuts[-1], cuts[-1]))
    for place, layer in enumerate(layers):
        units = np.eye(layer.size).reshape(layer.size, *layer.shape)
        found = network.layer_gradients([*layers[:place], units, *layers[place + 1 :]], direction)
        assert found is not None, "the network has explicit gradients"
        rows = slice(cuts[place], cuts[place + 1])
        for other in range(place):
            columns = slice(cuts[other], cuts[other + 1])
            block = np.broadcast_to(found[other], (layer.size, *layers[other].shape))
            whole[rows, columns] = block.reshape(layer.size, -1)
            whole[columns, rows] = whole[rows, columns].T
    return whole


def flattened(gradients: Sequence[Float], shapes: Sequence[tuple[int, ...]]) -> Float:
    """All layers' entries along one last axis; leading axes are broadcast."""
    pairs = [*zip(gradients, shapes, strict=True)]
    records = np.broadcast_shapes(*(found.shape[: found.ndim - len(s)] for found, s in pairs))
    whole = [np.broadcast_to(found, (*records, *s)).reshape(*records, -1) for found, s in pairs]
    return np.concatenate(whole, axis=-1)


def jacobian(network: "Network", layers: Sequence[Float], directions: Float) -> Float:
    """The gradients of `⟨β, g⟩` for every g along the first axis, directions × entries."""
    found = network.layer_gradients(layers, directions)
    assert found is not None, "the network has explicit gradients"
    return np.broadcast_to(
        flattened(found, [layer.shape for layer in layers]),
        (len(directions), sum(layer.size for layer in layers)),
    )
