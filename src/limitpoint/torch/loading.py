"""Layers of a network out of a module, and back into it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float, as_float_array
from limitpoint.foundation.extras import lazy_module
from limitpoint.own import Recognised
from limitpoint.own.model import EPS, ROUNDINGS
from limitpoint.problem import Problem, as_problem
from limitpoint.torch.problem import recognised
from limitpoint.torch.twin import as_module, parameters_of, values_of

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_module("torch", "limitpoint.torch")

__all__ = ["Link", "layers", "load", "read_module", "read_tensor"]


def load(problem: Problem, module: Any, layers: Sequence[Any]) -> None:
    """Put layers into the module that a problem was made from, in the module's own number type.

    Parameters
    ----------
    problem
        From `limitpoint.torch.problem`.
    module
        That module, or another of the same architecture.
    layers
        Of the problem's network, in its order: `predict(problem).layers`, or
        `[layer[-1] for layer in flow(problem).layers]`.

    Raises
    ------
    LimitpointError
        Where the module is of another architecture, or has no weights for these layers.
    """
    link = Link.of(problem, module)
    shapes = problem.network.layer_shapes(problem.task)
    if layers is None or len(layers) != len(shapes):
        raise LimitpointError(
            f"layers must be {len(shapes)} arrays, of shapes {shapes}"
            + ("; there are none" if layers is None else f"; there are {len(layers)}")
        )
    arrays = tuple(
        as_float_array(layer, f"layers[{place}]", LimitpointError, ndim=(len(shape),))
        for place, (layer, shape) in enumerate(zip(layers, shapes, strict=True))
    )
    for place, (array, shape) in enumerate(zip(arrays, shapes, strict=True)):
        if array.shape != shape:
            raise LimitpointError(
                f"layers[{place}] must have shape {shape}; it has {array.shape}"
            )
    link.put(arrays)


def layers(problem: Problem, module: Any) -> tuple[Float, ...]:
    """The layers that a module has now, for the network of the problem that was made from it."""
    return Link.of(problem, module).layers


def read_module(problem: Problem, module: Any) -> tuple[tuple[Float, ...], float]:
    """Layers, and the rounding of the numbers that they are trained in."""
    link = Link.of(problem, module)
    return link.layers, link.eps


def read_tensor(problem: Problem, tensor: Any) -> tuple[Float, float]:
    """Its values, and their rounding."""
    coarse = float(torch.finfo(tensor.dtype).eps) if tensor.is_floating_point() else EPS
    return values_of(tensor), coarse


@dataclass(frozen=True, eq=False)
class Link:
    """A module, and the way between its parameters and the layers of a problem's network."""

    module: Any
    found: Recognised

    @classmethod
    def of(cls, problem: Problem, module: Any) -> "Link":
        """Recognise the module again: the same architecture is recognised as the same network."""
        as_problem(problem)
        module = as_module(module)
        found = recognised(module, problem.regression)
        link = cls(module, found)
        wanted, own = (one.network.layer_shapes(one.task) for one in (problem, found.problem))
        if wanted != own or not _agree(problem, found):
            raise LimitpointError(
                f"module is another than the problem was made from: it is a {found.family}, "
                f"{found.problem.network}, the problem has {problem.network}"
            )
        return link

    @property
    def layers(self) -> tuple[Float, ...]:
        """Those that the module has now."""
        blocks = [values_of(one) for one in dict(self.module.named_parameters()).values()]
        return self.found.to_layers(blocks)

    @property
    def eps(self) -> float:
        """The coarsest rounding among the trained parameters."""
        trained = (one for one in self.module.parameters() if one.requires_grad)
        return max(float(torch.finfo(one.dtype).eps) for one in trained)

    def put(self, layers: tuple[Float, ...]) -> None:
        """Put layers into the module, or raise an error where it has no weights for them."""
        blocks = self.found.to_blocks(layers)
        again = self.found.to_layers(blocks)
        pairs = [*zip(layers, again, strict=True)]
        if not all(_close(one, other) for one, other in pairs):
            raise LimitpointError(
                "layers are none that the module can have: it has one weight where they differ"
            )
        with torch.no_grad():
            named = parameters_of(self.module)
            for one, block in zip(named.values(), blocks, strict=True):
                if one.requires_grad:
                    one.copy_(torch.from_numpy(np.array(block)))


def _agree(problem: Problem, found: Recognised) -> bool:
    """Whether both networks have the same coefficients, at random weights."""
    weights = np.random.default_rng(0).standard_normal(found.model.size)
    layers = found.map.layers(weights)
    one, other = (network.coef(layers) for network in (problem.network, found.problem.network))
    return _close(one, other)


def _close(one: Float, other: Float) -> bool:
    """The same but for the rounding of sums over an array."""
    return bool(np.abs(one - other).max(initial=0.0) <= ROUNDINGS * EPS * np.abs(one).max())
