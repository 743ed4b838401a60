"""The data and the loss."""

import dataclasses

import numpy as np
import pytest

import limitpoint as lp

X = np.array([[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]])
Y = np.array([3.0, 1.0])


def test_sizes():
    task = lp.Regression(X, Y)
    assert (task.n_samples, task.n_features, task.n_outputs) == (2, 3, None)
    assert task.coef_shape == (3,)


def test_sizes_with_several_outputs():
    task = lp.Regression(X, np.ones((2, 4)))
    assert task.n_outputs == 4
    assert task.coef_shape == (3, 4)
    assert task.residual(np.zeros((3, 4))).shape == (2, 4)


def test_loss_is_half_the_squared_residual():
    coef = np.array([1.0, -1.0, 2.0])
    expected = 0.5 * np.sum((X @ coef - Y) ** 2)
    assert lp.Regression(X, Y).loss(coef) == pytest.approx(expected, rel=1e-14)
    assert lp.Regression(X, Y, loss_factor=3).loss(coef) == pytest.approx(3 * expected, rel=1e-14)


def test_loss_with_several_outputs_sums_over_them():
    targets = np.column_stack([Y, -Y])
    coef = np.array([[1.0, 0.0], [0.5, 2.0], [0.0, 1.0]])
    each = [lp.Regression(X, targets[:, k]).loss(coef[:, k]) for k in range(2)]
    assert lp.Regression(X, targets).loss(coef) == pytest.approx(sum(each), rel=1e-14)


def test_residual_points_from_the_fit_to_the_data():
    assert lp.Regression(X, Y).residual(np.zeros(3)).tolist() == Y.tolist()


def test_a_task_cannot_be_changed():
    task = lp.Regression(X, Y)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        task.loss_factor = 2.0
    with pytest.raises(ValueError, match="read-only"):
        task.X[0, 0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        task.y[0] = 5.0


def test_built_in_example():
    task = lp.examples.zhao_eq7()
    assert task.X.shape == (2, 4)
    assert task.loss_factor == 2.0
    # The minimum ℓ1 solution that its docstring names.
    assert task.loss([0.0, 0.0, 10 / 7, -10 / 49]) == pytest.approx(0.0, abs=1e-30)
