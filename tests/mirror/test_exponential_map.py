"""The depth-2 mirror map against 50-digit arithmetic, from scale 1e3 down to 10^-1000."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from tests.oracles.many_digits.mirror_mp import DIGITS, PreciseMap

from limitpoint.mirror import ExponentialMap

EPS = np.finfo(np.float64).eps
TINY = np.finfo(np.float64).tiny
# Each quantity is a handful of float64 operations on logarithms of total modulus M; every one may
# lose half a unit in the last place, and so may each of the constants it starts from.
OPERATIONS = 16

LOG_SCALES = [*np.log([1e3, 1.0, 1e-2, 1e-5, 1e-30, 1e-100, 1e-300]), -2302.6]

# Mixed signs, zero entries in either layer, near-ties of both kinds.
FIRST = np.array([1.3, -0.7, 0.4, -2.0, 1.0, 0.0, 1.0, 1.0, -1.0, 0.3])
SECOND = np.array([0.2, 0.9, -1.1, -0.1, 0.0, -1.5, 1 + 1e-12, -1 + 1e-9, 1 - 1e-13, 0.29])
XI_NEAR = np.array([-0.4, -1e-3, -1e-12, 0.0, 1e-15, 1e-8, 0.1, 0.499])


def mirror_of(log_scale, first=FIRST, second=SECOND):
    return ExponentialMap.from_layers(first, second, log_scale)


def oracles_of(log_scale, first=FIRST, second=SECOND):
    return [PreciseMap(a, b, log_scale) for a, b in zip(first, second, strict=True)]


def mirror_far(log_scale):
    """ξ at which coefficients range from inactive to of order e^20, on both sides."""
    turn = max(-log_scale, 0.0)
    return np.array([-turn - 10, -turn, -0.6 * turn - 1, 0.3 * turn + 1, turn - 1, turn + 10])


def all_mirror(log_scale):
    return np.concatenate([XI_NEAR, mirror_far(log_scale)])


def on_grid(method, xi, count):
    """Evaluate a method of the map for every ξ (rows) and every coefficient (columns)."""
    return method(np.repeat(np.asarray(xi)[:, None], count, axis=1))


def conjugate_of(mirror):
    return lambda xi: mirror.evaluate(xi).conjugates


def log_sizes(log_scale, xi):
    """M.

    The sum of the moduli of the logarithms that enter, per mirror coordinate and coefficient.
    """
    with np.errstate(divide="ignore"):
        parts = [np.abs(np.log(np.abs(FIRST + s * SECOND))) for s in (1, -1)]
        parts += [np.where(x != 0, np.abs(np.log(np.abs(x))), 0.0) for x in (FIRST, SECOND)]
    return 2 * sum(parts) + 2 * abs(log_scale) + 2 * np.abs(xi)[:, None]


def precise(oracles, name, xi):
    """The oracle's values as mpmath numbers, mirror coordinate by coefficient."""
    table = [[getattr(oracle, name)(one_xi) for oracle in oracles] for one_xi in xi]
    return np.array(table, dtype=object)


def errors(found, exact):
    """|found − exact| / |exact| is taken in 50 digits; here the plain difference, as objects."""
    with mp.workdps(DIGITS):
        return np.vectorize(lambda x, y: abs(mp.mpf(float(x)) - y), otypes=[object])(found, exact)


def assert_within(found, exact, tolerance):
    """Every entry within its own tolerance, or both below the smallest normal float."""
    assert not np.isnan(found).any()
    error = errors(found, exact)
    bad = np.argwhere((error > tolerance) & (error > TINY))
    assert bad.size == 0, [(tuple(i), found[tuple(i)], mp.nstr(exact[tuple(i)])) for i in bad[:5]]


def tolerances(log_scale, xi, *sizes):
    """`OPERATIONS · eps · (1 + M)` times the sum of the sizes of the terms."""
    relative = OPERATIONS * EPS * (1 + log_sizes(log_scale, xi))
    return relative * sum(sizes)


@pytest.mark.parametrize("log_scale", LOG_SCALES)
def test_coefs_far_from_the_start_match_mpmath(log_scale):
    xi, oracles = mirror_far(log_scale), oracles_of(log_scale)
    found = on_grid(mirror_of(log_scale).coefs, xi, len(FIRST))
    # β is the difference of two exponentials whose sum is half the slope.
    slope = precise(oracles, "slope", xi)
    exact = precise(oracles, "coef", xi)
    assert_within(found, exact, tolerances(log_scale, xi, slope))


