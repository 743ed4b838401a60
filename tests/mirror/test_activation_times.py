"""Activation times against 25-digit quadrature, closed forms, scaling laws and the flow itself."""

import numpy as np
import pytest
from mpmath import mp, mpf
from tests.oracles.brute.flow import flow_limit
from tests.theory.problems import diagonal_problem, random_layers

import limitpoint as lp
from limitpoint.mirror import ExponentialMap
from limitpoint.mirror.activation_times import diagonal_activation_times

# Identities of one quadrature or one elliptic integral.
RTOL = 1e-12
DEPTHS = (3, 4, 5, 6)
X_EQ7, Y_EQ7 = lp.examples.zhao_eq7().X, lp.examples.zhao_eq7().y


def precise_times(entries):
    """`(t⁺, t⁻)` of one coordinate, by quadrature over x itself, split where the integrand bends.

    The turned v is formed from the signs, the gaps from exact squares: nothing is shared with the
    library's substitution x = c·sinh τ.
    """
    with mp.workdps(25):
        layers = [mpf(float(entry)) for entry in entries]
        smallest = min(range(len(layers)), key=lambda j: abs(layers[j]))
        v = layers.pop(smallest)
        gaps = [other**2 - v**2 for other in layers]
        for other in layers:
            v *= mp.sign(other)
        bends = {mp.sqrt(gap) for gap in gaps} | {abs(v)} - {mpf(0)}
        cuts = sorted({sign * factor * b for b in bends for sign in (-1, 1) for factor in FACTORS})

        def time_from(start):
            points = [start, *(cut for cut in cuts if cut > start), mp.inf]
            return mp.quad(lambda x: 1 / mp.sqrt(mp.fprod(x * x + gap for gap in gaps)), points)

        return float(time_from(v)), float(time_from(-v))


FACTORS = tuple(mpf(10) ** (mpf(k) / 2) for k in range(-8, 9))


def assert_precise(layers):
    found = diagonal_activation_times(layers, log_scale=0.0)
    expected = np.array([precise_times(entries) for entries in np.transpose(layers)])
    np.testing.assert_allclose(found.t_plus, expected[:, 0], rtol=RTOL)
    np.testing.assert_allclose(found.t_minus, expected[:, 1], rtol=RTOL)


class TestAgainstQuadrature:
    @pytest.mark.parametrize("depth", DEPTHS)
    def test_random_layers(self, depth):
        assert_precise(random_layers(3, depth, seed=depth))

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_a_zero_entry(self, depth):
        layers = np.stack(random_layers(2, depth, seed=10 + depth))
        layers[0, 0] = layers[-1, 1] = 0.0
        assert_precise(layers)

    @pytest.mark.parametrize("gap", [1e-2, 1e-6, 1e-12])
    @pytest.mark.parametrize("depth", DEPTHS)
    def test_near_ties(self, depth, gap):
        """v passes a spike of width √Δ at 0 when it starts on the other side of it."""
        rest = np.linspace(2.0, 3.0, depth - 2)
        assert_precise(np.array([[-1.0, 1.0 + gap, *rest]]).T)

    @pytest.mark.slow
    @pytest.mark.parametrize("depth", DEPTHS)
    def test_layers_that_differ_by_eight_orders_of_magnitude(self, depth):
        rng = np.random.default_rng(depth)
        spread = 10.0 ** np.linspace(-4, 4, depth)
        one_large = 10.0 ** np.array([-4.0] * (depth - 1) + [4.0])
        two_small = 10.0 ** np.array([-4.0, -3.0] + [4.0] * (depth - 2))
        sizes = np.stack([spread, one_large, two_small], axis=1)
        assert_precise(sizes * rng.uniform(1, 2, sizes.shape) * rng.choice([-1, 1], sizes.shape))

    @pytest.mark.parametrize("seed", range(5))
    def test_the_smallest_layer_can_stand_anywhere(self, seed):
        rng = np.random.default_rng(seed)
        layers = np.stack(random_layers(6, 4, seed=seed))
        one, other = (diagonal_activation_times(rng.permutation(layers), 0.0) for _ in range(2))
        np.testing.assert_allclose(one.t_plus, other.t_plus, rtol=RTOL)
        np.testing.assert_allclose(one.t_minus, other.t_minus, rtol=RTOL)


