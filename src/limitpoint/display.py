"""Render result tables as text for a terminal, a notebook or a log."""

import html
from collections.abc import Iterable, Sequence
from io import StringIO

from rich.console import Console, RenderableType
from rich.table import Table

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


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Build a rich table whose first column is left-aligned and never cut."""
    built = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        built.add_column(column, overflow="fold", no_wrap=i == 0)
    for row in rows:
        built.add_row(*row)
    return built


def number(value: float | None) -> str:
    """Format a number for a table: three significant digits, a dash where there is none."""
    return "–" if value is None else f"{value:.3g}"