@pytest.mark.parametrize("log_scale", LOG_SCALES)
def test_coefs_near_the_start_keep_the_change_itself(log_scale):
    xi, oracles = XI_NEAR, oracles_of(log_scale)
    found = on_grid(mirror_of(log_scale).coefs, xi, len(FIRST))
    start = precise(oracles, "coef", np.zeros_like(xi))
    slope = precise(oracles, "slope", xi)
    # Near the start only the start and the change from it are rounded, not the two exponentials,
    # which may be far larger than both.
    change = slope * np.abs(xi)[:, None]
    exact = precise(oracles, "coef", xi)
    assert_within(found, exact, tolerances(log_scale, xi, abs(start), change))


@pytest.mark.parametrize("log_scale", LOG_SCALES)
def test_slopes_match_mpmath(log_scale):
    xi, oracles = all_mirror(log_scale), oracles_of(log_scale)
    found = on_grid(mirror_of(log_scale).slopes, xi, len(FIRST))
    exact = precise(oracles, "slope", xi)
    assert_within(found, exact, tolerances(log_scale, xi, exact))


@pytest.mark.parametrize("log_scale", LOG_SCALES)
def test_signs_and_logs_match_mpmath_also_below_the_smallest_float(log_scale):
    xi, oracles = all_mirror(log_scale), oracles_of(log_scale)
    signs, logs = on_grid(mirror_of(log_scale).signs_and_logs, xi, len(FIRST))
    exact, slope = (precise(oracles, name, xi) for name in ("coef", "slope"))
    expected_signs = np.vectorize(mp.sign, otypes=[float])(exact)
    # An error of `relative · slope` in β is one of that over |β| in its logarithm; where that
    # exceeds 1 (a coefficient passing through zero) neither sign nor logarithm is determined.
    known = tolerances(log_scale, xi, slope) < 0.1 * abs(exact)
    np.testing.assert_array_equal(signs[known], expected_signs[known])
    exact_logs = np.vectorize(lambda x: mp.log(abs(x)) if x else -mp.inf, otypes=[object])(exact)
    allowed = 2 * tolerances(log_scale, xi, slope)[known] / abs(exact[known])
    allowed += OPERATIONS * EPS * np.vectorize(float)(abs(exact_logs[known]))
    assert (errors(logs[known], exact_logs[known]) <= allowed).all()


def test_signs_and_logs_agree_with_coefs_where_float64_holds_them():
    mirror, xi = mirror_of(np.log(1e-30)), mirror_far(np.log(1e-30))
    coefs = on_grid(mirror.coefs, xi, len(FIRST))
    signs, logs = on_grid(mirror.signs_and_logs, xi, len(FIRST))
    # exp turns an error in a logarithm of modulus up to 160 into a relative one.
    np.testing.assert_allclose(signs * np.exp(logs), coefs, rtol=OPERATIONS * EPS * 160)


def test_signs_and_logs_hold_what_a_tiny_direction_multiplies_to():
    mirror = mirror_of(0.0, np.array([1e-200, 3e-200]), np.array([2e-200, -1e-200]))
    signs, logs = mirror.signs_and_logs(np.zeros(2))
    np.testing.assert_array_equal(signs, [1.0, -1.0])
    expected = np.log([2.0, 3.0]) - 400 * np.log(10.0)
    # Logarithms of modulus 921.
    np.testing.assert_allclose(logs, expected, atol=OPERATIONS * EPS * 921)


@pytest.mark.parametrize("log_scale", LOG_SCALES)
def test_mirror_coordinates_invert_coefs(log_scale):
    """Ψ⁻¹ of mpmath's Ψ, rounded to float64, wherever that is a normal number."""
    xi, oracles = all_mirror(log_scale), oracles_of(log_scale)
    exact, slope = (precise(oracles, name, xi) for name in ("coef", "slope"))
    coefs = np.vectorize(float)(exact)
    held = np.abs(coefs) >= TINY
    found = mirror_of(log_scale).mirror_coords(coefs)
    wanted = np.broadcast_to(xi[:, None], coefs.shape)
    with np.errstate(divide="ignore"):
        size = 1 + log_sizes(log_scale, xi) + np.where(held, np.abs(np.log(np.abs(coefs))), 0)
    # β is rounded by eps|β|, which moves the mirror coordinate by that over the slope; the start
    # that it is compared with likewise; and the mirror coordinate itself is rounded.
    start = abs(precise(oracles, "coef", np.zeros_like(xi)))
    moved = np.vectorize(float)((abs(exact) + start) / slope)
    tolerance = OPERATIONS * EPS * size * (np.abs(wanted) + moved)
    assert held.any()
    assert (np.abs(found - wanted)[held] <= tolerance[held]).all()