class TestClosedForms:
    def test_the_zero_balanced_start_of_depth_3(self):
        """`∫₀^∞ dx/(x² + α²) = π/(2α)` (zhao, Fig. 4)."""
        alpha = np.array([1e-3, 0.5, 1.0, -2.0, 7e3])
        times = diagonal_activation_times([alpha, alpha, np.zeros(5)], 0.0)
        np.testing.assert_allclose(times.t_plus, np.pi / (2 * np.abs(alpha)), rtol=1e-14)
        np.testing.assert_array_equal(times.t_plus, times.t_minus)

    @pytest.mark.parametrize(("depth", "c"), [(3, np.pi / 2), (4, 1.0), (5, np.pi / 4)])
    def test_zero_last_is_c_of_yun_times_a_power(self, depth, c):
        """`c_L |w̄|^(2−L)`, `c_L = ½B(½, (L−2)/2)` (yun, Corollary 5)."""
        w = np.array([0.3, 1.0, -2.5])
        times = diagonal_activation_times([w] * (depth - 1) + [np.zeros(3)], 0.0)
        np.testing.assert_allclose(times.t_plus, c * np.abs(w) ** (2.0 - depth), rtol=RTOL)
        np.testing.assert_allclose(times.t_minus, times.t_plus, rtol=RTOL)

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_equal_layers(self, depth):
        """All Δ are zero: `∫_v^∞ x^(1−L) dx = v^(2−L)/(L−2)` on the side of v, never the other."""
        v = np.array([0.5, 2.0])
        times = diagonal_activation_times([v] * depth, 0.0)
        np.testing.assert_allclose(times.t_plus, v ** (2.0 - depth) / (depth - 2), rtol=RTOL)
        np.testing.assert_array_equal(times.t_minus, np.inf)

    @pytest.mark.parametrize("c", [1e-6, 10.0])
    @pytest.mark.parametrize("depth", DEPTHS)
    def test_layers_times_c_have_times_c_to_the_2_minus_depth(self, depth, c):
        layers = np.stack(random_layers(6, depth, seed=depth))
        layers[0, 0] = 0.0
        one, scaled = (
            diagonal_activation_times(layers, 0.0),
            diagonal_activation_times(c * layers, 0.0),
        )
        factor = c ** (2.0 - depth)
        np.testing.assert_allclose(scaled.t_plus, factor * one.t_plus, rtol=RTOL)
        np.testing.assert_allclose(scaled.t_minus, factor * one.t_minus, rtol=RTOL)

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_a_negative_layer_exchanges_the_sides(self, depth):
        layers = np.stack(random_layers(6, depth, seed=depth))
        turned = layers.copy()
        turned[1] *= -1
        one, other = diagonal_activation_times(layers, 0.0), diagonal_activation_times(turned, 0.0)
        np.testing.assert_allclose(one.t_plus, other.t_minus, rtol=RTOL)
        np.testing.assert_allclose(one.t_minus, other.t_plus, rtol=RTOL)


class TestOrientation:
    """The sign of the product of the other layers, which Assumption 4.4 of zhao leaves out."""

    # Others 1 and −1, whose product is negative. v starts 0.9 to the side that makes (4/3, −2/3)
    # cheap and (10/7, −10/49) on the last two dear; as printed it is the other way round.
    others = (np.ones(4), -np.ones(4))
    v = np.array([-0.9, 0.9, 0.9, -0.9])
    reached = np.array([4 / 3, -2 / 3, 0, 0])
    printed = np.array([0, 0, 10 / 7, -10 / 49])

    def test_times_are_those_of_the_turned_layer(self):
        near = precise_times([1, 1, 0.9])
        times = diagonal_activation_times([*self.others, self.v], 0.0)
        expected = np.where(self.v < 0, near[0], near[1])
        np.testing.assert_allclose(times.t_plus, expected, rtol=RTOL)
        np.testing.assert_allclose(times.t_minus, sum(near) - expected, rtol=RTOL)

    def test_the_printed_times_lead_elsewhere(self):
        times = diagonal_activation_times([*self.others, self.v], 0.0)
        corrected = lp.saddle_path(X_EQ7, Y_EQ7, times.t_plus, times.t_minus)
        as_printed = lp.saddle_path(X_EQ7, Y_EQ7, times.t_minus, times.t_plus)
        np.testing.assert_allclose(corrected.coef, self.reached, atol=1e-12)
        np.testing.assert_allclose(as_printed.coef, self.printed, atol=1e-12)

    def test_the_flow_of_the_parameters_goes_where_the_turned_times_say(self):
        """How near it comes at which scale is tested, with its constant, in test_saddles."""
        coef = flow_limit(X_EQ7, Y_EQ7, [0.03 * layer for layer in (*self.others, self.v)])
        there = np.linalg.norm(coef - self.reached)
        assert there < 1e-2 * np.linalg.norm(coef - self.printed)
        limit = lp.predict(diagonal_problem(X_EQ7, Y_EQ7, *self.others, self.v, scale=0.0))
        np.testing.assert_allclose(limit.coef, self.reached, atol=1e-12)

    def test_the_zero_balanced_start_does_not_tell_them_apart(self):
        times = diagonal_activation_times([*self.others, np.zeros(4)], 0.0)
        np.testing.assert_array_equal(times.t_plus, times.t_minus)


