"""Problem files: TOML that points at CSV, NPY or NPZ data.

One file, although long: one format, read, written and refused.
"""

import math
import tomllib

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.errors import ProblemFileError
from limitpoint.io import ALIASES, INITS, NETWORKS, TASKS, read_array

NETWORK = lp.Diagonal(depth=2)
X = np.array([[1.0, 0.5, 0.7, 0.0], [0.5, 1.0, 0.1, 0.7]])
Y = np.array([1.0, 0.1])
TASK = lp.Regression(X, Y, loss_factor=2 / 3)
GOOD = """
[task]
X = [[1.0, 0.5], [0.5, 1.0]]
y = [1.0, 0.0]

[network]
kind = "diagonal"
depth = 2

[init]
kind = "random"
seed = 3
scale = 1e-3
"""


def write(folder, text, name="problem.toml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def with_data(folder, x_source, y_source="[1.0, 0.1]"):
    return write(
        folder,
        f"""
        [task]
        X = {x_source}
        y = {y_source}
        [network]
        kind = "diagonal"
        [init]
        kind = "zero_last"
        scale = 0.1
        """,
    )


# ---------------------------------------------------------------- round trip


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"scale": 0.1},
        {"scale": 1e-300},
        {"scale": 1 / 3},
        {"scale": 0},
        {"scale": math.inf},
        {"log_scale": -2302.6},
        {"log_scale": -0.1},
        {"log_scale": 750.0},
        {"log_scale": -math.inf},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["random", "zero_last", "layers", "weighted"])
def test_a_saved_problem_is_read_back_exactly(tmp_path, kind, given):
    init = {
        "random": lambda: lp.Init.random(NETWORK, TASK, seed=5, **given),
        "zero_last": lambda: lp.Init.zero_last(NETWORK, TASK, **given),
        "layers": lambda: lp.Init([[1, 2, 3, 4], [0, 0.1, -1, 1e-30]], **given),
        "weighted": lambda: lp.Init.zero_last(NETWORK, TASK, direction=[1, 2, 3, 4], **given),
    }[kind]()
    saved = lp.Problem(NETWORK, init, TASK)
    lp.io.save_problem(saved, tmp_path / "problem.toml")
    read = lp.io.load_problem(tmp_path / "problem.toml")
    np.testing.assert_array_equal(read.task.X, X)
    np.testing.assert_array_equal(read.task.y, Y)
    assert read.task.loss_factor == TASK.loss_factor
    assert read.network == NETWORK
    for one, two in zip(read.init.direction, saved.init.direction, strict=True):
        np.testing.assert_array_equal(one, two)
    # Either form of the scale determines the other up to the rounding of log and exp.
    assert read.init.scale == pytest.approx(saved.init.scale, rel=1e-12)
    assert read.init.log_scale == pytest.approx(saved.init.log_scale, rel=1e-12)
    assert read.init.is_finite == saved.init.is_finite


def test_depth_is_kept(tmp_path):
    network = lp.Diagonal(depth=3)
    problem = lp.Problem(network, lp.Init.random(network, TASK, 0.1, seed=0), TASK)
    lp.io.save_problem(problem, tmp_path / "deep.toml")
    assert lp.io.load_problem(tmp_path / "deep.toml").network == network
    assert (tmp_path / "deep.npz").exists()


