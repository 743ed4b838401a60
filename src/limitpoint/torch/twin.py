"""A module's twin in float64 on the CPU: what is asked of it never reaches the user's module."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from limitpoint.errors import NetworkError
from limitpoint.foundation.arrays import Float, shown
from limitpoint.foundation.extras import lazy_module
from limitpoint.torch.undisturbed import undisturbed

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_module("torch", "limitpoint.torch")

__all__ = ["Twin", "as_module", "named", "parameters_of", "values_of"]

# Number types of parameters that are trained, each held by float64.
TRAINED = ("float64", "float32", "float16", "bfloat16")
# How to get rid of what cannot be read, by a word that finds it.
Refusal = tuple[Callable[[Any], Any], str]


@dataclass(frozen=True, eq=False)
class Twin:
    """A copy of a module, which computes outputs from parameters and data in float64.

    Attributes
    ----------
    module
        The copy, in evaluation mode.
    training
        The names of the submodules that the user's module has in training mode.
    names, start, frozen
        Of its parameters; parametrised ones are the originals, which are what is trained.
    """

    module: Any
    training: frozenset[str]
    names: tuple[str, ...]
    start: tuple[Float, ...]
    frozen: tuple[bool, ...]

    @classmethod
    def of(cls, module: Any) -> "Twin":
        """Copy a module whose parameters can be read, or raise `NetworkError`."""
        given = parameters_of(module)
        try:
            made = copy.deepcopy(module)
        except Exception as error:
            raise NetworkError(f"the module cannot be copied: {error}") from error
        training = frozenset(name for name, part in module.named_modules() if part.training)
        made = made.to(device="cpu", dtype=torch.float64).eval()
        for part in made.modules():
            for name, value in vars(part).items():
                # Tensors that are neither parameters nor buffers stay behind otherwise.
                if isinstance(value, torch.Tensor) and value.is_floating_point():
                    vars(part)[name] = value.detach().to("cpu", torch.float64)
        return cls(
            made,
            training,
            tuple(given),
            tuple(map(values_of, given.values())),
            tuple(not one.requires_grad for one in given.values()),
        )

    def run(self, blocks: Sequence[Any], X: Any, module: Any = None) -> Any:
        """What the module returns for samples, at these parameters; buffers are left as they are.

        Another copy takes the place of the own one: its buffers go on from call to call.
        """
        state = {}
        if module is None:
            module = self.module
            state = {name: buffer.clone() for name, buffer in module.named_buffers()}
        for name, block in zip(self.names, blocks, strict=True):
            tensor = isinstance(block, torch.Tensor)  # of a graph that derivatives are taken of
            state[name] = block if tensor else torch.tensor(np.asarray(block), dtype=torch.float64)
        data = torch.tensor(np.asarray(X), dtype=torch.float64)
        return torch.func.functional_call(module, state, (data,))

    def outputs(self, blocks: Sequence[Float], X: Float) -> Float:
        """The same as an array."""
        with undisturbed():
            found: Float = self.run(blocks, X).numpy()
        return found


def as_module(value: Any, name: str = "module") -> Any:
    """Return an argument that must be a module, without what only wraps it."""
    if not isinstance(value, torch.nn.Module):
        raise NetworkError(f"{name} must be a torch.nn.Module; it is {shown(value)}")
    return getattr(value, "_orig_mod", value)  # what torch.compile has wrapped


def values_of(tensor: Any) -> Float:
    """A copy in float64."""
    found: Float = tensor.detach().to("cpu", torch.float64).numpy().copy()
    return found


def named(module: Any, name: str) -> str:
    """A submodule as messages write it: `layers.1 (ReLU)`."""
    part = module.get_submodule(name)
    return f"{name or 'the module itself'} ({type(part).__name__})"


def parameters_of(module: Any) -> dict[str, Any]:
    """All parameters by name, or `NetworkError` naming the one that cannot be read, or trained."""
    if isinstance(module, torch.jit.ScriptModule):
        raise NetworkError(
            f"{named(module, '')} is compiled to TorchScript, and its parts cannot be examined: "
            "pass the module that it was made of"
        )
    found = dict(module.named_parameters())
    for name, one in (*found.items(), *module.named_buffers()):
        owner = named(module, name.rpartition(".")[0])
        for is_so, reason in _refused():
            if is_so(one):
                raise NetworkError(f"{name} of {owner} {reason}")
    for name, one in found.items():
        owner, kind = named(module, name.rpartition(".")[0]), str(one.dtype).removeprefix("torch.")
        if kind not in TRAINED:
            raise NetworkError(
                f"{name} of {owner} has the number type {kind}; parameters must have one of "
                f"{', '.join(TRAINED)}. Register what is a constant as a buffer"
            )
        if not bool(torch.isfinite(one.detach()).all()):
            raise NetworkError(f"{name} of {owner} has entries that are not finite (NaN or inf)")
    if not any(one.requires_grad for one in found.values()):
        raise NetworkError(
            f"{named(module, '')} has no parameter that is trained: "
            + ("all have requires_grad=False" if found else "it has none at all")
        )
    return found


def _refused() -> tuple[Refusal, ...]:
    return (
        (
            lambda one: torch.nn.parameter.is_lazy(one),
            "is not initialised yet: call the module on X once, before",
        ),
        (
            lambda one: one.is_meta,
            "is on the meta device and has no values: to_empty(device=...) and initialise it",
        ),
        (
            lambda one: one.layout != torch.strided,
            "is sparse: make it dense, to_dense()",
        ),
    )