@pytest.mark.parametrize("log_scale", LOG_SCALES)
def test_the_mirror_coordinate_of_zero_is_where_the_two_exponentials_balance(log_scale):
    oracles = oracles_of(log_scale)
    exact = np.array([float(oracle.mirror_coords(0)) for oracle in oracles])
    found = mirror_of(log_scale).mirror_coords(np.zeros(len(FIRST)))
    tolerance = tolerances(log_scale, np.zeros(1), 1 + np.abs(exact))[0]
    assert (np.abs(found - exact) <= tolerance).all()


@pytest.mark.parametrize("log_scale", LOG_SCALES)
def test_potential_and_conjugate_match_mpmath(log_scale):
    xi, oracles = all_mirror(log_scale), oracles_of(log_scale)
    mirror = mirror_of(log_scale)
    coefs, slope = (precise(oracles, name, xi) for name in ("coef", "slope"))
    rounded = np.vectorize(float)(coefs)
    with mp.workdps(DIGITS):
        exact = np.array(
            [[o.potential(b) for o, b in zip(oracles, row, strict=True)] for row in rounded]
        )
    start = abs(precise(oracles, "coef", np.zeros_like(xi)))
    at = np.abs(xi)[:, None]
    # Q = βξ − bend/2 with bend ≤ 2β²/slope: the error of the mirror coordinate (see above) times
    # |β|, and `|log|β||` enters the mirror coordinate as well.
    size = abs(coefs) * (at + (abs(coefs) + start) / slope)
    tolerance = 2 * tolerances(log_scale, xi, size)
    assert_within(mirror.potential(rounded), exact, tolerance)
    # The conjugate is a square of a difference; an error δ of the mirror coordinate moves it by
    # |β|δ.
    exact = precise(oracles, "conjugate", xi)
    tolerance = tolerances(log_scale, xi, exact, abs(coefs))
    assert_within(on_grid(conjugate_of(mirror), xi, len(FIRST)), exact, tolerance)


def test_the_oracle_s_potential_is_the_integral_of_its_mirror_coordinates():
    for oracle in oracles_of(0.0):
        with mp.workdps(20):
            integral = mp.quad(oracle.mirror_coords, [0, 0.5, 2])
        # Tanh-sinh at 20 digits; a logarithm that bends only 1e-13 from the end point costs it
        # about that much.
        assert float(integral) == pytest.approx(float(oracle.potential(2)), rel=1e-12)


@pytest.mark.parametrize("log_scale", LOG_SCALES[:5])
def test_the_derivative_of_the_potential_is_the_mirror_coordinate(log_scale):
    mirror, step = mirror_of(log_scale), 1e-4
    coefs = np.array([-1.7, 0.6, 2.3, -0.2, 1.1, -0.9, 0.5, -0.4, 1.3, 0.8])
    difference = (mirror.potential(coefs * (1 + step)) - mirror.potential(coefs * (1 - step))) / (
        2 * coefs * step
    )
    # Central difference: error (βh)²/6 · |Q'''|, with |Q'''| ≤ 2/β² (asinh), so h²/3; plus the
    # rounding of Q, of size up to 70|β| (Q' = ½ log at scale 1e-30), divided by 2h.
    tolerance = step**2 / 3 + OPERATIONS * EPS * 70 / (2 * step)
    np.testing.assert_allclose(difference, mirror.mirror_coords(coefs), rtol=0, atol=tolerance)


@pytest.mark.parametrize("log_scale", LOG_SCALES[:6])
def test_the_slope_is_the_derivative_of_the_coefficient(log_scale):
    """By a complex step through the layers themselves, which are analytic in ξ."""
    xi = mirror_far(log_scale)
    slopes = on_grid(mirror_of(log_scale).slopes, xi, len(FIRST))
    shifted = xi[:, None] + 1e-30j
    grown = (FIRST + SECOND) * np.exp(log_scale + shifted)
    shrunk = (FIRST - SECOND) * np.exp(log_scale - shifted)
    derivative = np.imag((grown - shrunk) * (grown + shrunk)) / 4e-30
    # Logarithms of modulus up to 2·100·log 10 + 2·240.
    np.testing.assert_allclose(slopes, derivative, rtol=OPERATIONS * EPS * 1000)


