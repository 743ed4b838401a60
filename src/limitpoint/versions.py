"""What is installed, for a report of a problem."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, requires, version

__all__ = ["show_versions"]


def show_versions() -> None:
    """Print the versions of limitpoint, of Python and of every library that it can use.

    Nothing is imported for it. What is not installed has a dash, and the extra that would bring it.

    Examples
    --------
    >>> from limitpoint import show_versions
    >>> show_versions()
    limitpoint ...
    Python ...
    """
    from limitpoint import __version__

    rows = [
        ("limitpoint", __version__),
        ("Python", platform.python_version()),
        ("system", f"{platform.system()} {platform.release()} {platform.machine()}"),
        ("executable", sys.executable),
        *((name, _version(name, extra)) for name, extra in _libraries()),
    ]
    width = max(len(name) for name, _ in rows)
    print("\n".join(f"{name:{width}} {found}" for name, found in rows))


def _libraries() -> list[tuple[str, str]]:
    """Every library that the package's metadata names, with its extra; tools are left out."""
    found: dict[str, str] = {}
    for line in requires("limitpoint") or ():
        requirement, _, marker = line.partition(";")
        extra = marker.partition("extra ==")[2].strip(" '\"")
        name = requirement.partition("[")[0].rstrip(">=<!~. 0123456789")
        if name != "limitpoint" and extra not in ("all", "dev"):
            found.setdefault(name, extra)
    return [*found.items()]


def _version(name: str, extra: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return f"–  (limitpoint[{extra}])" if extra else "–"
