"""Mirror maps from starts that hurt: many layers, near-ties, entries float64 cannot square."""

import numpy as np
import pytest
from mpmath import mp, mpf
from tests.oracles.many_digits.diagonal_mp import (
    PreciseDiagonal,
    lemma4_end,
    lemma4_h,
    lemma4_h_inverse,
    lemma4_potential,
)

import limitpoint as lp
from limitpoint.mirror import DeepMap, ExponentialMap
from limitpoint.mirror.deep_diagonal.gauss_rule import gauss_rule
from limitpoint.mirror.power_map import PowerMap

EPS = np.finfo(np.float64).eps
# Some tens of float64 operations, in curve parameters up to 40: 1e-13 at worst, and two digits in
# hand.
RTOL = 1e-11
DIGITS = 450  # of the closed forms below: ratios of 1e200, squared, and 50 to spare


class TestGaussRule:
    @pytest.mark.parametrize("power", [1, 2, 4, 7, 10, 15, 30])
    @pytest.mark.parametrize("length", [0.5, 1.0])
    def test_powers_of_the_hyperbolic_cosine(self, power, length):
        """`∫ cosh^−p` over panels from 0 outwards is `½B(½, p/2)`, of a singularity of order p."""
        nodes, weights = gauss_rule(power, length)
        panels = int(np.ceil(40 / length))
        at = length * (np.arange(panels)[:, None] + (nodes + 1) / 2)
        found = length / 2 * (np.cosh(at) ** -float(power) @ weights).sum()
        with mp.workdps(30):
            exact = float(mp.beta(mpf(1) / 2, mpf(power) / 2) / 2)
        # A power of p is rounded p times, and the panels are added up.
        np.testing.assert_allclose(found, exact, rtol=(power + 8) * EPS)

    def test_more_layers_need_more_nodes(self):
        counts = [len(gauss_rule(power, 0.5)[0]) for power in (1, 5, 10, 30, 100)]
        assert counts == sorted(counts)
        assert counts[0] < counts[-1]


@pytest.mark.parametrize("depth", [8, 10, 12])
class TestManyLayers:
    """Beyond depth 6, where singularities are of high order: what Lemma 4 of yun says."""

    def mirror(self, depth, count):
        ones = np.ones(count)
        return DeepMap.from_layers([ones] * (depth - 1) + [0 * ones], 0.0)

    def test_h_its_end_its_inverse_and_potential(self, depth):
        end = float(lemma4_end(depth))
        parts = np.array([-0.9, -0.5, 1e-12, 0.2, 0.7, 0.95])
        mirror = self.mirror(depth, len(parts))
        np.testing.assert_allclose(mirror.activation_times().t_plus, end, rtol=1e-14)
        exact = [float(lemma4_h(depth, float(t))) for t in parts * end]
        # The condition number of h at 0.95 of its end is about 2(L−1)/((L−2)·0.05) < 50.
        np.testing.assert_allclose(mirror.coefs(parts * end), exact, rtol=1e-12)
        values = np.array([-1e6, -3.0, -1e-9, 0.5, 20.0, 1e12])
        inverse = [float(lemma4_h_inverse(depth, float(x))) for x in values]
        np.testing.assert_allclose(mirror.mirror_coords(values), inverse, rtol=1e-12)
        potential = [float(lemma4_potential(depth, float(x))) for x in values]
        np.testing.assert_allclose(mirror.potential(values), potential, rtol=1e-12)

    def test_curve_params_from_mirror_coordinates(self, depth):
        """Also where the rate changes by e^{(L−2)/2} in a panel: nine layers tied, two apart."""
        tied = np.array([2.3e-3] * (depth - 2) + [1.6e-2, 14.0])
        near = 4.5e-3 * (1 + np.geomspace(1e-16, 1e-9, depth))
        mirror = DeepMap.from_layers(np.stack([tied, near], axis=1), 0.0)
        for curve_param in (-2.0, -0.3, 1e-6, 0.3, 0.45, 1.2):
            at = np.full(2, curve_param)
            point = mirror.along(at)
            found = mirror.curve_params(point.mirror)
            # A mirror coordinate is rounded by some units, and each of its L − 2 factors by those
            # of τ₀ + σ; its curve parameter by that over the rate.
            units = 16 + (depth - 2) * mirror.offsets
            allowed = units * EPS * (np.abs(at) + np.abs(point.mirror) / point.mirror_rates)
            assert (np.abs(found - at) <= allowed).all()

    @pytest.mark.slow
    def test_ties_of_all_but_one_against_precise_arithmetic(self, depth):
        entries = [1.5e-4] * (depth - 1) + [-1.9e-3]
        oracle = PreciseDiagonal(entries, piece=mpf(1) / 3)
        times = DeepMap.from_layers(np.array(entries)[:, None], 0.0).activation_times()
        np.testing.assert_array_equal(times.t_plus, np.inf)
        # Sums of panels of products of L factors.
        np.testing.assert_allclose(times.t_minus, float(oracle.pole(-1)), rtol=1e-13)


