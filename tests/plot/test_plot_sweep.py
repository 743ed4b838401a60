"""The figure of many training runs, and the counts of those that diverged."""

import numpy as np
import pytest

import limitpoint as lp

NETWORK = lp.RankOne(depth=2, width=2)
TASK = lp.Regression(np.random.default_rng(0).standard_normal((3, 6)), [1.0, 2.0, -1.0])
PROBLEM = lp.Problem(NETWORK, lp.Init.balanced(NETWORK, TASK), TASK)


def swept(scales, seeds, **more):
    optimisers = [lp.GD(1e-2), lp.SGD(1e-2, 1)]
    return lp.train_many(PROBLEM, optimisers, 200, scales=scales, seeds=range(seeds), **more)


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.fixture(scope="module")
def diverged():
    """At scale 2.5 GD converges, and SGD diverges for some of its seeds."""
    sweep = lp.train_many(
        PROBLEM, [lp.GD(1e-2), lp.SGD(1e-2, 1)], 200, scales=[1.0, 2.5], seeds=range(8)
    )
    assert 0 < sweep.diverged[1, 1].sum() < 8
    return sweep


def test_means_and_errors_over_the_seeds(tmp_path):
    sweep = swept([0.5, 1.0], 4)
    figure = lp.plot.plot_sweep(sweep)
    lp.plot.save(figure, tmp_path / "sweep.png")
    ends, along = figure.axes
    values = sweep.data["distance_l2"].values
    for row, bars in enumerate(ends.containers):
        np.testing.assert_allclose(bars[0].get_ydata(), values[row, :, :, -1].mean(axis=1))
        low, high = bars[2][0].get_segments()[0][:, 1]
        spread = values[row, 0, :, -1].std(ddof=1) / 2
        assert (high - low) / 2 == pytest.approx(spread, rel=1e-6, abs=1e-12)
    words = ["1 run", "4 runs"]
    assert legend(ends) == [
        f"{label},\nmeans over {runs}" for label, runs in zip(sweep.optimisers, words, strict=True)
    ]
    assert [tick.get_text() for tick in ends.get_xticklabels()] == ["0.5", "1"]
    drawn = [line for line in along.lines if len(line.get_xdata())]
    assert len(drawn) == 4
    np.testing.assert_allclose(drawn[3].get_ydata(), values[1, 1].mean(axis=0))
    assert len(along.collections) == 4
    assert along.get_ylabel() == "distance from the minimum-norm solution"


def test_a_diverged_run_is_counted_and_marked_and_in_no_mean(diverged, tmp_path):
    lost = int(diverged.diverged[1, 1].sum())
    assert diverged.runs.tolist() == [[1, 1], [8, 8 - lost]]
    assert diverged.runs_diverged.tolist() == [[0, 0], [0, lost]]
    figure = lp.plot.plot_sweep(diverged)
    lp.plot.save(figure, tmp_path / "sweep.png")
    ends, along = figure.axes
    values = diverged.data["distance_l2"].values[1, 1][~diverged.diverged[1, 1]]
    np.testing.assert_allclose(ends.containers[1][0].get_ydata()[1], values[:, -1].mean())
    for axes in (ends, along):
        heights = [line.get_ydata() for line in axes.lines if line.get_marker() != "x"]
        top = max(np.nanmax(height) for height in heights if len(height))
        assert axes.get_ylim()[1] < 3 * top < 1e3
    (mark,) = [line for line in ends.lines if line.get_marker() == "x" and len(line.get_xdata())]
    assert mark.get_xdata()[0] == 2.5
    assert ends.texts[0].get_text().strip() == f"{lost}/8"
    assert legend(ends)[-1].endswith(f"means over {8 - lost} to 8 runs")
    crosses = [line for line in along.lines if line.get_marker() == "x" and len(line.get_xdata())]
    assert 1 <= len(crosses) <= lost
    assert "a run diverged" in legend(along)
    assert figure.get_suptitle() == f"means over {18 - lost} training runs; {lost} of 18 diverged"


def test_counts_are_in_the_table_and_the_record(diverged):
    lost = int(diverged.diverged[1, 1].sum())
    assert f"{8 - lost} of 8" in str(diverged)
    record = diverged.to_xarray()
    assert record["runs"].dims == ("optimiser", "scale")
    assert int(record["runs"].sel(scale=2.5)[1]) == 8 - lost
    assert diverged.to_dict()["runs_diverged"] == [[0, 0], [0, lost]]


def test_all_runs_diverged(tmp_path):
    sweep = lp.train_many(PROBLEM, [lp.GD(10.0)], 200, scales=[1.0, 2.0], seeds=range(2))
    assert sweep.runs_diverged.tolist() == [[1, 1]]
    figure = lp.plot.plot_sweep(sweep, "loss")
    lp.plot.save(figure, tmp_path / "sweep.png")
    assert figure.get_suptitle() == "means over 0 training runs; 2 of 2 diverged"


@pytest.mark.parametrize(("scales", "seeds"), [(None, 1), (np.geomspace(0.1, 1, 12), 2)])
def test_one_run_and_many(scales, seeds, tmp_path):
    figure = lp.plot.plot_sweep(swept(scales, seeds))
    lp.plot.save(figure, tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").stat().st_size > 0


def test_another_probe():
    sweep = swept([1.0], 2, probes=[lp.analysis.StartTerm()])
    assert lp.plot.plot_sweep(sweep, "start_term").axes[1].get_ylabel() == "weight of the start"
    with pytest.raises(lp.errors.LimitpointError, match="probe must be one of distance_l2"):
        lp.plot.plot_sweep(sweep, "noise_term")
