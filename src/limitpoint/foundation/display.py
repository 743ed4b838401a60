"""How values show themselves: in one line, as text with tables, and as HTML with tables.

A value describes itself once, by a `Page` of sentences and tables; what is printed and what a
notebook shows are both made from it.
"""

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from limitpoint.foundation.text_layout import in_lines, table_lines, text_width

__all__ = [
    "Displayed",
    "Page",
    "Setting",
    "Table",
    "brief",
    "counted",
    "largest",
    "left_out",
    "number",
    "table",
]

# In one line, arrays of up to so many entries are written out, and lists of plain numbers or of
# other things.
ENTRIES_SHOWN = 4
NUMBERS_SHOWN = 12
# Nothing is coloured, so that a page is as readable in a dark notebook as in a light one.
CELL = 'style="text-align:left;vertical-align:top"'
CAPTION = 'style="caption-side:top;text-align:left;font-weight:bold;color:inherit"'


@dataclass(frozen=True)
class Table:
    """A titled table of text, and a note of what it leaves out, if it does."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def to_text(self, width: int) -> str:
        """As text; where it does not fit, words are broken into lines, never numbers."""
        title = in_lines(self.title, width) if self.title else []
        note = in_lines(self.note, width) if self.note else []
        return "\n".join([*title, *table_lines(self.columns, self.rows, width), *note])

    def to_html(self) -> str:
        """As an HTML table."""
        heading = "".join(f"<th {CELL}>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td {CELL}>{_escaped(cell)}</td>" for cell in row) + "</tr>"
            for row in self.rows
        )
        caption = f"<caption {CAPTION}>{html.escape(self.title)}</caption>" if self.title else ""
        head = f"<thead><tr>{heading}</tr></thead>" if any(self.columns) else ""
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return f"<table>{caption}{head}<tbody>{body}</tbody></table>{note}"


class Page:
    """Sentences and tables, one after the other; it prints as text and displays as HTML."""

    def __init__(self, *parts: "str | Table | Page") -> None:
        self.parts: tuple[str | Table, ...] = tuple(
            inner for part in parts for inner in (part.parts if isinstance(part, Page) else (part,))
        )

    def to_text(self, width: int | None = None) -> str:
        """As text of this width, by default the terminal's, or 100 where there is none."""
        room = text_width() if width is None else width
        lines: list[str] = []
        for before, part in zip((None, *self.parts), self.parts, strict=False):
            if isinstance(part, Table):
                lines += [*([""] if lines else []), part.to_text(room)]
            else:
                lines += [*([""] if isinstance(before, Table) else []), *in_lines(part, room)]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        count = sum(isinstance(part, Table) for part in self.parts)
        return f"Page({count} tables)"

    def _repr_html_(self) -> str:
        parts = [
            part.to_html() if isinstance(part, Table) else f"<p>{_escaped(part)}</p>"
            for part in self.parts
        ]
        return f"<div>{''.join(parts)}</div>"


class Displayed:
    """A value whose `repr` is one line, which prints as text and displays in a notebook as HTML."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # What a data class finds among a class's own attributes it does not replace.
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]  # its own, as said above

    def _facts(self) -> Iterable[str]:
        """What stands between the brackets of the one line: by default the fields."""
        return (f"{name}={brief(value)}" for name, value in _fields(self))

    def _page(self) -> Page:
        """What is printed, and displayed: by default a table of the fields."""
        rows = [(name, brief(value)) for name, value in _fields(self)]
        return table(type(self).__name__, ("", ""), rows)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._facts())})"

    def __str__(self) -> str:
        return str(self._page())

    def _repr_html_(self) -> str:
        return self._page()._repr_html_()


class Setting(Displayed):
    """A value of a few numbers, like a network or an optimiser: it prints as its one line."""

    def __str__(self) -> str:
        return repr(self)


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], note: str = ""
) -> Page:
    """Build a titled table; a note says what it leaves out."""
    return Page(Table(title, tuple(columns), tuple(tuple(row) for row in rows), note))


def left_out(*counts: tuple[int, int, str], where: str) -> str:
    """A note of what a table leaves out, like `12 of 40 coefficients shown; all in .coef`.

    Parameters
    ----------
    counts
        How many are shown, of how many, of what; with nothing left out of any there is no note.
    where
        Where all of it is.
    """
    some = [f"{shown} of {total} {what}" for shown, total, what in counts if shown < total]
    return f"{' and '.join(some)} shown; all in {where}." if some else ""


def counted(count: int, what: str) -> str:
    """A number of things: `1 coefficient`, `2 coefficients`."""
    return f"{count} {what}" + ("" if count == 1 else "s")


def largest(shown: int, total: int, what: str) -> str:
    """Of what a table shows the largest: `12 coefficients`, `the 12 largest of 40 coefficients`."""
    return f"the {shown} largest of {total} {what}s" if shown < total else counted(total, what)


def number(value: float | None) -> str:
    """Format a number for a table: three significant digits, a dash where there is none."""
    return "–" if value is None else f"{value:.3g}"


def brief(value: Any) -> str:
    """A value within one line: of long arrays the shape, of long sequences the first entries."""
    if isinstance(value, np.ndarray):
        if value.ndim != 1 or value.size > ENTRIES_SHOWN or value.dtype == object:
            return f"array of shape {value.shape}"
        return brief(value.tolist())
    if isinstance(value, np.generic):
        return brief(value.item())
    if isinstance(value, float):
        return repr(value) if len(repr(value)) < 12 else f"{value:.6g}"
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, tuple | list):
        return _sequence(value)
    if isinstance(value, Mapping):
        return "{" + _listed([f"{key}: {brief(one)}" for key, one in value.items()]) + "}"
    if isinstance(value, Callable) and hasattr(value, "__name__"):  # type: ignore[arg-type]
        return str(value.__name__)
    if hasattr(value, "data_vars"):
        sizes = ", ".join(f"{name}: {size}" for name, size in value.sizes.items())
        return f"Dataset({sizes})"
    return " ".join(repr(value).split())


def _sequence(value: "tuple[Any, ...] | list[Any]") -> str:
    plain = all(isinstance(one, int | float) for one in value)
    entries = _listed([brief(one) for one in value], NUMBERS_SHOWN if plain else ENTRIES_SHOWN)
    if isinstance(value, list):
        return f"[{entries}]"
    return f"({entries},)" if len(value) == 1 else f"({entries})"


def _listed(entries: Sequence[str], most: int = ENTRIES_SHOWN) -> str:
    more = [f"… {len(entries) - most} more"] if len(entries) > most else []
    return ", ".join([*entries[:most], *more])


def _fields(value: Any) -> list[tuple[str, Any]]:
    if not is_dataclass(value):
        return []
    return [(one.name, getattr(value, one.name)) for one in fields(value) if one.repr]


def _escaped(text: str) -> str:
    return html.escape(text).replace("\n", "<br>")
