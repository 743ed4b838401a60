"""Lists of names in sentences."""

from collections.abc import Iterable

__all__ = ["one_of"]


def one_of(names: Iterable[str]) -> str:
    """Quoted names as a list in words."""
    *others, last = [repr(name) for name in names]
    return f"{', '.join(others)} or {last}"
