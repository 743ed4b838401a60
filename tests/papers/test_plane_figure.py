"""The plane picture, and the figures of classifications."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

import limitpoint as lp
from limitpoint.errors import LimitpointError
from limitpoint.plot.style import COLOURS

PNG = b"\x89PNG\r\n\x1a\n"
NETWORKS = {
    "dense": lp.FullyConnected(widths=(2,)),
    "diagonal": lp.Diagonal(depth=2),
    "convolutional": lp.Convolutional(filter_sizes=(2, 2)),
}
DIRECTIONS = ((1.0, 0.2), (-0.5, -0.8))
POINT = lp.examples.yun_point()
CLASSES = lp.examples.yun_two_points()


def problems(task, scale=0.5):
    return {
        name: [
            lp.Problem(network, lp.Init(lp.examples.yun_layers(z)[name], scale), task)
            for z in DIRECTIONS
        ]
        for name, network in NETWORKS.items()
    }


@pytest.fixture(scope="module")
def fitted():
    return {name: [lp.flow(p) for p in several] for name, several in problems(POINT).items()}


@pytest.fixture(scope="module")
def separated():
    return {
        name: [lp.flow(p, margin=1e4) for p in several]
        for name, several in problems(CLASSES).items()
    }


def limits_of(task):
    return {name: [lp.predict(p) for p in several] for name, several in problems(task).items()}


def rendered(figure, tmp_path):
    """Write the figure as PNG: drawing it is what finds most mistakes."""
    assert isinstance(figure, Figure)
    lp.plot.save(figure, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(PNG)
    return figure


def labels(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def circles(axes):
    """Places and colours of hollow circles."""
    return [
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]), to_hex(line.get_color()))
        for line in axes.lines
        if line.get_marker() == "o" and line.get_markerfacecolor() == "none"
    ]


# ---------------------------------------------------------------- layers of given coefficients


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_layers_have_the_coefficients_and_outweigh(n):
    """The conditions of Yun et al.'s Theorems 6 and 7, and of Theorem 2 at every frequency."""
    coef = np.random.default_rng(n).standard_normal(n)
    coef[0] = 0.0
    layers = lp.examples.yun_layers(coef)
    networks = {
        "dense": lp.FullyConnected(widths=(n,)),
        "diagonal": lp.Diagonal(depth=2),
        "convolutional": lp.Convolutional(filter_sizes=(n, n)),
    }
    assert set(layers) == set(networks)
    for name, network in networks.items():
        # Sums of n products of numbers of order one.
        np.testing.assert_allclose(network.coef(layers[name]), coef, atol=1e-14 * n)
    first, second = layers["dense"]
    smallest = np.linalg.eigvalsh(first.T @ first - np.outer(second, second)).min()
    assert smallest == pytest.approx(1.0, rel=1e-12)
    first, second = layers["diagonal"]
    np.testing.assert_allclose(first**2 - second**2, 1.0, rtol=1e-12)
    first, second = (np.abs(np.fft.fft(w, norm="ortho")) for w in layers["convolutional"])
    np.testing.assert_allclose(first**2 - second**2, 1.0, rtol=1e-12)


@pytest.mark.parametrize("coef", [[], [[1.0]], ["a"], [np.nan]])
def test_coefficients_that_are_refused(coef):
    with pytest.raises(lp.errors.DataError, match="coef must"):
        lp.examples.yun_layers(coef)


# ---------------------------------------------------------------- regression


def test_the_plane_of_a_regression(fitted, tmp_path):
    limits = limits_of(POINT)
    figure = rendered(lp.papers.plot_plane(fitted, POINT, limits, title="one sample"), tmp_path)
    (plane,) = figure.axes
    assert labels(figure) == ["global minima", *NETWORKS, "start", "predicted limit"]
    assert (plane.get_xlabel(), plane.get_ylabel()) == ("β[0]", "β[1]")
    assert figure.get_suptitle() == "one sample"
    found = circles(plane)
    expected = [
        (*limit.coef, to_hex(COLOURS[rank]))
        for rank, several in enumerate(limits.values())
        for limit in several
    ]
    assert len(found) == len(expected) == 6
    for (x, y, colour), (a, b, wanted) in zip(found, expected, strict=True):
        assert (x, y) == pytest.approx((a, b), rel=1e-12)
        assert colour == wanted
        # A circle is on the line of minima, x + 2y = 1, and inside the window.
        assert x + 2 * y == pytest.approx(1.0, abs=1e-9)
        assert plane.get_xlim()[0] < x < plane.get_xlim()[1]
        assert plane.get_ylim()[0] < y < plane.get_ylim()[1]


