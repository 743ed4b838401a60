"""The paired network: coefficients, conserved quantities, mirror map, logarithmic coordinates."""

import jax
import numpy as np
import pytest
from mpmath import mp, mpf
from tests.mirror.charts import chart_checks as charts
from tests.oracles.flows.layer_flow import flow

import limitpoint as lp
from limitpoint.errors import NetworkError, ScaleNotRepresentable
from limitpoint.networks.paired import Paired

NETWORK = Paired()
# u₊, v₊, u₋, v₋: mixed signs; equal pairs; a nearly vanishing start; zeros in one pair; nothing
# that grows, nothing that decays, nothing at all.
DIRECTION = np.array(
    [
        [1.0, -0.5, 0.3, 2.0, 0.8, 1.0, 0.0, 0.5, 1.0, 0.0],
        [0.2, 0.5, -1.5, -0.1, 0.3, 1.0, 0.0, -0.5, 1.0, 0.0],
        [-0.4, 0.6, 1.1, 0.2, 0.8, 1.0, 0.7, 0.25, 0.0, 0.0],
        [0.9, 0.7, 0.1, -0.8, 0.3, 1 + 1e-9, 0.2, 0.25, 0.0, 0.0],
    ]
)
N = DIRECTION.shape[1]
FALLS_ONLY, RISES_ONLY, FROZEN = 7, 8, 9


def init_of(scale=None, **log_scale):
    return lp.Init(list(DIRECTION), scale, **log_scale)


def derivatives(layers):
    u_plus, v_plus, u_minus, v_minus = layers
    return [v_plus, u_plus, -v_minus, -u_minus]


def precise_layers(index, xi, scale):
    """The solution of `u̇₊ = v₊, v̇₊ = u₊, u̇₋ = −v₋, v̇₋ = −u₋` in ξ, in 50 digits."""
    u_plus, v_plus, u_minus, v_minus = (mpf(float(v)) * scale for v in DIRECTION[:, index])
    c, s = mp.cosh(mpf(float(xi))), mp.sinh(mpf(float(xi)))
    return (
        u_plus * c + v_plus * s,
        v_plus * c + u_plus * s,
        u_minus * c - v_minus * s,
        v_minus * c - u_minus * s,
    )


def test_coefficients_shapes_and_names():
    expected = DIRECTION[0] * DIRECTION[1] - DIRECTION[2] * DIRECTION[3]
    np.testing.assert_array_equal(NETWORK.coef(list(DIRECTION)), expected)
    with jax.enable_x64(True):
        traced = jax.jit(NETWORK.coef)(list(DIRECTION))
    np.testing.assert_allclose(np.asarray(traced), expected, rtol=1e-14, atol=1e-16)
    assert NETWORK.degree == 2
    assert NETWORK.layer_shapes(lp.Regression(np.ones((2, 4)), [1.0, 2.0])) == ((4,),) * 4
    assert repr(NETWORK) == "Paired()"
    assert Paired() == NETWORK


def test_several_outputs_are_refused():
    task = lp.Regression(np.ones((2, 4)), np.ones((2, 3)))
    with pytest.raises(NetworkError, match="a paired network has one output; y has shape"):
        NETWORK.layer_shapes(task)


def test_a_scale_whose_coefficients_overflow_is_refused():
    for call in (NETWORK.mirror_map, NETWORK.log_chart):
        with pytest.raises(ScaleNotRepresentable, match=r"at scale 1e.200 .*use a scale below"):
            call(init_of(1e200))


