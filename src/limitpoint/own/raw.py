"""Models that are none of the known networks: to be trained and followed, not predicted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import matmul
from typing import Any

import numpy as np
from scipy import sparse

from limitpoint.errors import NetworkError
from limitpoint.foundation.arrays import Float
from limitpoint.foundation.extras import load_extra
from limitpoint.networks import Network, WithoutMirrorMap
from limitpoint.own.chain import chains
from limitpoint.own.derivative import LARGEST_JACOBIAN, LARGEST_PROBED, Probed
from limitpoint.own.form import Form
from limitpoint.own.layer_map import LayerMap
from limitpoint.tasks import Task

__all__ = ["OwnNetwork", "raw_form"]


@dataclass(frozen=True)
class OfTrained:
    """The coefficients from the trained blocks, the others being constants."""

    function: Callable[[Sequence[Any]], Any]
    start: tuple[Float, ...]
    trained: tuple[int, ...]

    def __call__(self, layers: Sequence[Any]) -> Any:
        """The layers are the trained blocks."""
        blocks: list[Any] = list(self.start)
        for place, layer in zip(self.trained, layers, strict=True):
            blocks[place] = layer
        return self.function(blocks)


@dataclass(frozen=True, eq=False, repr=False)
class OwnNetwork(WithoutMirrorMap):
    """A network given by a function from blocks of parameters to coefficients.

    Attributes
    ----------
    function
        From the trained blocks to the coefficients, for traced JAX arrays.
    shapes
        The shapes of these blocks, which are the layers.
    homogeneity
        The degree, or None where the coefficients are not homogeneous.
    missing
        Why it is none of the known networks.
    """

    function: Callable[[Sequence[Any]], Any]
    shapes: tuple[tuple[int, ...], ...]
    homogeneity: int | None
    missing: str

    def __repr__(self) -> str:
        shapes = ", ".join(map(str, self.shapes))
        return f"OwnNetwork(blocks of shapes {shapes}: {self.missing})"

    @property
    def degree(self) -> int:
        """Of the whole; 1 where it has none."""
        return self.homogeneity or 1

    @property
    def is_homogeneous(self) -> bool:
        """Whether it has a degree."""
        return self.homogeneity is not None

    def layer_shapes(self, task: Task) -> tuple[tuple[int, ...], ...]:
        """Those of the blocks."""
        return self.shapes

    def coef(self, layers: Sequence[Any]) -> Any:
        """By the function; leading axes (of records, say) are kept."""
        jax = load_extra("jax", "a model of your own")
        leading = layers[0].ndim - len(self.shapes[0])
        function = self.function
        for _ in range(leading):
            function = jax.vmap(function)
        if any(isinstance(layer, jax.Array) for layer in layers):
            return function(layers)
        with jax.enable_x64(True):
            arrays = [jax.numpy.asarray(np.asarray(layer, dtype=np.float64)) for layer in layers]
            return np.asarray(function(arrays))

    def invariants(self, layers: Sequence[Float]) -> Float:
        """None is known."""
        return np.empty((0, *np.shape(layers[0])[: np.ndim(layers[0]) - len(self.shapes[0])]))


@dataclass(frozen=True)
class LinearMap:
    """Coefficients that are linear in the one layer, all parameters."""

    matrix: Float
    shape: tuple[int, ...]

    def __call__(self, layers: Sequence[Any]) -> Any:
        """`Aθ`."""
        return (self.matrix @ layers[0]).reshape(self.shape)


@dataclass(frozen=True)
class MatrixChain:
    """The product of all layers."""

    weight: float

    def __call__(self, layers: Sequence[Any]) -> Any:
        """`weight · W₁ ⋯ W_L`."""
        return self.weight * reduce(matmul, layers)


def raw_form(probed: Probed, missing: str) -> Form:
    """The model as it is, or `NetworkError` where nothing is known that JAX can differentiate."""
    model, degree = probed.model, probed.degree
    if model.traced is not None:
        function: Any = OfTrained(model.traced, model.start, model.trained)
        shapes = tuple(model.start[place].shape for place in model.trained)
        matrix = sparse.eye_array(model.size)
    elif degree == 1 and model.size * len(probed.coef) <= LARGEST_JACOBIAN:
        function = LinearMap(probed.jacobian, np.shape(model.coef(model.start)))
        shapes, matrix = ((model.size,),), sparse.eye_array(model.size)
    else:
        found = next(chains(probed), None) if model.size <= LARGEST_PROBED else None
        if found is None:
            raise NetworkError(
                f"the model is none of the networks that limitpoint knows: {missing}. To follow "
                "and train it as it is, pass it as a JAX function to limitpoint.from_function"
            )
        factors, weight = found
        function, shapes = MatrixChain(weight), tuple(each.shape for each in factors)
        matrix = sparse.vstack([each.matrix for each in factors])
    network: Network = OwnNetwork(function, shapes, degree, missing)
    mapped = LayerMap(sparse.csr_array(matrix), shapes)
    return Form(network, mapped, f"model of your own: {missing}")