OTHERS = {
    "power": (lp.Power(3), {"kind": "power", "depth": 3}),
    "signed power": (lp.SignedPower(4), {"kind": "signed_power", "depth": 4}),
    "paired": (lp.Paired(), {"kind": "paired"}),
    "deep": (lp.Diagonal(5), {"kind": "diagonal", "depth": 5}),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("given", [{"scale": 1 / 3}, {"log_scale": -2302.6}], ids=str)
def test_every_network_is_read_back_exactly(tmp_path, name, given):
    network, table = OTHERS[name]
    saved = lp.Problem(network, lp.Init.random(network, TASK, seed=5, **given), TASK)
    lp.io.save_problem(saved, tmp_path / "problem.toml")
    content = tomllib.loads((tmp_path / "problem.toml").read_text(encoding="utf-8"))
    assert content["network"] == table
    read = lp.io.load_problem(tmp_path / "problem.toml")
    assert read.network == network
    assert (read.init.scale, read.init.log_scale) == (saved.init.scale, saved.init.log_scale)
    for one, two in zip(read.init.direction, saved.init.direction, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("network", "init", "expected"),
    [
        (
            'kind = "signed_power"\ndepth = 3',
            'kind = "unbiased"\ndirection = [1, 2]',
            lambda network, task: lp.Init.unbiased(network, task, 1e-3, direction=[1, 2]),
        ),
        (
            'kind = "signed_power"',
            'kind = "unbiased"',
            lambda network, task: lp.Init.unbiased(network, task, 1e-3),
        ),
        (
            'kind = "paired"',
            'kind = "shaped"\nshape = 0.5',
            lambda network, task: lp.Init.shaped(network, task, 1e-3, shape=0.5),
        ),
        (
            'kind = "paired"',
            'kind = "shaped"\nshape = [0.5, -0.5]',
            lambda network, task: lp.Init.shaped(network, task, 1e-3, shape=[0.5, -0.5]),
        ),
        (
            'kind = "power"\ndepth = 4',
            'kind = "random"\nseed = 7',
            lambda network, task: lp.Init.random(network, task, 1e-3, seed=7),
        ),
        (
            'kind = "paired"',
            'kind = "layers"\ndirection = [[1, 2], [3, 4], [5, 6], [7, 8]]',
            lambda network, task: lp.Init([[1, 2], [3, 4], [5, 6], [7, 8]], 1e-3),
        ),
        (
            'kind = "rank_one"\ndepth = 3\nwidth = 4',
            'kind = "balanced"\nseed = 2\ndirection = [1, 2]',
            lambda network, task: lp.Init.balanced(network, task, 1e-3, seed=2, direction=[1, 2]),
        ),
        (
            'kind = "rank_one"',
            'kind = "perturbed"\nimbalance = 0.1',
            lambda network, task: lp.Init.perturbed(network, task, 1e-3, imbalance=0.1),
        ),
        (
            'kind = "fully_connected"\nwidths = [3, 2]',
            'kind = "one_neuron"\nseed = 5',
            lambda network, task: lp.Init.one_neuron(network, task, 1e-3, seed=5),
        ),
        (
            'kind = "relu"\nwidths = [3, 2]',
            'kind = "random"\nseed = 7',
            lambda network, task: lp.Init.random(network, task, 1e-3, seed=7),
        ),
        (
            'kind = "convolutional"\nfilter_sizes = [1, 2]',
            'kind = "random"\nseed = 7',
            lambda network, task: lp.Init.random(network, task, 1e-3, seed=7),
        ),
        (
            'kind = "two_layer"\nwidth = 3',
            'kind = "orthogonal"\nseed = 5\nperturbation = 0.1',
            lambda network, task: lp.Init.orthogonal(network, task, 1e-3, seed=5, perturbation=0.1),
        ),
    ],
    ids=[
        "unbiased, weighted",
        "unbiased",
        "shaped",
        "shaped per feature",
        "power",
        "layers",
        "balanced",
        "perturbed",
        "one neuron",
        "relu",
        "convolutional",
        "orthogonal",
    ],
)
def test_networks_and_starts_by_name(tmp_path, network, init, expected):
    text = GOOD.replace('kind = "diagonal"\ndepth = 2', network)
    text = text.replace('kind = "random"\nseed = 3', init)
    problem = lp.io.load_problem(write(tmp_path, text))
    wanted = expected(problem.network, problem.task)
    assert problem.init.scale == wanted.scale == 1e-3
    for one, two in zip(problem.init.direction, wanted.direction, strict=True):
        np.testing.assert_array_equal(one, two)
    # What is saved names the layers, and is the same problem.
    lp.io.save_problem(problem, tmp_path / "again.toml")
    again = lp.io.load_problem(tmp_path / "again.toml")
    assert again.network == problem.network
    for one, two in zip(again.init.direction, wanted.direction, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_shape_from_a_file(tmp_path):
    write(tmp_path, "0.5\n-0.25\n", "shape.csv")
    text = GOOD.replace('kind = "diagonal"\ndepth = 2', 'kind = "paired"')
    text = text.replace('kind = "random"\nseed = 3', 'kind = "shaped"\nshape = "shape.csv"')
    u, v, _, _ = lp.io.load_problem(write(tmp_path, text)).init.direction
    np.testing.assert_allclose((u - v) / (u + v), [0.5, -0.25], rtol=1e-14)


def test_every_kind_of_network_and_start_has_a_test():
    assert set(NETWORKS) == {
        "diagonal",
        "power",
        "signed_power",
        "paired",
        "rank_one",
        "fully_connected",
        "two_layer",
        "relu",
        "convolutional",
        "matrix_product",
    }
    assert set(TASKS) == {"regression", "classification", "matrix_sensing"}
    assert set(INITS) == {
        "random",
        "zero_last",
        "unbiased",
        "shaped",
        "balanced",
        "perturbed",
        "one_neuron",
        "orthogonal",
        "layers",
    }


def test_a_network_of_functions_cannot_be_written(tmp_path):
    network = lp.General(lambda block: block[0] * block[1], block_size=2)
    problem = lp.Problem(network, lp.Init.random(network, TASK, 0.1, seed=0), TASK)
    with pytest.raises(ProblemFileError, match=r"General cannot be written .*; known are diag"):
        lp.io.save_problem(problem, tmp_path / "problem.toml")
    assert list(tmp_path.iterdir()) == []


def test_a_saved_problem_can_be_moved(tmp_path):
    problem = lp.Problem(NETWORK, lp.Init.zero_last(NETWORK, TASK, 0.1), TASK)
    (tmp_path / "here").mkdir()
    lp.io.save_problem(problem, tmp_path / "here" / "problem.toml")
    (tmp_path / "here").rename(tmp_path / "there")
    read = lp.io.load_problem(str(tmp_path / "there" / "problem.toml"))
    np.testing.assert_array_equal(lp.predict(read).coef, lp.predict(problem).coef)


# ---------------------------------------------------------------- the file itself


def test_inline_arrays(tmp_path):
    problem = lp.io.load_problem(write(tmp_path, GOOD))
    expected = lp.Init.random(NETWORK, problem.task, 1e-3, seed=3)
    assert problem.task.X.tolist() == [[1.0, 0.5], [0.5, 1.0]]
    np.testing.assert_array_equal(problem.init.direction, expected.direction)


def test_defaults(tmp_path):
    text = GOOD.replace("depth = 2", "").replace("seed = 3", "").replace("scale = 1e-3", "")
    problem = lp.io.load_problem(write(tmp_path, text))
    assert problem.network == NETWORK
    assert problem.init.scale == 1.0
    assert problem.task.loss_factor == 1.0
    expected = lp.Init.random(NETWORK, problem.task, seed=0)
    np.testing.assert_array_equal(problem.init.direction, expected.direction)


def test_whole_numbers_are_numbers(tmp_path):
    text = GOOD.replace("scale = 1e-3", "scale = 1").replace("y = [1.0, 0.0]", "y = [1, 0]")
    problem = lp.io.load_problem(
        write(tmp_path, text.replace("[network]", "loss_factor = 2\n[network]"))
    )
    assert problem.init.scale == 1.0
    assert problem.task.loss_factor == 2.0


@pytest.mark.parametrize(("written", "log_scale"), [("inf", math.inf), ("0", -math.inf)])
def test_the_two_limits_of_the_scale(tmp_path, written, log_scale):
    problem = lp.io.load_problem(write(tmp_path, GOOD.replace("1e-3", written)))
    assert problem.init.log_scale == log_scale


def test_log_scale(tmp_path):
    path = write(tmp_path, GOOD.replace("scale = 1e-3", "log_scale = -2302.6"))
    assert lp.io.load_problem(path).init.log_scale == -2302.6


def test_layers_inline_and_from_files(tmp_path):
    np.save(tmp_path / "second.npy", np.array([0.0, 0.5]))
    text = GOOD.replace(
        'kind = "random"\nseed = 3', 'kind = "layers"\ndirection = [[1, 2], "second.npy"]'
    )
    problem = lp.io.load_problem(write(tmp_path, text))
    assert [layer.tolist() for layer in problem.init.direction] == [[1.0, 2.0], [0.0, 0.5]]


@pytest.mark.parametrize("source", ["[1.0, 2.0]", '"weights.csv"'])
def test_zero_last_with_a_direction(tmp_path, source):
    write(tmp_path, "1\n2\n", "weights.csv")
    text = GOOD.replace('kind = "random"\nseed = 3', f'kind = "zero_last"\ndirection = {source}')
    problem = lp.io.load_problem(write(tmp_path, text))
    assert [layer.tolist() for layer in problem.init.direction] == [[1.0, 2.0], [0.0, 0.0]]


# ---------------------------------------------------------------- data files


@pytest.mark.parametrize(
    "text",
    [
        "1,0.5,0.7,0\n0.5,1,0.1,0.7\n",
        "a,b,c,d\n1,0.5,0.7,0\n0.5,1,0.1,0.7\n",
        "\ufeffa,b,c,d\n1,0.5,0.7,0\n0.5,1,0.1,0.7\n",
        "\ufeff1,0.5,0.7,0\n0.5,1,0.1,0.7\n",
        "1, 0.5, 0.7, 0\r\n0.5, 1, 1e-1, 0.7",
        '"height, cm",b,c,d\n1,0.5,0.7,0\n0.5,1,0.1,0.7\n',
    ],
    ids=["plain", "names", "names after a BOM", "BOM", "spaces and CRLF", "quoted names"],
)
def test_csv(tmp_path, text):
    (tmp_path / "X.csv").write_bytes(text.encode())
    problem = lp.io.load_problem(with_data(tmp_path, '"X.csv"'))
    np.testing.assert_array_equal(problem.task.X, X)


def test_csv_of_one_column_is_one_feature(tmp_path):
    write(tmp_path, "size\n1\n2\n", "X.csv")
    write(tmp_path, "target\n3\n6\n", "y.csv")
    problem = lp.io.load_problem(with_data(tmp_path, '"X.csv"', '"y.csv"'))
    assert problem.task.X.tolist() == [[1.0], [2.0]]
    assert problem.task.y.tolist() == [3.0, 6.0]


def test_csv_of_one_row_is_one_sample(tmp_path):
    write(tmp_path, "1,2,3\n", "X.csv")
    write(tmp_path, "3\n", "y.csv")
    problem = lp.io.load_problem(with_data(tmp_path, '"X.csv"', '"y.csv"'))
    assert problem.task.X.tolist() == [[1.0, 2.0, 3.0]]
    assert problem.task.y.tolist() == [3.0]


def test_npy(tmp_path):
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    problem = lp.io.load_problem(with_data(tmp_path, '"X.npy"'))
    np.testing.assert_array_equal(problem.task.X, X.astype(np.float32))


@pytest.mark.parametrize("source", ['"data.npz"', '"data.npz:X"', '"data.npz:other"'])
def test_npz(tmp_path, source):
    np.savez(tmp_path / "data.npz", X=X, other=X)
    problem = lp.io.load_problem(with_data(tmp_path, source))
    np.testing.assert_array_equal(problem.task.X, X)


def test_paths_are_relative_to_the_file_and_may_be_absolute(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "elsewhere").mkdir()
    np.save(tmp_path / "data" / "X.npy", X)
    monkeypatch.chdir(tmp_path / "elsewhere")
    problem = lp.io.load_problem(with_data(tmp_path, '"data/X.npy"'))
    np.testing.assert_array_equal(problem.task.X, X)
    absolute = str(tmp_path / "data" / "X.npy").replace("\\", "/")
    problem = lp.io.load_problem(with_data(tmp_path, f'"{absolute}"'))
    np.testing.assert_array_equal(problem.task.X, X)


def test_read_array_from_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("X.npy", X)
    np.testing.assert_array_equal(read_array("X.npy", "X"), X)


# ---------------------------------------------------------------- errors: they name file and entry


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[task]", "[tusk]", r"unknown table \[tusk\]; known are task, network, init"),
        ("seed = 3", "sede = 3", r"\[init\] has unknown entries sede; known are .*seed"),
        ("depth = 2", "depth = 2\nheight = 3", r"\[network\] has unknown entries height"),
        ("depth = 2", "depth = 2\nwidth = 3", r"a diagonal network has no width"),
        ('"diagonal"\ndepth = 2', '"fully_connected"', r"a fully connected network needs widths"),
        ('"random"', '"perturbed"', r"\[init\] of kind 'perturbed' needs imbalance, a number"),
        ("X = [[1.0, 0.5], [0.5, 1.0]]", "", r"\[task\] needs X"),
        ("y = [1.0, 0.0]", "", r"\[task\] needs y"),
        ('kind = "diagonal"', "", r"\[network\] kind must be 'diagonal', .*; it is None"),
        (
            '"diagonal"',
            '"dense"',
            r"\[network\] kind must be .* or 'matrix_product' \(in short .*\); it is 'dense'",
        ),
        ('kind = "random"', "", r"\[init\] kind must be .*; it is None"),
        ('"random"', '"normal"', r"\[init\] kind must be 'random', .*; it is 'normal'"),
        ('"random"', '"layers"', r"\[init\] of kind 'layers' needs direction, a list of layers"),
        ('"diagonal"', "[1]", r"\[network\] kind must be .* or 'matrix_product' .*; it is \[1\]"),
        ('"diagonal"', '"paired"', "a paired network has no depth"),
        ('"random"', "2", r"\[init\] kind must be .*; it is 2"),
        ('"random"', '"shaped"', r"\[init\] of kind 'shaped' needs shape, a number in \(-1, 1\)"),
        ('"random"', '"unbiased"', r"\[init\] of kind 'unbiased' does not take seed"),
        ('"random"', '"zero_last"', r"\[init\] of kind 'zero_last' does not take seed"),
        ("seed = 3", "shape = 0.5", r"\[init\] of kind 'random' does not take shape"),
        ("seed = 3", "direction = [1, 1]", r"\[init\] of kind 'random' does not take direction"),
        ('"random"\nseed = 3', '"unbiased"', "unbiased does not make the coefficients of Diagonal"),
        ('"random"\nseed = 3', '"shaped"\nshape = 0.5', r"shaped needs a network of pairs"),
        ("depth = 2", "depth = 1", "depth must be a whole number, at least 2; it is 1"),
        ("depth = 2", 'depth = "2"', "depth must be a whole number, at least 2; it is '2'"),
        ("scale = 1e-3", "scale = -1", r"scale must be a number in \[0, inf\]; it is -1"),
        ("scale = 1e-3", "scale = nan", r"scale must be a number in \[0, inf\]; it is nan"),
        ("scale = 1e-3", "scale = 1\nlog_scale = 0", "give scale or log_scale, not both"),
        ("scale = 1e-3", 'scale = "tiny"', r"scale must be a number in \[0, inf\]"),
        ("scale = 1e-3", "scale = [1.0]", r"scale must be a number in \[0, inf\]"),
        ("scale = 1e-3", 'log_scale = "tiny"', "log_scale must be a number"),
        ("seed = 3", "seed = -1", "seed must be"),
        ("seed = 3", 'seed = "a"', "seed must be"),
        ("seed = 3", "seed = 1.5", "seed must be"),
        ("[network]", "loss_factor = 0\n[network]", "loss_factor must be a positive number"),
        ("[network]", 'loss_factor = "a"\n[network]', "loss_factor must be a positive number"),
        ("y = [1.0, 0.0]", "y = [1.0]", "same number of samples; X has 2 rows and y has 1"),
        ("y = [1.0, 0.0]", "y = [1.0, nan]", "y must be finite; 1 entries"),
        ("y = [1.0, 0.0]", "y = [1.0, true, [2]]", "y"),
        ("[0.5, 1.0]]", "[0.5]]", "X must be an array of real numbers"),
        ("[0.5, 1.0]]", '["a", "b"]]', "X must be an array of real numbers"),
        ("X = [[1.0, 0.5], [0.5, 1.0]]", "X = [1.0, 2.0]", "X must have 2 dimension"),
        ("X = [[1.0, 0.5], [0.5, 1.0]]", "X = 3", "X must have 2 dimension"),
        ("X = [[1.0, 0.5], [0.5, 1.0]]", 'X = "none.csv"', r"X: .*none\.csv cannot be read"),
        ("X = [[1.0, 0.5], [0.5, 1.0]]", 'X = "none.npz"', r"X: .*none\.npz cannot be read"),
        ("X = [[1.0, 0.5], [0.5, 1.0]]", 'X = "X.xlsx"', r"X: .*must be a \.csv, .* or \.npz"),
        ("y = [1.0, 0.0]", 'y = ""', r"y: .*must be a \.csv, .* or \.npz"),
    ],
)
def test_errors_name_the_file_and_the_entry(tmp_path, old, new, message):
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(ProblemFileError, match=rf"^.*problem\.toml: .*{message}"):
        lp.io.load_problem(path)