def test_invariants_and_mirror_map_along_a_flow():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4, N)) / 2, np.array([1.0, -1.0, 0.5, 2.0])
    times = np.linspace(0, 1, 6)
    layers, xi = flow(X, y, list(DIRECTION), NETWORK.coef, derivatives, times)
    assert np.abs(layers[:, -1] - layers[:, 0]).max() > 0.3
    found = NETWORK.invariants(list(layers))
    assert found.shape == (4, 6, N)
    # 100 times the integrator's tolerance.
    np.testing.assert_allclose(found, np.broadcast_to(found[:, :1], found.shape), atol=1e-10)
    u_plus, v_plus, u_minus, v_minus = DIRECTION
    np.testing.assert_allclose(found[0, 0], u_plus**2 - v_plus**2, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found[1, 0], u_minus**2 - v_minus**2, rtol=1e-6, atol=1e-15)
    coefs = NETWORK.mirror_map(init_of(1.0)).coefs(xi)
    np.testing.assert_allclose(coefs, NETWORK.coef(list(layers)), rtol=1e-10, atol=1e-10)
    sums = (u_plus + v_plus) * (u_minus + v_minus)
    differences = (u_plus - v_plus) * (u_minus - v_minus)
    np.testing.assert_allclose(found[2, 0], sums, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found[3, 0], differences, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("log_scale", [*np.log([1e3, 1.0, 1e-6, 1e-100]), -2302.6])
def test_the_mirror_map_in_50_digits(log_scale):
    init = init_of(log_scale=log_scale)
    mirror = NETWORK.mirror_map(init)
    turn = max(-log_scale, 0.0)
    xi = np.array([-turn - 3, -0.7, -1e-3, -1e-12, 0.0, 1e-9, 0.3, 1.0, turn + 2])
    found = mirror.evaluate(np.repeat(xi[:, None], N, axis=1))
    with mp.workdps(50):
        scale = mp.exp(mpf(float(log_scale)))
        for (i, j), coef in np.ndenumerate(found.coefs):
            layers = precise_layers(j, xi[i], scale)
            exact = layers[0] * layers[1] - layers[2] * layers[3]
            slope = mp.fsum(v**2 for v in layers)
            # 16 operations on logarithms of modulus up to 2|log s| + 2|ξ| and 2·log 1e9; the start
            # is rounded relative to its two products.
            relative = 16 * np.finfo(float).eps * (1 + 2 * abs(log_scale) + 2 * abs(xi[i]) + 42)
            tiny = np.finfo(float).tiny
            assert abs(mpf(float(coef)) - exact) <= relative * slope + tiny
            assert abs(mpf(float(found.slopes[i, j])) - slope) <= relative * slope + tiny


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_layers_at_mirror_coordinates(scale):
    xi = np.linspace(-2, 2, 5)[:, None] * np.ones(N)
    layers = NETWORK.layers_at(init_of(scale), xi)
    for (i, j), one_xi in np.ndenumerate(xi):
        exact = [float(v) for v in precise_layers(j, one_xi, scale)]
        size = max(map(abs, exact))
        # Sums of e^±2: relative to the larger.
        found = [layer[i, j] for layer in layers]
        assert found == pytest.approx(exact, rel=1e-13, abs=1e-14 * size)
    coefs = NETWORK.mirror_map(init_of(scale)).coefs(xi)
    found = NETWORK.coef(layers)
    np.testing.assert_allclose(found, coefs, rtol=1e-12, atol=1e-14 * scale**2 * 50)


def test_equal_pairs_are_a_hyperbolic_sine():
    """`β = (u(0)² + v(0)²) sinh 2ξ`."""
    u, v = np.array([1.0, -0.4, 0.7]), np.array([0.3, 0.9, 0.7])
    xi = np.array([-0.4, 1e-9, 0.7])
    found = NETWORK.mirror_map(lp.Init([u, v, u, v])).coefs(xi)
    np.testing.assert_allclose(found, (u**2 + v**2) * np.sinh(2 * xi), rtol=1e-14)


def test_sign_constraints_and_activation_times():
    mirror = NETWORK.mirror_map(init_of(0.1))
    times = NETWORK.activation_times(init_of(0.1))
    closed_above, closed_below = np.zeros((2, N), dtype=bool)
    closed_above[[FALLS_ONLY, FROZEN]] = True
    closed_below[[RISES_ONLY, FROZEN]] = True
    np.testing.assert_array_equal(mirror.upper, np.where(closed_above, 0.0, np.inf))
    np.testing.assert_array_equal(mirror.lower, np.where(closed_below, 0.0, -np.inf))
    np.testing.assert_array_equal(times.t_plus, np.where(closed_above, np.inf, 1.0))
    np.testing.assert_array_equal(times.t_minus, np.where(closed_below, np.inf, 1.0))
    assert times.unit == pytest.approx(np.log(10))
    assert NETWORK.activation_times(init_of(0.0)).unit == np.inf


def test_a_tiny_direction_keeps_its_sign():
    init = lp.Init([[3e-200], [1e-200], [1e-200], [2e-200]])
    signs, logs = NETWORK.mirror_map(init).signs_and_logs(np.zeros(1))
    assert signs[0] == 1.0
    # A logarithm of modulus 921.
    assert logs[0] == pytest.approx(-400 * np.log(10), rel=1e-14)


# ---------------------------------------------------------------- logarithmic coordinates


@pytest.mark.parametrize("scale", [1e3, 1.0, 1e-3])
def test_growth_follows_its_definition(scale):
    chart = NETWORK.log_chart(init_of(scale))
    assert chart.dimension == 4 * N
    assert chart.log_time_unit == 0.0
    np.testing.assert_array_equal(chart.movable, np.arange(N) != FROZEN)
    for state in (np.zeros(4 * N), charts.some_state(chart)):
        layers = chart.layers(state)
        size = max(np.abs(layer).max() for layer in layers) ** 2
        coefs = chart.coefs(state)
        np.testing.assert_allclose(coefs, NETWORK.coef(layers), rtol=1e-11, atol=1e-14 * size)
        signs, logs = chart.signs_and_logs(state)
        np.testing.assert_allclose(signs * np.exp(logs), coefs, rtol=1e-13)
    for found, exact in zip(chart.layers(np.zeros(4 * N)), scale * DIRECTION, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-13, atol=1e-15 * scale)


def test_growth_derivatives():
    chart = NETWORK.log_chart(init_of(0.5))
    state = charts.some_state(chart, size=0.5)
    charts.assert_gradient(chart, state)
    charts.assert_velocity(chart, state, derivatives)
    charts.assert_velocity_gradient(chart, state)
    assert not chart.velocity_gradient(np.ones(N), state).any()
    charts.assert_many_states_at_once(chart)
    charts.assert_never_undefined(chart)


def test_growth_keeps_small_changes_of_a_cancelling_start():
    """Equal pairs start at zero exactly, whatever the scale."""
    u, v = np.array([1.0, -0.4, 0.7]), np.array([0.3, 0.9, 0.7])
    chart = NETWORK.log_chart(lp.Init([u, v, u, v], 1e6))
    xi = np.full(3, 1e-9)
    found = chart.coefs(np.concatenate([xi, -xi, -xi, xi]))
    np.testing.assert_allclose(found, 1e12 * (u**2 + v**2) * np.sinh(2e-9), rtol=1e-12)


def test_growth_at_tiny_scale_is_the_same_shape_shifted():
    chart = NETWORK.log_chart(init_of(1.0))
    tiny = NETWORK.log_chart(init_of(log_scale=-2302.6))
    state = charts.some_state(chart)
    signs, logs = chart.signs_and_logs(state)
    tiny_signs, tiny_logs = tiny.signs_and_logs(state)
    np.testing.assert_array_equal(tiny_signs, signs)
    there = np.isfinite(logs)
    np.testing.assert_allclose(tiny_logs[there] - logs[there], -2 * 2302.6, rtol=1e-13)
