"""What every submodule is given and returns while a module runs."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from limitpoint.errors import NetworkError
from limitpoint.foundation.arrays import Float
from limitpoint.foundation.extras import lazy_module
from limitpoint.torch.advice import advice_on
from limitpoint.torch.twin import Twin, named

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_module("torch", "limitpoint.torch")

__all__ = ["Call", "Values", "calls_of"]

# Every tensor among what a submodule is given or returns.
Values = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Call:
    """One call of a submodule: its name, what it was given and what it returned."""

    name: str
    inputs: Values
    outputs: Values


def calls_of(twin: Twin, blocks: Sequence[Float], X: Float, module: Any = None) -> list[Call]:
    """All calls in the order in which they ended: parts before what they are parts of."""
    entered: list[tuple[str, Values]] = []
    made: list[Call] = []
    with _watched(twin.module if module is None else module, entered, made):
        try:
            twin.run(blocks, X, module)
        except Exception as error:
            name = entered[-1][0] if entered else ""
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
            advice = advice_on(twin.module.get_submodule(name), fails=True)
            text = (
                f"{named(twin.module, name)} fails on samples of {X.shape[1]} numbers: {reason}. "
            )
            raise NetworkError(f"{text}{advice}".rstrip()) from error
    return made


@contextmanager
def _watched(module: Any, entered: list[tuple[str, Values]], made: list[Call]) -> Iterator[None]:
    """Note what is entered, and what is left."""
    handles = []
    for name, part in module.named_modules():

        def enter(_: Any, given: Any, named: Any, name: str = name) -> None:
            entered.append((name, _values((given, named))))

        def leave(_: Any, __: Any, output: Any, name: str = name) -> None:
            made.append(Call(name, entered.pop()[1], _values(output)))

        handles.append(part.register_forward_pre_hook(enter, with_kwargs=True))
        handles.append(part.register_forward_hook(leave))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _values(found: Any) -> Values:
    """Copies: a later module may change them in place."""
    return tuple(one.clone().numpy() for one in _tensors(found))


def _tensors(found: Any) -> Iterator[Any]:
    if isinstance(found, torch.Tensor):
        held = found.dtype != torch.bfloat16  # NumPy has no such type
        yield found.detach() if held else found.detach().to(torch.float32)
    elif isinstance(found, Mapping):
        yield from (one for each in found.values() for one in _tensors(each))
    elif isinstance(found, list | tuple):
        yield from (one for each in found for one in _tensors(each))