def test_the_line_of_minima_crosses_the_window(fitted):
    (plane,) = lp.papers.plot_plane(fitted, POINT).axes
    line = next(line for line in plane.lines if line.get_linewidth() == 3)
    x, y = line.get_data()
    np.testing.assert_allclose(x + 2 * y, 1.0, rtol=1e-12)
    (left, right), (low, high) = plane.get_xlim(), plane.get_ylim()
    assert np.hypot(*np.ptp([x, y], axis=1)) > np.hypot(right - left, high - low)
    # The window is a square.
    assert right - left == pytest.approx(high - low, rel=1e-12)


def test_one_run_without_a_prediction(fitted, tmp_path):
    figure = rendered(lp.papers.plot_plane({"one": fitted["dense"][0]}, POINT), tmp_path)
    assert labels(figure) == ["global minima", "one", "start"]
    assert circles(figure.axes[0]) == []


def test_a_single_minimum_and_none(tmp_path):
    network = NETWORKS["diagonal"]
    for X, y, label in (
        ([[1.0, 2.0], [0.0, 1.0]], [1.0, 0.5], "global minimum"),
        ([[0.0, 0.0]], [1.0], "run"),
    ):
        task = lp.Regression(X, y)
        problem = lp.Problem(network, lp.Init.random(network, task, 0.5, seed=0), task)
        run = lp.train(problem, lp.GD(0.05), 50)
        figure = rendered(lp.papers.plot_plane({"run": run}, task), tmp_path)
        assert labels(figure)[0] == label


def test_equal_limits_are_drawn_once(fitted):
    limit = lp.predict(problems(POINT)["diagonal"][0])
    runs, twice = {"diagonal": fitted["diagonal"]}, {"diagonal": [limit, limit]}
    assert len(circles(lp.papers.plot_plane(runs, POINT, twice).axes[0])) == 1


def test_a_run_that_leaves_is_cut_off():
    """Training that diverges does not set the window."""
    problem = problems(POINT)["diagonal"][0]
    wild = lp.train(problem, lp.GD(3.0), 30)
    run = lp.flow(problem)
    (plane,) = lp.papers.plot_plane({"wild": wild, "flow": run}, POINT).axes
    assert np.isfinite(plane.get_xlim()).all()


# ---------------------------------------------------------------- classification


def test_the_plane_of_a_classification(separated, tmp_path):
    limits = limits_of(CLASSES)
    figure = rendered(lp.papers.plot_plane(separated, CLASSES, limits), tmp_path)
    plane, angles = figure.axes
    assert labels(figure) == [
        "directions that separate",
        *NETWORKS,
        "start",
        "predicted direction",
    ]
    rays = [line for line in plane.lines if line.get_linestyle() == "--"]
    expected = {"dense": (1, 2), "diagonal": (0, 1), "convolutional": (1, 1)}
    assert len(rays) == 3  # equal ones once
    for ray, (x, y) in zip(rays, expected.values(), strict=True):
        end = np.array([ray.get_xdata()[-1], ray.get_ydata()[-1]])
        np.testing.assert_allclose(end / np.linalg.norm(end), [x, y] / np.hypot(x, y), atol=1e-9)
    # Coefficients of size 1e4 are not in the window; their angles are beside it.
    assert max(plane.get_ylim()) < 100
    assert (angles.get_xlabel(), angles.get_xscale()) == ("smallest margin", "log")
    heights = [float(line.get_ydata()[0]) for line in angles.lines if line.get_linestyle() == "--"]
    assert heights == pytest.approx([np.degrees(np.arctan2(2, 1)), 90.0, 45.0], abs=1e-6)


def test_the_shaded_cone_is_where_all_margins_are_positive(separated):
    plane = lp.papers.plot_plane(separated, CLASSES).axes[0]
    (cone,) = [patch for patch in plane.patches if isinstance(patch, Polygon)]
    (left, right), (low, high) = plane.get_xlim(), plane.get_ylim()
    points = np.random.default_rng(0).uniform([left, low], [right, high], (500, 2))
    margins = CLASSES.margins(points).min(axis=1)
    clear = np.abs(margins) > 1e-9 * (high - low)
    inside = cone.get_path().contains_points(points[clear])
    np.testing.assert_array_equal(inside, margins[clear] > 0)
    assert inside.any()
    assert not inside.all()


def test_a_run_that_has_not_separated_yet(tmp_path):
    run = lp.flow(problems(CLASSES)["dense"][1], t_end=1e-3)
    assert run.margins[-1].min() < 0
    rendered(lp.papers.plot_plane({"dense": run}, CLASSES), tmp_path)


# ---------------------------------------------------------------- refusals