def test_the_curvature_of_the_potential_is_one_over_the_slope():
    """`Q''Ψ' = 1`, with Q'' the central difference of the mirror coordinates."""
    mirror, xi, step = mirror_of(0.0), np.linspace(-2, 2, len(FIRST)), 1e-5
    coefs = mirror.coefs(xi)
    slopes = mirror.slopes(xi)
    ahead, behind = (mirror.mirror_coords(coefs + side * step * slopes) for side in (1, -1))
    # A step of h·slope in β is one of h in ξ up to h² (each derivative of Ψ is at most twice the
    # one before): relative error below 4h²; and rounding of mirror coordinates of modulus 2, over
    # 2h.
    tolerance = 4 * step**2 + OPERATIONS * EPS * 4 / step
    np.testing.assert_allclose((ahead - behind) / (2 * step), 1.0, rtol=tolerance)


@pytest.mark.parametrize("log_scale", LOG_SCALES)
def test_fenchel_young_is_an_equality_at_the_map_and_strict_elsewhere(log_scale):
    mirror, xi = mirror_of(log_scale), mirror_far(log_scale)
    grid = np.repeat(xi[:, None], len(FIRST), axis=1)
    coefs = mirror.coefs(grid)
    primal, dual, pairing = mirror.potential(coefs), conjugate_of(mirror)(grid), coefs * grid
    size = np.abs(primal) + np.abs(dual) + np.abs(pairing)
    # Rounding of the three terms, in which mirror coordinates of modulus up to 2·2313 are
    # exponents.
    slack = OPERATIONS * EPS * (1 + log_sizes(log_scale, xi)) * size
    assert (np.abs(primal + dual - pairing) <= slack).all()
    elsewhere = conjugate_of(mirror)(grid + 0.5)
    gap = primal + elsewhere - coefs * (grid + 0.5)
    # Strictly convex where the slope is visible: ½·slope·δ² to lowest order, δ = ½.
    visible = mirror.slopes(grid) > 1e-6 * size
    assert visible.any()
    assert (gap[visible] > 0).all()


@pytest.mark.parametrize("log_scale", LOG_SCALES)
def test_a_start_is_reproduced_at_mirror_coordinate_zero(log_scale):
    mirror = mirror_of(log_scale)
    start = np.exp(2 * log_scale) * FIRST * SECOND
    with np.errstate(under="ignore"):
        found = mirror.coefs(np.zeros(len(FIRST)))
    # exp of a logarithm of modulus up to 2|log_scale| + 30, subnormal numbers aside.
    rtol = OPERATIONS * EPS * (1 + 2 * abs(log_scale) + 30)
    np.testing.assert_allclose(found, start, rtol=rtol, atol=TINY)


