"""Power networks.

Coefficients, conserved quantities, layers by the mirror coordinate, logarithmic coordinates.
"""

import dataclasses
import math

import jax
import numpy as np
import pytest
from tests.mirror.charts import chart_checks as charts
from tests.oracles.flows.layer_flow import flow
from tests.oracles.many_digits.power_mp import PrecisePower

import limitpoint as lp
from limitpoint.errors import NetworkError, ScaleNotRepresentable
from limitpoint.networks.power import Power, SignedPower

DEPTHS = [2, 3, 4, 5, 6]
# All combinations of signs, equal and opposite entries, a zero in either layer and in both.
U = np.array([1.3, -0.7, 0.4, -1.2, 1.0, 1.0, 0.0, -0.9, 0.0])
W = np.array([0.2, -0.9, -1.1, 0.1, 1.0, -1.0, 0.6, 0.0, 0.0])
N = len(U)
NETWORKS = [Power, SignedPower]


def init_of(kind, scale=None, **log_scale):
    return lp.Init([U] if kind is Power else [U, W], scale, **log_scale)


def chart_of(kind, depth, scale=None, **log_scale):
    return kind(depth).log_chart(init_of(kind, scale, **log_scale))


def derivatives_of(depth):
    """`∂β/∂u = Lu^(L−1)`, `∂β/∂w = −Lw^(L−1)`."""
    return lambda layers: [
        side * depth * layer ** (depth - 1) for side, layer in zip((1, -1), layers, strict=False)
    ]


@pytest.mark.parametrize("depth", DEPTHS)
def test_coefficients(depth):
    np.testing.assert_allclose(Power(depth).coef([U]), np.prod([U] * depth, axis=0), rtol=1e-14)
    expected = np.prod([U] * depth, axis=0) - np.prod([W] * depth, axis=0)
    np.testing.assert_allclose(SignedPower(depth).coef([U, W]), expected, rtol=1e-13)


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_coefficients_can_be_traced_and_differentiated(kind, depth):
    layers = list(init_of(kind).direction)
    network = kind(depth)
    with jax.enable_x64(True):
        traced = jax.jit(network.coef)(layers)
        slopes = jax.grad(lambda now: network.coef(now).sum())(layers)
    np.testing.assert_allclose(np.asarray(traced), network.coef(layers), rtol=1e-14)
    for found, exact in zip(slopes, derivatives_of(depth)(layers), strict=True):
        np.testing.assert_allclose(np.asarray(found), exact, rtol=1e-14)


@pytest.mark.parametrize("kind", NETWORKS)
def test_degree_shapes_and_names(kind):
    task = lp.Regression(np.ones((2, 4)), [1.0, 2.0])
    network = kind(3)
    assert network.degree == 3
    assert network.layer_shapes(task) == ((4,),) * (1 if kind is Power else 2)
    assert repr(network) == f"{kind.__name__}(depth=3)"
    assert kind(2) == kind() != network
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        network.depth = 4


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("depth", [1, 2.5, True, "2", None])
def test_a_depth_that_is_none_is_refused(kind, depth):
    with pytest.raises(NetworkError, match="depth must be a whole number, at least 2"):
        kind(depth)


@pytest.mark.parametrize("kind", NETWORKS)
def test_several_outputs_are_refused(kind):
    task = lp.Regression(np.ones((2, 4)), np.ones((2, 3)))
    with pytest.raises(NetworkError, match="power network has one output; y has shape"):
        kind(3).layer_shapes(task)


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_a_scale_whose_coefficients_overflow_is_refused(kind, depth):
    init = init_of(kind, 1e200)
    for call in (kind(depth).mirror_map, kind(depth).log_chart):
        with pytest.raises(ScaleNotRepresentable, match=r"at scale 1e.200 .*use a scale below"):
            call(init)


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_scale_whose_mirror_coordinates_overflow_is_refused_where_they_have_a_unit(kind):
    init = init_of(kind, log_scale=-2302.6)
    with pytest.raises(ScaleNotRepresentable, match="the times of a network of degree 3 overflow"):
        kind(3).mirror_map(init)
    with pytest.raises(ScaleNotRepresentable, match="the times of a network of degree 3 overflow"):
        kind(3).log_chart(init)
    assert kind(2).mirror_map(init).log_scale == -2302.6


# ---------------------------------------------------------------- invariants


def test_a_single_layer_conserves_nothing():
    assert Power(3).invariants([U]).shape == (0, N)
    assert Power(3).invariants([np.ones((7, N))]).shape == (0, 7, N)


