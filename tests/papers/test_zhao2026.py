"""What the experiments on Zhao et al. (2026) compute for themselves."""

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.papers.shared.exact_path import differ, path_of_eq7
from limitpoint.papers.shared.linear_program import minimum_l1
from limitpoint.papers.zhao2026.figures2_3 import Figure2, Figure3
from limitpoint.papers.zhao2026.model import activations, figure1_problem


def test_rotated_coordinates_are_the_printed_model() -> None:
    problem = figure1_problem(0.0, seed=3)
    blocks = np.random.default_rng(3).uniform(-1.0, 1.0, (4, 3))
    a, b, c = blocks.T
    printed = np.where(
        np.arange(4) < 2,
        2 * a * b + (a**2 + b**2 + c**2) * c,
        a * np.tanh(a) - (np.exp(b) - 1) ** 2,
    )
    found = problem.network.coef(problem.init.layers)
    np.testing.assert_allclose(found, printed, rtol=0, atol=1e-15)


def test_activation_is_interpolated_in_the_logarithm() -> None:
    # One coefficient that doubles per unit of time passes half of its saddle's value, 1, at
    # time 4; the records lie on both sides of it.
    path = lp.saddle_path([[1.0]], [1.0])
    times = np.array([0.0, 1.5, 3.5, 4.7, 6.0])
    coefs = np.minimum(0.5 * 2.0 ** (times - 4), 1.0)[:, None]
    run = lp.results.Trajectory.build(
        kind="made up",
        status=lp.Status.REACHED_END,
        times=times,
        coefs=coefs,
        losses=np.zeros(5),
        relative_residual=0.0,
    )
    found, before = activations(run, path)
    np.testing.assert_allclose(found, [4.0], rtol=1e-14)
    assert before.tolist() == [2]


def test_a_coefficient_that_never_grows_is_named() -> None:
    path = lp.saddle_path([[1.0]], [1.0])
    still = np.full((3, 1), 1e-3)
    run = lp.results.Trajectory.build(
        kind="made up",
        status=lp.Status.REACHED_END,
        times=np.arange(3.0),
        coefs=still,
        losses=np.zeros(3),
        relative_residual=0.0,
    )
    with pytest.raises(RuntimeError, match="coefficient 0 never reached saddle 1"):
        activations(run, path)


def test_minimum_l1_agrees_with_the_saddle_path() -> None:
    rng = np.random.default_rng(0)
    X, y, weights = rng.standard_normal((4, 9)), rng.standard_normal(4), rng.uniform(0.5, 2, 9)
    found = minimum_l1(X, y, weights)
    path = lp.saddle_path(X, y, weights, weights)
    np.testing.assert_allclose(found, path.coef, atol=1e-9)


def test_only_the_amplified_neuron_differs_between_figures_2_and_3() -> None:
    plain, amplified = Figure2().problem().init.layers, Figure3().problem().init.layers
    ratio = np.stack(amplified) / np.stack(plain)
    np.testing.assert_allclose(ratio, np.where(np.arange(8) == 4, 5.0, 1.0) * np.ones((3, 1)))
    assert (np.diff(np.stack(plain), axis=0) < 0).all()


def test_fractions_of_another_path_are_not_proved() -> None:
    """Activation times of 1 double the times and s, and change no saddle."""
    half, one = path_of_eq7(0.5), path_of_eq7(1.0)
    assert differ(half.coef, half.coef.exact) == 0
    assert differ(half.coef, ["0", "0", "10/7", "-10/48"]) == 1
    assert differ(half.more["saddles"], one.more["saddles"].exact) == 0
    assert differ(half.more["path_times"], one.more["path_times"].exact) == 3
    assert differ(half.mirror, one.mirror.exact) == 4
    assert differ(None, ["1", "2"]) == 2