def test_what_has_no_place_in_a_plane_is_refused(fitted):
    wide = lp.Regression([[1.0, 2.0, 3.0]], [1.0])
    with pytest.raises(LimitpointError, match=r"needs two features and one output; .* 3 features"):
        lp.papers.plot_plane(fitted, wide)
    with pytest.raises(LimitpointError, match="2 features and 2 outputs"):
        lp.papers.plot_plane(fitted, lp.Regression([[1.0, 2.0]], [[1.0, 2.0]]))
    for empty in ({}, {"dense": []}):
        with pytest.raises(LimitpointError, match="at least one run; there is none"):
            lp.papers.plot_plane(empty, POINT)
    limit = lp.predict(problems(POINT)["diagonal"][0])
    with pytest.raises(LimitpointError, match="limits has the label 'other', which runs has not"):
        lp.papers.plot_plane(fitted, POINT, {"other": limit})
    network = lp.Diagonal(depth=2)
    run = lp.flow(lp.Problem(network, lp.Init.random(network, wide, 0.5, seed=0), wide))
    with pytest.raises(LimitpointError, match=r"runs\['wide'\] must have two coefficients"):
        lp.papers.plot_plane({"wide": run}, POINT)


# ---------------------------------------------------------------- figures of a classification


def test_a_classification_along_its_margin(separated, tmp_path):
    problem = problems(CLASSES)["diagonal"][0]
    limit, run = lp.predict(problem), separated["diagonal"][0]
    training = lp.train(problem, lp.GD(0.05), 500)
    figure = rendered(lp.plot.plot_trajectory(run, limit, training), tmp_path)
    turning, distance, losses = figure.axes
    assert turning.get_ylabel() == "coefficient / norm"
    assert (losses.get_xlabel(), losses.get_xscale()) == ("smallest margin", "log")
    names = [text.get_text() for text in turning.get_legend().get_texts()]
    assert names == ["β[0]", "β[1]", "training", "predicted limit"]
    curve, guide = distance.lines
    np.testing.assert_allclose(
        curve.get_ydata()[-1], np.linalg.norm(run.directions[-1] - limit.direction), rtol=1e-12
    )
    slope = np.diff(np.log(guide.get_ydata())) / np.diff(np.log(guide.get_xdata()))
    assert slope == pytest.approx(-limit.rate, rel=1e-9)
    loss, time = losses.lines
    assert loss.get_ydata()[-1] == pytest.approx(-run.log_losses[-1] / np.log(10), rel=1e-12)
    assert time.get_ydata()[-1] == pytest.approx(run.log_times[-1] / np.log(10), rel=1e-12)


def test_a_classification_without_a_prediction(separated, tmp_path):
    figure = rendered(lp.plot.plot_trajectory(separated["dense"][0]), tmp_path)
    assert len(figure.axes) == 2


def test_training_on_a_classification_has_steps(tmp_path):
    training = lp.train(problems(CLASSES)["diagonal"][0], lp.GD(0.05), 100)
    figure = rendered(lp.plot.plot_trajectory(training), tmp_path)
    losses = figure.axes[-1]
    assert (losses.get_xlabel(), losses.get_ylabel()) == ("step", "loss")
    np.testing.assert_allclose(losses.lines[0].get_ydata(), training.losses[1:], rtol=1e-12)


@pytest.mark.slow
def test_a_flow_that_has_not_separated_is_drawn_along_time(tmp_path):
    run = lp.flow(problems(CLASSES)["dense"][1], t_end=1e-3)
    limit = lp.predict(problems(CLASSES)["dense"][1])
    figure = rendered(lp.plot.plot_trajectory(run, limit), tmp_path)
    assert figure.axes[-1].get_xlabel() == "log₁₀ time"
    assert figure.axes[-1].get_ylabel() == "loss"


def test_a_classification_without_coefficients(tmp_path):
    network = lp.ReLU(widths=(3,))
    problem = lp.Problem(network, lp.Init.random(network, CLASSES, 1.0, seed=0), CLASSES)
    figure = rendered(lp.plot.plot_trajectory(lp.train(problem, lp.GD(0.05), 50)), tmp_path)
    assert len(figure.axes) == 1


def test_a_bound_is_for_a_regression(separated):
    run = separated["dense"][0]
    with pytest.raises(LimitpointError, match="bound is for a regression"):
        lp.plot.plot_trajectory(run, bound=run.times)


def test_the_limit_of_a_classification_is_its_direction(tmp_path):
    limit = lp.predict(problems(CLASSES)["convolutional"][0])
    values, logs = rendered(lp.plot.plot_limit(limit), tmp_path).axes
    assert values.get_title().startswith("predicted limit direction (yun2021.corollary3")
    assert values.get_ylabel() == "coefficient / norm"
    np.testing.assert_allclose(values.lines[0].get_ydata(), limit.direction, rtol=1e-12)
    np.testing.assert_allclose(logs.lines[0].get_ydata(), -0.5 * np.log10(2), rtol=1e-9)


def test_singular_values_beyond_the_largest_time(tmp_path):
    network = lp.TwoLayer(width=2)
    problem = lp.Problem(network, lp.Init.random(network, CLASSES, 0.5, seed=0), CLASSES)
    run = lp.flow(problem, margin=1e3)
    assert np.isinf(run.times[-1])
    rendered(lp.plot.plot_spectrum(lp.spectral.spectrum(run)), tmp_path)
