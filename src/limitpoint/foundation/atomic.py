"""Files that are written whole or not at all, and never over another by accident."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from limitpoint.errors import LimitpointError

__all__ = ["check_new", "naming", "writing", "writing_together"]

# A file is filled under a name that begins like this, beside its own; one that is replaced may be
# set aside under the other. They are short: names have a longest length.
PART, OLD = ".limitpoint-part-", ".limitpoint-old-"


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
    with writing_together(path, overwrite=overwrite) as (part,):
        yield part


@contextmanager
def writing_together(*paths: Path, overwrite: bool = True) -> Iterator[tuple[Path, ...]]:
    """As `writing`, for files that belong together: all of them take their places, or none does.

    The last is the one that points at the others: a program that is killed meanwhile may leave
    none of that name, but never one that points at files of another time.
    """
    for path in paths:
        check_new(path, overwrite)
    finals = [Path(os.path.realpath(path)) for path in paths]
    marks = [f"{secrets.token_hex(6)}{path.suffix}" for path in paths]
    parts = [one.with_name(f"{PART}{mark}") for one, mark in zip(finals, marks, strict=True)]
    olds = [one.with_name(f"{OLD}{mark}") for one, mark in zip(finals, marks, strict=True)]
    with naming(paths[-1]):
        try:
            for part in parts:
                os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            yield tuple(parts)
            for part, final in zip(parts, finals, strict=True):
                _flush(part)
                if final.exists():
                    os.chmod(part, final.stat().st_mode & 0o777)
            if len(finals) == 1:
                _place(parts[0], finals[0], overwrite)
            else:
                _place_all(parts, finals, olds, overwrite)
        finally:
            for part in parts:
                part.unlink(missing_ok=True)


def _place_all(parts: list[Path], finals: list[Path], olds: list[Path], overwrite: bool) -> None:
    """Set aside what is replaced, the last file first; put it back where something fails."""
    aside: list[tuple[Path, Path]] = []
    placed: list[Path] = []
    try:
        for final, old in reversed(list(zip(finals, olds, strict=True))):
            if overwrite and final.exists():
                os.replace(final, old)
                aside.append((old, final))
        for part, final in zip(parts, finals, strict=True):
            _place(part, final, overwrite)
            placed.append(final)
    except BaseException:
        for final in placed:
            final.unlink(missing_ok=True)
        for old, final in aside:
            os.replace(old, final)
        raise
    for old, _ in aside:
        old.unlink(missing_ok=True)


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
