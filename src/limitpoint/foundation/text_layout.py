"""Tables as text of a given width: no cell is cut, and no number is broken.

Columns that fit side by side are set so. Where they do not, columns of words are broken into lines;
where that does not suffice either, a table of numbers goes on below itself with its first column
repeated, and a table of words has its rows one below the other.
"""

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Sequence

__all__ = ["in_lines", "table_lines", "text_width"]

# The width of text that goes to no terminal, and the widest that sentences are set.
PLAIN_WIDTH = 100
SENTENCE_WIDTH = 100
NARROWEST = 40
# Cells of more than so many characters, with spaces between them, are words to be broken into
# lines, which are not made narrower than this.
WORDS = 24
# A first cell of up to so many characters is a number: it does not stand alone in a line.
NUMBER = 8
GAP = "  "
INDENT = "    "
# What belongs together in a cell although there are spaces in it: `β = 1`, `1 ± 0.1`.
TIED = re.compile(r" (?=[=±] [-+]?\d)|(?<= [=±]) (?=[-+]?\d)")
TIE = "\u00a0"


def text_width() -> int:
    """The terminal's width, or `COLUMNS` where that is set; 100 where there is no terminal."""
    if "COLUMNS" not in os.environ and not _is_terminal():
        return PLAIN_WIDTH
    return max(NARROWEST, shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns)


def _is_terminal() -> bool:
    """Whether what is printed is seen in a terminal: a notebook, a pipe and a file are none."""
    isatty = getattr(sys.stdout, "isatty", None)
    return bool(isatty is not None and isatty())


def in_lines(text: str, width: int, indent: str = "") -> list[str]:
    """A sentence, broken between words."""
    room = min(width, SENTENCE_WIDTH) - len(indent)
    return [indent + line for line in _wrapped(text.split(" "), room)]


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """A table, none of whose lines is longer than the width if its longest word is not."""
    whole = [
        max(_length(line) for cell in cells for line in cell.split("\n"))
        for cells in zip(columns, *rows, strict=True)
    ]
    if _total(whole) <= width:
        return _grid(columns, rows, whole)
    words = [_is_words([row[j] for row in rows]) for j in range(len(columns))]
    least = [_least(columns[j], [row[j] for row in rows], words[j]) for j in range(len(columns))]
    if _total(least) <= width:
        return _grid(columns, rows, _shared_out(least, whole, width))
    if any(words[1:]) or least[0] + max(least[1:], default=0) + len(GAP) > width:
        return _stacked(columns, rows, words, width)
    return _continued(columns, rows, least, width)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _is_words(cells: Sequence[str]) -> bool:
    longest = max(cells, key=_length, default="")
    return _length(longest) > WORDS and " " in longest


def _least(heading: str, cells: Sequence[str], words: bool) -> int:
    """How narrow a column can be: names of columns may be broken between words."""
    longest = max((_length(word) for word in heading.split()), default=0)
    if not words:
        return max(longest, *(_length(cell) for cell in cells), 0)
    pieces = (
        _length(word) for cell in cells for line in cell.split("\n") for word in _pieces(line)
    )
    return max(longest, WORDS, max(pieces, default=0))


def _shared_out(least: Sequence[int], whole: Sequence[int], width: int) -> list[int]:
    """What the width leaves is given first to the column that wants the least of it."""
    widths, left = list(least), width - _total(least)
    for j in sorted(range(len(widths)), key=lambda j: whole[j] - least[j]):
        given = min(left, max(whole[j] - least[j], 0))
        widths[j] += given
        left -= given
    return widths


def _grid(
    columns: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]
) -> list[str]:
    """Columns side by side, each cell in as many lines as it takes."""
    heading = _beside(columns, widths) if any(columns) else []
    rule = ["─" * _total(widths)] if heading else []
    return heading + rule + [line for row in rows for line in _beside(row, widths)]


def _beside(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    broken = [
        [line for part in cell.split("\n") for line in _wrapped(_pieces(part), room)]
        for cell, room in zip(cells, widths, strict=True)
    ]
    lines = []
    for i in range(max(map(len, broken))):
        parts = [lines_of[i] if i < len(lines_of) else "" for lines_of in broken]
        padded = [
            part + " " * (room - _length(part)) for part, room in zip(parts, widths, strict=True)
        ]
        lines.append(GAP.join(padded).rstrip())
    return lines


def _continued(
    columns: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int], width: int
) -> list[str]:
    """As many columns as fit, then the others below, each time after the first one."""
    lines: list[str] = []
    rest = list(range(1, len(columns)))
    while rest:
        taken = [0]
        while rest and _total([widths[j] for j in (*taken, rest[0])]) <= width:
            taken.append(rest.pop(0))
        some = [[row[j] for j in taken] for row in rows]
        lines += [*([""] if lines else [])]
        lines += _grid([columns[j] for j in taken], some, [widths[j] for j in taken])
    return lines


def _stacked(
    columns: Sequence[str], rows: Sequence[Sequence[str]], words: Sequence[bool], width: int
) -> list[str]:
    """Of each row what is short, with the names of the columns, and below it what is long."""
    lines: list[str] = []
    for first, *others in rows:
        cells = list(zip(columns[1:], others, words[1:], strict=True))
        short = [f"{name} {cell}".strip() for name, cell, long in cells if cell and not long]
        if 0 < len(first) <= NUMBER:
            lines += _side_by_side([f"{columns[0]} {first}".strip(), *short], width)
        else:
            lines += in_lines(first, width) + _side_by_side(short, width, INDENT)
        for name, cell, long in cells:
            for part in cell.split("\n") if long and cell else ():
                named = f"{name}: {part}" if name and cell.startswith(part) else part
                lines += [INDENT + one for one in _wrapped(_pieces(named), width - len(INDENT))]
    return [line.rstrip() for line in lines if line.strip()]


def _side_by_side(cells: Sequence[str], width: int, indent: str = "") -> list[str]:
    """Cells one after the other, none of them broken."""
    tied = [one.replace(" ", TIE) + TIE for one in cells]
    return [indent + line for line in _wrapped(tied, width - len(indent))]


def _pieces(text: str) -> list[str]:
    """The words of a text, with what belongs together in one of them."""
    return TIED.sub(TIE, text).split(" ")


def _wrapped(words: Sequence[str], room: int) -> list[str]:
    """Words in lines, none of them broken."""
    lines = [""]
    for word in words:
        if lines[-1] and _length(lines[-1]) + 1 + _length(word) > room:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return [line.replace(TIE, " ") for line in lines]


def _length(text: str) -> int:
    """The columns that a text takes in a terminal: wide characters two, marks on others none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
