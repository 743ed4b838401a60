"""The diagonal network: coefficients, conserved quantities, logarithmic coordinates.

The logarithmic coordinates of depth 2 hold `a + b` and `a − b` by their logarithms; every property
is checked against the layers themselves.
"""

import dataclasses
import math

import jax
import numpy as np
import pytest
from tests.networks import multilinear_checks as checks
from tests.oracles import tensor_forms

import limitpoint as lp
from limitpoint.errors import ScaleNotRepresentable

NETWORK = lp.Diagonal(depth=2)
N = 6
A = np.array([1.0, -0.5, 0.3, 2.0, 0.0, 0.7])
B = np.array([0.2, 0.5, -1.5, -0.1, 0.4, 0.7])  # coordinate 1 is opposite, coordinate 5 equal


def growth(scale=None, **log_scale):
    return NETWORK.log_chart(lp.Init([A, B], scale, **log_scale))


def some_state(seed=0, size=1.0):
    return size * np.random.default_rng(seed).standard_normal(2 * N)


def direct_layers(state, scale):
    """The layers from their definition: a + b = p₀e^w, a − b = r₀e^z."""
    grown, shrunk = np.split(state, 2)
    sums, differences = scale * (A + B) * np.exp(grown), scale * (A - B) * np.exp(shrunk)
    return (sums + differences) / 2, (sums - differences) / 2


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_coefficients_are_products(depth):
    layers = np.random.default_rng(1).standard_normal((depth, N))
    np.testing.assert_allclose(
        lp.Diagonal(depth).coef(list(layers)), layers.prod(axis=0), rtol=1e-15
    )


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_coefficients_are_homogeneous_of_the_depth(depth):
    network = lp.Diagonal(depth)
    layers = list(np.random.default_rng(1).standard_normal((depth, N)))
    assert network.degree == depth
    np.testing.assert_allclose(
        network.coef([2 * layer for layer in layers]), 2**depth * network.coef(layers), rtol=1e-14
    )


def test_coefficients_can_be_traced():
    with jax.enable_x64(True):
        traced = jax.jit(lambda a, b: NETWORK.coef([a, b]))(A, B)
        np.testing.assert_array_equal(np.asarray(traced), A * B)


def test_layer_shapes():
    task = lp.Regression(np.ones((2, 4)), [1.0, 2.0])
    assert lp.Diagonal(3).layer_shapes(task) == ((4,), (4,), (4,))


