"""What the first line and the first column of a table are: names, labels, or numbers like others.

What is certain is decided; where both readings make sense, neither is taken: the error gives both
and the options that say which.

| written by | looks like | read as |
| --- | --- | --- |
| `df.to_csv()` | `,a,b` or `,0,1` | names and an index |
| `df.to_csv(index=False)` | `a,b` | names |
| … with numbered columns | `0,1,2` | ambiguous |
| `df.to_csv(header=False)` | `0,1.5,2.5` then `1,…` | ambiguous |
| a named index | `id,a,b` then `0,…`, `1,…` | ambiguous |
| labels of rows | words, all different, in the first column only | an index |
| R's `write.csv` | `"","a","b"` | names and an index |
| R's `write.table` | one name fewer than columns | names and an index |
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from limitpoint.errors import ProblemFileError
from limitpoint.io.text_tables import Cells, is_label, is_number, is_whole

__all__ = ["Layout", "layout_of"]

# How columns of row numbers are named: pandas leaves an index without a name, and gives it the
# second one when it reads it back. A third kind is no more than likely.
UNNAMED = re.compile(r"|Unnamed: \d+(\.\d+)*")
NUMBERS_OF_ROWS = ("id", "index", "idx", "key", "row", "rowid", "rownames", "row_names", "no", "nr")
# A first line of so many evenly spaced numbers, as no other line is, may be names: wavelengths,
# times, thresholds.
EVENLY_SPACED = 4
# Words that label rows: no number with a slip or a sign in it, but a date may be one.
WORD = re.compile(r"\D|\d+[-/:]\d")
# How numbers that are neither infinite nor truth values end.
POINTED = "0123456789."
# What is shown of a line or a column in a message.
CELLS_SHOWN = 4
HOW = {
    "header": "--header or --no-header (header = true or false)",
    "index_column": "--index-column or --no-index-column (index_column = true or false)",
}


@dataclass(frozen=True)
class Layout:
    """Whether the first line holds names, and how many of the first columns label the rows."""

    header: bool
    index: int


def layout_of(cells: Cells, header: bool | None, index_column: bool | None) -> Layout:
    """Decide it, or raise `ProblemFileError` with both readings.

    What the caller says is so; but words are names or labels also where he denies it, since they
    cannot be numbers. `ValueError` is raised for what has no reading at all.
    """
    rows = cells.rows
    if not rows:
        raise ValueError("no data")
    width = max(len(row) for row in rows)
    body = rows[1:]
    if body and len(rows[0]) == width - 1 and _is_even(body):
        return _with_fewer_names(cells, index_column)
    for row, line in zip(rows, cells.lines, strict=True):
        if len(row) != width:
            raise ValueError(
                f"its lines have different numbers of cells: line {line} has {len(row)}, line "
                f"{cells.lines[0]} has {len(rows[0])}"
            )
    named = bool(_decided(header, lambda: _has_names(rows, width)))
    if named and not body:
        raise ValueError("no data below the names")
    if width == 1:  # one column is data, whatever holds for other files
        return Layout(named, 0)
    return Layout(named, _decided(index_column, lambda: _index_columns(rows, named)))


def _decided(said: bool | None, decide: Callable[[], int]) -> int:
    """What is certain; else what the caller says."""
    try:
        found = int(decide())
    except ProblemFileError:
        if said is None:
            raise
        return int(said)
    return max(found, int(said or 0))


def _is_even(rows: list[list[str]]) -> bool:
    return len({len(row) for row in rows}) == 1


def _with_fewer_names(cells: Cells, index_column: bool | None) -> Layout:
    """R leaves out the name of the row names; a decimal comma looks the same in one column."""
    first, body = cells.rows[0], cells.rows[1:]
    labels = [row[0] for row in body]
    certain = index_column or (len(first) > 1 and (_counts(labels) or _are_labels(labels)))
    if not certain:
        raise ValueError(
            f"its lines have different numbers of cells: line {cells.lines[0]} has {len(first)}, "
            f"line {cells.lines[1]} has {len(body[0])}"
        )
    return Layout(True, 1)


def _has_names(rows: list[list[str]], width: int) -> bool:
    first, body = rows[0], rows[1:]
    lead, others = first[0], first[1:] if width > 1 else first
    words = [cell for cell in others if is_label(cell)]
    numbers = [cell for cell in others if is_number(cell)]
    if words and (numbers or (width > 1 and is_number(lead))):
        raise _ambiguous("its first line", first, "hold names", "header", "data with a slip")
    if words:
        return True
    if len(numbers) < len(others):  # some are missing: no line of names, and told as such
        return False
    if width > 1 and not is_number(lead):
        return _names_after(lead, others, [row[0] for row in body])
    if _may_be_names(first, body):
        raise _ambiguous("its first line", first, "hold names", "header")
    return False


def _names_after(lead: str, numbers: list[str], below: list[str]) -> bool:
    """Whether numbers after a cell that is none are names of columns."""
    counted = numbers == [str(i) for i in range(len(numbers))]
    labelled, line = _are_labels(below), [lead, *numbers]
    if not lead and below and (_counts(below) or labelled):
        return True
    if is_label(lead) and below:
        if labelled and not counted:
            return False
        if counted and all(is_whole(cell) for cell in below):
            return True
    elif lead:
        return False
    raise _ambiguous("its first line", line, "hold names", "header")


def _may_be_names(first: list[str], body: list[list[str]]) -> bool:
    """Whether a line of numbers is like names: counted from 0, or unlike all other lines."""
    if not body:
        return False
    below = [cell for row in body for cell in row]
    if first == [str(i) for i in range(len(first))]:
        return len(first) > 1 or _have_points(below)
    if len(first) > 1 and first == [str(i + 1) for i in range(len(first))]:
        return not any(is_whole(cell) for cell in below)
    if len(first) < EVENLY_SPACED or len(body) < 2:
        return False
    return _is_evenly_spaced(first) and not any(_is_evenly_spaced(row) for row in body)


def _is_evenly_spaced(row: list[str]) -> bool:
    if not all(is_number(cell) and cell[-1].isdigit() for cell in row):
        return False
    numbers = [float(cell) for cell in row]
    step = numbers[1] - numbers[0]
    near = 1e-9 * max(abs(numbers[0]), abs(numbers[-1]))
    return step != 0 and all(abs(two - one - step) <= near for one, two in pairwise(numbers))


def _index_columns(rows: list[list[str]], named: bool) -> int:
    """How many of the first columns label the rows."""
    name = rows[0][0] if named else None
    body = rows[1:] if named else rows
    column = [row[0] for row in body]
    others = [cell for row in body for cell in row[1:]]
    if name is not None and UNNAMED.fullmatch(name):
        return next((j for j, one in enumerate(rows[0]) if not UNNAMED.fullmatch(one)), 1)
    if _are_labels(column):
        return 1
    counted = rows[0][1:] == [str(i) for i in range(len(rows[0]) - 1)]
    if named and counted and name != "0" and is_label(rows[0][0]):
        return 1  # columns that are numbered after one that is not
    numbered = named and str(name).lower() in NUMBERS_OF_ROWS
    suspicious = _counts(column) and (len(column) > 2 or numbered or _have_points(others))
    if len(column) == 1 and not numbered:  # one row: only pandas counts from 0
        suspicious = suspicious and column == ["0"]
    different = all(is_whole(cell) for cell in column) and len(set(column)) == len(column)
    if suspicious or (numbered and different):
        of = "its first column" if not name else f"its first column {name!r}"
        raise _ambiguous(of, column, "number the rows", "index_column")
    return 0


def _have_points(cells: list[str]) -> bool:
    """Whether some numbers are not written as whole ones."""
    return any(is_number(cell) and not is_whole(cell) and cell[-1] in POINTED for cell in cells)


def _counts(column: list[str]) -> bool:
    """Whether a column is 0, 1, 2, … or 1, 2, 3, …."""
    return any(column == [str(i + first) for i in range(len(column))] for first in (0, 1))


def _are_labels(column: list[str]) -> bool:
    """Whether all cells are words, no two the same."""
    different = len(set(column)) == len(column)
    return different and all(is_label(cell) and WORD.match(cell) for cell in column)


def _ambiguous(
    what: str, cells: list[str], may: str, option: str, data: str = "data"
) -> ProblemFileError:
    return ProblemFileError(
        f"it can be read in two ways: {what} ({_shown(cells)}) may {may} or be {data}; say which "
        f"by {HOW[option]}"
    )


def _shown(cells: list[str]) -> str:
    more = ", …" if len(cells) > CELLS_SHOWN else ""
    short = [cell if len(cell) <= 20 else f"{cell[:20]}…" for cell in cells[:CELLS_SHOWN]]
    return ", ".join(short) + more
