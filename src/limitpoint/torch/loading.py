"""Layers of a network out of a module, and back into it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float, as_float_array
from limitpoint.foundation.extras import lazy_module
from limitpoint.own import Recognised
from limitpoint.own.model import EPS, ROUNDINGS
from limitpoint.problem import Problem, as_problem
from limitpoint.torch.problem import model_of, recognised
from limitpoint.torch.twin import as_module, values_of

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_module("torch", "limitpoint.torch")

__all__ = ["Link", "layers", "load", "read_module", "read_state", "read_tensor"]


def load(problem: Problem, module: Any, layers: Sequence[Any]) -> None:
    """Put layers into the module that a problem was made from, in the module's own number type.

    Frozen parameters stay as they are, as do those that have no influence.

    Parameters
    ----------
    problem
        What `limitpoint.torch.problem` returned.
    module
        That module, or another of the same architecture.
    layers
        Of the problem's network, in its order: `predict(problem).layers` where the theorem
        determines them, or `[layer[-1] for layer in flow(problem).layers]`.

    Raises
    ------
    LimitpointError
        Where the module is of another architecture, or has no weights for these layers.
    """
    link = Link.of(problem, module)
    shapes = problem.network.layer_shapes(problem.task)
    if layers is None or len(layers) != len(shapes):
        given = "there are none" if layers is None else f"there are {len(layers)}"
        raise LimitpointError(f"layers must be {len(shapes)} arrays, of shapes {shapes}; {given}")
    arrays = []
    for place, (layer, shape) in enumerate(zip(layers, shapes, strict=True)):
        name = f"layers[{place}]"
        arrays.append(as_float_array(layer, name, LimitpointError, ndim=(len(shape),)))
        if arrays[-1].shape != shape:
            raise LimitpointError(f"{name} must have shape {shape}; it has {arrays[-1].shape}")
    link.put(tuple(arrays))


def layers(problem: Problem, module: Any) -> tuple[Float, ...]:
    """The layers of a problem's network that the module has now that the problem was made from."""
    return Link.of(problem, module).layers


def read_module(problem: Problem, module: Any) -> tuple[Any, float]:
    """Layers, or coefficients where the problem is of another origin; and the module's rounding."""
    module = as_module(module)
    if recognised(problem) is not None:
        return Link.of(problem, module).layers, _eps_of(module)
    model = model_of(module, problem.regression)
    return model.coef(model.start), _eps_of(module)


def read_state(problem: Problem, state: Mapping[str, Any]) -> tuple[Any, float]:
    """Layers from a `state_dict` of the module that the problem was made from."""
    found = _of_module(problem)
    trained = [found.model.names[place] for place in found.model.trained]
    blocks = list(found.model.start)
    for place, name in zip(found.model.trained, trained, strict=True):
        if name not in state or tuple(state[name].shape) != blocks[place].shape:
            raise LimitpointError(
                "run must be a state_dict of the module that the problem was made from; "
                f"it has no {name} of shape {blocks[place].shape}"
            )
        blocks[place] = values_of(state[name])
    return found.to_layers(blocks), max(
        float(torch.finfo(state[name].dtype).eps) for name in trained
    )


def read_tensor(problem: Problem, tensor: Any) -> tuple[Float, float]:
    """Its values, and their rounding."""
    coarse = float(torch.finfo(tensor.dtype).eps) if tensor.is_floating_point() else EPS
    return values_of(tensor), coarse


def _eps_of(module: Any) -> float:
    """The coarsest rounding among the trained parameters."""
    trained = (one for one in module.parameters() if one.requires_grad)
    return max(float(torch.finfo(one.dtype).eps) for one in trained)


@dataclass(frozen=True, eq=False)
class Link:
    """A module, and the way between its parameters and the layers of a problem's network."""

    module: Any
    found: Recognised

    @classmethod
    def of(cls, problem: Problem, module: Any) -> "Link":
        """By what the problem's module was recognised as, or raise an error."""
        as_problem(problem)
        module = as_module(module)
        found = _of_module(problem)
        wanted = zip(found.model.names, found.model.start, found.model.frozen, strict=True)
        known = [(name, block.shape, not still) for name, block, still in wanted]
        given = [
            (name, tuple(one.shape), one.requires_grad) for name, one in module.named_parameters()
        ]
        if known != given:
            off = next((one for one in given if one not in known), None)
            reason = f"{off[0]} of shape {off[1]}" if off else "fewer parameters"
            raise LimitpointError(
                "module must be the one that the problem was made from, or one of the same "
                f"architecture, with the same parameters frozen; it has {reason}"
            )
        parameters = zip(module.named_parameters(), found.model.start, strict=True)
        for (name, one), block in parameters:
            if not one.requires_grad and not np.array_equal(values_of(one), block):
                raise LimitpointError(
                    f"module must have the same frozen weights as the problem; {name} differs"
                )
        return cls(module, found)

    @property
    def layers(self) -> tuple[Float, ...]:
        """Those that the module has now."""
        return self.found.to_layers([values_of(one) for one in self.module.parameters()])

    def put(self, layers: tuple[Float, ...]) -> None:
        """Put layers into the module, or raise an error where it has no weights for them."""
        blocks = self.found.to_blocks(layers)
        pairs = zip(layers, self.found.to_layers(blocks), strict=True)
        if not all(_close(one, other) for one, other in pairs):
            raise LimitpointError(
                "layers are none that the module can have: it has one weight where they differ"
            )
        with torch.no_grad():
            for one, block in zip(self.module.parameters(), blocks, strict=True):
                if one.requires_grad:
                    one.copy_(torch.from_numpy(np.array(block)))


def _of_module(problem: Problem) -> Recognised:
    found = recognised(problem)
    if found is None:
        raise LimitpointError(
            "problem must be what limitpoint.torch.problem returned, in this session: a copy "
            "with other fields, or one from a file, does not know which weight is which layer"
        )
    return found


def _close(one: Float, other: Float) -> bool:
    """The same but for the rounding of sums over an array."""
    return bool(
        np.abs(one - other).max(initial=0.0) <= ROUNDINGS * EPS * np.abs(one).max(initial=0)
    )