@pytest.mark.parametrize("table", ["task", "network", "init"])
def test_a_missing_table(tmp_path, table):
    kept = [part for part in GOOD.split("\n\n") if f"[{table}]" not in part]
    with pytest.raises(ProblemFileError, match=rf"problem\.toml: the table \[{table}\] is missing"):
        lp.io.load_problem(write(tmp_path, "\n\n".join(kept)))


def test_a_value_where_a_table_belongs(tmp_path):
    text = "network = 3\n" + GOOD.replace('[network]\nkind = "diagonal"\ndepth = 2', "")
    with pytest.raises(ProblemFileError, match=r"problem\.toml: .*network.* must be a table"):
        lp.io.load_problem(write(tmp_path, text))


def test_layers_of_the_wrong_shape_or_kind(tmp_path):
    def text(direction):
        return GOOD.replace(
            'kind = "random"\nseed = 3', f'kind = "layers"\ndirection = {direction}'
        )

    with pytest.raises(ProblemFileError, match=r"init has layers of shapes .* needs"):
        lp.io.load_problem(write(tmp_path, text("[[1.0], [2.0]]")))
    with pytest.raises(ProblemFileError, match="direction must hold one array per layer"):
        lp.io.load_problem(write(tmp_path, text("[]")))
    with pytest.raises(ProblemFileError, match=r"direction\[1\] must be an array of real numbers"):
        lp.io.load_problem(write(tmp_path, text("[[1.0, 2.0], [[1.0], [2.0, 3.0]]]")))


