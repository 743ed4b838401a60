"""Tables of names to which others may add theirs."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import shown

__all__ = ["add", "as_maker", "look_up"]

T = TypeVar("T")

# What problem files and command lines can name.
NAME = re.compile(r"[a-z][a-z0-9_]*")


def add(table: dict[str, T], name: str, value: T, what: str) -> T:
    """Enter a value under a name that must be free."""
    if name in table:
        raise LimitpointError(f"the name of the {what} must be new: {name} is registered already")
    table[name] = value
    return value


def as_maker(name: Any, make: Any, kind: type[Any], what: str) -> Callable[..., Any]:
    """What makes a value of this kind, to be registered under a lower-case name."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise LimitpointError(
            f"the name of the {what} must be lower-case letters, digits and underscores; it is "
            f"{shown(name)}"
        )
    if not isinstance(make, type) or not issubclass(make, kind):
        raise LimitpointError(
            f"the {what} must be registered by its class, a subclass of {kind.__name__}; it is "
            f"{shown(make)}"
        )
    return make


def look_up(table: dict[str, T], name: str, what: str) -> T:
    """The value of this name; else an error that lists the names there are."""
    if name not in table:
        raise LimitpointError(f"there is no {what} {name!r}; known are {', '.join(table)}")
    return table[name]
