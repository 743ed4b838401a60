"""The figure of singular values."""

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.dynamics.analysis.spectrum import Spectrum
from limitpoint.plot.figure_files import save
from limitpoint.plot.spectra import plot_spectrum
from limitpoint.theory.two_layer.riccati import (
    jumps,
    layer_singular_values,
    riccati_singular_values,
)

PNG = b"\x89PNG\r\n\x1a\n"


def rendered(figure, tmp_path):
    save(figure, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(PNG)
    return figure.axes[0]


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def staircase(targets, gamma, end, still=3, count=400):
    """The spectrum of whitened data, in closed form, with values that stay at √(2γ)."""
    times = np.concatenate([[0.0], np.geomspace(1e-3, end, count)])
    coefs = riccati_singular_values(targets, times, gamma=gamma)
    first, second = layer_singular_values(coefs, gamma=gamma)
    rest = np.full((len(times), still), np.sqrt(2 * gamma))
    return Spectrum(times, (np.hstack([first, rest]), second), coefs, "flow")


def test_a_staircase_with_limits_and_jumps(tmp_path):
    targets, gamma = [3.0, 1.5, 1.0], 1e-6
    found = staircase(targets, gamma, 100.0)
    limits = layer_singular_values(targets, gamma=gamma)[0]
    process = jumps(targets, gamma=gamma)
    axes = rendered(plot_spectrum(found, predicted=limits, jumps=process), tmp_path)
    assert axes.get_ylabel() == "singular values of $W_{1}$"
    assert axes.get_xlabel() == "time"
    names = [f"$\\sigma_{{{i}}}$($W_{{1}}$)" for i in (1, 2, 3)]
    assert legend(axes) == [*names, "3 others", "predicted limit", "predicted jump"]
    dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
    heights = [line.get_ydata()[0] for line in dashed if len(line.get_ydata())]
    np.testing.assert_allclose(heights, np.sort(limits))
    dotted = [line for line in axes.lines if line.get_linestyle() == ":"]
    places = [line.get_xdata()[0] for line in dotted if len(line.get_xdata())]
    np.testing.assert_allclose(places, process.path_times * process.unit)
    # The moves stretch over less than a factor of ten: a linear axis, cut after the last.
    assert axes.get_xscale() == "linear"
    assert axes.get_xlim()[1] < 20


def test_slow_values_have_a_logarithmic_axis(tmp_path):
    found = staircase([3.0, 0.05], 1e-4, 1e4)
    axes = rendered(plot_spectrum(found, layer="coef", jumps=[1.5, 90.0]), tmp_path)
    assert axes.get_xscale() == "log"
    assert axes.get_ylabel() == "singular values of β"
    left, right = axes.get_xlim()
    assert left < 1.5
    assert 90.0 < right < 1e3


def test_no_more_names_than_colours(tmp_path):
    axes = rendered(plot_spectrum(staircase(np.arange(12.0, 0.0, -1.0), 1e-2, 50.0)), tmp_path)
    assert len(legend(axes)) == 8
    assert legend(axes)[-1] == "8 others"
    assert legend(axes)[0] == "$\\sigma_{1}$($W_{1}$)"


def test_jumps_of_a_training_run_stand_at_steps(tmp_path):
    found = staircase([2.0, 1.0], 1e-4, 20.0)
    steps = np.unique(np.round(found.times / 0.01).astype(np.int64))
    coefs = riccati_singular_values([2.0, 1.0], 0.01 * steps, gamma=1e-4)
    run = Spectrum(0.01 * steps, (coefs,), coefs, "GD", steps)
    axes = rendered(plot_spectrum(run, jumps=jumps([2.0, 1.0], gamma=1e-4)), tmp_path)
    assert axes.get_xlabel() == "step"
    dotted = [line for line in axes.lines if line.get_linestyle() == ":"]
    places = [line.get_xdata()[0] for line in dotted if len(line.get_xdata())]
    np.testing.assert_allclose(places, np.log(1e4) / np.array([4.0, 2.0]) / 0.01, rtol=1e-10)


@pytest.mark.parametrize(
    "values",
    [
        np.ones((1, 2)),
        np.ones((5, 1)),
        np.zeros((5, 2)),
        np.full((5, 2), np.nan),
        np.array([[1.0], [2.0], [1e200], [np.nan], [np.nan]]),
    ],
    ids=["one record", "at rest", "zero", "nothing", "diverged"],
)
def test_odd_runs_are_drawn(values, tmp_path):
    found = Spectrum(np.arange(float(len(values))), (values.copy(),), values.copy(), "flow")
    rendered(plot_spectrum(found, predicted=[1.0]), tmp_path)


def test_bad_input():
    found = staircase([1.0], 1e-2, 10.0)
    for layer in (2, -1, True, "beta"):
        with pytest.raises(lp.errors.LimitpointError, match="'coef' or a number from 0 to 1"):
            plot_spectrum(found, layer=layer)
    with pytest.raises(lp.errors.LimitpointError, match="predicted must have 1 dimension"):
        plot_spectrum(found, predicted=1.0)