@pytest.mark.parametrize("content", ["[task", "a = \n", "\x00"])
def test_not_toml(tmp_path, content):
    with pytest.raises(ProblemFileError, match=r"problem\.toml: is not a TOML file \("):
        lp.io.load_problem(write(tmp_path, content))


def test_not_text(tmp_path):
    path = tmp_path / "problem.toml"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(ProblemFileError, match="is not a TOML file"):
        lp.io.load_problem(path)


def test_no_file_and_a_folder(tmp_path):
    with pytest.raises(ProblemFileError, match=r"none\.toml: cannot be read \(No such file"):
        lp.io.load_problem(tmp_path / "none.toml")
    with pytest.raises(ProblemFileError, match=r"cannot be read \(Is a directory"):
        lp.io.load_problem(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("X.csv", b"", r"X: .*X\.csv .*no data|X\.csv is empty"),
        ("X.csv", b"a,b\n", r"X: .*X\.csv .*no data|X\.csv is empty"),
        ("X.csv", b"a,b\nc,d\n", r"X: .*X\.csv is not a table of numbers"),
        ("X.csv", b"1,2\n3\n", r"X: .*X\.csv is not a table of numbers"),
        ("X.csv", b"1,2\n3,\n", r"X: .*X\.csv is not a table of numbers"),
        ("X.csv", b"\xff\xfe\x00,1\n", r"X: .*X\.csv is not a table of numbers"),
        ("X.csv", b"1.0,2.o\n3,4\n5,6\n", r"X: .*X\.csv: .*\(1\.0, 2\.o\) may hold"),
        ("X.csv", b"1,nan\n3,4\n", r"line 1, column 2 is missing"),
        ("X.npy", b"", r"X: .*X\.npy"),
        ("X.npy", b"junk", r"X: .*X\.npy is not a table of numbers"),
        ("X.npz", b"", r"X: .*X\.npz"),
        ("X.npz", b"junk", r"X: .*X\.npz is not a table of numbers"),
        ("X.npz", b"PK\x03\x04junk", r"X: .*X\.npz is not a table of numbers"),
    ],
    ids=[
        "empty csv",
        "names only",
        "words",
        "ragged",
        "missing cell",
        "not text",
        "typo in the first row",
        "nan",
        "empty npy",
        "junk npy",
        "empty npz",
        "junk npz",
        "broken zip",
    ],
)
def test_data_files_that_cannot_be_used(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ProblemFileError, match=rf"(?s)problem\.toml: .*({message})"):
        lp.io.load_problem(with_data(tmp_path, f'"{name}"'))


