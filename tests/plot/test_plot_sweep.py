"""The figure of many training runs."""

import numpy as np
import pytest

import limitpoint as lp

NETWORK = lp.RankOne(depth=2, width=2)
TASK = lp.Regression(np.random.default_rng(0).standard_normal((3, 6)), [1.0, 2.0, -1.0])
PROBLEM = lp.Problem(NETWORK, lp.Init.balanced(NETWORK, TASK), TASK)


def swept(scales, seeds, **more):
    optimisers = [lp.GD(1e-2), lp.SGD(1e-2, 1)]
    return lp.train_many(PROBLEM, optimisers, 200, scales=scales, seeds=range(seeds), **more)


def test_means_and_errors_over_the_seeds(tmp_path):
    sweep = swept([0.5, 1.0], 4)
    figure = lp.plot.plot_sweep(sweep)
    lp.plot.save(figure, tmp_path / "sweep.png")
    ends, along = figure.axes
    values = sweep.data["distance_l2"].values
    for row, bars in enumerate(ends.containers):
        np.testing.assert_allclose(bars[0].get_ydata(), values[row, :, :, -1].mean(axis=1))
    assert [text.get_text() for text in ends.get_legend().get_texts()] == list(sweep.optimisers)
    assert [tick.get_text() for tick in ends.get_xticklabels()] == ["0.5", "1"]
    drawn = [line for line in along.lines if len(line.get_xdata())]
    assert len(drawn) == 4
    np.testing.assert_allclose(drawn[3].get_ydata(), values[1, 1].mean(axis=0))
    assert len(along.collections) == 4


@pytest.mark.parametrize(("scales", "seeds"), [(None, 1), (np.geomspace(0.1, 1, 12), 2)])
def test_one_run_and_many(scales, seeds, tmp_path):
    figure = lp.plot.plot_sweep(swept(scales, seeds))
    lp.plot.save(figure, tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").stat().st_size > 0


def test_another_probe():
    sweep = swept([1.0], 2, probes=[lp.analysis.StartTerm()])
    assert lp.plot.plot_sweep(sweep, "start_term").axes[1].get_ylabel() == "start term"
    with pytest.raises(lp.errors.LimitpointError, match="probe must be one of distance_l2"):
        lp.plot.plot_sweep(sweep, "noise_term")
