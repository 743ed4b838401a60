"""Gradients and second derivatives that networks write out, against JAX on their coefficients."""

from itertools import accumulate, pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import limitpoint as lp
from limitpoint.dynamics.classification.in_polar_layers import WrittenOut
from limitpoint.dynamics.classification.traced_layers import traced_polar
from limitpoint.networks.kinds.layer_gradients import flattened, jacobian

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 5))
ONE = lp.Regression(X, RNG.standard_normal(3))
TWO = lp.Regression(X, RNG.standard_normal((3, 2)))
WIDE = lp.Regression(RNG.standard_normal((2, 80)), RNG.standard_normal(2))
SENSORS = lp.MatrixSensing(RNG.standard_normal((4, 3, 3)), RNG.standard_normal(4))
ROTATIONS = [np.linalg.qr(RNG.standard_normal((6, 4)))[0] for _ in range(3)]
NETWORKS = [
    lp.Diagonal(2),
    lp.Diagonal(4),
    lp.Power(2),
    lp.Power(3),
    lp.SignedPower(3),
    lp.Paired(),
    lp.RankOne(2, 3),
    lp.RankOne(4, 3),
    lp.FullyConnected((3, 4, 2)),
    lp.TwoLayer(3),
    lp.Tensor(RNG.standard_normal((5, 2, 3, 4))),
    lp.OrthogonalTensor(RNG.standard_normal((4, 5)), ROTATIONS),
    lp.Convolutional((2, 5)),
    lp.Convolutional((5, 3, 5)),
]
CASES = [
    *((network, ONE) for network in NETWORKS),
    (lp.TwoLayer(3), TWO),
    (lp.MatrixProduct(3), SENSORS),
    (lp.Convolutional((70, 80)), WIDE),  # by Fourier transforms
]


@pytest.mark.parametrize(("network", "task"), CASES, ids=str)
def test_written_out_gradients_are_those_of_jax(network: lp.Diagonal, task: lp.Regression):
    shapes = network.layer_shapes(task)
    layers = [RNG.standard_normal(shape) for shape in shapes]
    outputs = np.shape(network.coef(layers))
    directions = RNG.standard_normal((3, *outputs))
    cuts = [0, *accumulate(layer.size for layer in layers)]

    def along(flat, direction):
        parts = [
            flat[a:b].reshape(shape) for (a, b), shape in zip(pairwise(cuts), shapes, strict=True)
        ]
        return jnp.sum(network.coef(parts) * direction)

    flat = np.concatenate([layer.ravel() for layer in layers])
    with jax.enable_x64(True):
        gradient, hessian = jax.jit(jax.grad(along)), jax.jit(jax.hessian(along))
        slopes = np.stack([gradient(flat, direction) for direction in directions])
        bends = np.asarray(hessian(flat, directions[0]))
    # Sums of at most 80 products of at most 4 numbers of order 1, in another order.
    size = 1e-13 * np.abs(slopes).max()
    first = flattened(network.layer_gradients(layers, directions[0]), shapes)
    np.testing.assert_allclose(first, slopes[0], rtol=0, atol=size)
    np.testing.assert_allclose(jacobian(network, layers, directions), slopes, rtol=0, atol=size)
    np.testing.assert_allclose(
        network.layer_hessian(layers, directions[0]),
        bends,
        rtol=0,
        atol=1e-13 * np.abs(bends).max(),
    )


@pytest.mark.parametrize("sharpness", [None, 50.0])
@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize(
    "network", [lp.Diagonal(3), lp.Paired(), lp.FullyConnected((3, 4))], ids=str
)
def test_motion_of_a_classification_is_that_of_jax(network, loss: str, sharpness: float | None):
    task = lp.Classification(X, np.sign(X @ RNG.standard_normal(5)), loss, loss_factor=2.5)
    shapes = network.layer_shapes(task)
    v = RNG.standard_normal(sum(int(np.prod(shape)) for shape in shapes))
    state = np.append(v / np.linalg.norm(v), 0.8)
    here = WrittenOut(network, task, shapes, sharpness)
    there = traced_polar(network, task, shapes, 1.0, sharpness)
    for name in ("margins", "motion", "slope"):
        found, wanted = getattr(here, name)(state), getattr(there, name)(state)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())
