"""Data of other libraries as X and y."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import sparse

import limitpoint as lp
from limitpoint.errors import DataError

VALUES = np.array([[0.5, -1.25], [1.5, 0.25], [-3.5, 4.25]])
NAMES = ("age", "bmi")
Y = pd.Series([1.0, 2.0, 3.0], dtype="Float64")
FRAME = pd.DataFrame(VALUES, columns=list(NAMES))


def polars_frame():
    polars = pytest.importorskip("polars")
    return polars.DataFrame(dict(zip(NAMES, VALUES.T, strict=True)))


def polars_column(values):
    polars = pytest.importorskip("polars")
    return polars_frame().with_columns(polars.Series("n", values))


def tensor(**options):
    torch = pytest.importorskip("torch")
    return torch.tensor(VALUES, **options)


class Tensor:
    """As torch has them: no array of NumPy while there is a gradient, nor on another device."""

    layout = "torch.strided"

    def __init__(self, gradient=True, device="gpu"):
        self.gradient, self.device = gradient, device

    def detach(self):
        return Tensor(False, self.device)

    def cpu(self):
        return Tensor(self.gradient, "cpu")

    def is_floating_point(self):
        return True

    def double(self):
        return self

    def __array__(self, dtype=None, copy=None):
        assert not self.gradient
        assert self.device == "cpu"
        return VALUES


def arrow_table():
    return pytest.importorskip("pyarrow").Table.from_pandas(FRAME)


class Own:
    def __array__(self, dtype=None, copy=None):
        return VALUES


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: FRAME, NAMES),
        (lambda: FRAME.astype("Float64"), NAMES),
        (lambda: pd.DataFrame(VALUES), None),
        (lambda: pd.DataFrame(VALUES, columns=["a", 1]), None),
        (polars_frame, NAMES),
        (arrow_table, NAMES),
        (lambda: xr.DataArray(VALUES, dims=("i", "f"), coords={"f": list(NAMES)}), NAMES),
        (lambda: xr.DataArray(VALUES), None),
        pytest.param(lambda: tensor(requires_grad=True), None, marks=pytest.mark.torch),
        pytest.param(lambda: tensor().to_sparse(), None, marks=pytest.mark.torch),
        pytest.param(lambda: tensor().bfloat16(), None, marks=pytest.mark.torch),
        (lambda: sparse.csr_array(VALUES), None),
        (lambda: sparse.coo_matrix(VALUES), None),
        (Own, None),
        (Tensor, None),
    ],
    ids=[
        *("pandas", "nullable", "numbered", "mixed names", "polars", "arrow", "xarray"),
        *("xarray, no names", "gradient", "sparse tensor", "bfloat16", "csr", "coo", "own"),
        "stand-in for a tensor",
    ],
)
def test_data_of_other_libraries(make, names):
    task = lp.Regression(make(), Y)
    np.testing.assert_array_equal(task.X, VALUES)  # all of them are exact in eight bits
    assert task.y.tolist() == [1.0, 2.0, 3.0]
    assert task.feature_names == names


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (FRAME.assign(city=list("abc")), r"real numbers; column 'city' holds words"),
        (FRAME.assign(d=pd.Timestamp(0), c=1j), r"column 'd', 'c' hold words, dates or complex"),
        (FRAME.assign(n=pd.array([1, None, 2], "Int64")), r"missing entries; 1 of column 'n' are"),
        (FRAME.assign(n=pd.Series([1, pd.NA, None], dtype=object)), r"2 of column 'n' are, the f"),
        (FRAME.assign(n=[np.nan, 1, np.nan]), r"2 of column 'n' are, the first at index 0"),
        (
            lambda: polars_column([1.0, None, 2.0]),
            r"X must not have missing entries; 1 of column 'n' are",
        ),
        (
            lambda: polars_column(["a", "b", "c"]),
            r"X must hold real numbers; column 'n' holds words",
        ),
        (xr.Dataset({"a": ("x", [1.0])}), r"choose one of this Dataset's variables"),
        (sparse.csr_array((3, 10**8)), r"X is sparse and is needed dense here, 3e\+08 numbers"),
        (np.ma.masked_greater(VALUES, 1.0), r"X must not have masked entries"),
        (pd.concat([FRAME, FRAME], axis=1), r"different names; more than once: age, bmi"),
    ],
    ids=[
        *("words", "dates", "missing", "of objects", "nan", "polars, missing", "polars, words"),
        *("dataset", "sparse", "masked", "twice"),
    ],
)
def test_what_is_refused_by_column(X, message):
    with pytest.raises(DataError, match=message):
        lp.Regression(X() if callable(X) else X, Y)


def test_missing_targets_and_frames_that_are_not_there_yet():
    with pytest.raises(DataError, match=r"y must not have missing entries; 1 are, .* index 2"):
        lp.Regression(VALUES, pd.Series([1, 2, None], dtype="Int64"))
    polars = pytest.importorskip("polars")
    with pytest.raises(DataError, match=r"call collect\(\) on this LazyFrame first"):
        lp.Regression(polars.LazyFrame({"a": [1.0]}), [1.0])


def test_a_frame_of_targets_names_the_outputs():
    task = lp.Regression(VALUES, pd.DataFrame({"low": [1, 2, 3], "high": [4, 5, 7]}))
    assert task.target_names == ("low", "high")
    assert task.feature_names is None