def test_npz_without_the_key_lists_those_it_has(tmp_path):
    np.savez(tmp_path / "data.npz", a=X, b=Y)
    with pytest.raises(ProblemFileError, match=r"X: .*has no array 'X', only a, b"):
        lp.io.load_problem(with_data(tmp_path, '"data.npz"'))
    with pytest.raises(ProblemFileError, match=r"has no array 'c', only a, b"):
        lp.io.load_problem(with_data(tmp_path, '"data.npz:c"'))


def test_pickled_arrays_are_refused(tmp_path):
    np.save(tmp_path / "X.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ProblemFileError, match=r"X: .*X\.npy is not a table of numbers"):
        lp.io.load_problem(with_data(tmp_path, '"X.npy"'))


def test_saving_where_it_cannot_be_written(tmp_path):
    problem = lp.Problem(NETWORK, lp.Init.zero_last(NETWORK, TASK, 0.1), TASK)
    with pytest.raises(OSError, match="No such file"):
        lp.io.save_problem(problem, tmp_path / "none" / "problem.toml")


def test_a_matrix_problem_comes_back_with_its_sensors(tmp_path):
    task = lp.MatrixSensing([[[1.0, 2.0], [0.5, -1.0]], np.eye(2)], [1.0, 0.5], loss_factor=0.3)
    network = lp.MatrixProduct(depth=2)
    problem = lp.Problem(network, lp.Init.random(network, task, 0.5, seed=0), task)
    lp.io.save_problem(problem, tmp_path / "problem.toml")
    again = lp.io.load_problem(tmp_path / "problem.toml")
    assert again.network == network
    assert isinstance(again.task, lp.MatrixSensing)
    np.testing.assert_array_equal(again.task.sensors, task.sensors)
    np.testing.assert_array_equal(again.task.y, task.y)
    assert again.task.loss_factor == 0.3
    one, two = (lp.train(p, lp.GD(0.1), 50).coef for p in (problem, again))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_a_classification_comes_back_exactly(tmp_path, loss):
    task = lp.Classification([[1.0, 2.0], [0.0, -3.0]], [1, -1], loss=loss, loss_factor=2 / 3)
    network = lp.Convolutional(filter_sizes=(1, 2))
    problem = lp.Problem(network, lp.Init.random(network, task, 0.5, seed=0), task)
    lp.io.save_problem(problem, tmp_path / "problem.toml")
    again = lp.io.load_problem(tmp_path / "problem.toml")
    assert again.network == network
    assert type(again.task) is lp.Classification
    assert again.task.loss_name == loss
    assert again.task.loss_factor == 2 / 3
    np.testing.assert_array_equal(again.task.X, task.X)
    np.testing.assert_array_equal(again.task.y, task.y)


# ---------------------------------------------------------------- tasks by name


def task_of(folder, table):
    rest = '[network]\nkind = "diagonal"\n[init]\nkind = "random"\n'
    return lp.io.load_problem(write(folder, f"[task]\n{table}\n{rest}")).task


POINTS = "X = [[1, 2], [0, -3]]\ny = [1, -1]"


def test_tasks_by_name(tmp_path):
    assert type(task_of(tmp_path, POINTS)) is lp.Regression
    assert type(task_of(tmp_path, f'kind = "regression"\n{POINTS}')) is lp.Regression
    task = task_of(tmp_path, f'kind = "classification"\n{POINTS}')
    assert type(task) is lp.Classification
    assert task.loss_name == "exponential"
    task = task_of(tmp_path, f'kind = "classification"\nloss = "logistic"\n{POINTS}')
    assert task.loss_name == "logistic"
    task = task_of(tmp_path, 'kind = "matrix_sensing"\nA = [[[1, 2], [3, 4]]]\ny = [1]')
    assert isinstance(task, lp.MatrixSensing)


@pytest.mark.parametrize("ending", ["npy", "npz", "csv"])
def test_sensors_from_files(tmp_path, ending):
    """In a table a sensor is a row, its own rows one after the other."""
    sensors = np.arange(8.0).reshape(2, 2, 2)
    path = tmp_path / f"A.{ending}"
    if ending == "npy":
        np.save(path, sensors)
    elif ending == "npz":
        np.savez(path, A=sensors)
    else:
        np.savetxt(path, sensors.reshape(2, 4), delimiter=",")
    task = task_of(tmp_path, f'kind = "matrix_sensing"\nA = "A.{ending}"\ny = [1, 2]')
    np.testing.assert_array_equal(task.sensors, sensors)


def test_sensors_of_one_entry(tmp_path):
    (tmp_path / "A.csv").write_text("1\n2\n", encoding="utf-8")
    task = task_of(tmp_path, 'kind = "matrix_sensing"\nA = "A.csv"\ny = [1, 2]')
    assert task.sensors.tolist() == [[[1.0]], [[2.0]]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (f'kind = "ranking"\n{POINTS}', r"\[task\] kind must be 'regression', .*'ranking'"),
        (f"kind = 1\n{POINTS}", r"\[task\] kind must be .*; it is 1"),
        (
            f'loss = "logistic"\n{POINTS}',
            r"'regression' does not take loss; loss belongs to kind = 'classification'",
        ),
        (
            f"{POINTS}\nA = [[[1]]]",
            r"'regression' does not take A; A belongs to kind = 'matrix_sensing'",
        ),
        (
            f'kind = "matrix_sensing"\n{POINTS}',
            r"does not take X; X belongs to kind = 'regression' or 'classification'",
        ),
        ('kind = "matrix_sensing"\ny = [1]', r"\[task\] needs A"),
        ('kind = "classification"\nX = [[1]]', r"\[task\] needs y"),
        (
            'kind = "classification"\nX = [[1, 2], [0, -3]]\ny = [1, 0]',
            r"y must hold the classes -1 and 1; it holds 0. .* as 2\*y - 1",
        ),
        (
            'kind = "classification"\nX = [[1], [1]]\ny = [1, -1]',
            "not separable by a hyperplane",
        ),
        (
            f'kind = "classification"\nloss = "hinge"\n{POINTS}',
            "loss must be 'exponential' or 'logistic'; it is 'hinge'",
        ),
        ("X = [[[1, 2], [3, 4]]]\ny = [1]", r"one row per sample.* kind = \"matrix_sensing\""),
        ('kind = "matrix_sensing"\nA = [[1, 2, 3]]\ny = [1]', "A must hold square matrices"),
        ('kind = "matrix_sensing"\nA = 3\ny = [1]', r"A must have 3 dimension"),
    ],
)
def test_tasks_that_are_refused(tmp_path, table, message):
    with pytest.raises(ProblemFileError, match=rf"problem\.toml: .*{message}"):
        task_of(tmp_path, table)


