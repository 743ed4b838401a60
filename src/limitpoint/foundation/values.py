"""What immutable values share: equality and hashing by content, pickling, and their display."""

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from limitpoint.foundation.display import Displayed

__all__ = ["Value"]


class Value(Displayed):
    """A frozen data class that is equal to another of its class with equal fields.

    Arrays are equal where all their numbers are, NaN included; functions where they are the same
    object. Values are hashable, and arrays stay read-only through pickling. Every subclass is
    known by its name to `limitpoint.io.load`, and its `repr` is one line.
    """

    kinds: ClassVar[dict[str, type["Value"]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Value.kinds[cls.__name__] = cls

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self is other or self._digest() == other._digest()

    def __hash__(self) -> int:
        return int.from_bytes(self._digest()[:8], "big", signed=True)

    def _digest(self) -> bytes:
        known: bytes | None = self.__dict__.get("_known_digest")
        if known is None:
            digest = hashlib.sha256()
            _feed(digest, self)
            known = digest.digest()
            self.__dict__["_known_digest"] = known
        return known

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: what was computed from them can be computed again."""
        return {name: _plain(self.__dict__[name]) for name in _names(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, _frozen(value))


def _names(value: Any) -> list[str]:
    return [field.name for field in fields(value)]


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, MappingProxyType) else value


def _frozen(value: Any) -> Any:
    """Arrays read-only, and mappings as they were."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, tuple):
        for one in value:
            _frozen(one)
    elif isinstance(value, dict):
        return MappingProxyType(value)
    return value


def _feed(digest: Any, value: Any) -> None:
    """Add a value to a hash, with its kind, so that no two kinds are taken for each other."""
    kind = "mapping" if isinstance(value, Mapping) else type(value).__name__
    digest.update(f"{kind}:".encode())
    if isinstance(value, np.ndarray) and value.dtype != object:
        # One zero and one NaN: equal numbers have equal bytes.
        floating = np.issubdtype(value.dtype, np.floating)
        plain = np.where(np.isnan(value), np.nan, value) + 0.0 if floating else value
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(plain).tobytes())
    elif hasattr(value, "to_dict") and hasattr(value, "data_vars"):  # an xarray data set
        for part in (value.data_vars, value.coords):
            for key in sorted(part, key=str):
                _feed(digest, (key, part[key].dims, part[key].values))
        _feed(digest, dict(value.attrs))
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            _feed(digest, key)
            _feed(digest, value[key])
    elif isinstance(value, tuple | list):
        digest.update(str(len(value)).encode())
        for one in value:
            _feed(digest, one)
    elif isinstance(value, Enum):
        digest.update(value.name.encode())
    elif isinstance(value, float | np.floating):
        digest.update(float(value + 0.0).hex().encode())
    elif is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            if one.compare:
                digest.update(one.name.encode())
                _feed(digest, getattr(value, one.name))
    elif hasattr(value, "tocsr"):  # a sparse matrix
        rows = value.tocsr()
        _feed(digest, (rows.shape, rows.data, rows.indices, rows.indptr))
    elif isinstance(value, str | bytes | int | bool | complex | type(None) | np.generic):
        digest.update(repr(value).encode())
    elif isinstance(value, np.ndarray):
        _feed(digest, value.tolist())
    else:  # functions, operators: themselves and nothing else
        digest.update(str(id(value)).encode())
