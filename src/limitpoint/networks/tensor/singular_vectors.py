"""How far layers are from singular vectors of the data tensor (Yun et al. 2021, Theorem 1)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from limitpoint.errors import DataError, InitError
from limitpoint.foundation.arrays import MOST_AXES, Float, as_kind, as_real_array, as_several
from limitpoint.foundation.extras import lazy_module
from limitpoint.networks.network import Network, as_network
from limitpoint.tasks import Classification

if TYPE_CHECKING:
    import jax
else:
    jax = lazy_module("jax", "the gradient of a network that does not write it out")

__all__ = ["layer_gradients", "singular_vector_residual"]


def singular_vector_residual(
    network: Network, task: Classification, layers: Sequence[Float]
) -> Float:
    """The residual of `s v_l = M(−u)∘(v₁, …, I, …, v_L)` for l = 1 … L, relative to s.

    Here `−u` is the negative gradient `Xᵀ(y⊙weights)` in the coefficients, divided by its norm, and
    the v_l are the layers, each divided by its norm (matrices count as vectors). Along a flow that
    separates the data it tends to zero: the layers tend to singular vectors of the data tensor, s
    to their singular value (equation (8)). It is exactly zero where every layer is parallel to its
    gradient.

    Parameters
    ----------
    network
        One that is linear in every layer, like `Diagonal`, `Convolutional` or `FullyConnected`.
    task
        A classification.
    layers
        The layers, or records of them along a first axis, like `Trajectory.layers`.

    Returns
    -------
    Float
        A number, or one for each record; infinite where s is not positive: there the
        coefficients point against the negative gradient.

    Examples
    --------
    >>> import numpy as np
    >>> from limitpoint import Classification, Diagonal
    >>> task = Classification([[1, 2], [0, -3]], [1, -1])
    >>> layers = (np.array([0.0, 5.0]), np.array([0.0, 5.0]))
    >>> float(singular_vector_residual(Diagonal(depth=2), task, layers))
    0.0
    """
    as_network(network)
    wanted = "a classification, like Classification(X, y)"
    as_kind(task, Classification, wanted, "task", DataError)
    shapes = network.layer_shapes(task)
    given = as_several(layers, "one array per layer", "layers", InitError)
    arrays = [
        as_real_array(layer, f"layers[{i}]", InitError, range(MOST_AXES))
        for i, layer in enumerate(given)
    ]
    records = arrays[0].shape[: arrays[0].ndim - len(shapes[0])] if arrays else ()
    if [array.shape for array in arrays] != [(*records, *shape) for shape in shapes]:
        raise InitError(
            f"layers must have the shapes {shapes}, or these after a first axis of records; "
            f"they have {tuple(array.shape for array in arrays)}"
        )
    if not records:
        return np.asarray(_residual(network, task, arrays))
    count = int(np.prod(records))
    flat = [array.reshape(count, *shape) for array, shape in zip(arrays, shapes, strict=True)]
    found = [_residual(network, task, [layer[i] for layer in flat]) for i in range(count)]
    return np.reshape(found, records)


def layer_gradients(
    network: Network, layers: Sequence[Float], neg_grad: Float
) -> tuple[Float, ...]:
    """The gradient of `⟨β, neg_grad⟩` in every layer: `M(neg_grad)∘(v₁, …, I, …, v_L)`."""
    found = network.layer_gradients(layers, neg_grad)
    if found is not None:
        return found
    with jax.enable_x64(True):
        _, transpose = jax.vjp(lambda *each: network.coef(each), *layers)
        return tuple(np.asarray(gradient) for gradient in transpose(jax.numpy.asarray(neg_grad)))


def _residual(network: Network, task: Classification, layers: Sequence[Float]) -> float:
    margins = task.margins(network.coef(layers))
    neg_grad = task.signed.T @ task.weights(margins)
    neg_grad /= float(np.linalg.norm(neg_grad))
    norms = [float(np.linalg.norm(layer)) for layer in layers]
    if min(norms) == 0.0:
        return np.inf
    units = tuple(layer / norm for layer, norm in zip(layers, norms, strict=True))
    value = float(neg_grad @ network.coef(units))
    gradients = layer_gradients(network, units, neg_grad)
    if value <= 0.0:
        return np.inf
    off = [
        float(np.linalg.norm(gradient - value * unit))
        for gradient, unit in zip(gradients, units, strict=True)
    ]
    return max(off) / value
