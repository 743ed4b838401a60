"""What is predicted for a model that was recognised is where its own training ends."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.own.families import N, conv1d, rotation

import limitpoint as lp

RNG = np.random.default_rng(7)
P, Q, R = RNG.permutation(N), rotation(RNG, N), rotation(RNG, N)
A = RNG.standard_normal((N, N))
X, Y = RNG.standard_normal((3, N)), RNG.standard_normal(3)
U = rotation(RNG, 3)


def normal(*shape, scale=0.5):
    return scale * RNG.standard_normal(shape)


def even(filter_):
    return (filter_ + filter_[-np.arange(N)]) / 2


def symmetric(*values):
    return (U * np.array(values)) @ U.T


def balanced():
    """Layers `W₁ = a bᵀ`, `w₂ = |a| b` in the layout of PyTorch: (out, in)."""
    a, b = normal(N), rotation(RNG, 4)[0]
    return {"in": np.outer(b, a), "out": np.linalg.norm(a) * b[None]}


def opened():
    """A first layer with orthonormal rows, up to a factor, and a last one of zeros."""
    return {"in": 0.3 * rotation(RNG, 8)[:, :N], "out": np.zeros((1, 8))}


def parallel():
    """A pair of nearly parallel vectors that outweighs the vector on the data."""
    u = np.array([1.0, -0.5, 0.7])
    return [u, 0.9 * u + 0.01, normal(N, scale=0.1)]


SENSORS = np.stack([symmetric(*each).ravel() for each in RNG.standard_normal((2, 3))])
EVEN = np.stack([even(each) for each in X])
CASES = {
    "diagonal": (lambda p: p["a"] * p["b"][P] * p["c"], {name: normal(N) for name in "abc"}, X),
    "rotated": (lambda p: 2 * (Q @ p["a"]) * (R @ p["b"]), {"a": normal(N), "b": normal(N)}, X),
    "signed powers": (lambda p: p[0] ** 2 - p[1][P] ** 2, [normal(N), normal(N)], X),
    "cubes": (lambda p: p[0] ** 3 - p[1] ** 3, [1 + normal(N) / 5, 1 + normal(N) / 5], X),
    "pairs": (lambda p: p[0] * p[1] + p[2] * p[3], [normal(N) for _ in range(4)], X),
    "linear map": (lambda p: A @ (p["a"] * p["b"]), {"a": normal(N), "b": normal(N)}, X),
    "squares": (lambda p: A @ ((Q @ p[0]) ** 2 - (R @ p[1]) ** 2), [normal(N), normal(N)], X),
    "balanced dense": (lambda p: 0.7 * (p["out"] @ p["in"])[0], balanced(), X),
    "opened dense": (lambda p: (p["out"] @ p["in"])[0], opened(), X),
    "rank one": (lambda p: p[2] * (p[0] @ p[1]), parallel(), X),
    "even convolutions": (
        lambda p: conv1d(np.eye(N), p["filter"][0, 0], 2) @ p["out"][0],
        {"filter": np.roll(even(normal(N)), 2)[None, None], "out": even(normal(N))[None]},
        EVEN,
    ),
    "commuting sensors": (
        lambda p: (p[0].T @ p[1]).ravel(),
        [symmetric(0.5, 0.4, 0.3), symmetric(0.1, -0.2, 0.1)],
        SENSORS,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_training_ends_where_it_is_predicted(name):
    function, params, data = CASES[name]
    y = Y[: len(data)]
    problem = lp.from_function(lambda p, X: X @ function(p), params, data, y, loss_factor=0.5)
    limit = lp.predict(problem)
    assert limit.status.ok
    ended = np.asarray(function(trained(function, params, data, y)))
    assert np.abs(data @ ended - y).max() < 1e-9
    # The integration has 1e-11 a step, and some hundred steps.
    np.testing.assert_allclose(limit.coef, ended, rtol=0, atol=1e-8 * np.abs(ended).max())


def trained(function, params, X, y):
    """The parameters at the end of the flow of `½·½‖Xβ − y‖²`: another way to the end."""
    with jax.enable_x64(True):
        leaves, tree = jax.tree.flatten(jax.tree.map(jnp.asarray, params))
        cuts = np.cumsum([leaf.size for leaf in leaves])[:-1]

        def unflat(state):
            parts = jnp.split(state, cuts)
            pairs = zip(parts, leaves, strict=True)
            return jax.tree.unflatten(tree, [part.reshape(leaf.shape) for part, leaf in pairs])

        def loss(state):
            return 0.25 * jnp.sum((X @ function(unflat(state)) - y) ** 2)

        slope = jax.jit(jax.grad(loss))
        bend = jax.jit(jax.hessian(loss))
        start = np.concatenate([np.ravel(leaf) for leaf in leaves])
        run = solve_ivp(
            lambda _, state: -np.asarray(slope(state)),
            (0, 2000),
            start,
            "LSODA",
            jac=lambda _, state: -np.asarray(bend(state)),
            rtol=1e-11,
            atol=1e-13,
        )
        assert run.success
        return jax.tree.map(np.asarray, unflat(run.y[:, -1]))
