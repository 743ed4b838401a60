"""Verdicts on tensor networks: prediction by reduction, simulation of the layers themselves."""

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.dynamics.coordinates import RTOL
from limitpoint.verify.sensitivity import ACCUMULATION, sensitivity_of


def even(vectors):
    return (vectors + np.roll(vectors[..., ::-1], 1, axis=-1)) / 2


def orthogonal(depth, rank=4, n=4):
    rng = np.random.default_rng(depth)
    U = [np.linalg.qr(rng.standard_normal((rank + 1, rank)))[0] for _ in range(depth)]
    task = lp.Regression(rng.standard_normal((2, n)), rng.standard_normal(2))
    return lp.OrthogonalTensor(rng.standard_normal((rank, n)), U), task


def convolution(depth):
    rng = np.random.default_rng(depth)
    task = lp.Regression(even(rng.standard_normal((2, 5))), rng.standard_normal(2))
    return lp.Convolutional((5,) * depth), task


def sensing(depth):
    rng = np.random.default_rng(depth)
    basis = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    sensors = np.einsum("ij,sj,kj->sik", basis, rng.standard_normal((2, 3)), basis)
    return lp.MatrixProduct(depth), lp.MatrixSensing(sensors, rng.standard_normal(2))


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("scale", [0.1, 2.0])
@pytest.mark.parametrize(
    ("make", "theorem"),
    [
        (orthogonal, "yun2021.theorem5"),
        (convolution, "yun2021.corollary6"),
        (sensing, "yun2021.corollary7"),
    ],
)
def test_reductions(make, theorem, depth, scale):
    network, task = make(depth)
    verdict = lp.verify(lp.Problem(network, lp.Init.zero_last(network, task, scale), task))
    assert verdict.limit.theorem.id == theorem
    assert verdict.passed


def test_other_starts():
    network, task = orthogonal(3, rank=6)  # β does not determine the products
    verdict = lp.verify(lp.Problem(network, lp.Init.random(network, task, 0.5, seed=1), task))
    assert verdict.limit.theorem.id == "limitpoint.diagonalisable"
    assert verdict.passed


@pytest.mark.parametrize("scale", [1e-8, 1e-2, 1.0])
@pytest.mark.parametrize("short", [1, 2, 3])
def test_one_sample(short, scale):
    task = lp.Regression(np.random.default_rng(short).standard_normal((1, 5)), [-0.7])
    network = lp.Convolutional((short, 5))
    verdict = lp.verify(lp.Problem(network, lp.Init.zero_last(network, task, scale), task))
    assert verdict.limit.theorem.id == "yun2021.theorem6"
    assert verdict.passed


def test_a_tensor():
    rng = np.random.default_rng(0)
    network = lp.Tensor(rng.standard_normal((4, 3, 2)))
    task = lp.Regression(rng.standard_normal((1, 4)), [1.5])
    verdict = lp.verify(lp.Problem(network, lp.Init.random(network, task, 0.3, seed=0), task))
    assert verdict.passed


@pytest.mark.parametrize("make", [orthogonal, convolution, sensing])
def test_sensitivity_is_a_derivative(make):
    """Change y a little: the limit moves along the gain, to second order."""
    network, task = make(3)
    init = lp.Init.zero_last(network, task, 0.5)
    problem = lp.Problem(network, init, task)
    limit = lp.predict(problem)
    scales = sensitivity_of(problem, limit)
    step = 1e-5 * np.array([0.6, -0.8])
    sides = [
        lp.predict(lp.Problem(network, init, lp.Regression(task.X, task.y + sign * step))).coef
        for sign in (1.0, -1.0)
    ]
    moved = (sides[0] - sides[1]) / 2
    expected = scales._gain(limit.coef) @ (scales.measure.basis.T @ step)
    # Central differences: the third order of 1e-5, and limits known to 1e-11 or so.
    np.testing.assert_allclose(moved, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "network", [lp.Convolutional((2, 4)), lp.FullyConnected((3,)), lp.Convolutional((4, 4))]
)
@pytest.mark.parametrize("scale", [1e-4, 0.5])
def test_sensitivity_of_one_sample_is_a_derivative(network, scale):
    X = np.random.default_rng(0).standard_normal((1, 4))
    task = lp.Regression(X, [1.2])
    init = lp.Init.random(network, task, scale, seed=1)
    problem = lp.Problem(network, init, task)
    limit = lp.predict(problem)
    scales = sensitivity_of(problem, limit)
    step = 1e-5
    sides = [
        lp.predict(lp.Problem(network, init, lp.Regression(X, [1.2 + sign * step]))).coef
        for sign in (1.0, -1.0)
    ]
    moved = (sides[0] - sides[1]) / 2
    expected = scales._gain(limit.coef) @ (scales.measure.basis.T @ [step])
    np.testing.assert_allclose(moved, expected, rtol=0, atol=1e-9)
    # And the flow's end is within what it explains.
    space = lp.ParameterSpace()
    run = lp.flow(problem, space=space)
    errors = ACCUMULATION * RTOL * (1 + scales.longest_growth)
    assert scales.distance(run.coef) <= scales.tolerance(run.coef, errors)


def test_starts_without_a_map_have_none():
    network = lp.Convolutional((2, 4))
    task = lp.Regression(np.eye(2, 4), [1.0, 2.0])
    problem = lp.Problem(network, lp.Init.zero_last(network, task, 0.5), task)
    other = lp.Diagonal(2)
    limit = lp.predict(lp.Problem(other, lp.Init.zero_last(other, task, 0.5), task))
    with pytest.raises(TypeError, match="no sensitivity is known"):
        sensitivity_of(problem, limit)
