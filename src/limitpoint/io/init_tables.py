"""The kinds of starts, read from tables."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limitpoint.errors import ProblemFileError
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.io.data_files import read_array
from limitpoint.io.words import one_of
from limitpoint.networks import Network
from limitpoint.tasks import Task

__all__ = ["INITS", "InitKind", "read_init"]


@dataclass(frozen=True)
class InitKind:
    """A named start: how it is made, and the entries besides the scale.

    Those that it takes, the one of them that it needs, and what that is in words.
    """

    make: Callable[..., Init]
    takes: tuple[str, ...]
    needs: str | None = None
    needed: str = ""


INITS = {
    "random": InitKind(Init.random, takes=("seed",)),
    "zero_last": InitKind(Init.zero_last, takes=("direction",)),
    "unbiased": InitKind(Init.unbiased, takes=("direction",)),
    "shaped": InitKind(
        Init.shaped,
        takes=("shape",),
        needs="shape",
        needed="shape, a number in (-1, 1) or one per feature",
    ),
    "balanced": InitKind(Init.balanced, takes=("norm", "direction", "seed")),
    "perturbed": InitKind(
        Init.perturbed,
        takes=("imbalance", "norm", "direction", "seed"),
        needs="imbalance",
        needed="imbalance, a number (0 is balanced)",
    ),
    "one_neuron": InitKind(Init.one_neuron, takes=("seed",)),
    "orthogonal": InitKind(Init.orthogonal, takes=("gamma", "seed", "perturbation")),
    "layers": InitKind(
        lambda network, task, direction, **scale: Init(direction, **scale),
        takes=("direction",),
        needs="direction",
        needed="direction, a list of layers",
    ),
}


def read_init(table: dict[str, Any], network: Network, task: Task, folder: Path) -> Init:
    """The start of a table of entries."""
    name = table.get("kind")
    if not isinstance(name, str) or name not in INITS:
        raise ProblemFileError(f"[init] kind must be {one_of(INITS)}; it is {name!r}")
    kind = INITS[name]
    if kind.needs is not None and kind.needs not in table:
        raise ProblemFileError(f"[init] of kind {name!r} needs {kind.needed}")
    extra = set(table) - {"kind", "scale", "log_scale", *kind.takes}
    if extra:
        raise ProblemFileError(f"[init] of kind {name!r} does not take {', '.join(sorted(extra))}")
    given = {key: value for key, value in table.items() if key != "kind"}
    if name == "random":
        given.setdefault("seed", 0)
    if name == "layers":
        given["direction"] = _layers(given["direction"], folder)
    else:
        for entry in {"direction", "shape"} & set(given):
            given[entry] = read_array(given[entry], entry, folder)
    return kind.make(network, task, **given)


def _layers(direction: Any, folder: Path) -> list[Float]:
    if not isinstance(direction, list):
        raise ProblemFileError(f"[init] of kind 'layers' needs {INITS['layers'].needed}")
    return [read_array(layer, f"direction[{i}]", folder) for i, layer in enumerate(direction)]
