"""Libraries that the base install leaves out: loaded where they are used, named where missing."""

from importlib import import_module
from types import ModuleType
from typing import Any

from limitpoint.errors import MissingExtra

__all__ = ["EXTRAS", "lazy_module", "load_extra"]

# The extra that brings each library.
EXTRAS = {
    "jax": "train",
    "matplotlib": "plot",
    "pandas": "data",
    "pyarrow": "data",
    "sklearn": "estimators",
    "torch": "torch",
    "xarray": "data",
}


def load_extra(name: str, purpose: str) -> ModuleType:
    """Import a module of an optional library, or raise an error that says what to install.

    Parameters
    ----------
    name
        The module, like `"jax"` or `"matplotlib.figure"`.
    purpose
        What needs it, as the subject of the message: `"train"`, `"--plot"`.
    """
    library = name.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        # A library that is there but lacks something of its own is another mistake.
        if (error.name or "").partition(".")[0] != library:
            raise
        extra = EXTRAS[library]
        raise MissingExtra(
            f'{purpose} needs {library}, which is not installed: pip install "limitpoint[{extra}]"'
        ) from None


class _Lazy(ModuleType):
    """A module that is imported when something of it is first asked for."""

    def __init__(self, name: str, purpose: str) -> None:
        super().__init__(name)
        self._purpose = purpose

    def __getattr__(self, name: str) -> Any:
        found = getattr(load_extra(self.__name__, self._purpose), name)
        setattr(self, name, found)
        return found


def lazy_module(name: str, purpose: str) -> Any:
    """A stand-in for a module of an optional library, imported when it is first used.

    For a type checker the module is imported where `TYPE_CHECKING` holds; annotations that name
    something of it are strings.
    """
    return _Lazy(name, purpose)
