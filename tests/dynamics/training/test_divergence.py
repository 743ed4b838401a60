"""When a run has diverged: also at finite numbers, and not where it merely fluctuates."""

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.dynamics.training.divergence import has_diverged

NETWORK = lp.RankOne(depth=2, width=2)
TASK = lp.Regression(np.random.default_rng(0).standard_normal((3, 6)), [1.0, 2.0, -1.0])
PROBLEM = lp.Problem(NETWORK, lp.Init.balanced(NETWORK, TASK), TASK)
EPS = np.finfo(np.float64).eps


def steps_to(problem, optimiser, size):
    """After how many steps the loss is beyond a size for the first time; it is finite there."""
    losses = lp.train(problem, optimiser, 400, record=np.arange(401)).losses
    step = int(np.flatnonzero(losses > size)[0])
    assert np.isfinite(losses[step])
    return step


@pytest.mark.parametrize("optimiser", [lp.GD(1.0), lp.SGD(1.0, 1), lp.LabelNoise(1.0, 0.1)])
def test_a_run_that_ends_at_a_large_finite_number_has_diverged(optimiser):
    steps = steps_to(PROBLEM, optimiser, 1e60)
    run = lp.train(PROBLEM, optimiser, steps)
    assert np.isfinite(run.losses).all()
    assert 1e60 < run.losses[-1] < 1e300
    assert run.status is lp.Status.DIVERGED
    assert 1e20 < run.relative_residual < np.inf
    sweep = lp.train_many(PROBLEM, optimiser, steps, scales=[PROBLEM.init.scale])
    assert np.isfinite(sweep.losses).all()
    assert sweep.diverged.tolist() == [[[True]]]
    assert sweep.runs.tolist() == [[0]]
    assert "diverged" in str(sweep)


def test_a_mean_does_without_a_run_that_ended_at_a_large_finite_number(tmp_path):
    """Of two starts the larger leaves, and counts as diverged from 1e60 on; the smaller goes on."""
    optimiser, scales = lp.GD(0.05), [0.5, 8.0]
    large = lp.Problem(NETWORK, PROBLEM.init.at_scale(8.0), TASK)
    sweep = lp.train_many(PROBLEM, optimiser, steps_to(large, optimiser, 1e60), scales=scales)
    assert sweep.runs.tolist() == [[1, 0]]
    assert sweep.runs_diverged.tolist() == [[0, 1]]
    figure = lp.plot.plot_sweep(sweep, "loss")
    lp.plot.save(figure, tmp_path / "sweep.png")
    assert all(axes.get_ylim()[1] < 1e6 for axes in figure.axes)


@pytest.mark.parametrize(
    ("loss", "rate", "steps"), [("exponential", 3.0, 3), ("logistic", 50.0, 30)]
)
def test_a_classification_that_was_thrown_far_off_has_diverged(loss, rate, steps):
    """Gradient flow ends at a loss below that of the start."""
    task = lp.Classification([[1.0, 2.0], [3.0, -1.0]], [1, -1], loss=loss)
    network = lp.Diagonal(depth=2)
    problem = lp.Problem(network, lp.Init.random(network, task, 0.5, seed=0), task)
    run = lp.train(problem, lp.GD(rate), steps)
    assert 100.0 < run.log_losses[-1] < np.inf
    assert run.status is lp.Status.DIVERGED
    assert lp.train(problem, lp.GD(1e-2), 100).status is lp.Status.REACHED_END


@pytest.mark.parametrize("delta", [1e-3, 1.0, 1e12])
def test_noise_on_the_labels_is_no_divergence(delta):
    """There is nothing to fit: the loss rises from zero to what the noise keeps up."""
    task, network = lp.Regression([[1.0, 0.5]], [0.0]), lp.Diagonal(depth=2)
    problem = lp.Problem(network, lp.Init.zero_last(network, task, 1.0), task)
    optimiser = lp.LabelNoise(0.01 / max(delta, 1.0), delta)
    run = lp.train(problem, optimiser, 500)
    assert run.losses[0] == 0.0
    assert 0.0 < run.losses[-1] < delta**2
    assert run.status is lp.Status.REACHED_END
    sweep = lp.train_many(problem, optimiser, 500)
    assert sweep.losses[0, 0, 0, -1] > 0.0
    assert not sweep.diverged.any()


def test_a_loss_that_oscillates_above_its_start_is_no_divergence():
    """Between two layers: the step is too large for the minimum, and the run goes round it."""
    task, network = lp.Regression([[1.0]], [1.0]), lp.Diagonal(depth=2)
    problem = lp.Problem(network, lp.Init([[1.001], [1.0]]), task)
    run = lp.train(problem, lp.GD(1.05), 200)
    assert run.losses[-1] > 100 * run.losses[0]
    assert run.status is lp.Status.REACHED_END


@pytest.mark.parametrize(("beyond", "diverged"), [(0.5, False), (2.0, True), (np.inf, True)])
def test_the_rule_itself(beyond, diverged):
    """The loss at the start and that of nothing, lost to rounding or not."""
    start = 3.0
    end = beyond * (start + 0.5 * float(TASK.y @ TASK.y)) / EPS
    found = has_diverged(PROBLEM, lp.GD(1.0), np.log(start), np.log(end))
    assert bool(found) is diverged
    assert bool(has_diverged(PROBLEM, lp.GD(1.0), np.log(start), np.nan))
    assert bool(has_diverged(PROBLEM, lp.GD(1.0), np.inf, np.inf))
