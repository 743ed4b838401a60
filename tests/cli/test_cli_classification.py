"""The command line for classification, matrix sensing and convolutions, and the plane picture."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import limitpoint as lp
from limitpoint import cli

PNG = b"\x89PNG\r\n\x1a\n"
TASK = lp.examples.yun_two_points()
DATA = ("--X", "X.csv", "--y", "y.csv")
CLASSES = (*DATA, "--classify")
SENSORS = np.array([[[1.0, 0.0], [0.0, 2.0]], [[0.5, 0.0], [0.0, -1.0]]])
SENSING = ("--sensors", "A.npy", "--y", "m.csv")


@pytest.fixture
def limitpoint(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savetxt("X.csv", TASK.X, delimiter=",")
    np.savetxt("y.csv", TASK.y)
    np.savetxt("zero_one.csv", (TASK.y + 1) / 2)
    np.savetxt("wide.csv", [[1.0, 0.5, 0.2], [0.0, 1.0, -0.4]], delimiter=",")
    np.save("A.npy", SENSORS)
    np.savetxt("m.csv", [1.0, 0.5])

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["limitpoint", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        captured = capsys.readouterr()
        return end.value.code, captured.out, captured.err

    return run


def as_json(result):
    status, out, err = result
    assert status == 0, err

    def refuse(token):
        raise ValueError(f"{token} is not JSON")

    return json.loads(out, parse_constant=refuse)


def assert_refused(result, *words):
    status, out, err = result
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1, err
    assert err.startswith("error: ")
    for word in words:
        assert word in err


# ---------------------------------------------------------------- classification


def test_limit_direction(limitpoint):
    found = as_json(limitpoint("direction", *CLASSES, "--zero-last", "--scale", 0.1, "--json"))
    assert found["status"] == "DIRECTION_CONVERGED"
    assert found["log_margin"] >= 1e5
    np.testing.assert_allclose(found["direction"], [0.0, 1.0], rtol=0, atol=1e-8)
    status, out, err = limitpoint("direction", *CLASSES, "--log-margin", 100, "--plot", "s.png")
    assert status == 0, err
    assert "direction" in out
    assert Path("s.png").read_bytes().startswith(PNG)


def test_limit_direction_of_a_flow_that_comes_to_rest(limitpoint):
    """Coefficients that keep their sign, on data that ask for the other."""
    np.savetxt("other.csv", [-1, 1])
    arguments = ("--X", "X.csv", "--y", "other.csv", "--classify", "--network", "power")
    status, out, _ = limitpoint("direction", *arguments, "--json", "--plot", "s.png")
    assert status == 3
    assert json.loads(out)["uncertainty"] is None
    assert Path("s.png").read_bytes().startswith(PNG)


def test_limit_direction_refuses(limitpoint):
    assert_refused(limitpoint("direction", *DATA), "direction of a classification")
    assert_refused(limitpoint("direction", *CLASSES, "--log-margin", -1), "--log-margin")


@pytest.mark.parametrize(
    ("network", "direction"),
    [
        (("fc", "--widths", "2"), (1, 2)),
        (("diagonal",), (0, 1)),
        (("conv", "--filters", "full"), (1, 1)),
    ],
    ids=["dense", "diagonal", "convolutional"],
)
def test_the_directions_of_the_two_point_example(limitpoint, network, direction):
    """Yun et al. (2021), section 6: three networks, three directions; the flow gets there."""
    expected = np.array(direction) / np.linalg.norm(direction)
    found = as_json(limitpoint("predict", *CLASSES, "--network", *network, "--json"))
    coef = np.array(found["coef"])
    np.testing.assert_allclose(coef / np.linalg.norm(coef), expected, atol=1e-9)
    assert TASK.margins(coef).min() == pytest.approx(1.0, rel=1e-9)
    arguments = (*CLASSES, "--network", *network, "--scale", "0.5", "--margin", "1e4", "--json")
    run = as_json(limitpoint("flow", *arguments))
    assert run["status"] == "SEPARATED"
    assert min(run["margins"][-1]) == pytest.approx(1e4, rel=1e-6)
    # The slowest of the three directions is off like margin^−1/2, times a constant of order one.
    np.testing.assert_allclose(run["directions"][-1], expected, atol=5e-2)


def test_a_prediction_prints_direction_margin_and_rate(limitpoint):
    status, out, _ = limitpoint("predict", *CLASSES)
    assert status == 0
    assert "Limit direction by yun2021.corollary2" in out
    # The ℓ1 solution (0, 1/2): its direction (0, 1) has margins 2 and 3.
    assert "smallest margin 2 at norm 1" in " ".join(out.split())
    assert "margin^-0.5" in out
    assert "with smallest margin 1" in out


def test_a_flow_prints_margins_and_logarithms(limitpoint):
    status, out, _ = limitpoint("flow", *CLASSES, "--margin", "1e3")
    assert status == 0
    for column in ("log time", "log loss", "margin", "β[1]/‖β‖"):
        assert column in out
    status, out, _ = limitpoint("train", *CLASSES, "--steps", "100")
    assert (status, "step" in out, "margin" in out) == (0, True, True)


def test_the_loss_is_the_one_that_is_named(limitpoint):
    ends = {
        loss: as_json(limitpoint("train", *CLASSES, "--loss", loss, "--steps", "10", "--json"))
        for loss in ("exponential", "logistic")
    }
    default = as_json(limitpoint("train", *CLASSES, "--steps", "10", "--json"))
    assert ends["exponential"] == default
    assert ends["logistic"]["losses"] != default["losses"]
    scaled = as_json(limitpoint("train", *CLASSES, "--loss-factor", "2", "--steps", "10", "--json"))
    assert scaled["losses"][0] == pytest.approx(2 * default["losses"][0], rel=1e-12)


def test_explain_names_the_task(limitpoint):
    found = as_json(limitpoint("explain", *CLASSES, "--json"))
    assert found["yun2021.corollary2"]["applies"]
    assert found["yun2021.corollary5"]["conditions"][0]["name"] == "regression task"


def test_a_problem_file_is_the_same(limitpoint):
    network = lp.Convolutional((2, 2))
    lp.io.save_problem(
        lp.Problem(network, lp.Init.random(network, TASK, 0.5, seed=3), TASK), "problem.toml"
    )
    by_file = as_json(limitpoint("train", "problem.toml", "--steps", "10", "--json"))
    options = ("--network", "conv", "--filters", "2", "--scale", "0.5", "--seed", "3")
    by_options = as_json(limitpoint("train", *CLASSES, *options, "--steps", "10", "--json"))
    assert by_file == by_options


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("predict", *DATA, "--loss", "logistic"), ["--loss belongs to --classify: add it"]),
        (("predict", *CLASSES, "--loss", "hinge"), ["loss must be 'exponential' or 'logistic'"]),
        (
            ("predict", "--X", "X.csv", "--y", "zero_one.csv", "--classify"),
            ["y must hold the classes -1 and 1; it holds 0", "2*y - 1"],
        ),
        (("predict", "--X", "X.csv", "--classify"), ["give a problem file, or both --X and --y"]),
        (("predict", "--X", "X.csv", *SENSING), ["--X and --sensors do not go together"]),
        (("predict", *SENSING, "--classify"), ["--sensors and --classify do not go together"]),
        (("predict", "--X", "A.npy", "--y", "m.csv"), ["X must have one row per", "--sensors"]),
        (("flow", *DATA, "--margin", "10"), ["--margin is for a classification: add --classify"]),
        (("flow", *CLASSES, "--margin", "-1"), ["margin must be a positive number"]),
        (("flow", *CLASSES, "--margin", "9", "--t-end", "1"), ["do not go together"]),
        (("train", *CLASSES, "--label-noise", "0.1"), ["noise on the labels"]),
        (("saddles", *CLASSES), ["this is for a regression"]),
        (("sweep", *CLASSES, "--steps", "5", "--seeds", "1"), ["this is for a regression"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_bad_input_is_one_line(limitpoint, arguments, words):
    assert_refused(limitpoint(*arguments), *words)


def test_classes_that_are_not_separable(limitpoint):
    np.savetxt("X.csv", [[1.0], [1.0]])
    assert_refused(limitpoint("predict", *CLASSES), "not separable by a hyperplane", "weights")


@pytest.mark.parametrize("command", ["predict", "flow", "train", "scales", "spectrum"])
def test_figures_of_a_classification(limitpoint, command):
    more = {
        "flow": ("--margin", "100"),
        "train": ("--steps", "50"),
        "scales": ("--points", "3"),
        "spectrum": ("--network", "two-layer", "--width", "2", "--t-end", "100"),
    }.get(command, ())
    status, _, err = limitpoint(command, *CLASSES, *more, "--plot", "figure.png")
    assert (status, err) == (0, "figure written to figure.png\n")
    assert Path("figure.png").read_bytes().startswith(PNG)


# ---------------------------------------------------------------- sensors, filters, short names


def test_sensors_make_a_matrix_product_by_default(limitpoint):
    task = lp.MatrixSensing(SENSORS, [1.0, 0.5])
    network = lp.MatrixProduct(depth=3)
    problem = lp.Problem(network, lp.Init.random(network, task, 0.5, seed=1), task)
    given = ("--depth", "3", "--scale", "0.5", "--seed", "1", "--steps", "20", "--json")
    expected = lp.train(problem, lp.GD(1e-2), 20).to_dict()["coefs"]
    for network_name in ((), ("--network", "matrix"), ("--network", "matrix-product")):
        assert as_json(limitpoint("train", *SENSING, *network_name, *given))["coefs"] == expected


def test_sensors_as_rows_of_a_table(limitpoint):
    np.savetxt("A.csv", SENSORS.reshape(2, 4), delimiter=",")
    rows = as_json(limitpoint("train", "--sensors", "A.csv", "--y", "m.csv", "--json"))
    assert rows == as_json(limitpoint("train", *SENSING, "--json"))


def test_other_networks_take_sensors_too(limitpoint):
    status, _, err = limitpoint("predict", *SENSING, "--network", "diagonal")
    assert (status, err) == (0, "")


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        (("--filters", "2"), (2, 3)),
        (("--filters", "2,3"), (2, 3)),
        (("--filters", "1,2"), (1, 2, 3)),
        (("--filters", "2,3", "--depth", "3"), (2, 3, 3)),
        (("--filters", "full"), (3, 3)),
        (("--filters", "full", "--depth", "3"), (3, 3, 3)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value[0], str) else None,
)
@pytest.mark.parametrize("name", ["conv", "convolutional"])
def test_filters(limitpoint, name, given, sizes):
    task = lp.Regression([[1.0, 0.5, 0.2], [0.0, 1.0, -0.4]], TASK.y)
    network = lp.Convolutional(sizes)
    problem = lp.Problem(network, lp.Init.random(network, task, 1.0, seed=0), task)
    arguments = ("--X", "wide.csv", "--y", "y.csv", "--network", name, *given)
    found = as_json(limitpoint("train", *arguments, "--steps", "5", "--json"))
    assert found["coefs"] == lp.train(problem, lp.GD(1e-2), 5).to_dict()["coefs"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((), ["needs --filters"]),
        (("--filters", "2,4"), ["must not exceed the number of features, 3"]),
        (("--filters", "two"), ["--filters must be numbers separated by commas; it is 'two'"]),
        (("--filters", "2", "--depth", "4"), ["must hold 4 sizes at depth 4, or 3"]),
        (("--filters", "2", "--widths", "3"), ["a convolutional network has no --widths"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_filters_that_are_refused(limitpoint, given, words):
    arguments = ("train", "--X", "wide.csv", "--y", "y.csv", "--network", "conv", *given)
    assert_refused(limitpoint(*arguments), *words)


def test_filters_belong_to_convolutions(limitpoint):
    assert_refused(limitpoint("train", *DATA, "--filters", "2"), "has no --filters")


def test_help_says_how_filters_are_read(limitpoint):
    status, out, _ = limitpoint("predict", "--help")
    assert status == 0
    words = " ".join(out.split())
    for phrase in ("2 is two layers", "unless the list ends with that length", "conv, fc, matrix"):
        assert phrase in words


# ---------------------------------------------------------------- the plane


@pytest.mark.slow
def test_the_plane_of_one_sample(limitpoint):
    """Each network ends where Theorem 6 says, from every start."""
    found = as_json(limitpoint("plane", "--json", "--plot", "plane.png"))
    assert Path("plane.png").read_bytes().startswith(PNG)
    assert found["scale"] == 0.5
    assert len(found["runs"]) == 12
    starts = np.array([run["start"] for run in found["runs"]]).reshape(3, 4, 2)
    # All networks have the same coefficients at the start, α² long.
    np.testing.assert_allclose(starts[1:], starts[:-1], rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(starts, axis=-1), 0.25, rtol=1e-12)
    for run in found["runs"]:
        assert np.dot([1.0, 2.0], run["end"]) == pytest.approx(1.0, abs=1e-9)
        # 100 × the flow's own tolerance of 1e-10.
        assert run["distance"] < 1e-8


def test_small_starts_end_at_the_three_norms(limitpoint):
    found = as_json(limitpoint("plane", "--scale", "1e-8", "--starts", "2", "--json"))
    ends = {run["network"]: run["end"] for run in found["runs"]}
    # Dense networks get there like α, the others like a power of it.
    np.testing.assert_allclose(ends["dense"], [0.2, 0.4], atol=1e-6)
    np.testing.assert_allclose(ends["diagonal"], [0.0, 0.5], atol=1e-6)
    np.testing.assert_allclose(ends["convolutional"], [1 / 3, 1 / 3], atol=1e-6)


@pytest.mark.slow
def test_the_plane_of_two_classes(limitpoint):
    given = ("--classify", "--starts", "1", "--margin", "1e4", "--seed", "2")
    found = as_json(limitpoint("plane", *given, "--json", "--plot", "plane.png"))
    assert Path("plane.png").read_bytes().startswith(PNG)
    directions = {"dense": (1, 2), "diagonal": (0, 1), "convolutional": (1, 1)}
    assert [run["network"] for run in found["runs"]] == list(directions)
    for run in found["runs"]:
        expected = np.array(directions[run["network"]])
        predicted = expected / np.linalg.norm(expected)
        np.testing.assert_allclose(run["predicted"], predicted, atol=1e-9)
        assert run["status"] == "SEPARATED"
        assert run["distance"] < 5e-2
    status, out, _ = limitpoint("plane", *given)
    assert status == 0
    assert "end, norm 1" in out
    assert "Predicted by yun2021.corollary1, yun2021.corollary2, yun2021.corollary3." in out


def test_the_plane_of_other_data(limitpoint):
    np.savetxt("y.csv", [1.0, 1.0])
    status, out, err = limitpoint("plane", *DATA, "--starts", "1", "--scale", "0.3")
    assert (status, err) == (0, "")
    # Two samples determine the coefficients: 5/3, −1/3.
    assert out.count("1.67, -0.333") >= 3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--X", "wide.csv", "--y", "y.csv"), ["needs data with two features; they have 3"]),
        (("--X", "X.csv"), ["both --X and --y"]),
        (("--starts", "0"), ["--starts must be a whole number, at least 1"]),
        (("--seed", "-1"), ["--seed must be a whole number, at least 0"]),
        (("--scale", "0"), ["flow needs a positive, finite scale"]),
        (("--margin", "10"), ["--margin is for a classification: add --classify"]),
        (("--loss", "logistic"), ["--loss belongs to --classify: add it"]),
        (("--plot", "plane.xyz"), ["xyz"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_planes_that_are_refused(limitpoint, given, words):
    assert_refused(limitpoint("plane", *given), *words)


def test_the_loss_of_the_example_plane(limitpoint):
    given = ("--classify", "--starts", "1", "--margin", "5", "--json")
    one = as_json(limitpoint("plane", *given))
    two = as_json(limitpoint("plane", *given, "--loss", "logistic"))
    assert one["runs"][0]["start"] == two["runs"][0]["start"]
    assert one["runs"][0]["end"] != two["runs"][0]["end"]
