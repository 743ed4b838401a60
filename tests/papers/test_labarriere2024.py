"""What the experiments on Labarrière et al. (2024) compute for themselves."""

import numpy as np
import pytest

from limitpoint.papers.shared.raw_flow import power_slopes, product_slopes, raw_flow
from limitpoint.tasks import Regression


def test_raw_flow_of_two_layers_is_the_hyperbolic_sine() -> None:
    # θ = ½|u² − v²| sinh(2ξ + log|(u+v)/(u−v)|), labarriere (17).
    rng = np.random.default_rng(0)
    task = Regression(rng.standard_normal((2, 4)), rng.standard_normal(2), 2.0)
    u, v = start = rng.standard_normal((2, 4))
    run = raw_flow(product_slopes, start, task, np.linspace(0, 3, 7))
    xi = run.duals @ task.X
    exact = np.abs(u**2 - v**2) / 2 * np.sinh(2 * xi + np.log(np.abs((u + v) / (u - v))))
    np.testing.assert_allclose(run.coefs, exact, atol=1e-10)


@pytest.mark.parametrize("stiff", [False, True])
def test_raw_flow_of_a_power_is_rational_in_its_mirror_coordinate(stiff: bool) -> None:
    # u^{−(L−2)} = u(0)^{−(L−2)} − L(L−2)ξ, labarriere (28).
    task, start = Regression([[1.0, 2.0]], [3.0]), np.array([[0.5, 0.7]])
    run = raw_flow(power_slopes(4), start, task, [0.0, 0.1, 1.0], stiff=stiff)
    exact = (start**-2 - 8 * run.duals @ task.X) ** -0.5
    np.testing.assert_allclose(run.layers[:, 0], exact, rtol=1e-9)


def test_slopes_hold_where_layers_are_zero() -> None:
    layers = np.array([[0.0, 0.0], [2.0, 0.0], [3.0, 5.0]])
    coef, slopes = product_slopes(layers)
    assert coef.tolist() == [0.0, 0.0]
    assert slopes.tolist() == [[6.0, 0.0], [0.0, 0.0], [0.0, 0.0]]


def test_loss_above_its_minimum_is_not_a_difference() -> None:
    rng = np.random.default_rng(1)
    task = Regression(rng.standard_normal((6, 3)), rng.standard_normal(6), 2.0)
    run = raw_flow(product_slopes, rng.standard_normal((3, 3)), task, [0.0, 0.5, 200.0], stiff=True)
    least = task.loss(np.linalg.lstsq(task.X, task.y, rcond=None)[0])
    excess = run.excess(task)
    losses = np.array([task.loss(coef) for coef in run.coefs])
    np.testing.assert_allclose(excess, losses - least, atol=1e-12)
    assert excess[-1] < 1e-20
