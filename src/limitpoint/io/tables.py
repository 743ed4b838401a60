"""Tables of numbers with names: CSV, TSV and Parquet files."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limitpoint.errors import LimitpointError, ProblemFileError
from limitpoint.foundation.arrays import Float, as_path, as_truth, one_line, read_only
from limitpoint.foundation.extras import load_extra
from limitpoint.foundation.frames import as_plain
from limitpoint.foundation.labels import as_names
from limitpoint.foundation.reading import open_file, read_bytes
from limitpoint.foundation.values import Value
from limitpoint.io.table_layout import Layout, layout_of
from limitpoint.io.text_tables import Cells, is_label, read_cells, to_number

__all__ = ["TEXTS", "Table", "as_choice", "is_table", "read_table"]

TEXTS = (".csv", ".tsv", ".tab", ".txt", ".dat", ".asc")
PARQUET = (".parquet", ".pq")
# Where pandas writes down which columns of a Parquet file are its index.
PANDAS = b"pandas"


@dataclass(frozen=True, eq=False)
class Table(Value):
    """Numbers in rows and columns, with the names of the columns.

    A task takes it as X or y, names included.

    Attributes
    ----------
    values
        The numbers, one row per sample.
    columns
        The names of the columns; None where they have none.
    """

    values: Float
    columns: tuple[str, ...] | None = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The numbers, for NumPy."""
        return np.array(self.values, dtype=dtype, copy=copy)


def is_table(path: Path) -> bool:
    """Whether a file is a table by its name."""
    return _ending(path) in (*TEXTS, *PARQUET)


def as_choice(value: Any, name: str) -> bool | None:
    """True, False, or None where the file is to show it."""
    return None if value is None else as_truth(value, name, ProblemFileError)


def read_table(
    path: str | Path, *, header: bool | None = None, index_column: bool | None = None
) -> Table:
    r"""Read a table of numbers from a CSV, TSV or Parquet file.

    Text may be separated by commas, semicolons (then decimal commas are read) or tabs, in `.txt`
    files also by blanks; it may be packed (`.csv.gz`). Lines that begin with `#` are comments.

    Parameters
    ----------
    path
        The file; its ending says what it is.
    header
        Whether the first line holds names. By default that is decided where it is certain, and an
        error gives both readings where it is not.
    index_column
        Whether the first column labels the rows, and is left out. By default as above; a table of
        one column has none.

    Raises
    ------
    ProblemFileError
        With the line and the column of what cannot be read: a missing number, a word, a separator
        of thousands.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "data.csv"
    ...     _ = file.write_text(",age,bmi\n0,1.0,2.0\n1,0.5,1.5\n")
    ...     table = read_table(file)
    >>> table.columns, table.values.tolist()
    (('age', 'bmi'), [[1.0, 2.0], [0.5, 1.5]])
    """
    file = as_path(path, "path", ProblemFileError)
    choices = (as_choice(header, "header"), as_choice(index_column, "index_column"))
    if not is_table(file):
        endings = ", ".join((*TEXTS, *PARQUET))
        raise ProblemFileError(f"path must end in one of {endings}; it is {file}")
    try:
        if _ending(file) in PARQUET:
            return _read_parquet(file, choices[1])
        return _of_cells(read_cells(read_bytes(file), _ending(file)), *choices)
    except OSError as error:
        raise ProblemFileError(f"{file} cannot be read ({error.strerror or error})") from None
    except LimitpointError as error:
        raise ProblemFileError(f"{file}: {error}") from None
    except Exception as error:  # a damaged file raises whatever its bytes lead to
        raise ProblemFileError(f"{file} is not a table of numbers ({one_line(error)})") from None


def _ending(path: Path) -> str:
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == ".gz" else suffix


def _of_cells(cells: Cells, header: bool | None, index_column: bool | None) -> Table:
    layout = layout_of(cells, header, index_column)
    rows, lines = cells.rows[layout.header :], cells.lines[layout.header :]
    columns = range(layout.index, len(rows[0]))
    if not columns:
        raise ValueError("its only column is the index")
    names = cells.rows[0][-len(columns) :] if layout.header else None
    values = np.empty((len(rows), len(columns)))
    for i, row in enumerate(rows):
        try:
            values[i] = [to_number(cell) for cell in row[layout.index :]]
        except ValueError:
            raise _misread(row, lines[i], names, i == 0, layout) from None
    return Table(read_only(values), _checked_names(names))


def _misread(
    row: list[str], line: int, names: list[str] | None, is_first: bool, layout: Layout
) -> ValueError:
    """Which cell of a row is no number, and what may be meant by it."""
    for column, cell in enumerate(row[layout.index :], layout.index):
        try:
            to_number(cell)
        except ValueError as error:
            hint = ""
            if is_first and not layout.header:
                hint = "; where the first line holds names, add --header (header = true)"
            elif column == 0 and len(row) > 1 and is_label(cell):
                hint = "; where the first column labels the rows, add --index-column (index_column "
                hint += "= true)"
            named = repr(names[column - layout.index]) if names else str(column + 1)
            return ValueError(f"line {line}, column {named} {error}{hint}")
    return ValueError(f"line {line} cannot be read")  # pragma: no cover - one of them is wrong


def _checked_names(names: list[str] | None) -> tuple[str, ...] | None:
    if names is None or names == [str(i) for i in range(len(names))]:
        return None  # columns that are only numbered
    for j, name in enumerate(names):
        if not name:
            raise ValueError(f"column {j + 1} has no name in the first line")
    return as_names(names, None, len(names), "its first line", "column", ProblemFileError)


def _read_parquet(path: Path, index_column: bool | None) -> Table:
    parquet = load_extra("pyarrow.parquet", f"reading {path.name}")
    with open_file(path) as file:
        content = parquet.ParquetFile(file).read()
    metadata = content.schema.metadata or {}
    known = json.loads(metadata[PANDAS])["index_columns"] if PANDAS in metadata else []
    index = [name for name in known if isinstance(name, str) and name in content.column_names]
    if index_column is True and not index:
        index = content.column_names[:1]
    kept = content if index_column is False else content.drop_columns(index)
    values = as_plain(kept, "the table", ProblemFileError)
    names = [str(name) for name in kept.column_names]
    return Table(read_only(values), _checked_names(names))