# ---------------------------------------------------------------- networks in short


def network_of(folder, table, features=3):
    data = f"X = [{list(range(1, features + 1))}]\ny = [1]"
    text = f'[task]\n{data}\n[network]\n{table}\n[init]\nkind = "random"\n'
    return lp.io.load_problem(write(folder, text)).network


def test_short_names(tmp_path):
    dense = network_of(tmp_path, 'kind = "fc"\nwidths = [2]')
    assert dense == lp.FullyConnected(widths=(2,))
    assert network_of(tmp_path, 'kind = "matrix"', features=4) == lp.MatrixProduct(depth=2)
    assert set(ALIASES) == {"conv", "fc", "matrix"}
    assert set(ALIASES.values()) <= set(NETWORKS)


@pytest.mark.parametrize(
    ("table", "sizes"),
    [
        ("filter_sizes = 2", (2, 3)),
        ("filter_sizes = [2]", (2, 3)),
        ("filter_sizes = [3]", (3, 3)),
        ("filter_sizes = [2, 3]", (2, 3)),
        ("filter_sizes = [3, 2]", (3, 2, 3)),
        ("filter_sizes = [1, 2]", (1, 2, 3)),
        ("filter_sizes = [1, 2, 3]", (1, 2, 3)),
        ("filter_sizes = [2, 3]\ndepth = 2", (2, 3)),
        ("filter_sizes = [2, 3]\ndepth = 3", (2, 3, 3)),
        ("filter_sizes = 2\ndepth = 2", (2, 3)),
        ('filter_sizes = "full"', (3, 3)),
        ('filter_sizes = "full"\ndepth = 4', (3, 3, 3, 3)),
    ],
)
def test_the_last_filter_may_be_left_out(tmp_path, table, sizes):
    assert network_of(tmp_path, f'kind = "conv"\n{table}') == lp.Convolutional(sizes)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", r"a convolutional network needs filter_sizes \(--filters\).* or \"full\""),
        ("depth = 3", "a convolutional network needs filter_sizes"),
        ("filter_sizes = [2, 4]", r"must not exceed the number of features, 3; it is \[2, 4\]"),
        ("filter_sizes = 0", "filter_sizes must be a whole number, at least 1; it is 0"),
        ("filter_sizes = 1.5", "filter_sizes must be a whole number"),
        ('filter_sizes = "long"', r"must be numbers or \"full\"; it is 'long'"),
        ("filter_sizes = []\ndepth = 3", r"must hold 3 sizes at depth 3, or 2 where .* it is \[\]"),
        ("filter_sizes = [2]\ndepth = 4", r"must hold 4 sizes at depth 4, or 3 .* it is \[2\]"),
        ("filter_sizes = [2, 1]\ndepth = 2", r"filter_sizes must end with the number of features"),
        ("filter_sizes = []", r"filter_sizes must hold .* at least two of them; it is \[3\]"),
        ("filter_sizes = 2\ndepth = 1", "depth must be a whole number, at least 2"),
        ("filter_sizes = 2\nwidth = 1", "a convolutional network has no width"),
    ],
)
def test_filters_that_are_refused(tmp_path, table, message):
    with pytest.raises(ProblemFileError, match=rf"problem\.toml: .*{message}"):
        network_of(tmp_path, f'kind = "convolutional"\n{table}')
