"""Figures: every result type renders, whatever the data, and shows what it claims."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import limitpoint as lp

NETWORK = lp.Diagonal(depth=2)
PNG = b"\x89PNG\r\n\x1a\n"


def problem_of(task, scale=1e-2, **log_scale):
    scale = None if log_scale else scale
    return lp.Problem(NETWORK, lp.Init.random(NETWORK, task, scale, seed=0, **log_scale), task)


def wide(n):
    rng = np.random.default_rng(n)
    return lp.Regression(rng.standard_normal((2, n)), rng.standard_normal(2))


def rendered(figure, tmp_path):
    """Write the figure as PNG: drawing it is what finds most mistakes."""
    assert isinstance(figure, Figure)
    lp.plot.save(figure, tmp_path / "figure.png")
    content = (tmp_path / "figure.png").read_bytes()
    assert content.startswith(PNG)
    return figure


def dashed(axes):
    """Heights of the horizontal dashed lines."""
    return [
        float(line.get_ydata()[0])
        for line in axes.lines
        if line.get_linestyle() == "--" and len(line.get_ydata())
    ]


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.fixture(scope="module")
def example():
    return problem_of(lp.examples.zhao_eq7(), 1e-4)


# ---------------------------------------------------------------- trajectories


def test_a_flow_with_its_prediction(example, tmp_path):
    limit, run = lp.predict(example), lp.flow(example)
    figure = rendered(lp.plot.plot_trajectory(run, limit), tmp_path)
    values, logs, losses = figure.axes
    assert values.get_ylabel() == "coefficient"
    assert logs.get_ylabel() == "log₁₀ |coefficient|"
    assert losses.get_ylabel() == "loss"
    assert losses.get_xlabel() == "time"
    assert losses.get_xscale() == losses.get_yscale() == "log"
    assert "gradient flow" in values.get_title()
    assert legend(values) == ["β[0]", "β[1]", "β[2]", "β[3]", "predicted limit"]
    assert sorted(dashed(values)) == pytest.approx(sorted(limit.coef), rel=1e-12)


def test_dashed_lines_have_the_colour_of_their_coefficient(example):
    limit, run = lp.predict(example), lp.flow(example)
    values = lp.plot.plot_trajectory(run, limit).axes[0]
    curves = {
        line.get_color(): line.get_ydata()[-1]
        for line in values.lines
        if line.get_label().startswith("β")
    }
    predictions = {
        line.get_color(): line.get_ydata()[0]
        for line in values.lines
        if line.get_linestyle() == "--" and len(line.get_ydata())
    }
    assert set(curves) == set(predictions)
    for colour, end in curves.items():
        assert end == pytest.approx(predictions[colour], rel=1e-6, abs=1e-9)


def test_without_a_prediction_there_are_no_dashed_lines(example, tmp_path):
    figure = rendered(lp.plot.plot_trajectory(lp.flow(example)), tmp_path)
    assert dashed(figure.axes[0]) == []
    assert "predicted limit" not in legend(figure.axes[0])


def test_curves_are_the_recorded_coefficients(example):
    run = lp.flow(example)
    values, logs, losses = lp.plot.plot_trajectory(run).axes
    later = run.times > 0
    for i in range(4):
        np.testing.assert_array_equal(values.lines[i].get_xdata(), run.times[later])
        np.testing.assert_array_equal(values.lines[i].get_ydata(), run.coefs[later, i])
        np.testing.assert_allclose(
            logs.lines[i].get_ydata(), run.log_abs_coefs[later, i] / np.log(10)
        )
    np.testing.assert_array_equal(losses.lines[0].get_ydata(), run.losses[later])


def test_training_is_drawn_against_steps(example, tmp_path):
    run = lp.train(example, lp.GD(5e-3), 5000)
    figure = rendered(lp.plot.plot_trajectory(run, lp.predict(example)), tmp_path)
    assert figure.axes[2].get_xlabel() == "step"
    assert figure.axes[0].get_title() == "training by GD(learning_rate=0.005)"


def test_training_laid_over_a_flow(example, tmp_path):
    run = lp.train(example, lp.GD(5e-3), 5000)
    figure = rendered(lp.plot.plot_trajectory(lp.flow(example), lp.predict(example), run), tmp_path)
    assert legend(figure.axes[0])[-2:] == ["training", "predicted limit"]
    dots = [
        line for line in figure.axes[0].lines if line.get_marker() == "." and len(line.get_xdata())
    ]
    assert len(dots) == 4
    assert set(dots[0].get_xdata()) <= set(run.times)


def test_the_time_axis_shows_the_first_move_and_the_end(example):
    run = lp.flow(example)
    left, right = lp.plot.plot_trajectory(run).axes[2].get_xlim()
    moved = run.times[np.abs(run.losses - run.losses[0]) > 1e-3 * run.losses[0]][0]
    assert 0 < left < moved
    assert right > run.times[-1]


def test_inactive_coefficients_of_a_tiny_scale_are_visible(tmp_path):
    run = lp.flow(problem_of(lp.examples.zhao_eq7(), log_scale=-2302.6))
    figure = rendered(lp.plot.plot_trajectory(run), tmp_path)
    lowest, _ = figure.axes[1].get_ylim()
    assert lowest < -1900


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 200])
def test_any_number_of_features(n, tmp_path):
    task = lp.Regression([[2.0]], [3.0]) if n == 1 else wide(n)
    problem = problem_of(task)
    limit = lp.predict(problem)
    figure = rendered(lp.plot.plot_trajectory(lp.flow(problem), limit), tmp_path)
    named = min(n, 7)
    rest = [f"{n - named} others"] if n > named else []
    assert legend(figure.axes[0])[named:] == [*rest, "predicted limit"]
    assert len(dashed(figure.axes[0])) == named
    rendered(lp.plot.plot_limit(limit), tmp_path)


def test_zero_targets(tmp_path):
    problem = problem_of(lp.Regression([[1.0, 2.0]], [0.0]))
    rendered(lp.plot.plot_trajectory(lp.flow(problem), lp.predict(problem)), tmp_path)


def test_zero_loss_from_the_start(tmp_path):
    """Nothing to draw on a logarithmic loss axis, and a single record at time 0."""
    task = lp.Regression([[1.0, 2.0]], [0.0])
    problem = lp.Problem(NETWORK, lp.Init.zero_last(NETWORK, task, 0.1), task)
    run = lp.flow(problem)
    assert not run.losses.any()
    rendered(lp.plot.plot_trajectory(run, lp.predict(problem)), tmp_path)
    rendered(lp.plot.plot_limit(lp.predict(problem)), tmp_path)
    trained = lp.train(problem, lp.GD(0.1), 10)
    rendered(lp.plot.plot_trajectory(trained, lp.predict(problem), trained), tmp_path)


def test_a_run_that_diverged(example, tmp_path):
    run = lp.train(example, lp.GD(100.0), 1000)
    assert run.status is lp.Status.DIVERGED
    rendered(lp.plot.plot_trajectory(run, lp.predict(example)), tmp_path)


@pytest.mark.parametrize("steps", [5, 1000], ids=["to a finite number", "to infinity"])
def test_a_run_that_diverged_does_not_hide_the_flow_under_it(example, steps, tmp_path):
    run, flow = lp.train(example, lp.GD(100.0), steps), lp.flow(example)
    assert run.status is lp.Status.DIVERGED
    assert np.isfinite(run.losses[-1]) == (steps == 5)
    figure = rendered(lp.plot.plot_trajectory(flow, lp.predict(example), run), tmp_path)
    low, high = figure.axes[0].get_ylim()
    assert high - low < 10 * np.ptp(flow.coefs)


@pytest.mark.parametrize("times", [[0.0], [2.0], [0.0, 2.0]], ids=str)
def test_few_records(example, times, tmp_path):
    run = lp.flow(example, times=times)
    rendered(lp.plot.plot_trajectory(run, lp.predict(example)), tmp_path)


def test_one_training_step(example, tmp_path):
    run = lp.train(example, lp.GD(1e-3), 1)
    rendered(lp.plot.plot_trajectory(run), tmp_path)
    rendered(lp.plot.plot_trajectory(lp.flow(example), None, run), tmp_path)


def test_a_frozen_coefficient(tmp_path):
    task = lp.Regression([[1.0, 1.0]], [1.0])
    problem = lp.Problem(NETWORK, lp.Init([[0.0, 1.0], [0.0, 0.0]], 0.1), task)
    rendered(lp.plot.plot_trajectory(lp.flow(problem), lp.predict(problem)), tmp_path)
    figure = rendered(lp.plot.plot_limit(lp.predict(problem)), tmp_path)
    assert np.isfinite(figure.axes[1].get_ylim()).all()


def test_a_bound_is_laid_over_the_loss(tmp_path):
    problem = problem_of(lp.examples.zhao_eq7(), 1.0)
    run = lp.flow(problem)
    bound = lp.atlas.convergence_bound(problem, run.times)
    figure = rendered(lp.plot.plot_trajectory(run, bound=bound), tmp_path)
    loss, over = figure.axes[2].lines
    assert legend(figure.axes[2]) == ["upper bound"]
    np.testing.assert_array_equal(over.get_xdata(), run.times[run.times > 0])
    np.testing.assert_array_equal(over.get_ydata(), bound[run.times > 0])
    assert (over.get_ydata() >= loss.get_ydata()).all()
    assert lp.plot.plot_trajectory(run).axes[2].get_legend() is None


@pytest.mark.parametrize(
    ("bound", "message"),
    [
        ([1.0, 2.0], r"bound must have one entry for each of the \d+ times"),
        ([[1.0]], "bound must have 1 dimension"),
        ([float("nan")], "bound must be finite"),
        ("high", "bound must be an array of real numbers"),
    ],
)
def test_a_bound_that_cannot_be_drawn(example, bound, message):
    with pytest.raises(lp.errors.LimitpointError, match=message):
        lp.plot.plot_trajectory(lp.flow(example), bound=bound)


@pytest.mark.parametrize(("depth", "scale"), [(3, 1e-30), (4, 1e-10)])
def test_a_deep_flow_at_a_tiny_scale(depth, scale, tmp_path):
    """Jumps at times of one order: they have most of the axis, from before the first of them."""
    network, task = lp.Diagonal(depth), lp.examples.zhao_eq7()
    problem = lp.Problem(network, lp.Init.random(network, task, scale, seed=1), task)
    run = lp.flow(problem)
    figure = rendered(lp.plot.plot_trajectory(run, lp.predict(problem)), tmp_path)
    left, right = figure.axes[2].get_xlim()
    moved = run.times[np.abs(run.losses - run.losses[0]) > 1e-3 * run.losses[0]][0]
    assert left < moved < run.times[-1] < right
    assert np.log(run.times[-1] / moved) > np.log(right / left) / 3


def test_times_that_no_axis_holds_are_left_out(tmp_path):
    """Nor is the time in which nothing moves any more."""
    times = np.array([0.0, 1.0, 10.0, 100.0, 1e280, 1e307, np.inf])
    run = lp.results.Trajectory.build(
        kind="a flow that never arrives",
        status=lp.Status.REACHED_END,
        times=times,
        coefs=np.array([[0.0], [0.1], *[[1.0]] * 5]),
        losses=np.array([1.0, 0.9, *[0.1] * 5]),
        relative_residual=0.1,
    )
    figure = rendered(lp.plot.plot_trajectory(run), tmp_path)
    assert figure.axes[0].lines[0].get_xdata().tolist() == [1.0, 10.0, 100.0]
    assert figure.axes[2].get_xlim()[1] < 1000


# ---------------------------------------------------------------- limits


def test_a_limit(example, tmp_path):
    limit = lp.predict(example)
    values, logs = rendered(lp.plot.plot_limit(limit), tmp_path).axes
    assert values.get_ylabel() == "coefficient"
    assert logs.get_ylabel() == "log₁₀ |coefficient|"
    assert logs.get_xlabel() == "feature"
    assert values.get_title() == f"predicted limit ({limit.theorem.id})"
    assert legend(logs) == ["positive", "negative"]
    points = next(line for line in values.lines if line.get_marker() == "o")
    np.testing.assert_array_equal(points.get_ydata(), limit.coef)


def test_a_limit_marks_signs(example):
    limit = lp.predict(example)
    logs = lp.plot.plot_limit(limit).axes[1]
    shown = {line.get_label(): line.get_xdata().tolist() for line in logs.lines}
    assert shown["positive"] == np.flatnonzero(limit.signs > 0).tolist()
    assert shown["negative"] == np.flatnonzero(limit.signs < 0).tolist()


def test_features_are_whole_numbers_on_the_axis(example):
    figure = lp.plot.plot_limit(lp.predict(example))
    figure.canvas.draw()
    axes = figure.axes[1]
    low, high = axes.get_xlim()
    ticks = [tick for tick in axes.get_xticks() if low <= tick <= high]
    assert all(float(tick).is_integer() for tick in ticks)


# ---------------------------------------------------------------- limits against the scale


def balanced(task=None):
    task = task or lp.examples.zhao_eq7()
    network = lp.Diagonal(3)
    return lp.Problem(network, lp.Init.zero_last(network, task), task)


def dots(axes):
    """Places and heights of the dots, by colour."""
    return {
        (line.get_color(), float(line.get_xdata()[0])): float(line.get_ydata()[0])
        for line in axes.lines
        if line.get_marker() == "o" and len(line.get_xdata()) == 1
    }


def test_a_path_with_both_limits(tmp_path):
    scales = np.geomspace(1e-4, 1e2, 13)
    path = lp.predict_path(balanced(), [0.0, *scales, np.inf])
    (axes,) = rendered(lp.plot.plot_path(path), tmp_path).axes
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel() == "scale of the initialisation"
    assert axes.get_ylabel() == "coefficient of the limit"
    assert legend(axes) == ["β[0]", "β[1]", "β[2]", "β[3]"]
    curves = {line.get_label(): line for line in axes.lines if line.get_label().startswith("β")}
    labels = {
        label.get_text(): tick
        for tick, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    }
    assert {"0", "∞", "$10^{-4}$", "$10^{2}$"} <= set(labels)
    left, right = axes.get_xlim()
    assert left < labels["0"] < 1e-4 < 1e2 < labels["∞"] < right
    found = dots(axes)
    assert len(found) == 8
    for i in range(4):
        curve = curves[f"β[{i}]"]
        np.testing.assert_array_equal(curve.get_xdata(), scales)
        np.testing.assert_array_equal(curve.get_ydata(), path.coefs[1:-1, i])
        assert found[curve.get_color(), labels["0"]] == path.coefs[0, i]
        assert found[curve.get_color(), labels["∞"]] == path.coefs[-1, i]


def test_a_path_in_any_order_is_drawn_from_small_to_large(tmp_path):
    path = lp.predict_path(balanced(), [1.0, 0.0, 1e-2, 1e-1])
    (axes,) = rendered(lp.plot.plot_path(path), tmp_path).axes
    assert axes.lines[0].get_xdata().tolist() == [1e-2, 1e-1, 1.0]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), path.coefs[[2, 3, 0], 0])


@pytest.mark.parametrize(
    ("scales", "labels"),
    [
        ([0.0], ["0"]),
        ([np.inf], ["∞"]),
        ([0.0, np.inf], ["0", "∞"]),
        ([0.1], ["0.1"]),
        ([0.2, 0.7], ["0.2", "0.7"]),
        ([1e-4, 1e-3], ["$10^{-4}$", "$10^{-3}$"]),
        ([0.0, 1e-290, 1.0], ["0"]),
    ],
    ids=str,
)
def test_paths_of_few_scales(scales, labels, tmp_path):
    network, task = lp.Diagonal(2), lp.examples.zhao_eq7()
    problem = lp.Problem(network, lp.Init.zero_last(network, task), task)
    path = lp.predict_path(problem, scales)
    (axes,) = rendered(lp.plot.plot_path(path), tmp_path).axes
    assert set(labels) <= {label.get_text() for label in axes.get_xticklabels()}
    assert np.isfinite(axes.get_xlim()).all()
    assert len(legend(axes)) == 4


def test_a_path_of_many_coefficients(tmp_path):
    path = lp.predict_path(balanced(wide(40)), [0.0, 1e-2, 1.0])
    (axes,) = rendered(lp.plot.plot_path(path), tmp_path).axes
    assert legend(axes)[7:] == ["33 others"]


# ---------------------------------------------------------------- saddle paths


def steps_of(axes):
    """The step curves of an axes, by label."""
    return {line.get_label(): line for line in axes.lines if line.get_drawstyle() == "steps-post"}


def test_a_saddle_path(tmp_path):
    task = lp.examples.zhao_eq7()
    path = lp.saddle_path(task.X, task.y)
    figure = rendered(lp.plot.plot_saddles(path), tmp_path)
    values, losses, *bars = figure.axes
    assert values.get_title() == "saddle path: 3 saddles, 3 of 4 coefficients activate"
    assert values.get_ylabel() == "coefficient"
    assert losses.get_ylabel() == "loss"
    assert losses.get_yscale() == "log"
    assert losses.get_xlabel() == "time, in units of the activation time"
    # β[1] never activates, and is not drawn.
    assert legend(values) == ["β[0]", "β[2]", "β[3]"]
    curves = steps_of(values)
    for i in (0, 2, 3):
        curve = curves[f"β[{i}]"]
        np.testing.assert_array_equal(curve.get_xdata()[:-1], path.path_times)
        np.testing.assert_array_equal(curve.get_ydata(), [*path.coefs[:, i], path.coefs[-1, i]])
    # The exact fit has no place on a logarithmic axis: it is drawn below all others, and says so.
    (loss,) = steps_of(losses).values()
    np.testing.assert_array_equal(loss.get_ydata()[:3], path.losses[:3])
    np.testing.assert_allclose(loss.get_ydata()[3:], path.losses[2] / 10)
    assert legend(losses) == [f"fitted: loss {path.losses[-1]:.0e}"]
    (bars,) = bars
    assert [text.get_text() for text in bars.texts] == ["start", "saddle 1", "saddle 2"]
    assert bars.get_xlabel() == "feature, the next to activate in colour"


def test_bars_are_the_waiting_times_and_the_next_to_activate_is_the_shortest():
    task = lp.examples.zhao_eq7()
    path = lp.saddle_path(task.X, task.y)
    (axes,) = lp.plot.plot_saddles(path, panels="bars").axes
    features = {
        place: int(label.get_text())
        for place, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    }
    assert len(axes.containers) == 3
    for stage, bars in enumerate(axes.containers):
        shown = [features[bar.get_x() + bar.get_width() / 2] for bar in bars]
        heights = [bar.get_height() for bar in bars]
        np.testing.assert_array_equal(heights, path.waiting_times(stage)[shown])
        coloured = [
            feature
            for feature, bar in zip(shown, bars, strict=True)
            if bar.get_facecolor()[0] != bar.get_facecolor()[1]
        ]
        assert coloured == list(path.entered[stage])
        assert min(heights) == pytest.approx(np.diff(path.path_times)[stage], rel=1e-12)


def test_a_saddle_path_in_the_time_of_a_flow(tmp_path):
    problem = problem_of(lp.examples.zhao_eq7(), log_scale=-200.0)
    path = lp.analysis.saddles(problem)
    figure = rendered(lp.plot.plot_saddles(path), tmp_path)
    assert figure.axes[1].get_xlabel() == "time, of the flow at this scale"
    times = steps_of(figure.axes[0])["β[0]"].get_xdata()
    # The example has a loss factor of 2, which halves log(1/s).
    np.testing.assert_array_equal(times[:-1], 100.0 * path.path_times)


def test_an_infinite_time_unit_is_not_drawn(tmp_path):
    path = lp.analysis.saddles(problem_of(lp.examples.zhao_eq7(), 0.0))
    assert path.time_unit == np.inf
    figure = rendered(lp.plot.plot_saddles(path), tmp_path)
    assert figure.axes[1].get_xlabel() == "time, in units of the activation time"
    assert np.isfinite(figure.axes[1].get_xlim()).all()


def test_no_saddles(tmp_path):
    path = lp.saddle_path([[1.0, 2.0]], [0.0])
    figure = rendered(lp.plot.plot_saddles(path), tmp_path)
    assert len(figure.axes) == 2
    assert figure.axes[0].get_legend() is None
    assert figure.axes[0].get_title() == "saddle path: 0 saddles, 0 of 2 coefficients activate"


def test_no_saddles_although_there_is_a_loss(tmp_path):
    rendered(lp.plot.plot_saddles(lp.saddle_path([[0.0], [0.0]], [1.0, 2.0])), tmp_path)


def test_one_saddle(tmp_path):
    figure = rendered(lp.plot.plot_saddles(lp.saddle_path([[1.0, 2.0]], [1.0])), tmp_path)
    assert legend(figure.axes[0]) == ["β[1]"]
    assert len(figure.axes) == 3
    assert figure.axes[0].get_title() == "saddle path: 1 saddle, 1 of 2 coefficients activate"


def test_one_saddle_at_time_zero(tmp_path):
    """A free coefficient is there from the start."""
    rendered(lp.plot.plot_saddles(lp.saddle_path([[2.0]], [1.0], 0.0, 0.0)), tmp_path)


@pytest.fixture(scope="module")
def many():
    """A path whose first half takes a fiftieth of its time."""
    rng = np.random.default_rng(0)
    path = lp.saddle_path(rng.standard_normal((40, 200)), rng.standard_normal(40))
    assert path.n_saddles == 58
    assert path.path_times[29] < path.path_times[-1] / 20
    return path


def test_many_saddles(many, tmp_path):
    values, _, bars = rendered(lp.plot.plot_saddles(many), tmp_path).axes
    active = int(many.coefs.any(axis=0).sum())
    assert legend(values)[7:] == [f"{active - 7} others"]
    assert values.get_title() == f"saddle path: 58 saddles, {active} of 200 coefficients activate"
    assert len(bars.containers) == 5
    assert all(len(stage) <= 8 for stage in bars.containers)
    assert bars.get_xlabel().endswith("shortest of up to 200; 53 more saddles")


@pytest.mark.parametrize("axis", ["auto", "time", "symlog", "saddle"])
def test_the_first_half_of_the_saddles_has_a_part_of_the_axis(many, axis, tmp_path):
    figure = rendered(lp.plot.plot_saddles(many, axis=axis, panels="coefs"), tmp_path)
    (axes,) = figure.axes
    edges = next(iter(steps_of(axes).values())).get_xdata()
    ends = axes.transData.transform([(edges[k], 0.0) for k in (1, 29, -1)])[:, 0]
    part = (ends[1] - ends[0]) / (ends[2] - ends[0])
    assert (part > 0.2) == (axis != "time")
    words = (
        "saddle (0 is the start)" if axis == "saddle" else "time, in units of the activation time"
    )
    assert axes.get_xlabel() == words


def test_an_axis_that_is_not_there(many):
    with pytest.raises(lp.errors.LimitpointError, match="axis must be one of auto, time, symlog"):
        lp.plot.plot_saddles(many, axis="log")


def test_a_tie_colours_every_bar_that_activates(tmp_path):
    path = lp.saddle_path(np.eye(3), [2.0, -2.0, 1.0])
    rendered(lp.plot.plot_saddles(path), tmp_path)


# ---------------------------------------------------------------- saving


def test_saving_creates_the_folder(example, tmp_path):
    lp.plot.save(lp.plot.plot_limit(lp.predict(example)), tmp_path / "a" / "b" / "figure.png")
    assert (tmp_path / "a" / "b" / "figure.png").exists()


def test_saving_in_an_unknown_format(example, tmp_path):
    with pytest.raises(lp.errors.LimitpointError, match=r"path must be .*png.*xyz"):
        lp.plot.save(lp.plot.plot_limit(lp.predict(example)), tmp_path / "figure.xyz")


def test_figures_are_not_kept_by_pyplot(example):
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    lp.plot.plot_limit(lp.predict(example))
    assert pyplot.get_fignums() == before
