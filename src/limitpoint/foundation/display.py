"""Render result tables as text for a terminal, a notebook or a log."""

import html
from collections.abc import Iterable, Sequence
from io import StringIO
from textwrap import fill

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

# Names of up to so many letters are kept on one line.
LONG_NAME = 38
TEXT_WIDTH = 110


def to_text(*renderables: RenderableType) -> str:
    """Render rich objects as plain text, trailing blanks removed."""
    buffer = StringIO()
    console = Console(file=buffer, width=TEXT_WIDTH, no_color=True, highlight=False)
    for renderable in renderables:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())


def to_html(text: str) -> str:
    """Wrap a text rendering for a notebook."""
    return f"<pre>{html.escape(text)}</pre>"


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Group:
    """Build a titled table; only its last column is broken into lines when space is short.

    And long names in the first, so that they leave room for the numbers.
    """
    built = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns[:-1]:
        built.add_column(Text(column), no_wrap=True)  # names may have brackets in them
    built.add_column(Text(columns[-1]), overflow="fold")
    for first, *others in rows:
        name = fill(first, LONG_NAME, break_long_words=False)
        built.add_row(*(Text(cell) for cell in (name, *others)))
    return Group(Text(title), built)


def number(value: float | None) -> str:
    """Format a number for a table: three significant digits, a dash where there is none."""
    return "–" if value is None else f"{value:.3g}"
