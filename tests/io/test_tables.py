"""Tables as pandas, R, Excel and NumPy write them: what is certain is read, the rest refused."""

import gzip
import io

import numpy as np
import pandas as pd
import pytest

import limitpoint as lp
from limitpoint.errors import ProblemFileError
from limitpoint.io import read_table

VALUES = np.array([[0.5, -1.25, 2.75], [1.5, 0.25, -0.75], [-3.5, 4.25, 0.125]])
FRAME = pd.DataFrame(VALUES, columns=["a", "b", "c"])
PLAIN = pd.DataFrame(VALUES)
WORDS = FRAME.set_axis(["u", "v", "w"])
HEADER = r"two ways: its first line \(.*\) may hold names or be data; say which by --header or"
INDEX = r"two ways: its first column.* may number the rows or be data; .*--index-column or --no-in"


def table(folder, text, name="table.csv", **options):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path, **options)


# ---------------------------------------------------------------- what is certain


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (FRAME.to_csv(), "abc"),
        (FRAME.to_csv(index=False), "abc"),
        (FRAME.to_csv(header=False, index=False), None),
        (FRAME.set_axis([0.1, 0.2, 0.3]).to_csv(), "abc"),
        (WORDS.to_csv(), "abc"),
        (WORDS.rename_axis("name").to_csv(), "abc"),
        (WORDS.to_csv(header=False), None),
        (FRAME.set_axis(pd.date_range("2020-01-01", periods=3)).rename_axis("t").to_csv(), "abc"),
        (FRAME.set_axis([[1, 1, 2], [1, 2, 1]]).to_csv(), "abc"),
        (pd.read_csv(io.StringIO(FRAME.to_csv())).to_csv(index=False), "abc"),
        (pd.read_csv(io.StringIO(FRAME.to_csv())).to_csv(), "abc"),
        (PLAIN.to_csv(), None),
        (PLAIN.rename_axis("id").to_csv(), None),
        (PLAIN.set_axis([0.5, 1.0, 1.5], axis=1).to_csv(), ["0.5", "1.0", "1.5"]),
        ('"","a","b","c"\n"1",.5,-1.25,2.75\n"2",1.5,.25,-.75\n"3",-3.5,4.25,.125\n', "abc"),
        ('"a","b","c"\n"1",.5,-1.25,2.75\n"2",1.5,.25,-.75\n"3",-3.5,4.25,.125\n', "abc"),
        ("\ufeffa;b;c\r\n0,5;-1,25;2,75\r\n1,5;0,25;-0,75\r\n-3,5;4,25;0,125\r\n;;\r\n", "abc"),
        ("sep=;\n0.5;-1.25;2.75\n1.5;0.25;-0.75\n-3.5;4.25;0.125\n", None),
        ("a,b,c,\n.5,-1.25,2.75,\n1.5,.25,-.75,\n-3.5,4.25,.125,\n", "abc"),
        ("# by me\na,b,c\n.5,-1.25,2.75\n\n# more\n1.5,.25,-.75\n-3.5,4.25,.125\n,,\n", "abc"),
        ("a,b,c\n.5,-1.25,2.75\n1.5,.25,-.75\n-3.5,4.25,.125\n".encode("utf-16"), "abc"),
        ("a\tb\tc\n.5\t-1.25\t2.75\n1.5\t.25\t-.75\n-3.5\t4.25\t.125\n", "abc"),
    ],
)
def test_what_is_certain_is_read(tmp_path, text, names):
    found = table(tmp_path, text)
    np.testing.assert_array_equal(found.values, VALUES)
    assert found.columns == (None if names is None else tuple(names))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("1,2\n2,1\n", [[1, 2], [2, 1]]),
        ("1,2,3\n", [[1, 2, 3]]),
        ("1\n2\n", [[1], [2]]),
        ("0\n1\n1\n", [[0], [1], [1]]),
        ("Na,K\n1,2\n", [[1, 2]]),  # sodium and potassium
        ("x,y\nTrue,1\nFalse,2.5\n", [[1, 1], [0, 2.5]]),
    ],
)
def test_plain_numbers_are_left_alone(tmp_path, text, expected):
    assert table(tmp_path, text).values.tolist() == expected


@pytest.mark.parametrize("series", [FRAME["a"], PLAIN[0]], ids=["named", "numbered"])
def test_targets_with_an_index_are_one_output(tmp_path, series):
    found = table(tmp_path, series.to_csv())
    assert found.values[:, 0].tolist() == VALUES[:, 0].tolist()
    assert found.values.shape == (3, 1)


