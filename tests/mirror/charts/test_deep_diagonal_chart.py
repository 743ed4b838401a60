"""Logarithmic coordinates of deep diagonal networks, against the layers and plain gradients."""

import numpy as np
import pytest
from tests.mirror.charts import chart_checks as charts

import limitpoint as lp
from limitpoint.mirror.charts.deep_diagonal_chart import DeepDiagonalChart

DEPTHS = (3, 4, 5, 6)
KINDS = (
    "first smallest",
    "last smallest",
    "smallest negative",
    "smallest zero",
    "far apart",
    "two tied",
    "two opposite",
    "all equal",
    "two zeros",
    "all zero",
)
N = len(KINDS)
TIED, FROZEN = np.arange(5, 10), np.array([8, 9])


def direction_of(depth):
    rest = np.linspace(0.6, 1.4, depth - 1)
    turned = np.where(np.arange(depth - 1) == 0, -rest, rest)
    columns = [
        [0.3, *turned],
        [*rest, 0.3],
        [*rest[:1], -0.4, *rest[1:]],
        [*turned[:1], 0.0, *turned[1:]],
        [1e-4, *(1e2 * rest)],
        [0.5, 0.5, *rest[1:]],
        [*rest[1:], -0.5, 0.5],
        [-0.9] * depth,
        [0.0, *rest[1:], 0.0],
        [0.0] * depth,
    ]
    return np.transpose(columns)


def chart_of(depth, scale=None, **log_scale):
    init = lp.Init(direction_of(depth), scale, **log_scale)
    chart = lp.Diagonal(depth).log_chart(init)
    assert isinstance(chart, DeepDiagonalChart)
    return chart


def derivatives(layers):
    stack = np.stack(layers)
    return [np.prod(np.delete(stack, j, axis=0), axis=0) for j in range(len(stack))]


