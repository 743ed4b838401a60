"""Files of others, read with care: no file keeps the program waiting or fills the memory.

What is opened must be a plain file of at most `largest_file()` bytes, and so must be what unpacks
from it: 2 GiB, unless the environment variable LIMITPOINT_LARGEST_FILE says another number of
bytes.
"""

import codecs
import errno
import gzip
import os
import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from limitpoint.errors import LimitpointError

__all__ = ["LIMIT", "decoded", "largest_file", "open_file", "read_bytes", "read_npy", "read_npz"]

# The environment variable that raises the limit, and the limit.
LIMIT = "LIMITPOINT_LARGEST_FILE"
LARGEST_FILE = 2**31
# Windows changes the ends of lines unless told not to.
_BINARY = getattr(os, "O_BINARY", 0)
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# What is no plain file, in words.
KINDS = {stat.S_ISFIFO: "a pipe", stat.S_ISSOCK: "a socket"}


def largest_file() -> int:
    """The largest file that is read, in bytes."""
    given = os.environ.get(LIMIT)
    if given is None:
        return LARGEST_FILE
    try:
        limit = int(float(given))
    except (ValueError, OverflowError):
        limit = 0
    if limit < 1:
        raise LimitpointError(f"{LIMIT} must be a number of bytes, like 8e9; it is {given!r}")
    return limit


@contextmanager
def open_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a plain file, or raise `OSError` for what is none; never wait.

    `ValueError` is raised for a file that is too large.
    """
    # A pipe that nobody writes to would be waited for, were it opened in the ordinary way.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    try:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(found.st_mode):
            kind = next((word for test, word in KINDS.items() if test(found.st_mode)), "a device")
            raise OSError(errno.EINVAL, f"it is {kind}, not a file", str(path))
        check_size(found.st_size)
    except BaseException:
        os.close(descriptor)
        raise
    with os.fdopen(descriptor, "rb") as file:
        yield file


def check_size(size: int, what: str = "it") -> None:
    """Raise `ValueError` for more bytes than are read."""
    limit = largest_file()
    if size > limit:
        raise ValueError(
            f"{what} holds {size:.4g} bytes, more than the {limit:.4g} that are read; set the "
            f"environment variable {LIMIT} to read more"
        )


def read_bytes(path: Path) -> bytes:
    """All of a file, unpacked where its name ends in .gz."""
    limit = largest_file()
    with open_file(path) as file:
        if path.suffix.lower() != ".gz":
            return file.read(limit)
        with gzip.open(file) as unpacked:
            content = unpacked.read(limit + 1)
    check_size(len(content), "unpacked it")
    return content


def decoded(content: bytes) -> str:
    """Text in UTF-8, or in what the mark at its beginning says; `ValueError` where it is none."""
    encoding = next((name for mark, name in MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(
            f"line {line} is no text in {error.encoding}: save the file as UTF-8"
        ) from None
    if "\0" in text:
        raise ValueError("it has NUL bytes: it is no text, or UTF-16 without its mark")
    return text


def read_npy(path: Path) -> NDArray[Any]:
    """The array of an NPY file whose header claims no more than the file holds."""
    with open_file(path) as file:
        return _array(file, os.fstat(file.fileno()).st_size)


def read_npz(path: Path, wanted: str | None = None) -> Mapping[str, NDArray[Any] | None]:
    """The arrays of an NPZ file by name; where one is wanted, that one alone and None for others.

    Raises
    ------
    ValueError
        If it is no archive, is encrypted or damaged, or unpacks to more than is read.
    """
    with open_file(path) as file, zipfile.ZipFile(file) as archive:
        entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
        needed = [entries[wanted]] if wanted in entries else list(entries.values())
        check_size(sum(entry.file_size for entry in needed), "unpacked it")
        found: dict[str, NDArray[Any] | None] = dict.fromkeys(entries)
        for name, entry in entries.items():
            if wanted is None or name == wanted:
                with archive.open(entry) as part:
                    found[name] = _array(part, entry.file_size)
                    part.read()  # to the end, where the check sum is compared
    return found


def _array(file: Any, size: int) -> NDArray[Any]:
    """An array from the start of a file of this size."""
    version = npy.read_magic(file)
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    # Version 3 has its header in another encoding, and is otherwise the second.
    shape, _, dtype = readers.get(version, npy.read_array_header_2_0)(file)
    claimed = int(np.prod([int(n) for n in shape], dtype=object)) * dtype.itemsize
    if claimed > size or any(n < 0 for n in shape):
        raise ValueError(f"its header claims {claimed:.4g} bytes; it has {size:.4g}")
    file.seek(0)
    return np.asarray(npy.read_array(file, allow_pickle=False))
