"""Five families as functions in JAX, each from twenty starts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import limitpoint as lp

N, D = 5, 4
STARTS = 20
X = np.random.default_rng(1).standard_normal((3, N))


def conv(filter_, signal):
    """Correlated circularly, as convolutional layers do it."""
    return jax.vmap(lambda shift: jnp.roll(signal, -shift) @ filter_)(jnp.arange(N))


FUNCTIONS = {
    "diagonal": (
        lambda p, X: (X * p["scale"] * p["gate"][::-1]) @ p["out"],
        {"scale": (N,), "gate": (N,), "out": (N,)},
        lp.Diagonal(3),
    ),
    "dense": (
        lambda p, X: X @ p["hidden"]["kernel"] @ p["out"]["kernel"] / jnp.sqrt(D),
        {"hidden": {"kernel": (N, D)}, "out": {"kernel": (D, 1)}},
        lp.FullyConnected((D,)),
    ),
    "signed power": (
        lambda p, X: X @ (p["u"] ** 2) - X @ (p["w"] ** 2),
        {"u": (N,), "w": (N,)},
        lp.SignedPower(2),
    ),
    "convolution": (
        lambda p, X: jax.vmap(lambda x: conv(p["filter"], x) @ p["out"])(X),
        {"filter": (N,), "out": (N,)},
        lp.Convolutional((N, N)),
    ),
    "rank one": (
        lambda p, X: (X @ p["v"]) * (p["u"] @ p["w"]),
        {"u": (D,), "v": (N,), "w": (D,)},
        lp.RankOne(2, D),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_family_is_found_from_every_start(name):
    apply, shapes, network = FUNCTIONS[name]
    for seed in range(STARTS):
        rng = np.random.default_rng(seed)
        params = jax.tree.map(
            lambda shape, rng=rng: rng.standard_normal(shape),
            shapes,
            is_leaf=lambda each: isinstance(each, tuple),
        )
        y = rng.standard_normal(3)
        problem = lp.from_function(apply, params, X, y, loss_factor=2 / 3)
        assert problem.network == network
        with jax.enable_x64(True):
            wanted = np.ravel(apply(jax.tree.map(jnp.asarray, params), jnp.eye(N)))
        coef = problem.network.coef(problem.init.layers)
        np.testing.assert_allclose(coef, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())
