"""What is no model of this library is refused, by name; what is nearly one is not taken for it."""

import sys
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.own.families import N, rotation
from tests.own.test_recognise import integrated, model_of, task_of

import limitpoint as lp
from limitpoint.errors import DataError, MissingExtra, NetworkError
from limitpoint.own import Model, recognise
from limitpoint.own.form import Form, fits
from limitpoint.own.layer_map import LayerMap, gathered
from limitpoint.own.raw import OwnNetwork

RNG = np.random.default_rng(11)
X, Y = RNG.standard_normal((4, N)), RNG.standard_normal(4)
W, V = RNG.standard_normal((N, 5)), RNG.standard_normal(5)
DENSE = {"in": W, "out": V}


def dense(params, X):
    return X @ params["in"] @ params["out"]


class Unread:
    shape, dtype = (2,), np.dtype(float)

    def __array__(self, *_, **__):
        raise RuntimeError("no numbers")


REFUSED = {
    "relu": (lambda p, X: jax.nn.relu(X @ p["in"]) @ p["out"], DENSE, r"linear in its input.*off"),
    "odd": (lambda p, X: jnp.tanh(X @ p["in"]) @ p["out"], DENSE, r"linear in its input.*off"),
    "bias": (lambda p, X: dense(p, X) + p["b"], DENSE | {"b": np.zeros(1)}, r"0 at 0.*bias"),
    "constant": (lambda p, X: dense(p, X) + 1e-6, DENSE, r"f\(0\) is 1e-06"),
    "over samples": (
        lambda p, X: dense(p, (X - X.mean(axis=0))),
        DENSE,
        r"linear in its input.*samples",
    ),
    "hidden layer": (lambda p, X: X @ p["in"], DENSE, r"shape \(6,\).*returns \(6, 5\)"),
    "one number": (lambda p, X: dense(p, X).sum(), DENSE, r"returns \(\)"),
    "not a number": (lambda p, X: dense(p, X) / 0, DENSE, "not finite"),
    "leaf": (dense, DENSE | {"f": jax.nn.relu}, r"params\['f'\] must be an array"),
    "text": (dense, DENSE | {"f": "x"}, r"params\['f'\] must be an array; it is 'x'"),
    "number": (dense, DENSE | {"f": 1.0}, r"params\['f'\] must be an array"),
    "whole numbers": (dense, DENSE | {"f": np.arange(2)}, r"params\['f'\] must hold real.*int64"),
    "complex": (dense, DENSE | {"f": 1j * np.ones(2)}, r"params\['f'\] must hold real.*complex"),
    "nan": (dense, DENSE | {"in": W * np.nan}, r"params\['in'\] must be finite"),
    "masked": (
        dense,
        DENSE | {"out": np.ma.masked_array(V, V > 0)},
        r"params\['out'\] must not have masked",
    ),
    "unread": (dense, DENSE | {"out": Unread()}, r"params\['out'\]"),
    "empty": (dense, {}, "at least one array"),
    "no entries": (
        lambda p, X: X[:, 0] * p["in"].sum(),
        {"in": np.zeros((0, 2))},
        "nothing to train",
    ),
    "wrong names": (lambda p, X: X @ p["w"], DENSE, "KeyError"),
    "branches": (lambda p, X: dense(p, X) if p["out"][0] > 0 else 0 * X[:, 0], DENSE, "raised"),
    "narrow": (lambda p, X: dense(p, X).astype(jnp.float32), DENSE, "float64.*float32"),
    "narrow inside": (
        lambda p, X: dense(p, X.astype(jnp.float32)).astype(float),
        DENSE,
        "compute in float64",
    ),
    "no function": (3, DENSE, "apply must be a function"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_by_name(name):
    apply, params, message = REFUSED[name]
    with pytest.raises(NetworkError, match=f"(?s){message}"):
        lp.from_function(apply, params, X, Y)


def test_starts_where_terms_cancel_are_no_reason_to_refuse():
    """The usual start of two equal halves: outputs are rounding, and rounding is not linear."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        half, out = rng.standard_normal((N, 7)), rng.standard_normal(7)
        params = {"in": np.hstack([half, half]), "out": np.hstack([out, -out])}
        assert lp.from_function(dense, params, X, Y).network == lp.FullyConnected((14,))


def test_data_are_checked_first():
    with pytest.raises(DataError, match="same number of samples"):
        lp.from_function(dense, DENSE, X, Y[:2])


def test_without_jax_the_extra_is_named(monkeypatch):
    for name in [name for name in sys.modules if name == "jax" or name.startswith("jax.")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(
        "limitpoint.own.functions.tree_util",
        lp.own.functions.lazy_module("jax.tree_util", "from_function"),
    )
    with pytest.raises(MissingExtra, match=r"from_function needs jax.*limitpoint\[train\]"):
        lp.from_function(dense, DENSE, X, Y)


def test_models_with_nothing_to_train_are_refused():
    model = model_of(lambda a, b: a * b, [Y[:2], Y[2:]], frozen=[True, True])
    with pytest.raises(NetworkError, match="nothing to train"):
        recognise(model, task_of(Y[:2], 0))


def test_models_of_another_task_are_refused():
    model = model_of(lambda a, b: a * b, [Y, Y])
    with pytest.raises(NetworkError, match=r"coefficients of shape \(4,\).*needs \(6,\)"):
        recognise(model, lp.Regression(X, Y))


@pytest.mark.parametrize(
    ("function", "start", "target", "missing"),
    [
        (lambda a, b: a + a * b, [V, V], (), "no homogeneous polynomial"),
        (lambda a, b: a * np.sin(b), [V, V], (), "no homogeneous polynomial"),
        (
            lambda A, B, v: (A * A[::-1]) @ (B @ v),
            [RNG.standard_normal((8, 40)), RNG.standard_normal((40, 80)), RNG.standard_normal(80)],
            (),
            "within the size of a tensor",
        ),
    ],
)
def test_without_derivatives_of_jax_other_models_are_refused(function, start, target, missing):
    model = model_of(function, start, target)
    task = task_of(function(*start), 0)
    with pytest.raises(NetworkError, match=f"(?s)none of the networks.*{missing}.*from_function"):
        recognise(model, task)


def test_other_functions_can_be_followed_and_explained():
    params = {"a": V, "b": V[::-1].copy()}
    problem = lp.from_function(lambda p, X: X @ (p["a"] + p["a"] * p["b"]), params, X[:, :5], Y)
    assert isinstance(problem.network, OwnNetwork)
    assert "no homogeneous polynomial" in str(lp.explain(problem))
    with pytest.raises(lp.errors.NoTheoremApplies, match="no homogeneous"):
        lp.predict(problem)
    flow = lp.flow(problem)
    assert flow.status.ok
    np.testing.assert_allclose(X[:, :5] @ flow.coef, Y, atol=1e-9)
    assert lp.train(problem, lp.GD(1e-2), 5).coef.shape == (5,)
    np.testing.assert_array_equal(problem.network.coef([V, V]), V + V * V)


def test_one_layer_is_followed_without_derivatives():
    """The flow of `β = 2a` is that of least squares, four times as fast."""
    found = recognise(model_of(lambda a: 2 * a, [X[0]]), lp.Regression(X, Y))
    assert found.missing == ("it is linear in its parameters too, like one layer",)
    flow = lp.flow(found.problem)
    nearest = 2 * X[0] + np.linalg.lstsq(X, Y - 2 * X @ X[0], rcond=None)[0]
    np.testing.assert_allclose(flow.coef, nearest, atol=1e-8)


def test_deep_networks_with_several_outputs_are_followed_without_derivatives():
    start = [W / 2, W.T / 2, W[:, :2] / 2]
    task = lp.Regression(X, np.stack([Y, Y[::-1]], axis=1))

    def function(A, B, C):
        return 2 * A @ B @ C

    found = recognise(model_of(function, start, (2,)), task)
    assert isinstance(found.problem.network, OwnNetwork)
    assert "several outputs" in found.missing[0]
    coef = found.problem.network.coef(found.problem.init.layers)
    np.testing.assert_allclose(coef, function(*start), rtol=1e-12)
    flow = lp.flow(found.problem, t_end=0.2, space=lp.ParameterSpace(rtol=1e-10))
    wanted = function(*integrated(function, start, task, 0.2))
    np.testing.assert_allclose(flow.coef, wanted, rtol=1e-8)


def test_blocks_without_influence_are_left_alone():
    start = [W, X[2], V]
    found = recognise(model_of(lambda A, unused, b: A @ b, start), lp.Regression(X, Y))
    assert found.problem.network == lp.FullyConnected((5,))
    back = found.to_blocks(found.problem.init.layers)
    for one, other in zip(back, start, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(3))
def test_rotations_of_many_features_are_found_to_rounding(seed):
    """Where singular values of one combination are close, those of all tell them apart."""
    rng = np.random.default_rng(seed)
    n = 60
    Q, R, start = rotation(rng, n), rotation(rng, n), rng.standard_normal((2, n))
    task = lp.Regression(rng.standard_normal((3, n)), Y[:3])
    found = recognise(model_of(lambda a, b: (Q @ a) * (R @ b), [*start]), task)
    assert found.problem.network == lp.Diagonal(2)


def near(amount):
    """A rotation, and a matrix that is off it."""
    Q = rotation(np.random.default_rng(1), N)
    return Q, Q + amount * np.random.default_rng(2).standard_normal((N, N))


@pytest.mark.parametrize("amount", [1e-3, 1e-6, 1e-9])
def test_what_is_no_rotation_is_not_taken_for_one(amount):
    """The flow is another one then, by as much."""
    Q, almost = near(amount)
    start = [Q[0], Q[1]]
    exact = recognise(model_of(lambda a, b: (Q @ a) * b, start), lp.Regression(X, Y))
    assert exact.problem.network == lp.Diagonal(2)
    off = recognise(model_of(lambda a, b: (almost @ a) * b, start), lp.Regression(X, Y))
    assert isinstance(off.problem.network, lp.Tensor)


@pytest.mark.parametrize("amount", [1e-3, 1e-6, 1e-9])
def test_unequal_factors_are_not_taken_for_one(amount):
    factors = 1.0 + amount * np.arange(N)
    found = recognise(model_of(lambda a, b: factors * a * b, [X[0], X[1]]), lp.Regression(X, Y))
    assert isinstance(found.problem.network, lp.OrthogonalTensor)


def test_maps_that_change_the_flow_do_not_fit():
    task, c = lp.Regression(X, Y), np.arange(1.0, N + 1)
    entries = np.arange(2 * N).reshape(2, N)
    model = model_of(lambda a, b: c * a * b, [X[0], X[1]])

    def form(weights, network=None):
        parts = [gathered(e, 2 * N, w) for e, w in zip(entries, weights, strict=True)]
        return Form(network or lp.Diagonal(2), LayerMap.stacked(parts, ((N,),) * 2), "")

    # The coefficients are right, lengths are not.
    assert not fits(form([c, 1.0]), model, task)
    assert not fits(form([np.sqrt(c), np.sqrt(c)]), model, task)
    even = model_of(lambda a, b: 4 * a * b, [X[0], X[1]])
    assert not fits(form([4.0, 1.0]), even, task)
    assert fits(form([2.0, 2.0]), even, task)
    assert not fits(form([2.0, 2.1]), even, task)
    assert not fits(form([2.0, 2.0], lp.SignedPower(2)), even, task)


def test_equal_layers_that_do_not_stay_equal_do_not_fit():
    """`W·W·v` is no dense network whose first two layers are equal: their gradients differ."""
    start = [RNG.standard_normal((N, N)), RNG.standard_normal(N)]
    task = lp.Regression(X, Y)
    model = model_of(lambda A, v: A @ A @ v, start)
    square, last = np.arange(N * N), N * N + np.arange(N)
    parts = [gathered(each, N * N + N) for each in (square, square, last)]
    shapes = ((N, N), (N, N), (N,))
    network = lp.FullyConnected((N, N))
    assert not fits(Form(network, LayerMap.stacked(parts, shapes), ""), model, task)
    # Even where lengths are kept, up to a factor: gradients leave the range of the map.
    last_weight = 2 ** (1 / 3)
    weights = (last_weight / np.sqrt(2), last_weight / np.sqrt(2), last_weight)
    parts = [weight * part for weight, part in zip(weights, parts, strict=True)]
    mapped = LayerMap.stacked(parts, shapes)
    gram = (mapped.matrix.T @ mapped.matrix).toarray()
    np.testing.assert_allclose(gram, mapped.factor * np.eye(len(gram)), atol=1e-14)
    assert not fits(Form(network, mapped, ""), model, task)


def test_frozen_blocks_are_constants():
    Q = rotation(RNG, N)
    start = [X[0], Q, X[1]]

    def function(a, B, c):
        return (B @ a) * c

    found = recognise(model_of(function, start, frozen=[False, True, False]), lp.Regression(X, Y))
    assert found.problem.network == lp.Diagonal(2)
    back = found.to_blocks(found.problem.init.layers)
    np.testing.assert_array_equal(back[1], Q)
    free = recognise(model_of(function, start), lp.Regression(X, Y))
    assert isinstance(free.problem.network, lp.Tensor)


def test_large_models_are_read_as_they_stand():
    n, d = 150, 200
    start = [RNG.standard_normal((d, n)), RNG.standard_normal((1, d))]
    data = RNG.standard_normal((2, n))
    model = model_of(lambda A, B: 3 * (B @ A)[0], start)
    found = recognise(model, lp.Regression(data, Y[:2]))
    assert found.problem.network == lp.FullyConnected((d,))
    long = [RNG.standard_normal(5000) for _ in range(3)]
    calls = []

    def product(a, b, c):
        calls.append(1)
        return a * b * c

    data = RNG.standard_normal((2, 5000))
    model = Model(("a", "b", "c"), tuple(long), (False,) * 3, lambda blocks: product(*blocks))
    found = recognise(model, lp.Regression(data, Y[:2]))
    assert found.problem.network == lp.Diagonal(3)
    assert len(calls) < 20
    scrambled = RNG.permutation(5000)
    model = Model(
        ("a", "b", "c"), tuple(long), (False,) * 3, lambda blocks: product(*blocks)[scrambled]
    )
    with pytest.raises(NetworkError, match="15000 trained parameters are too many"):
        recognise(model, lp.Regression(data, Y[:2]))


def test_start_and_arguments_are_left_alone():
    params = {"in": jnp.asarray(W, dtype=jnp.float32), "out": jnp.asarray(V, dtype=jnp.bfloat16)}
    kept = jax.tree.map(lambda leaf: np.asarray(leaf).copy(), params)
    problem = lp.from_function(dense, params, X, Y[:, None], loss_factor=0.5)
    assert problem.network == lp.FullyConnected((5,))
    assert problem.task == lp.Regression(X, Y, 0.5)
    assert {layer.dtype for layer in problem.init.layers} == {np.dtype(float)}
    np.testing.assert_array_equal(problem.init.layers[0], kept["in"])
    for name, value in params.items():
        np.testing.assert_array_equal(np.asarray(value), kept[name])
        assert value.dtype == kept[name].dtype
    assert jnp.ones(1).dtype == jnp.float32


def test_any_tree_of_parameters_will_do():
    @jax.tree_util.register_dataclass
    @dataclass
    class Gates:
        first: Any
        others: Any

    def apply(gates, X):
        return X @ (gates.first * gates.others[0]["w"] * gates.others[1][0])

    problem = lp.from_function(apply, Gates(V, ({"w": V}, [V])), X[:, :5], Y)
    assert problem.network == lp.Diagonal(3)
    with pytest.raises(NetworkError, match=r"params\.others\[1\]\[0\] must be an array; it is 1"):
        lp.from_function(apply, Gates(V, ({"w": V}, [1.0])), X[:, :5], Y)


def test_data_frames_keep_their_names():
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abcdef"))
    problem = lp.from_function(dense, DENSE, frame, Y)
    assert problem.task.feature_names == tuple("abcdef")