class TestTinyAndHugeDirections:
    """A direction times c at scale s is the direction at scale cs: also where c² is no float."""

    layers = (np.array([1.0, -0.3, 0.5]), np.array([2.0, 0.4, 0.5]), np.array([-3.0, 0.0, 0.7]))

    @pytest.mark.parametrize("exponent", [-200, -170, 160])
    def test_deep(self, exponent):
        factor = 10.0**exponent
        moved = DeepMap.from_layers([factor * layer for layer in self.layers], 0.0)
        plain = DeepMap.from_layers(self.layers, exponent * np.log(10.0))
        np.testing.assert_array_equal(moved.lower, plain.lower)
        np.testing.assert_array_equal(moved.upper, plain.upper)
        curve_params = np.array([[-3.0], [-0.2], [1e-9], [0.8], [20.0]]) * np.ones(3)
        for found, exact in zip(
            moved.signs_and_logs_at(curve_params),
            plain.signs_and_logs_at(curve_params),
            strict=True,
        ):
            # A logarithm of 3·200·log 10, rounded.
            np.testing.assert_allclose(found, exact, rtol=1e-13)
        xi, exact_mirror = moved.along(curve_params).mirror, plain.along(curve_params).mirror
        np.testing.assert_allclose(xi * factor, exact_mirror, rtol=1e-13)
        times, exact_times = moved.activation_times(), plain.activation_times()
        np.testing.assert_allclose(times.t_plus * factor, exact_times.t_plus, rtol=1e-13)
        np.testing.assert_allclose(times.t_minus * factor, exact_times.t_minus, rtol=1e-13)

    def test_the_chart_of_the_smallest_layer(self):
        init = lp.Init([1e-200 * layer for layer in self.layers])
        chart = lp.Diagonal(3).log_chart(init)
        plain = lp.Diagonal(3).log_chart(lp.Init(self.layers))
        np.testing.assert_array_equal(chart.lower, plain.lower)
        state = np.array([0.4, -0.7, 1.5])
        _, logs = chart.signs_and_logs(state)
        _, exact = plain.signs_and_logs(state)
        np.testing.assert_allclose(logs, exact - 600 * np.log(10.0), rtol=1e-14)

    def test_two_small_layers_beside_a_large_one(self):
        """`∫dx/√((x²+a²)(x²+1)) ≈ log(4/a)` from 0: the squares of a are no floats."""
        times = DeepMap.from_layers(np.array([[1.0], [0.0], [3e-200]]), 0.0).activation_times()
        np.testing.assert_allclose(times.t_plus, np.log(4 / 3) + 200 * np.log(10.0), rtol=1e-14)

    @pytest.mark.parametrize(("exponent", "log_scale"), [(-200, 465.0), (200, -465.0)])
    def test_degree_2(self, exponent, log_scale):
        """`β = P² − M²` at the start is beyond float64 in the direction's own units."""
        factor = 10.0**exponent
        u, w = factor * np.array([1.0]), factor * np.array([0.5])
        mirror = lp.SignedPower(2).mirror_map(lp.Init([u, w], log_scale=log_scale))
        coefs = np.array([[1e-300], [1.0], [-1.1], [mirror.start_coefs()[0] * 1.1]])
        found = mirror.mirror_coords(coefs)
        with mp.workdps(DIGITS):
            scale = mp.exp(mpf(log_scale))
            exact = precise_mirror(scale * mpf(float(u[0])), scale * mpf(float(w[0])), coefs[:, 0])
        np.testing.assert_allclose(found[:, 0], exact, rtol=RTOL)


def precise_mirror(u, w, coefs):
    """`(asinh(β/2uw) − log(u/w))/4` of `u² − w²`, in mpmath."""
    return [float((mp.asinh(mpf(float(b)) / (2 * u * w)) - mp.log(u / w)) / 4) for b in coefs]


def test_exponentials_two_hundred_orders_of_magnitude_apart():
    """Near the start, where the product of the two asinh's arguments overflows."""
    u, w = np.array([1.0]), np.array([1e-200])
    mirror = lp.SignedPower(2).mirror_map(lp.Init([u, w]))
    coefs = np.array([[1.0 + 1e-9], [1.1], [0.9], [1.5], [-1.0], [1e-300]])
    with mp.workdps(DIGITS):
        exact = precise_mirror(mpf(1), mpf(1e-200), coefs[:, 0])
    # 1 + 1e-9 is given to half a rounding of 1: 1e-7 of the difference.
    np.testing.assert_allclose(mirror.mirror_coords(coefs)[:, 0], exact, rtol=RTOL)
    assert np.isfinite(mirror.potential(coefs)).all()


