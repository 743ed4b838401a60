"""Which solution does a linear neural network reach, and by which path?

`predict` answers without training, `flow` and `train` simulate, `verify` certifies that the two
agree. Names are loaded on first use (SPEC 1); `__init__.pyi` says where each comes from.
"""

import sys as _sys
from types import ModuleType as _ModuleType

# Nothing else is imported here, nor done: this runs before the command can answer Ctrl-C.
__version__ = "0.1.0"

# Functions that have the name of the module that they are in.
_NAMESAKES = ("verify",)
# Every public name with the module that holds it, None for modules themselves; on first use.
_ORIGINS: dict[str, str | None] = {}


class _Package(_ModuleType):
    """The package itself: importing `limitpoint.verify` does not hide the function of that name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, _ModuleType) and name in _NAMESAKES):
            super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    origins = _origins()
    if name == "__all__":
        return sorted(origins)
    if name not in origins:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"{__name__}.{origins[name] or name}")
    found = getattr(module, name) if origins[name] else module
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*sorted(_origins()), "__version__"]


def _origins() -> dict[str, str | None]:
    if not _ORIGINS:
        from ast import ImportFrom, parse
        from pathlib import Path

        stub = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
        lines = [line for line in parse(stub).body if isinstance(line, ImportFrom)]
        _ORIGINS.update({alias.name: line.module for line in lines for alias in line.names})
    return _ORIGINS
