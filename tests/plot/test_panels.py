"""What all figures have in common: axes and panels of the caller's choice, settings, sizes."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import limitpoint as lp
from limitpoint.plot.style import COLOURS

SMALL = (3.3, 2.5)


def problem_of(network, task, scale=1e-2):
    return lp.Problem(network, lp.Init.random(network, task, scale, seed=0), task)


def drawings():
    """Every function of `lp.plot` that draws, with what it draws and its panels."""
    network, task = lp.Diagonal(depth=2), lp.examples.zhao_eq7()
    problem = problem_of(network, task, 1e-4)
    classes = problem_of(network, lp.Classification([[1.0, 2.0], [0.0, -3.0]], [1, -1]), 0.5)
    dense, relu = lp.TwoLayer(width=3), lp.ReLU(widths=(3,))
    outputs = problem_of(dense, lp.Regression([[1.0, 2.0], [2.0, 1.0]], [[1.0], [3.0]]), 0.1)
    rectified = problem_of(relu, lp.Regression([[1.0, 2.0]], [1.0]), 0.5)
    limit, run, scales = lp.predict(problem), lp.flow(problem), [0.0, 1e-3, 1e-2, 1.0]
    return {
        "plot_trajectory": ((run, limit), ("coefs", "log_coefs", "loss")),
        "plot_trajectory of classes": (
            (lp.flow(classes, margin=1e4), lp.predict(classes)),
            ("coefs", "distance", "loss"),
        ),
        "plot_trajectory of ReLU": ((lp.train(rectified, lp.GD(0.1), 20),), ("loss",)),
        "plot_limit": ((limit,), ("coefs", "log_coefs")),
        "plot_limit_direction": (
            (lp.analysis.limit_direction(classes), lp.predict(classes)),
            ("coefs", "distance"),
        ),
        "plot_network": ((network,), ()),
        "plot_path": ((lp.predict_path(problem, scales),), ()),
        "plot_saddles": ((lp.saddle_path(task.X, task.y),), ("coefs", "loss", "bars")),
        "plot_spectrum": ((lp.spectral.spectrum(lp.flow(outputs)),), ()),
        "plot_sweep": ((lp.train_many(problem, [lp.GD(1e-2)], 50),), ("end", "steps")),
    }


@pytest.fixture(scope="module")
def drawn():
    return drawings()


NAMES = [
    *("plot_trajectory", "plot_trajectory of classes", "plot_trajectory of ReLU", "plot_limit"),
    *("plot_limit_direction", "plot_network", "plot_path", "plot_saddles", "plot_spectrum"),
    "plot_sweep",
]
every = pytest.mark.parametrize("name", NAMES)


def draw(drawn, name, **options):
    arguments, _ = drawn[name]
    return getattr(lp.plot, name.split()[0])(*arguments, **options)


def test_all_functions_are_here(drawn):
    functions = {name for name in lp.plot.__all__ if name.startswith("plot_")}
    assert {name.split()[0] for name in drawn} == functions
    assert list(drawn) == NAMES


@every
def test_a_small_figure_and_axes_of_the_caller(drawn, name, tmp_path):
    """A column of a paper has room for one panel; every panel can be had, in any axes."""
    figure = draw(drawn, name, figsize=SMALL)
    assert isinstance(figure, Figure)
    assert figure.get_size_inches().tolist() == list(SMALL)
    assert len(figure.axes) == 1
    lp.plot.save(figure, tmp_path / "small.pdf")
    panels = drawn[name][1]
    own, axes = plt.subplots(1, max(len(panels), 1), layout="constrained", squeeze=False)
    try:
        options = {"panels": panels[::-1]} if panels else {}
        assert draw(drawn, name, ax=axes if len(panels) > 1 else axes[0, 0], **options) is own
        lp.plot.save(own, tmp_path / "own.png")
    finally:
        plt.close(own)
    assert len(own.axes) == max(len(panels), 1)
    assert all(one.has_data() for one in own.axes)
    for panel, one in zip(panels[::-1], own.axes, strict=bool(panels)):
        alone = draw(drawn, name, panels=panel)
        assert len(alone.axes) == 1
        words, wanted = alone.axes[0].get_ylabel(), one.get_ylabel()
        assert words.split() == wanted.split() != []
        assert one.get_xlabel()
        assert one.get_xscale() == alone.axes[0].get_xscale()


@every
def test_what_cannot_be_drawn_into(drawn, name):
    def refused(message, **options):
        with pytest.raises(lp.errors.LimitpointError, match=message):
            draw(drawn, name, **options)

    axes, removed = Figure().subplots(1, 4), Figure().subplots()
    removed.remove()
    refused("ax must be axes of matplotlib", ax=removed)
    refused("ax must be axes of matplotlib", ax=Figure().add_subplot(projection="polar"))
    refused("ax must be axes of matplotlib", ax="axes")
    refused("ax must be axes of matplotlib", ax=[1.0])
    refused("ax must be (a single one|one for each of the)", ax=axes)
    refused("figsize is for a new figure", ax=axes[0], figsize=(4, 3), **one_panel(drawn, name))
    for size in ((3.0,), (3.0, -1.0), "large", (np.nan, 2.0), (1e9, 2.0), 3.0):
        refused("figsize must be width and height in inches", figsize=size)
    if drawn[name][1]:
        for panels in ("speed", (), ["loss", "speed"], ["coefs", "coefs"], 3, [3]):
            refused("panels must be one or more of", panels=panels)


def one_panel(drawn, name):
    panels = drawn[name][1]
    return {"panels": panels[0]} if panels else {}


def test_settings_of_matplotlib_are_respected(drawn):
    lines = draw(drawn, "plot_trajectory", panels="coefs").axes[0].lines
    assert lines[0].get_color() == COLOURS[0]
    assert lines[0].get_linewidth() == mpl.rcParamsDefault["lines.linewidth"]
    cycle = mpl.cycler(color=["red", "green"])
    changed = {"axes.prop_cycle": cycle, "lines.linewidth": 4.0, "text.color": "blue"}
    with mpl.rc_context({**changed, "font.size": 7.0, "figure.dpi": 60}):
        figure = draw(drawn, "plot_trajectory")
    values, _, losses = figure.axes
    # With two colours two coefficients have a name.
    named = [line for line in values.lines if line.get_label().startswith("β")]
    assert [line.get_color() for line in named] == ["red", "green"]
    assert {line.get_linewidth() for line in named} == {4.0}
    assert "2 others" in [text.get_text() for text in values.get_legend().get_texts()]
    assert losses.lines[0].get_color() == "blue"
    assert values.yaxis.label.get_fontsize() == 7.0
    assert figure.dpi == 60


def pixels(path):
    """Width and height of a PNG, from its header."""
    return tuple(int.from_bytes(path.read_bytes()[i : i + 4], "big") for i in (16, 20))


def test_dots_per_inch(drawn, tmp_path):
    path = tmp_path / "figure.png"
    figure = draw(drawn, "plot_limit", figsize=(4.0, 3.0))
    for settings, dpi, dots in (
        ({}, None, 150),
        ({}, 80, 80),
        ({"savefig.dpi": 90}, None, 90),
        ({"savefig.dpi": 90}, 80, 80),
    ):
        with mpl.rc_context(settings):
            lp.plot.save(figure, path, dpi=dpi)
        assert pixels(path) == (4 * dots, 3 * dots)
    with mpl.rc_context({"figure.dpi": 70}):
        lp.plot.save(draw(drawn, "plot_limit", figsize=(4.0, 3.0)), path)
    assert pixels(path) == (280, 210)
    for wrong in (0, -1.0, np.inf, "high", 1e6):
        with pytest.raises(lp.errors.LimitpointError, match="dpi must be"):
            lp.plot.save(figure, path, dpi=wrong)


def test_fonts_are_embedded_as_truetype(drawn, tmp_path):
    before = dict(mpl.rcParams)
    figure = draw(drawn, "plot_limit", figsize=SMALL)
    for ending in ("pdf", "ps", "svg"):
        lp.plot.save(figure, tmp_path / f"figure.{ending}")
    assert dict(mpl.rcParams) == before
    pdf = (tmp_path / "figure.pdf").read_bytes()
    assert b"/Type3" not in pdf
    assert b"/FontFile2" in pdf
    assert b"/FontType 42" in (tmp_path / "figure.ps").read_bytes()
    assert ">coefficient</text>" in (tmp_path / "figure.svg").read_text()


def test_a_training_run_without_a_place_on_the_axis(drawn):
    run, _ = drawn["plot_trajectory"][0]
    classes, _ = drawn["plot_trajectory of classes"][0]
    network, task = lp.Diagonal(depth=2), lp.examples.zhao_eq7()
    trained = lp.train(problem_of(network, task), lp.GD(1e-2), 5)
    with pytest.raises(lp.errors.LimitpointError, match="training must have steps"):
        lp.plot.plot_trajectory(trained, None, run)
    two = problem_of(network, lp.Regression([[1.0, 2.0]], [1.0]))
    with pytest.raises(lp.errors.LimitpointError, match="training must be a run of a class"):
        lp.plot.plot_trajectory(classes, None, lp.flow(two))