@pytest.mark.parametrize("depth", DEPTHS)
class TestChart:
    @pytest.mark.parametrize("scale", [1e-3, 1.0, 1e2])
    def test_starts_at_the_initialisation(self, depth, scale):
        chart = chart_of(depth, scale)
        start = np.zeros(chart.dimension)
        assert (chart.depth, chart.dimension) == (depth, N)
        layers = scale * direction_of(depth)
        for found, layer in zip(chart.layers(start), layers, strict=True):
            # sinh(asinh) and √(a² + Δ), with Δ = a_j² − a².
            np.testing.assert_allclose(found, layer, rtol=1e-14, atol=0)
        coefs = np.prod(layers, axis=0)
        np.testing.assert_allclose(chart.coefs(start), coefs, rtol=1e-13, atol=0)
        np.testing.assert_array_equal(np.flatnonzero(chart.movable == 0), FROZEN)

    def test_layers_conserve_and_multiply_to_the_coefficients(self, depth):
        chart = chart_of(depth, 0.5)
        state = charts.some_state(chart, size=2.0)
        layers = np.stack(chart.layers(state))
        kept = lp.Diagonal(depth).invariants(list(layers))
        start = lp.Diagonal(depth).invariants(list(0.5 * direction_of(depth)))
        # Squares up to the largest, rounded.
        assert (np.abs(kept - start) <= 1e-14 * (layers**2).max(axis=0)).all()
        coefs = chart.coefs(state)
        np.testing.assert_allclose(coefs, np.prod(layers, axis=0), rtol=1e-13)
        signs, logs = chart.signs_and_logs(state)
        np.testing.assert_allclose(signs * np.exp(logs), coefs, rtol=1e-12)

    def test_derivatives(self, depth):
        """The gradient by differences; the velocity by the chain rule against plain gradients."""
        chart = chart_of(depth, 0.5)
        for size in (0.3, 1.0):
            state = charts.some_state(chart, size=size)
            charts.assert_gradient(chart, state)
            charts.assert_velocity(chart, state, derivatives)
        charts.assert_velocity_gradient(chart, charts.some_state(chart, size=0.5))
        charts.assert_many_states_at_once(chart)

    def test_each_coordinate_moves_by_its_own_plain_gradient(self, depth):
        """Relative to itself, whatever the size of the others.

        `dβ/dt = u Σ_j Π_{k≠j} a_k²`, by hand from the layers, against slope times velocity.
        """
        chart = chart_of(depth, 0.5)
        state = charts.some_state(chart)
        neg_grad = np.linspace(-1, 1, N) + 0.05
        slope = np.diag(chart.times_gradient(np.eye(N), state))
        speed = chart.velocity(neg_grad, state) * np.exp(-chart.log_time_unit)
        expected = neg_grad * np.sum(np.square(derivatives(chart.layers(state))), axis=0)
        np.testing.assert_allclose(slope * speed, expected, rtol=1e-12)
        np.testing.assert_array_equal(expected[FROZEN], 0.0)

    @pytest.mark.parametrize("scale", [1.0, 1e-40])
    def test_never_undefined(self, depth, scale):
        """An integrator's trial states: finite speeds and slopes; coefficients may overflow.

        It cuts them off itself, so an infinity of the right sign will do, but no NaN.
        """
        chart = chart_of(depth, scale)
        for size in (1e4, -1e4):
            state = np.full(N, size)
            for neg_grad in (np.full(N, 1e100), np.zeros(N), np.full(N, -1e100)):
                assert np.isfinite(chart.velocity(neg_grad, state)).all()
                assert np.isfinite(chart.velocity_gradient(neg_grad, state)).all()
            assert np.isfinite(chart.times_gradient(np.eye(N), state)).all()
            assert not np.isnan([chart.coefs(state), *chart.layers(state)]).any()
            signs, _ = chart.signs_and_logs(state)
            there = chart.coefs(state) != 0
            np.testing.assert_array_equal(np.sign(chart.coefs(state))[there], signs[there])

    def test_ties_keep_their_sign(self, depth):
        chart = chart_of(depth, 1.0)
        start = np.sign(np.prod(direction_of(depth), axis=0))
        for state in (-30.0, -1.0, 2.0, 10.0):
            signs, _ = chart.signs_and_logs(np.full(N, state))
            np.testing.assert_array_equal(signs[TIED], start[TIED])

    def test_only_the_smallest_layer_crosses_zero(self, depth):
        chart = chart_of(depth, 1.0)
        free = np.setdiff1d(np.arange(N), TIED)
        ends = [np.sign(np.stack(chart.layers(np.full(N, s)))[:, free]) for s in (-20.0, 20.0)]
        changed = ends[0] != ends[1]
        np.testing.assert_array_equal(changed.sum(axis=0), 1)
        smallest = np.abs(direction_of(depth)).argmin(axis=0)[free]
        np.testing.assert_array_equal(changed.argmax(axis=0), smallest)

    def test_frozen_ones_never_move(self, depth):
        chart = chart_of(depth, 1.0)
        state = charts.some_state(chart)
        np.testing.assert_array_equal(chart.velocity(np.ones(N), state)[FROZEN], 0.0)
        np.testing.assert_array_equal(chart.coefs(state)[FROZEN], 0.0)
        signs, logs = chart.signs_and_logs(state)
        np.testing.assert_array_equal(signs[FROZEN], 0.0)
        np.testing.assert_array_equal(logs[FROZEN], -np.inf)
        assert not chart.times_gradient(np.eye(N), state)[:, FROZEN].any()

    def test_tiny_scales_are_the_same_shape_shifted(self, depth):
        """Relative to the start, with time in units of `s^{2−L}`, nothing depends on the scale."""
        chart, tiny = chart_of(depth, 1.0), chart_of(depth, log_scale=-150.0)
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

    def test_states_at_curve_params_of_the_mirror_map(self, depth):
        """Both run along one curve: the chart with the layer, the map with the coefficient."""
        chart = chart_of(depth, 0.5)
        mirror = lp.Diagonal(depth).mirror_map(lp.Init(direction_of(depth), 0.5))
        for curve_param in (-3.0, -0.2, 0.0, 1.3, 6.0):
            curve_params = np.full(N, curve_param)
            coefs = mirror.along(curve_params).coefs
            found = chart.coefs(chart.states_at(curve_params))
            np.testing.assert_allclose(found, coefs, rtol=1e-12)


def test_the_refusal_of_times_beyond_float64():
    with pytest.raises(lp.errors.ScaleNotRepresentable, match="overflow float64"):
        chart_of(5, log_scale=-2302.6)


@pytest.mark.parametrize("tied", [False, True])
def test_rates_are_finite_where_the_product_of_the_layers_is_not(tied):
    """Four layers of 1e100, three of which make the rate's numerator overflow."""
    direction = np.array([[1.0], [-2.0], [1.0 if tied else 3.0], [4.0]])
    growth = DeepDiagonalChart.of(lp.Init(list(direction), 1e-120))
    # sinh τ = (a/c) has grown to 1e100, all layers with it.
    width = 0.0 if tied else np.sqrt(3.0)
    state = np.array([230.0]) if tied else np.arcsinh(1e100 / width) - np.arcsinh([1.0 / width])
    layer = np.exp(230.0) if tied else 1e100
    np.testing.assert_allclose(growth.velocity(np.ones(1), state), -(layer**2), rtol=1e-12)
