"""Files that are written whole or not at all, and never over another by accident."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from limitpoint.errors import LimitpointError

__all__ = ["check_new", "naming", "writing"]

# A file is filled under a name like this beside its own. It is short: names have a longest length.
PART = ".limitpoint-{}.part"


@contextmanager
def writing(path: Path, *, overwrite: bool = True) -> Iterator[Path]:
    """Fill a new file that takes its place when all is written; nothing is left where it fails.

    Gives the name under which to write. A file that is replaced keeps its permissions, a new one
    has those that the user's files have; a link stays one, and the file behind it is replaced.

    Parameters
    ----------
    path
        The file.
    overwrite
        Whether a file that is there already may be replaced; checked also at the end, when
        another program may have made one.
    """
    check_new(path, overwrite)
    final = Path(os.path.realpath(path))
    part = final.with_name(PART.format(secrets.token_hex(6)) + path.suffix)
    with naming(path):
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        try:
            yield part
            _flush(part)
            if final.exists():
                os.chmod(part, final.stat().st_mode & 0o777)
            _place(part, final, overwrite)
        finally:
            part.unlink(missing_ok=True)


def check_new(path: Path, overwrite: bool) -> None:
    """Raise an error where a file must not be replaced, or where something else is no file."""
    if path.exists() and not path.is_file():
        raise LimitpointError(f"path must be a file; {path} is a folder or a device")
    if os.path.lexists(path) and not overwrite:
        raise LimitpointError(f"path must be a new file, unless overwrite=True; {path} is there")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let errors of the system name this file: a full disk names none, or one of ours."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


def _flush(part: Path) -> None:
    """Have the contents on the disk before the name is."""
    descriptor = os.open(part, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _place(part: Path, final: Path, overwrite: bool) -> None:
    if overwrite:
        os.replace(part, final)
        return
    try:
        os.link(part, final)  # at once, and only where nothing is there
    except FileExistsError:
        check_new(final, overwrite)
        raise
    except OSError:  # a file system without links
        check_new(final, overwrite)
        os.replace(part, final)
