"""What all results share: a table in a terminal and a notebook, equality, and files."""

import os
from pathlib import Path
from typing import Any

from limitpoint.foundation.display import to_html, to_text
from limitpoint.foundation.saving import save
from limitpoint.foundation.values import Value

__all__ = ["Result"]


class Result(Value):
    """An immutable result that is printed by its `__rich__`."""

    def __rich__(self) -> Any:
        """The table that is printed."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write it to an NPZ file, from which `limitpoint.io.load` reads it back.

        Parameters
        ----------
        path
            The file; `.npz` is added where it has no ending.
        overwrite
            Whether a file that is there already may be replaced.
        """
        return save(self, path, overwrite=overwrite)

    def __repr__(self) -> str:
        return to_text(self.__rich__())

    def _repr_html_(self) -> str:
        return to_html(repr(self))
