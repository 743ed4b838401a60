"""The parameters in an orthonormal basis of their own: exact derivatives, both ways."""

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.dynamics.flows.separate_parameters import own_parameters

NETWORKS = [lp.Diagonal(2), lp.Diagonal(3), lp.Diagonal(4), lp.Power(3), lp.SignedPower(2)]
NETWORKS += [lp.SignedPower(3), lp.Paired()]
TASK = lp.Regression(np.eye(2, 5), [1.0, 2.0])


def layers_of(network, size=1.0):
    """Random entries; in the third column two layers tie, in the fourth they are opposite."""
    rng = np.random.default_rng(5)
    layers = [size * rng.standard_normal(5) for _ in network.layer_shapes(TASK)]
    if len(layers) > 1:
        layers[1][2], layers[-1][3] = layers[0][2], -layers[0][3]
    return layers


@pytest.mark.parametrize("size", [np.inf, 1e-3], ids=["from zero", "from the start"])
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_layers_and_coefficients_are_those_of_the_network(network, size):
    layers = layers_of(network)
    own = own_parameters(network, layers, size)
    for found, expected in zip(own.layers(own.start), layers, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)
    coefs = own.coefs(own.start - own.origin)
    np.testing.assert_allclose(coefs, network.coef(layers), rtol=0, atol=1e-14)
    moved = own.start * np.where(own.moving, 1.3, 1.0)
    expected = network.coef(own.layers(moved))
    np.testing.assert_allclose(own.coefs(moved - own.origin), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_the_basis_is_orthonormal_and_the_derivatives_are_right(network):
    """`ż = u ∂β/∂z` is the gradient flow of the layers, turned: the basis keeps lengths."""
    own = own_parameters(network, layers_of(network), np.inf)
    squares = sum(layer**2 for layer in own.layers(own.start))
    np.testing.assert_allclose((own.start**2).sum(axis=0), squares, rtol=1e-14)
    step = 1e-6
    gradient, hessian = own.gradient(own.start), own.hessian(own.start)
    for row in range(len(own.start)):
        change = np.zeros_like(own.start)
        change[row] = step * own.moving[row]
        up, down = own.start + change, own.start - change
        slopes = (own.coefs(up - own.origin) - own.coefs(down - own.origin)) / (2 * step)
        # Central differences: step² and eps/step, of numbers of order ten.
        used = own.moving[row]
        np.testing.assert_allclose(gradient[row][used], slopes[used], rtol=0, atol=1e-8)
        bends = (own.gradient(up) - own.gradient(down)) / (2 * step)
        np.testing.assert_allclose(
            hessian[row][:, used] * own.moving[:, used],
            bends[:, used] * own.moving[:, used],
            rtol=0,
            atol=1e-8,
        )


def test_conserved_products_are_kept_where_the_layers_lose_them():
    """At 1e-30 the layers agree to all digits; `(a + b)(a − b)` is still known to 1e-8."""
    task, network = lp.examples.zhao_eq7(), lp.Diagonal(2)
    problem = lp.Problem(network, lp.Init.random(network, task, 1e-30, seed=0), task)
    run = lp.flow(problem, space=lp.ParameterSpace())
    a, b = (layer[-1] for layer in run.layers)
    visible = np.abs(run.coef) > 0.1
    np.testing.assert_array_equal(np.abs(a[visible]), np.abs(b[visible]))
    limit = lp.predict(problem)
    assert np.linalg.norm(run.coef - limit.coef) <= 1e-8 * np.linalg.norm(limit.coef)


@pytest.mark.parametrize("network", [lp.Diagonal(2), lp.Paired(), lp.SignedPower(2)], ids=str)
def test_coordinates_that_are_zero_stay_zero(network):
    """Equal layers keep their sign for ever, whatever the integrator does."""
    layers = [np.full(2, 0.3)] * len(network.layer_shapes(lp.Regression(np.eye(2), [1, 1])))
    if isinstance(network, lp.SignedPower):
        layers[1] = np.zeros(2)
    problem = lp.Problem(network, lp.Init(layers), lp.Regression(np.eye(2), [1.0, -1.0]))
    run = lp.flow(problem, t_end=5.0, space=lp.ParameterSpace())
    if isinstance(network, lp.Paired):
        np.testing.assert_array_equal(run.layers[0], run.layers[1])
    else:
        assert (run.coefs >= 0).all()