@pytest.mark.parametrize("log_scale", [-20.0, 0.0, 18.0])
def test_sign_constraints_near_their_start(log_scale):
    """`ξ = ½log(β/β₀)`: of the change itself, not of two logarithms of 400."""
    layer = np.full(2, 2.7e-94)
    mirror = ExponentialMap.from_layers(layer, layer * [1, -1], log_scale)
    start = layer * np.exp(log_scale) * (layer * np.exp(log_scale)) * [1, -1]
    change = 1e-9
    coefs = start * (1 + change)
    exact = 0.5 * np.log1p((coefs - start) / start) * [1, -1]
    # The start is a product of four numbers, each rounded: that over 1, in the change.
    np.testing.assert_allclose(mirror.mirror_coords(coefs), exact, rtol=0, atol=4 * EPS)


def test_the_mirror_coordinate_of_zero_is_relative_to_itself_at_any_scale():
    """`c = log(P/M)` where P and M agree to 1e-60."""
    layers = [np.array([1.3374]), np.array([-2e-61])]
    for log_scale in (-2302.6, -690.0, 0.0):
        mirror = ExponentialMap.from_layers(*layers, log_scale)
        np.testing.assert_allclose(mirror.mirror_coords(np.zeros(1)), 2e-61 / 1.3374, rtol=1e-14)


class TestFarUnderASignConstraint:
    """Towards zero a tied layer leaves float64, its logarithm does not."""

    def test_rates_and_logarithms(self):
        layers = [np.array([0.5, 0.5]), np.array([0.5, -0.5]), np.array([1.0, 1.0])]
        mirror = DeepMap.from_layers(layers, 0.0)
        curve_params = np.array([[-800.0, 800.0], [-2000.0, 2000.0]])
        point = mirror.along(curve_params)
        np.testing.assert_array_equal(point.coefs, 0.0)
        np.testing.assert_array_equal(point.coef_rates, 0.0)
        signs, logs = mirror.signs_and_logs_at(curve_params)
        np.testing.assert_array_equal(signs, [[1, -1], [1, -1]])
        # β = v²√(v² + ¾), v = ½e^−|σ|.
        exact = 2 * (np.log(0.5) - np.abs(curve_params)) + np.log(0.75) / 2
        np.testing.assert_allclose(logs, exact, rtol=1e-14)
        slopes = mirror.slopes(1.1 * point.mirror)
        np.testing.assert_array_equal(slopes, 0.0)
        signs, logs = mirror.signs_and_logs_at(np.array([-np.inf, np.inf]))
        np.testing.assert_array_equal(signs, 0.0)
        np.testing.assert_array_equal(logs, -np.inf)

    def test_all_layers_tied_have_finite_rates(self):
        mirror = DeepMap.from_layers([np.ones(1)] * 4, -100.0)
        for curve_param in (-300.0, -500.0, -1000.0):
            assert np.isfinite(mirror.along(np.array([curve_param])).coef_rates).all()


def test_coefficients_of_order_one_at_the_smallest_scale():
    """At s = e^−708 and depth 3 the layer is beyond float64 in the direction's units."""
    layers = [np.array([0.1]), np.array([1.0]), np.array([1.5])]
    mirror = DeepMap.from_layers(layers, -708.0)
    coefs = np.array([[1e-3], [1.0], [1e12], [-7.0]])
    curve_params = mirror.curve_params_of(coefs)
    point = mirror.along(curve_params)
    np.testing.assert_allclose(point.coefs, coefs, rtol=RTOL)
    # dβ/dσ = 3β, once β is a third power.
    np.testing.assert_allclose(point.coef_rates, 3 * np.abs(coefs), rtol=RTOL)
    np.testing.assert_allclose(
        mirror.conjugates_at(curve_params), np.abs(coefs) ** (2 / 3) / 2, rtol=RTOL
    )


def test_a_potential_whose_mirror_coordinates_are_beyond_float64():
    """`Q = βξ − Ψ̂` with ξ = 1e310 and β = 1e-30: here `u^L`, in closed form."""
    depth, log_scale = 9, -98.0
    u = 1e-2
    mirror = PowerMap.from_layers(np.array([u]), None, depth, log_scale)
    coef = 1e-30
    assert np.isinf(mirror.mirror_coords(np.array([coef]))).all()
    with mp.workdps(50):
        start = mpf(u) * mp.exp(mpf(log_scale))
        end = mpf(coef) ** (mpf(1) / depth)
        xi = (start ** -(depth - 2) - end ** -(depth - 2)) / (depth * (depth - 2))
        exact = mpf(coef) * xi - end**2 / (2 * depth)
        assert 1e250 < exact < 1e300
        exact = float(exact)
    np.testing.assert_allclose(mirror.potential(np.array([coef])), exact, rtol=RTOL)