class TestTies:
    @pytest.mark.parametrize("depth", [2, *DEPTHS])
    def test_a_tied_coordinate_keeps_the_sign_of_its_coefficient(self, depth):
        layers = np.stack(random_layers(8, depth, seed=depth))
        layers[:2] = np.array([0.1, -0.1, 0.1, -0.1] * 2), np.array([0.1, 0.1, -0.1, -0.1] * 2)
        layers[2:] += 0.2 * np.sign(layers[2:])
        coef = np.prod(layers, axis=0)
        times = diagonal_activation_times(layers, 0.0)
        np.testing.assert_array_equal(np.isinf(times.t_plus), coef < 0)
        np.testing.assert_array_equal(np.isinf(times.t_minus), coef > 0)

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_the_finite_side_of_a_tie_is_the_limit_of_near_ties(self, depth):
        """`t` is smooth in Δ on the side of v: an entry moved by ε moves it by O(ε)."""
        layers = np.stack([[0.5], [0.5], *([[1.5]] * (depth - 2))])
        tied = diagonal_activation_times(layers, 0.0)
        layers[1] += 1e-9
        near = diagonal_activation_times(layers, 0.0)
        # |∂t/∂a| ≤ t·a/(x² + Δ) at x ≥ v: at most t·a/v² = 2t here.
        np.testing.assert_allclose(near.t_plus, tied.t_plus, rtol=4e-9)
        assert np.isinf(tied.t_minus)
        assert near.t_minus > 3 * near.t_plus

    @pytest.mark.parametrize("depth", [2, *DEPTHS])
    def test_two_zeros_freeze_a_coordinate(self, depth):
        layers = np.stack(random_layers(3, depth))
        layers[:2, 1] = 0.0
        times = diagonal_activation_times(layers, 0.0)
        assert np.isinf(times.t_plus[1])
        assert np.isinf(times.t_minus[1])
        assert np.isfinite(times.t_plus[[0, 2]]).all()
        assert np.isfinite(times.t_minus[[0, 2]]).all()

    def test_all_layers_zero(self):
        times = diagonal_activation_times(np.zeros((3, 2)), 0.0)
        assert np.isinf(times.t_plus).all()
        assert np.isinf(times.t_minus).all()


class TestDepth2:
    @pytest.mark.parametrize("log_scale", [-2302.6, -3.0, 0.0])
    def test_is_what_the_mirror_map_says(self, log_scale):
        a = np.array([1.0, 0.5, 0.5, -0.5, 0.0, 0.0, 0.3])
        b = np.array([0.2, 0.5, -0.5, -0.5, 0.0, 1.0, -7.0])
        one = diagonal_activation_times([a, b], log_scale)
        other = ExponentialMap.from_layers(a, b, log_scale).activation_times()
        np.testing.assert_array_equal(one.t_plus, other.t_plus)
        np.testing.assert_array_equal(one.t_minus, other.t_minus)
        assert one.unit == other.unit


class TestUnits:
    def test_depth_2_counts_in_logarithms(self):
        layers = random_layers(3, 2)
        assert diagonal_activation_times(layers, -2302.6).unit == 2302.6
        assert diagonal_activation_times(layers, -np.inf).unit == np.inf

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_deeper_networks_count_in_powers(self, depth):
        layers = random_layers(3, depth)
        unit = diagonal_activation_times(layers, np.log(0.01)).unit
        assert unit == pytest.approx(0.01 ** (2 - depth), rel=RTOL)
        assert diagonal_activation_times(layers, -np.inf).unit == np.inf

    def test_a_unit_too_large_for_a_float_is_infinite(self):
        assert diagonal_activation_times(random_layers(3, 3), -2302.6).unit == np.inf

    def test_times_do_not_depend_on_the_scale(self):
        layers = random_layers(3, 4)
        one, other = (diagonal_activation_times(layers, log_scale) for log_scale in (-5.0, -np.inf))
        np.testing.assert_array_equal(one.t_plus, other.t_plus)
        np.testing.assert_array_equal(one.t_minus, other.t_minus)

    @pytest.mark.parametrize("depth", [2, 4])
    def test_the_network_gives_the_same(self, depth):
        layers = random_layers(3, depth)
        init = lp.Init(layers, log_scale=-4.0)
        of_network = lp.Diagonal(depth).activation_times(init)
        directly = diagonal_activation_times(layers, -4.0)
        np.testing.assert_array_equal(of_network.t_plus, directly.t_plus)
        np.testing.assert_array_equal(of_network.t_minus, directly.t_minus)
        assert of_network.unit == directly.unit
