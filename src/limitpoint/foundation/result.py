"""What all results share: one line, a table in a terminal and a notebook, equality, and files."""

import os
from pathlib import Path

from limitpoint.foundation.saving import save
from limitpoint.foundation.values import Value

__all__ = ["Result"]


class Result(Value):
    """An immutable result, which says in `_facts` what it is and in `_page` what it holds."""

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
