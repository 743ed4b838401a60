"""The cells of a table in a text file: encodings, separators, comments, numbers.

What Excel, R, pandas and NumPy write: commas, semicolons (then with decimal commas), tabs or, in
`.txt` and `.dat`, blanks; UTF-8, or UTF-16 with its mark; lines that begin with `#` are comments.
"""

import csv
import re
from dataclasses import dataclass

from limitpoint.foundation.reading import decoded

__all__ = ["Cells", "is_label", "is_missing", "is_number", "is_whole", "read_cells", "to_number"]

TABS, BLANKS = (".tsv", ".tab"), (".txt", ".dat", ".asc")
# Separators are looked for in this many lines.
LINES_TRIED = 50
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.ASCII | re.I)
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
WITH_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?", re.ASCII)
GROUPED = re.compile(r"[+-]?\d{1,3}([.,' ]\d{3})+([.,]\d+)?", re.ASCII)
TRUTHS = {"true": 1.0, "false": 0.0}
MISSING = {"", "na", "n/a", "nan", "-nan", "+nan", "<na>", "#n/a", "null", "none", "nat"}
# Sodium is no missing value, and neither is a column of nones.
WORDS = {"Na", "none", "nat"}


@dataclass(frozen=True)
class Cells:
    """Rows of stripped cells, the number of the line each is on, and what separates them."""

    rows: list[list[str]]
    lines: list[int]
    separator: str


def is_number(cell: str) -> bool:
    """Whether a cell is a number, or a truth value."""
    return NUMBER.fullmatch(cell) is not None or cell.lower() in TRUTHS


def is_whole(cell: str) -> bool:
    """Whether a cell is written as a whole number."""
    return WHOLE.fullmatch(cell) is not None


def is_missing(cell: str) -> bool:
    """Whether a cell stands for a number that is not there."""
    return cell.lower() in MISSING and cell not in WORDS


def is_label(cell: str) -> bool:
    """Whether a cell is a word, neither a number nor the sign of a missing one."""
    return not is_number(cell) and not is_missing(cell)


def to_number(cell: str) -> float:
    """The number of a cell; raises `ValueError` saying what the cell is instead."""
    if NUMBER.fullmatch(cell):
        found = float(cell)
        if found in (float("inf"), float("-inf")):
            raise ValueError("is not finite, or too large for a float")
        return found
    if cell.lower() in TRUTHS:
        return TRUTHS[cell.lower()]
    if is_missing(cell):
        raise ValueError("is missing" if not cell else f"is missing ({cell})")
    shown = repr(cell if len(cell) <= 40 else f"{cell[:40]}…")
    grouped = GROUPED.fullmatch(cell) is not None
    hint = ": write it without a separator of thousands" if grouped else ""
    raise ValueError(f"is no number, {shown}{hint}")


def read_cells(content: bytes, suffix: str) -> Cells:
    """The cells of a text file whose name has this ending."""
    lines = re.split(r"\r\n|\r|\n", decoded(content))
    separator, lines = _separator(lines, suffix)
    comment = re.compile(rf"\s*#(?!{re.escape(separator)})" if separator != " " else r"\s*#")
    commented = ["" if comment.match(line) else line for line in lines]
    if separator == " ":
        rows = [(i, line.split()) for i, line in enumerate(commented, 1)]
    else:
        reader = csv.reader(commented, delimiter=separator, skipinitialspace=True)
        try:
            rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
        except csv.Error as error:
            raise ValueError(f"line {reader.line_num}: {error}") from None
    _check_blank(rows, lines)
    # pandas writes a missing number, where it is the only cell, as an empty one in quotes.
    kept = [
        (line, row) for line, row in rows if any(row) or len(row) > 1 or '""' in lines[line - 1]
    ]
    while kept and not any(kept[-1][1]):  # lines of nothing but separators at the end
        kept.pop()
    table = [row for _, row in kept]
    width = max((len(row) for row in table), default=0)
    while width > 1 and not any(row[width - 1] for row in table if len(row) == width):
        table = [row[: width - 1] for row in table]  # a separator at the end of every line
        width -= 1
    if separator not in ",":
        _decimal_commas(table)
    return Cells(table, [line for line, _ in kept], separator)


def _separator(lines: list[str], suffix: str) -> tuple[str, list[str]]:
    """What separates the cells, and the lines without the one by which Excel says it."""
    if lines and re.fullmatch(r"sep=.", lines[0]):
        return lines[0][-1], ["", *lines[1:]]
    if suffix in TABS:
        return "\t", lines
    shown = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    bare = [re.sub(r'"[^"]*"', "", line) for line in shown[:LINES_TRIED]]
    for separator in ("\t", ";"):
        if bare and all(separator in line for line in bare):
            return separator, lines
    if any("," in line for line in bare) or suffix not in BLANKS:
        return ",", lines
    return " ", lines


def _check_blank(rows: list[tuple[int, list[str]]], lines: list[str]) -> None:
    """In a table of one column a blank line between others may be a number that is missing."""
    filled = [line for line, row in rows if any(row)]
    if not filled or max(len(row) for _, row in rows) > 1:
        return
    for line in range(filled[0], filled[-1]):
        if not lines[line - 1].strip():
            raise ValueError(f"line {line} is blank: a missing number, or a line to be removed")


def _decimal_commas(table: list[list[str]]) -> None:
    """Write decimal commas as points, where they can be nothing else."""
    cells = [cell for row in table for cell in row if WITH_COMMA.fullmatch(cell)]
    if not cells:
        return
    points = any(NUMBER.fullmatch(cell) and "." in cell for row in table for cell in row)
    if points or all(GROUPED.fullmatch(cell) for cell in cells):
        raise ValueError(
            f"{cells[0]!r} may have a decimal comma or a separator of thousands: write points, "
            "and no separators"
        )
    for row in table:
        row[:] = [cell.replace(",", ".") if WITH_COMMA.fullmatch(cell) else cell for cell in row]