@pytest.mark.parametrize("ending", ["tsv", "parquet", "csv.gz", "txt"])
def test_other_files(tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    if ending == "tsv":
        FRAME.to_csv(path, sep="\t")
    elif ending == "parquet":
        pytest.importorskip("pyarrow")
        WORDS.to_parquet(path)
    elif ending == "txt":
        np.savetxt(path, VALUES)
    else:
        path.write_bytes(gzip.compress(FRAME.to_csv().encode()))
    found = read_table(path)
    np.testing.assert_array_equal(found.values, VALUES)
    assert found.columns == (None if ending == "txt" else ("a", "b", "c"))


def test_a_table_of_one_column_is_separated_as_its_name_says(tmp_path):
    """In a TSV file a comma is a decimal comma also where no line has a tab."""
    found = table(tmp_path, "y\n1,5\n2,75\n", "table.tsv")
    assert found.values.tolist() == [[1.5], [2.75]]


# ---------------------------------------------------------------- what is ambiguous


@pytest.mark.parametrize(
    ("text", "message", "option", "shapes"),
    [
        (PLAIN.to_csv(index=False), HEADER, "header", ((4, 3), (3, 3))),
        (PLAIN[0].to_csv(index=False), HEADER, "header", ((4, 1), (3, 1))),
        ("0,1\n1,0\n", HEADER, "header", ((2, 2), (1, 2))),
        ("1,2,3\n.5,.1,.7\n.2,.3,.4\n", HEADER, "header", ((3, 3), (2, 3))),
        ("900,902,904,906\n1,2,5,3\n3,1,4,1\n", HEADER, "header", ((3, 4), (2, 4))),
        (FRAME.to_csv(header=False), INDEX, "index_column", ((3, 4), (3, 3))),
        (PLAIN[0].to_csv(header=False), INDEX, "index_column", ((3, 2), (3, 1))),
        (FRAME.rename_axis("t").to_csv(), INDEX, "index_column", ((3, 4), (3, 3))),
        ("id,a\n1017,2.5\n1033,2.7\n", INDEX, "index_column", ((2, 2), (2, 1))),
    ],
)
def test_what_has_two_readings_is_refused(tmp_path, text, message, option, shapes):
    with pytest.raises(ProblemFileError, match=message):
        table(tmp_path, text)
    for choice, shape in zip((False, True), shapes, strict=True):
        assert table(tmp_path, text, **{option: choice}).values.shape == shape


def test_words_are_names_whatever_is_said_of_numbers(tmp_path):
    """One option serves X and y: to deny it for one file does not make words of the other data."""
    found = table(tmp_path, FRAME.to_csv(), header=False, index_column=False)
    assert found.columns == ("a", "b", "c")


# ---------------------------------------------------------------- what cannot be read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,NA\n3,4\n", r"line 2, column 'b' is missing \(NA\)"),
        ("a,b\n1,\n3,4\n", r"line 2, column 'b' is missing\)"),
        ("NA,NA\n3,4\n1,2\n", r"line 1, column 1 is missing \(NA\); where the first line holds na"),
        ('y\n1.5\n""\n2.5\n', r"line 3, column 'y' is missing"),
        ("y\n1.5\n\n2.5\n", r"line 3 is blank: a missing number"),
        ('a,b\n"1,234",5\n', r"'1,234': write it without a separator of thousands"),
        ("a;b\n1,500;2,750\n", r"'1,500' may have a decimal comma or a separator of thousands"),
        ("a;b\n1,5;2.5\n", r"'1,5' may have a decimal comma"),
        ("y\n1,5\n2,7\n", r"line 1 has 1, line 2 has 2"),
        ("colour,a\nred,2\nblue,3\nred,4\n", r"'colour' is no number, 'red'; .*--index-column"),
        ("a,b\n1_0,2\n", r"column 'a' is no number, '1_0'"),
        (f"a,b\n{'9' * 400},1\n", r"line 2, column 'a' is not finite, or too large"),
        (f"a,b\n{'x' * 140_000},1\n", r"line 2: field larger than field limit"),
        ("a,a\n1,2\n", r"must have different names; more than once: a"),
        ("a,,b\n1,2,3\n", r"column 2 has no name"),
        ("a,b\n1,2\n3\n", r"different numbers of cells: line 3 has 1, line 1 has 2"),
        ("größe,b\n1,2\n".encode("latin-1"), r"line 1 is no text in utf-8: save the file as UTF-8"),
        ("1,2\n".encode("utf-16-le"), r"NUL bytes"),
        ("a,b\n", r"no data below the names"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, text, message):
    with pytest.raises(ProblemFileError, match=message) as refused:
        table(tmp_path, text)
    assert "\n" not in str(refused.value)


# ---------------------------------------------------------------- in tasks and problem files


def test_a_table_is_data_with_names(tmp_path):
    task = lp.Regression(table(tmp_path, FRAME.to_csv()), [1.0, 2.0, 3.0])
    assert task.feature_names == ("a", "b", "c")
    np.testing.assert_array_equal(task.X, VALUES)


def test_choices_in_a_problem_file_for_all_files_and_for_one(tmp_path):
    FRAME.to_csv(tmp_path / "X.csv", header=False)
    (tmp_path / "y.csv").write_text("a,b\n1,2\n3,5\n4,4\n")

    def task(choice):
        rest = '[network]\nkind = "two_layer"\nwidth = 2\n[init]\nkind = "random"\n'
        path = tmp_path / "problem.toml"
        path.write_text(f'[task]\nX = "X.csv"\ny = "y.csv"\n{choice}\n{rest}')
        return lp.io.load_problem(path).task

    with pytest.raises(ProblemFileError, match=INDEX):
        task("")
    kept = task("index_column = false")
    assert (kept.n_features, kept.n_outputs, kept.target_names) == (4, 2, ("a", "b"))
    both = task("index_column = true")
    assert (both.n_features, both.n_outputs) == (3, None)
    one = task("index_column = {X = true}")
    assert (one.n_features, one.n_outputs) == (3, 2)
    with pytest.raises(ProblemFileError, match=r"index_column must be true or false, or say"):
        task("index_column = {Z = true}")
