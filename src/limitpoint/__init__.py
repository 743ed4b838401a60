"""Which solution does a linear neural network reach, and by which path?

`predict` answers without training, `flow` and `train` simulate, `verify` certifies that the two
agree. Names are loaded on first use (SPEC 1); `__init__.pyi` says where each comes from.
"""

import ast as _ast
import sys as _sys
from importlib import import_module as _import_module
from pathlib import Path as _Path
from types import ModuleType as _ModuleType

__version__ = "0.1.0"

# Every public name with the module that holds it, None for modules themselves.
_ORIGINS = {
    alias.name: line.module
    for line in _ast.parse(_Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(line, _ast.ImportFrom)
    for alias in line.names
}
__all__ = sorted(_ORIGINS)


class _Package(_ModuleType):
    """The package itself: importing `limitpoint.verify` does not hide the function of that name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, _ModuleType) and _ORIGINS.get(name)):
            super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    if name not in _ORIGINS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _import_module(f"{__name__}.{_ORIGINS[name] or name}")
    found = getattr(module, name) if _ORIGINS[name] else module
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
