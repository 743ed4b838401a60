"""The kinds of networks, read from tables and written to them."""

from collections.abc import Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import numpy as np

from limitpoint.errors import NetworkError, ProblemFileError
from limitpoint.foundation.arrays import as_depth, as_kind, as_whole_number, shown
from limitpoint.foundation.registry import add, as_maker
from limitpoint.io.words import one_of
from limitpoint.networks import (
    Convolutional,
    Diagonal,
    FullyConnected,
    MatrixProduct,
    Network,
    Paired,
    Power,
    RankOne,
    ReLU,
    SignedPower,
    TwoLayer,
)
from limitpoint.tasks import Task, as_task

__all__ = [
    "ALIASES",
    "NETWORKS",
    "full_name",
    "make_network",
    "network_entries",
    "network_table",
    "read_network",
    "register_network",
]

# Networks that a name and a few numbers determine, by that name.
NETWORKS: dict[str, type[Network]] = {
    "diagonal": Diagonal,
    "power": Power,
    "signed_power": SignedPower,
    "paired": Paired,
    "rank_one": RankOne,
    "fully_connected": FullyConnected,
    "two_layer": TwoLayer,
    "relu": ReLU,
    "convolutional": Convolutional,
    "matrix_product": MatrixProduct,
}
OUR_OWN = frozenset(NETWORKS)
# Short names.
ALIASES = {"conv": "convolutional", "fc": "fully_connected", "matrix": "matrix_product"}
# Filters as long as the data, in a word, and how many of them there are if no depth is given.
FULL_LENGTH = "full"
DEFAULT_DEPTH = 2


def register_network(name: str, network: type[Network]) -> type[Network]:
    """Let problem files and the command line know a network by this name.

    Parameters
    ----------
    name
        Lower-case letters, digits and underscores; on the command line hyphens do as well.
    network
        A frozen data class whose fields are the numbers, or lists of numbers, that make one.
    """
    as_maker(name, network, Network, "network")
    if not is_dataclass(network):
        raise NetworkError(
            f"the network {name} must be a data class: its fields are what problem files hold"
        )
    return add(NETWORKS, name, network, "network")


def full_name(name: str) -> str:
    """The name of a kind of network, also in short, with hyphens, or as its class is called."""
    as_kind(name, str, "the name of a kind of network", "name", NetworkError)
    letters = "".join(name.split()).replace("-", "").replace("_", "").lower()
    for known in (*NETWORKS, *ALIASES):
        if known.replace("_", "") == letters:
            return ALIASES.get(known, known)
    return name.replace("-", "_")


def make_network(kind: str, task: Task, **numbers: Any) -> Network:
    """The network of a kind of `NETWORKS` for this task, with those of its numbers given."""
    if not isinstance(kind, str) or kind not in NETWORKS:
        raise NetworkError(f"kind must be {one_of(NETWORKS)}; it is {shown(kind)}")
    as_task(task)
    make = NETWORKS[kind]
    words = kind.replace("_", " ")
    if make is Convolutional:
        numbers = _with_all_filters(numbers, task.n_features)
    for name in numbers:
        if name not in _numbers_of(make):
            raise NetworkError(f"a {words} network has no {name}")
    for field in fields(make):  # type: ignore[arg-type]  # all of them are data classes
        if field.default is MISSING and field.name not in numbers:
            raise NetworkError(f"a {words} network needs {field.name}")
    if kind not in OUR_OWN:  # ours take lists as they are
        numbers = {name: _as_tuple(value) for name, value in numbers.items()}
    return make(**numbers)


def read_network(table: dict[str, Any], task: Task) -> Network:
    """The network of a table of entries."""
    given = table.get("kind")
    kind = full_name(given) if isinstance(given, str) else None
    if kind not in NETWORKS:
        raise ProblemFileError(
            f"[network] kind must be {one_of(NETWORKS)} (in short {one_of(ALIASES)}); "
            f"it is {given!r}"
        )
    return make_network(kind, task, **{key: table[key] for key in table if key != "kind"})


def network_table(network: Network) -> dict[str, Any]:
    """The table that makes this network again."""
    for kind, make in NETWORKS.items():
        if type(network) is make:
            return {"kind": kind, **{name: _plain(network, name) for name in _numbers_of(make)}}
    raise ProblemFileError(
        f"{type(network).__name__} cannot be written to a problem file, which names its network; "
        f"known are {', '.join(NETWORKS)}"
    )


def _with_all_filters(numbers: dict[str, Any], features: int) -> dict[str, Any]:
    """The numbers of a convolutional network with the size of every filter, and no depth.

    The last filter is as long as the data, and may be left out. A list of several sizes that ends
    with the number of features has it; with a depth, the number of sizes decides.
    """
    numbers = dict(numbers)
    depth = numbers.pop("depth", None)
    if depth is not None:
        depth = as_depth(depth, NetworkError)
    given = numbers.get("filter_sizes")
    if given is None:
        raise NetworkError(
            "a convolutional network needs filter_sizes (--filters): the length of every filter "
            f'but the last, which is as long as the data, like 2; or "{FULL_LENGTH}"'
        )
    if isinstance(given, str):
        if given != FULL_LENGTH:
            raise NetworkError(f'filter_sizes must be numbers or "{FULL_LENGTH}"; it is {given!r}')
        return {**numbers, "filter_sizes": [features] * (depth or DEFAULT_DEPTH)}
    several = isinstance(given, Sequence | np.ndarray)
    sizes = [
        as_whole_number(size, 1, "filter_sizes", NetworkError)
        for size in (given if several else [given])
    ]
    if max(sizes, default=0) > features:
        raise NetworkError(
            f"filter_sizes must not exceed the number of features, {features}; it is {sizes}"
        )
    if depth is None:
        whole = len(sizes) > 1 and sizes[-1] == features
        return {**numbers, "filter_sizes": sizes if whole else [*sizes, features]}
    if len(sizes) not in (depth - 1, depth):
        raise NetworkError(
            f"filter_sizes must hold {depth} sizes at depth {depth}, or {depth - 1} where the last "
            f"filter, which is as long as the data, is left out; it is {sizes}"
        )
    return {**numbers, "filter_sizes": sizes if len(sizes) == depth else [*sizes, features]}


def _numbers_of(network: Any) -> tuple[str, ...]:
    """The names of the numbers that make a network of this class."""
    return tuple(field.name for field in fields(network))


def network_entries() -> set[str]:
    """What tables of all networks may hold, those of others included."""
    return {name for make in NETWORKS.values() for name in _numbers_of(make)}


def _as_tuple(value: Any) -> Any:
    """A list of TOML as networks hold it."""
    return tuple(value) if isinstance(value, list) else value


def _plain(network: Network, name: str) -> Any:
    """A setting of a network as TOML has it."""
    value = getattr(network, name)
    return list(value) if isinstance(value, tuple) else value