class TestTies:
    """Equal layers never become negative, opposite ones never positive, zero ones never move."""

    first = np.array([1.0, -2.0, 0.5, 0.0])
    second = np.array([1.0, -2.0, -0.5, 0.0])
    start = np.array([1.0, 4.0, -0.25, 0.0])

    @pytest.fixture(params=LOG_SCALES)
    def mirror(self, request):
        return mirror_of(request.param, self.first, self.second)

    def test_bounds(self, mirror):
        np.testing.assert_array_equal(mirror.lower, [0.0, 0.0, -np.inf, 0.0])
        np.testing.assert_array_equal(mirror.upper, [np.inf, np.inf, 0.0, 0.0])

    def test_coefs_grow_as_one_exponential(self, mirror):
        xi = np.array([0.7, -mirror.log_scale, 1.0 + mirror.log_scale, 5.0])
        signs, logs = mirror.signs_and_logs(xi)
        np.testing.assert_array_equal(signs, [1.0, 1.0, -1.0, 0.0])
        with np.errstate(divide="ignore"):
            exact = np.log(np.abs(self.start)) + 2 * mirror.log_scale
        exact += 2 * xi * np.array([1, 1, -1, 1])
        # Sums of logarithms of modulus up to 4|log_scale|.
        atol = OPERATIONS * EPS * (10 + 4 * abs(mirror.log_scale))
        np.testing.assert_allclose(logs, exact, rtol=0, atol=atol)

    def test_mirror_coordinates_invert_that_exponential_and_are_infinite_at_the_end(self, mirror):
        coefs = np.array([0.3, 2.0, -1.5, 0.0])
        exact = np.log(np.abs(coefs[:3] / self.start[:3])) / 2 - mirror.log_scale
        exact *= [1, 1, -1]
        atol = OPERATIONS * EPS * (10 + 2 * abs(mirror.log_scale))
        np.testing.assert_allclose(mirror.mirror_coords(coefs)[:3], exact, rtol=0, atol=atol)
        np.testing.assert_array_equal(
            mirror.mirror_coords(np.zeros(4)), [-np.inf, -np.inf, np.inf, 0.0]
        )

    def test_a_frozen_coefficient_stays_at_zero(self, mirror):
        xi = np.array([0.0, 0.0, 0.0, 1e4])
        assert mirror.coefs(xi)[3] == 0.0
        assert mirror.slopes(xi)[3] == 0.0
        assert mirror.mirror_coords(np.zeros(4))[3] == 0.0
        assert mirror.potential(np.zeros(4))[3] == 0.0

    def test_potential_is_the_entropy_of_the_sign_constraint(self, mirror):
        coefs = np.array([0.3, 2.0, -1.5, 0.0])
        oracles = [
            PreciseMap(a, b, mirror.log_scale)
            for a, b in zip(self.first[:3], self.second[:3], strict=True)
        ]
        exact = [float(o.potential(c)) for o, c in zip(oracles, coefs[:3], strict=True)]
        rtol = OPERATIONS * EPS * (10 + 2 * abs(mirror.log_scale))
        found = mirror.potential(coefs)
        np.testing.assert_allclose(found[:3], exact, rtol=rtol, atol=rtol)
        assert found[3] == 0.0

    def test_activation_times_are_infinite_on_the_closed_side(self, mirror):
        growth = mirror.activation_times()
        np.testing.assert_array_equal(growth.t_plus, [1.0, 1.0, np.inf, np.inf])
        np.testing.assert_array_equal(growth.t_minus, [np.inf, np.inf, 1.0, np.inf])
        assert growth.unit == -mirror.log_scale


def test_activation_times_are_one_where_layers_differ():
    growth = mirror_of(-50.0).activation_times()
    np.testing.assert_array_equal(growth.t_plus, 1.0)
    np.testing.assert_array_equal(growth.t_minus, 1.0)
    assert growth.unit == 50.0


def test_a_activation_time_is_when_the_coefficient_appears():
    """At mirror coordinate (1 ± 0.1) log(1/s) the coefficient is s^{∓0.2} of order one.

    Seen or not seen.
    """
    mirror = mirror_of(-2302.6)
    growth = mirror.activation_times()
    for side, times in ((1, growth.t_plus), (-1, growth.t_minus)):
        _, before = mirror.signs_and_logs(side * 0.9 * times * growth.unit)
        signs, after = mirror.signs_and_logs(side * 1.1 * times * growth.unit)
        # log|β| = 2 log s + 2|ξ| + log g, and |log g| < 70 for near-ties of 1e-13.
        np.testing.assert_allclose(before, -0.2 * 2302.6, atol=70)
        np.testing.assert_allclose(after, 0.2 * 2302.6, atol=70)
        np.testing.assert_array_equal(signs, side)


def test_at_log_scale_is_the_same_direction_elsewhere():
    moved = mirror_of(-2302.6).at_log_scale(-3.0)
    direct = mirror_of(-3.0)
    xi = np.linspace(-4, 4, len(FIRST))
    assert moved.log_scale == -3.0
    np.testing.assert_array_equal(moved.coefs(xi), direct.coefs(xi))
    np.testing.assert_array_equal(moved.slopes(xi), direct.slopes(xi))


def test_beyond_the_largest_float_coefs_are_infinite_without_a_warning():
    mirror = mirror_of(0.0)
    np.testing.assert_array_equal(mirror.coefs(np.full(len(FIRST), 1e3)), np.inf)
    np.testing.assert_array_equal(mirror.coefs(np.full(len(FIRST), -1e3)), -np.inf)
    np.testing.assert_array_equal(mirror.slopes(np.full(len(FIRST), 1e3)), np.inf)
    np.testing.assert_array_equal(conjugate_of(mirror)(np.full(len(FIRST), 1e3)), np.inf)
    signs, logs = mirror.signs_and_logs(np.full(len(FIRST), -1e3))
    np.testing.assert_array_equal(signs, -1.0)
    assert np.isfinite(logs).all()


