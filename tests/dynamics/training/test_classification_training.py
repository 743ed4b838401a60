"""Training on a classification, as a practitioner does it."""

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.errors import DataError

TASK = lp.Classification([[1, 2], [0, -3]], [1, -1])


def made(network, task=TASK, scale=0.5):
    return lp.Problem(network, lp.Init.random(network, task, scale, seed=0), task)


@pytest.mark.parametrize(
    "network", [lp.Diagonal(2), lp.Convolutional((2, 2)), lp.FullyConnected((2,))]
)
def test_gradient_descent_is_off_the_flow_by_the_size_of_its_steps(network):
    given = made(network)
    errors = []
    for steps in (500, 1000, 2000):
        run = lp.train(given, lp.GD(5.0 / steps), steps, record=[steps])
        exact = lp.flow(given, times=run.times)
        errors.append(np.abs(run.coefs - exact.coefs).max())
        np.testing.assert_array_equal(run.log_times, exact.log_times)
    assert errors[0] < 0.05
    # First order; the second is about a step of 0.01 smaller.
    slope = np.polyfit(np.log([1, 2, 4]), np.log(errors), 1)[0]
    assert slope == pytest.approx(-1.0, abs=0.05)


def test_what_is_recorded():
    run = lp.train(made(lp.Diagonal(2)), lp.GD(0.01), 2000)
    assert run.status is lp.Status.REACHED_END
    assert run.relative_residual == 0.0
    np.testing.assert_allclose(run.margins, TASK.margins(run.coefs), rtol=1e-12)
    np.testing.assert_allclose(run.losses, np.exp(-run.margins).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(run.log_losses, np.log(run.losses), rtol=0, atol=1e-14)
    np.testing.assert_allclose(np.exp(run.log_times), run.times, rtol=1e-14)
    assert "log loss" in str(run)


def test_wrong_sides_are_the_relative_residual():
    """One step that does nothing to speak of, from a start with one sample on the wrong side."""
    given = lp.Problem(lp.Diagonal(2), lp.Init([[1.0, 1.0], [-1.0, 0.1]]), TASK)
    run = lp.train(given, lp.GD(1e-9), 1)
    assert run.relative_residual == 0.5


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_sgd_separates(loss):
    task = lp.Classification(TASK.X, TASK.y, loss)
    run = lp.train(made(lp.Diagonal(2), task), lp.SGD(0.02, batch_size=1), 3000)
    assert run.status is lp.Status.REACHED_END
    assert run.margins[-1].min() > 2


def test_too_large_steps_diverge():
    given = lp.Problem(lp.Diagonal(3), lp.Init([[5.0, 5.0], [-5.0, -5.0], [5.0, 4.0]]), TASK)
    run = lp.train(given, lp.GD(10.0), 100)
    assert run.status is lp.Status.DIVERGED
    assert run.relative_residual == np.inf


def test_noise_on_the_classes_is_refused():
    with pytest.raises(DataError, match="noise on the labels is for a regression"):
        lp.train(made(lp.Diagonal(2)), lp.LabelNoise(0.01, 0.1), 10)


def test_sweeps_are_refused():
    with pytest.raises(DataError, match="this is for a regression"):
        lp.train_many(made(lp.Diagonal(2)), lp.GD(0.01), 10)