@pytest.mark.parametrize("depth", [2, 3])
def test_invariants_are_differences_of_squares(depth):
    layers = np.random.default_rng(2).standard_normal((depth, N))
    found = lp.Diagonal(depth).invariants(list(layers))
    assert found.shape == (depth - 1, N)
    np.testing.assert_allclose(found, layers[1:] ** 2 - layers[:1] ** 2, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("depth", [2, 3])
def test_invariants_do_not_change_along_the_gradient(depth):
    """`d/dt a_j² = −2 a_j ∂loss/∂a_j` is the same for every layer of a coordinate."""
    network = lp.Diagonal(depth)
    task = lp.Regression(np.random.default_rng(0).standard_normal((3, N)), [1.0, -1.0, 0.5])
    layers = tuple(np.random.default_rng(3).standard_normal((depth, N)))
    with jax.enable_x64(True):
        slopes = jax.grad(lambda now: task.loss(network.coef(now)))(layers)
    rates = np.stack([2 * a * np.asarray(s) for a, s in zip(layers, slopes, strict=True)])
    np.testing.assert_allclose(rates, np.broadcast_to(rates[0], rates.shape), rtol=1e-12)


def test_invariants_accept_whole_trajectories():
    times = np.random.default_rng(4).standard_normal((2, 7, N))
    assert NETWORK.invariants(list(times)).shape == (1, 7, N)


@pytest.mark.parametrize("depth", [3, 4])
def test_deeper_networks_have_a_mirror_map(depth):
    network = lp.Diagonal(depth)
    layers = np.random.default_rng(depth).standard_normal((depth, N))
    init = lp.Init(layers, 0.5)
    mirror = network.mirror_map(init)
    assert (mirror.degree, mirror.log_scale) == (depth, init.log_scale)
    np.testing.assert_allclose(mirror.start_coefs(), 0.5**depth * np.prod(layers, 0), rtol=1e-12)
    assert network.log_chart(init).dimension == N
    # A quarter of the way to either pole.
    times = mirror.activation_times()
    xi = times.unit * np.stack([-times.t_minus, 0 * times.t_plus, times.t_plus]) / 4
    at = network.layers_at(init, xi)
    np.testing.assert_allclose(network.coef(at), mirror.coefs(xi), rtol=1e-12)
    for found, layer in zip(at, init.layers, strict=True):
        np.testing.assert_allclose(found[1], layer, rtol=1e-13)


def test_layers_at_mirror_coordinates_reproduce_the_coefficients_of_the_mirror_map():
    init = lp.Init([A, B], 0.1)
    xi = np.random.default_rng(5).standard_normal((4, N))
    layers = NETWORK.layers_at(init, xi)
    mirror = NETWORK.mirror_map(init)
    np.testing.assert_allclose(NETWORK.coef(layers), mirror.coefs(xi), rtol=1e-12, atol=1e-15)


def test_a_layer_that_starts_at_zero_is_accurate_near_the_start():
    """`v₂ = s sinh ξ`: the difference of two exponentials would keep no digit of it."""
    xi = np.array([1e-12, -1e-7, 0.5, 3.0, -40.0])
    init = lp.Init([np.ones(5), np.zeros(5)], 0.5)
    first, second = NETWORK.layers_at(init, xi)
    np.testing.assert_allclose(second, 0.5 * np.sinh(xi), rtol=8e-15)
    np.testing.assert_allclose(first, 0.5 * np.cosh(xi), rtol=8e-15)


def test_a_scale_whose_coefficients_overflow_is_refused():
    init = lp.Init([A, B], 1e200)
    for call in (NETWORK.mirror_map, NETWORK.log_chart):
        with pytest.raises(ScaleNotRepresentable, match=r"at scale 1e.200 .*use a scale below"):
            call(init)


def test_prints_and_cannot_be_changed():
    assert repr(NETWORK) == "Diagonal(depth=2)"
    assert lp.Diagonal(3) == lp.Diagonal(depth=3) != NETWORK
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        NETWORK.depth = 3


# ---------------------------------------------------------------- logarithmic coordinates


def test_growth_starts_at_the_initial_layers():
    chart = growth(0.1)
    start = np.zeros(chart.dimension)
    assert chart.dimension == 2 * N
    for found, layer in zip(chart.layers(start), (0.1 * A, 0.1 * B), strict=True):
        np.testing.assert_allclose(found, layer, rtol=1e-13, atol=1e-16)
    np.testing.assert_allclose(chart.coefs(start), 0.01 * A * B, rtol=1e-12, atol=1e-17)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_growth_layers_and_coefficients_follow_their_definition(scale):
    state = some_state()
    chart = growth(scale)
    for found, layer in zip(chart.layers(state), direct_layers(state, scale), strict=True):
        np.testing.assert_allclose(found, layer, rtol=1e-12, atol=1e-15 * scale)
    coefs = np.prod(direct_layers(state, scale), axis=0)
    np.testing.assert_allclose(chart.coefs(state), coefs, rtol=1e-11, atol=1e-14 * scale**2)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_growth_gradient_by_finite_differences(scale):
    state, chart = some_state(), growth(scale)
    step = 1e-5
    columns = [
        (chart.coefs(state + step * unit) - chart.coefs(state - step * unit)) / (2 * step)
        for unit in np.eye(2 * N)
    ]
    exact = chart.times_gradient(np.eye(chart.dimension // 2), state)
    assert exact.shape == (N, 2 * N)
    # Central differences: step² truncation, eps/step rounding, relative to the largest entry.
    np.testing.assert_allclose(
        np.column_stack(columns), exact, rtol=0, atol=1e-8 * np.abs(exact).max()
    )


def test_growth_velocity_is_that_of_the_parameters():
    """`ȧ = ub` and `ḃ = ua`, so `d(a+b)/dt = u(a+b)` and `d(a−b)/dt = −u(a−b)`."""
    state, chart = some_state(), growth(0.5)
    neg_grad = np.random.default_rng(6).standard_normal(N)
    step = 1e-6
    a, b = chart.layers(state)
    moved = chart.layers(state + step * chart.velocity(neg_grad, state))
    np.testing.assert_allclose((moved[0] - a) / step, neg_grad * b, atol=1e-5)
    np.testing.assert_allclose((moved[1] - b) / step, neg_grad * a, atol=1e-5)


def test_growth_accepts_many_states_at_once():
    chart = growth(0.5)
    states = np.stack([some_state(seed) for seed in range(3)])
    np.testing.assert_array_equal(chart.coefs(states)[1], chart.coefs(states[1]))
    assert [layer.shape for layer in chart.layers(states)] == [(3, N), (3, N)]
    signs, logs = chart.signs_and_logs(states)
    assert signs.shape == logs.shape == (3, N)


def test_growth_signs_and_logs_match_the_coefficients():
    state, chart = some_state(), growth(0.5)
    signs, logs = chart.signs_and_logs(state)
    np.testing.assert_allclose(signs * np.exp(logs), chart.coefs(state), rtol=1e-13)


def test_growth_at_tiny_scale_is_the_same_shape_shifted():
    """Coefficients are homogeneous: at scale s their log-moduli shift by 2 log s, exactly."""
    state = some_state()
    signs, logs = growth(1.0).signs_and_logs(state)
    tiny_signs, tiny_logs = growth(log_scale=-2302.6).signs_and_logs(state)
    np.testing.assert_array_equal(tiny_signs, signs)
    np.testing.assert_allclose(tiny_logs, logs - 2 * 2302.6, rtol=1e-13)
    assert not growth(log_scale=-2302.6).coefs(state).any()


def test_growth_at_tiny_scale_becomes_visible_after_the_log_of_the_scale():
    log_scale = -2302.6
    chart = growth(log_scale=log_scale)
    state = np.concatenate([np.full(N, -log_scale), np.full(N, log_scale)])
    np.testing.assert_allclose(chart.coefs(state), (A + B) ** 2 / 4, rtol=1e-11)
    a, b = chart.layers(state)
    np.testing.assert_allclose(a, (A + B) / 2, rtol=1e-11)
    np.testing.assert_allclose(b, (A + B) / 2, rtol=1e-11)


def test_growth_at_large_scale_keeps_small_changes():
    """At scale s the coefficients s²ab cancel from two squares; the change must survive."""
    scale, change = 1e6, 1e-9
    chart = growth(scale)
    state = np.concatenate([np.full(N, change), np.full(N, -change)])
    # d(ab) = (a² + b²) dξ
    expected = scale**2 * (A * B + (A**2 + B**2) * change)
    np.testing.assert_allclose(chart.coefs(state), expected, rtol=1e-12, atol=scale**2 * 1e-15)


def test_growth_at_large_scale_keeps_a_small_start():
    """`β = ab` with b = 1e-12 a: a difference of squares that agree to twelve digits."""
    a, b = np.array([1.3, -1.3, 0.4]), np.array([1e-12, 3e-13, 0.4 * (1 + 1e-15)])
    chart = lp.Diagonal(2).log_chart(lp.Init([a, b], log_scale=18.0))
    exact = a * b * np.exp(36.0)
    # An exponential of 36, and logarithms of that size.
    np.testing.assert_allclose(chart.coefs(np.zeros(6)), exact, rtol=1e-13)


def test_growth_of_layers_that_tie_keeps_its_sign():
    state = some_state(size=3.0)
    signs, _ = growth(1e-3).signs_and_logs(state)
    assert signs[1] == -1.0  # opposite layers
    assert signs[5] == 1.0  # equal layers
    slope = growth(1e-3).times_gradient(np.eye(len(state) // 2), state)
    assert slope[1, 1] == 0.0
    assert slope[5, N + 5] == 0.0


def test_growth_of_layers_both_zero_stays_zero():
    chart = NETWORK.log_chart(lp.Init([[0.0, 1.0], [0.0, 0.0]], 0.1))
    state = np.array([5.0, 0.1, -5.0, -0.1])
    assert chart.coefs(state)[0] == 0.0
    signs, logs = chart.signs_and_logs(state)
    assert signs[0] == 0.0
    assert logs[0] == -math.inf
    assert [float(layer[0]) for layer in chart.layers(state)] == [0.0, 0.0]


def test_growth_far_beyond_float64_stays_finite():
    """The integrator tries such states; they must be rejected by size, not by a NaN."""
    chart = growth(1.0)
    state = np.full(2 * N, 1e4)
    assert np.isfinite(chart.coefs(state)).all()
    assert np.isfinite(chart.times_gradient(np.eye(chart.dimension // 2), state)).all()
    assert all(np.isfinite(layer).all() for layer in chart.layers(state))


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_tensor_form(depth):
    network = lp.Diagonal(depth)
    task = lp.Regression(np.ones((1, 3)), [1.0])
    tensor = tensor_forms.whole(tensor_forms.diagonal, 3, depth)
    checks.agrees_with_own_tensor(network, task, tensor)
    np.testing.assert_array_equal(network.tensor(task), tensor)
    with pytest.raises(lp.errors.NetworkError, match="is for small sizes"):
        network.tensor(lp.Regression(np.ones((1, 1000)), [1.0]))