@settings(derandomize=True, deadline=None)
@given(
    a=st.floats(-10, 10, allow_subnormal=False),
    b=st.floats(-10, 10, allow_subnormal=False),
    log_scale=st.floats(-2400, 7),
    low=st.floats(-2500, 2500),
    high=st.floats(-2500, 2500),
)
def test_the_map_increases_and_its_sign_is_that_of_its_coefficients(a, b, log_scale, low, high):
    mirror = mirror_of(log_scale, np.array([a]), np.array([b]))
    below, above = (mirror.coefs(np.array([c]))[0] for c in sorted((low, high)))
    # Each value is right to a relative `eps (1 + M)`; M ≤ 2·2400 + 2·2500 + logs of a ± b.
    slack = OPERATIONS * EPS * 12_000
    assert below == above or below <= above + slack * min(abs(below), abs(above)) + TINY
    sign = mirror.signs_and_logs(np.array([high]))[0][0]
    coef = mirror.coefs(np.array([high]))[0]
    assert coef == 0 or sign == np.sign(coef)


class TestRate:
    """Other networks of degree 2: `u² − w²` has P = |u|, M = |w| and the rate 2."""

    u = np.array([1.3, -0.7, 0.4, 1.0, 0.8, 0.0, -0.9, 0.0])
    w = np.array([0.2, 0.9, -1.1, 1.0, 0.8 * (1 + 1e-9), 0.6, 0.0, 0.0])

    def mirror(self, log_scale, rate=2.0):
        plus, minus = np.abs(self.u), np.abs(self.w)
        smaller = plus - minus
        start = smaller * (plus + minus)
        return ExponentialMap.from_exponentials(plus, minus, smaller, start, log_scale, rate)

    @pytest.mark.parametrize("log_scale", LOG_SCALES)
    def test_coefs_slopes_and_conjugates_match_mpmath(self, log_scale):
        xi = all_mirror(log_scale) / 2
        found = on_grid(self.mirror(log_scale).evaluate, xi, len(self.u))
        for (i, j), coef in np.ndenumerate(found.coefs):
            with mp.workdps(DIGITS):
                scale, one_xi = mp.exp(mp.mpf(float(log_scale))), mp.mpf(float(xi[i]))
                u = scale * mp.mpf(float(self.u[j])) * mp.exp(2 * one_xi)
                w = scale * mp.mpf(float(self.w[j])) * mp.exp(-2 * one_xi)
                exact, slope = u**2 - w**2, 4 * (u**2 + w**2)
                # ∫(u² − w²)dξ, zero where |u| = |w|.
                conjugate = (abs(u) - abs(w)) ** 2 / 4
                size = 2 * (abs(log_scale) + abs(xi[i])) + 42
                relative = OPERATIONS * EPS * (1 + size)
                assert abs(mp.mpf(float(coef)) - exact) <= relative * slope + TINY
                assert abs(mp.mpf(float(found.slopes[i, j])) - slope) <= relative * slope + TINY
                error = abs(mp.mpf(float(found.conjugates[i, j])) - conjugate)
                assert error <= relative * (conjugate + abs(exact)) + TINY

    @pytest.mark.parametrize("log_scale", LOG_SCALES)
    def test_a_rate_only_rescales_the_mirror_coordinate(self, log_scale):
        one, two = self.mirror(log_scale, 1.0), self.mirror(log_scale)
        xi = on_grid(lambda c: c, all_mirror(log_scale), len(self.u))
        np.testing.assert_array_equal(two.coefs(xi / 2), one.coefs(xi))
        np.testing.assert_array_equal(two.slopes(xi / 2), 2 * one.slopes(xi))
        for found, exact in zip(two.signs_and_logs(xi / 2), one.signs_and_logs(xi), strict=True):
            np.testing.assert_array_equal(found, exact)
        coefs = np.where(one.upper > 0, 1.7, -1.7)
        np.testing.assert_array_equal(two.mirror_coords(coefs), one.mirror_coords(coefs) / 2)
        # Q = βξ − Ψ̂, both halved: the same roundings.
        np.testing.assert_allclose(two.potential(coefs), one.potential(coefs) / 2, rtol=1e-15)
        assert two.at_log_scale(-1.0).rate == 2.0

    def test_activation_times_are_one_over_the_rate(self):
        growth = self.mirror(-7.0).activation_times()
        np.testing.assert_array_equal(growth.t_plus, np.where(self.u == 0, np.inf, 0.5))
        np.testing.assert_array_equal(growth.t_minus, np.where(self.w == 0, np.inf, 0.5))
        assert growth.unit == 7.0