@pytest.mark.parametrize("depth", DEPTHS)
def test_invariants_along_a_flow(depth):
    network = SignedPower(depth)
    rng = np.random.default_rng(depth)
    X, y = rng.standard_normal((4, N)) / 2, np.array([1.0, -1.0, 0.5, 2.0])
    layers, _ = flow(X, y, [U, W], network.coef, derivatives_of(depth), np.linspace(0, 0.5, 6))
    assert np.abs(layers[:, -1] - layers[:, 0]).max() > 0.1
    found = network.invariants(list(layers))
    assert found.shape == (1, 6, N)
    # 100 times the integrator's tolerance, per unit of the invariant's slope in the layers.
    np.testing.assert_allclose(found, np.broadcast_to(found[:, :1], found.shape), atol=1e-9)
    # They tell orbits apart: another w moves them by a thousand times that at least.
    other = network.invariants([layers[0], layers[1] * np.linspace(1, 1.1, 6)[:, None]])
    moved = np.abs(other[0, -1] - other[0, 0])
    assert (moved[(U != 0) & (W != 0)] > 1e-6).all()


# ---------------------------------------------------------------- along the mirror coordinate


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_layers_at_mirror_coordinates(kind, depth, scale):
    network, init = kind(depth), init_of(kind, scale)
    times = network.activation_times(init)
    reach = np.minimum(np.minimum(times.t_plus, times.t_minus), 2.0)
    reach = reach if depth == 2 else reach * times.unit
    xi = np.linspace(-0.9, 0.9, 5)[:, None] * reach
    layers = network.layers_at(init, xi)
    coefs = network.mirror_map(init).coefs(xi)
    # Differences of powers: relative to the larger one.
    size = max(np.abs(layer).max() for layer in layers) ** depth
    np.testing.assert_allclose(network.coef(layers), coefs, rtol=1e-12, atol=1e-15 * size)
    for i, row in enumerate(xi):
        for j, one_xi in enumerate(row):
            w = 0.0 if kind is Power else W[j]
            oracle = PrecisePower(U[j], w, depth, np.log(scale))
            for side, value in oracle.values(float(one_xi)):
                found = layers[0 if side > 0 else 1][i, j]
                # A tenth of the way to the pole is left: rounding is magnified by 10 at most.
                assert found == pytest.approx(float(value), rel=1e-13)


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_a_flow_is_on_the_curves_of_the_mirror_map(kind, depth):
    """Whatever the data: the coefficients of a flow are Ψ of its mirror coordinates."""
    network, init = kind(depth), init_of(kind, 1.0)
    rng = np.random.default_rng(depth)
    X, y = rng.standard_normal((4, N)) / 2, np.array([1.0, -1.0, 0.5, 2.0])
    start = list(init.layers)
    times = np.linspace(0, 1, 5)
    layers, xi = flow(X, y, start, network.coef, derivatives_of(depth), times)
    coefs = network.coef(list(layers))
    assert np.abs(coefs[-1] - coefs[0]).max() > 0.1
    # 100 times the integrator's tolerance.
    found = network.mirror_map(init).coefs(xi)
    np.testing.assert_allclose(found, coefs, rtol=1e-10, atol=1e-10)
    for layer, exact in zip(network.layers_at(init, xi), layers, strict=True):
        np.testing.assert_allclose(layer, exact, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("depth", DEPTHS)
def test_activation_times_at_every_scale(depth):
    init = init_of(SignedPower, 0.0)
    times = SignedPower(depth).activation_times(init)
    assert times.unit == math.inf
    finite = SignedPower(depth).activation_times(init_of(SignedPower, 0.1))
    np.testing.assert_array_equal(times.t_plus, finite.t_plus)
    np.testing.assert_array_equal(times.t_minus, finite.t_minus)
    if depth == 2:
        np.testing.assert_array_equal(finite.t_plus, np.where(U == 0, np.inf, 0.5))
        np.testing.assert_array_equal(finite.t_minus, np.where(W == 0, np.inf, 0.5))
        np.testing.assert_array_equal(
            Power(2).activation_times(init_of(Power, 0.1)).t_minus, np.inf
        )


def test_depth_two_from_equal_layers_is_a_hyperbolic_sine():
    """`β = 2α² sinh 4ξ` for `u(0) = w(0) = α` (Woodworth et al.)."""
    init = lp.Init([np.full(3, 0.3), np.full(3, -0.3)])
    xi = np.array([-0.4, 1e-9, 0.7])
    found = SignedPower(2).mirror_map(init).coefs(xi)
    np.testing.assert_allclose(found, 2 * 0.09 * np.sinh(4 * xi), rtol=1e-14)


# ---------------------------------------------------------------- logarithmic coordinates


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("depth", DEPTHS)
class TestGrowth:
    def test_starts_at_the_initial_layers(self, kind, depth):
        chart = chart_of(kind, depth, 0.1)
        start = np.zeros(chart.dimension)
        assert chart.dimension == N * len(chart.layers(start))
        for found, layer in zip(chart.layers(start), init_of(kind, 0.1).layers, strict=True):
            np.testing.assert_allclose(found, layer, rtol=1e-14)
        exact = kind(depth).coef(init_of(kind, 0.1).layers)
        np.testing.assert_allclose(chart.coefs(start), exact, rtol=1e-13, atol=1e-16 * 0.1**depth)
        np.testing.assert_array_equal(chart.movable == 0, (U == 0) & ((W == 0) | (kind is Power)))

    def test_coefficients_are_those_of_the_layers(self, kind, depth):
        chart = chart_of(kind, depth, 0.5)
        state = charts.some_state(chart)
        layers = chart.layers(state)
        size = max(np.abs(layer).max() for layer in layers) ** depth
        coefs = chart.coefs(state)
        np.testing.assert_allclose(coefs, kind(depth).coef(layers), rtol=1e-12, atol=1e-15 * size)
        signs, logs = chart.signs_and_logs(state)
        np.testing.assert_allclose(signs * np.exp(logs), coefs, rtol=1e-13)

    def test_derivatives(self, kind, depth):
        chart = chart_of(kind, depth, 0.5)
        state = charts.some_state(chart, size=0.5)
        charts.assert_gradient(chart, state)
        charts.assert_velocity(chart, state, derivatives_of(depth))
        charts.assert_velocity_gradient(chart, state)
        charts.assert_many_states_at_once(chart)

    @pytest.mark.parametrize("scale", [1.0, 1e-60])
    def test_never_undefined(self, kind, depth, scale):
        charts.assert_never_undefined(chart_of(kind, depth, scale))

    def test_tiny_scales_are_the_same_shape_shifted(self, kind, depth):
        chart, tiny = chart_of(kind, depth, 1.0), chart_of(kind, depth, log_scale=-150.0)
        state, neg_grad = charts.some_state(chart), np.linspace(-1, 1, N)
        np.testing.assert_array_equal(
            tiny.velocity(neg_grad, state), chart.velocity(neg_grad, state)
        )
        assert tiny.log_time_unit == (2 - depth) * -150.0
        signs, logs = chart.signs_and_logs(state)
        tiny_signs, tiny_logs = tiny.signs_and_logs(state)
        np.testing.assert_array_equal(tiny_signs, signs)
        there = np.isfinite(logs)
        np.testing.assert_allclose(tiny_logs[there] - logs[there], -150.0 * depth, rtol=1e-13)

    def test_zeros_stay(self, kind, depth):
        chart = chart_of(kind, depth, 0.5)
        state = charts.some_state(chart)
        velocity = chart.velocity(np.ones(N), state)
        starts = np.concatenate(init_of(kind).direction)
        np.testing.assert_array_equal(velocity == 0, starts == 0)
        np.testing.assert_array_equal(np.concatenate(chart.layers(state)) == 0, starts == 0)


@pytest.mark.parametrize("depth", DEPTHS)
def test_growth_at_large_scale_keeps_small_changes(depth):
    """Near u = w the coefficients cancel from two powers; the change must survive."""
    u = np.array([1.0, 1.0, 0.7])
    w = np.array([1.0, 1 - 1e-8, 0.7 + 1e-12])
    scale, change = 1e3, 1e-9
    chart = SignedPower(depth).log_chart(lp.Init([u, w], scale))
    state = np.concatenate([np.full(3, change), np.full(3, -change)])
    exact = [
        sum(c * v**depth * math.exp(c * depth * change) for c, v in ((1, a), (-1, b)))
        for a, b in zip(u.astype(np.longdouble), w.astype(np.longdouble), strict=True)
    ]
    # math.exp rounds to eps, relative to powers of order scale^L.
    found = chart.coefs(state) / scale**depth
    np.testing.assert_allclose(found, np.array(exact, dtype=float), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("depth", [3, 4])
def test_growth_from_inactive_to_visible_at_scale_1e_60(depth):
    """A growth of log(1/s) makes the direction itself visible, at a speed that is a float."""
    chart = chart_of(SignedPower, depth, 1e-60)
    grown = np.full(chart.dimension, 60 * np.log(10.0))
    # exp of logarithms of modulus up to 4·138.
    np.testing.assert_allclose(
        chart.coefs(grown), SignedPower(depth).coef([U, W]), rtol=1e-12, atol=1e-12
    )
    speeds = chart.velocity(np.ones(N), grown)
    assert np.isfinite(speeds).all()
    assert chart.velocity(np.ones(N), 0 * grown) == pytest.approx(
        np.concatenate(derivatives_of(depth)([U, W]))
        / np.where(np.concatenate([U, W]) == 0, 1, np.concatenate([U, W])),
        rel=1e-13,
    )
