"""The mirror maps of power networks against many-digit arithmetic, up to their poles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from tests.oracles.many_digits.power_mp import PrecisePower, integrated_layers

from limitpoint.mirror.power_map import PowerMap

EPS = np.finfo(np.float64).eps
TINY = np.finfo(np.float64).tiny
LARGEST = np.finfo(np.float64).max
# Each quantity is a handful of float64 operations on logarithms of total modulus M; every one may
# lose half a unit in the last place, and so may each of the constants it starts from.
OPERATIONS = 16

DEPTHS = [3, 4, 5, 6]
LOG_SCALES = list(np.log([1e2, 1.0, 1e-6, 1e-60]))

# All combinations of signs, near-ties, very different sizes, a zero in either layer.
U = np.array([1.3, -0.7, 0.4, -2.0, 1.0, 1.0, 0.8, 0.0, -0.9, 0.0, 1e-4, 1.0])
W = np.array([0.2, -0.9, -1.1, 0.1, 1.0, -1.0, 0.8 * (1 + 1e-9), 0.6, 0.0, -1.2, 1.0, -1 + 1e-9])


def mirror_of(depth, log_scale, u=U, w=W):
    return PowerMap.from_layers(u, w, depth, log_scale)


def oracles_of(depth, log_scale, u=U, w=W):
    return [PrecisePower(a, b, depth, log_scale) for a, b in zip(u, w, strict=True)]


def curve_params_for(log_scale):
    """From inactive to e^5 times order one, on both sides, and close to the start."""
    turn = max(-log_scale, 0.0)
    near = np.array([1e-12, 1e-3, 0.3])
    far = np.array([1.0, 0.5 * turn + 1, turn, turn + 5])
    half = np.concatenate([near, far])
    return np.concatenate([-half, [0.0], half])


def grid(curve_params):
    return np.repeat(np.asarray(curve_params)[:, None], len(U), axis=1)


def table(oracles, rows, function):
    """`function(oracle, entry)` for every entry of rows (any shape ending in the coefficients)."""
    rows = np.asarray(rows)
    values = [
        [function(o, x) for o, x in zip(oracles, row, strict=True)]
        for row in rows.reshape(-1, len(oracles))
    ]
    return np.array(values, dtype=object).reshape(rows.shape)


def log_sizes(depth, log_scale, curve_params, u=U, w=W):
    """M: the sum of the moduli of the logarithms that enter."""
    parts = [np.abs(np.log(np.abs(np.where(x == 0, 1.0, x)))) for x in (u, w)]
    # log(u/w) of a near-tie is as accurate as the entries.
    return 1 + depth * (sum(parts) + abs(log_scale) + np.abs(curve_params))


def assert_within(found, exact, tolerance):
    """Every entry within its own tolerance, or below the smallest or above the largest float."""
    found, tolerance = np.broadcast_arrays(found, tolerance)
    assert not np.isnan(found).any()
    bad = []
    with mp.workdps(50):
        for index in np.ndindex(found.shape):
            value, wanted = found[index], exact[index]
            if np.isinf(value) or value == 0:
                fine = abs(wanted) >= LARGEST if value else abs(wanted) <= TINY + tolerance[index]
            else:
                fine = abs(mpf(float(value)) - wanted) <= tolerance[index] + TINY
            if not fine:
                bad.append((index, value, mp.nstr(wanted), mp.nstr(mpf(tolerance[index]))))
    assert not bad, bad[:5]


@pytest.mark.parametrize("depth", [2, *DEPTHS])
@pytest.mark.parametrize("side", [1, -1])
def test_the_oracle_solves_the_equation_of_the_layers(depth, side):
    for u, w in zip(U, W, strict=True):
        oracle = PrecisePower(u, w, depth)
        reach = float(min(oracle.t_plus if side > 0 else oracle.t_minus, 0.5)) if depth > 2 else 0.5
        xi = side * reach * np.array([0.3, 0.6, 0.9])
        integrated = integrated_layers(u, w, depth, xi)
        for one_xi, layers in zip(xi, integrated.T, strict=True):
            exact = dict(oracle.values(one_xi))
            found = {c: v for c, v in zip((1, -1), layers, strict=True) if c in exact}
            # 100 times the integrator's tolerance.
            assert found == pytest.approx({c: float(v) for c, v in exact.items()}, rel=1e-10)


def test_the_oracle_s_conjugate_is_the_integral_of_its_coefficients():
    for oracle in oracles_of(5, 0.0)[:5]:
        end = float(oracle.t_plus) / 2
        with mp.workdps(25):
            integral = mp.quad(oracle.coef, [0, end])
        difference = oracle.conjugate(end) - oracle.conjugate(0)
        assert float(integral) == pytest.approx(float(difference), rel=1e-15)
        # Normalised to zero where the coefficient is.
        if mp.isfinite(oracle.t_minus):
            assert float(oracle.conjugate(oracle.mirror_coords(0))) == pytest.approx(0, abs=1e-40)


@pytest.mark.parametrize("log_scale", LOG_SCALES)
@pytest.mark.parametrize("depth", DEPTHS)
class TestAlongTheCurve:
    def test_everything_along_the_curve_matches(self, depth, log_scale):
        mirror, oracles = mirror_of(depth, log_scale), oracles_of(depth, log_scale)
        curve_params = grid(curve_params_for(log_scale))
        log_unit = depth * log_scale / 2
        found = mirror.along(curve_params, log_unit)
        unit, mirror_unit = mp.exp(mpf(log_unit)), mp.exp(mpf(mirror.log_mirror_unit))
        xi = table(oracles, curve_params, lambda o, p: o.mirror_at(p))
        rates = table(oracles, curve_params, lambda o, p: o.mirror_rate_at(p))
        coefs = table(oracles, xi, lambda o, c: o.coef(c)) / unit
        coef_rates = table(oracles, xi, lambda o, c: o.slope(c)) * rates / unit
        relative = OPERATIONS * EPS * log_sizes(depth, log_scale, curve_params)
        # The exponent log_unit is itself one of the logarithms.
        assert_within(found.mirror, xi / mirror_unit, relative * abs(xi) / mirror_unit)
        assert_within(found.mirror_rates, rates / mirror_unit, relative * rates / mirror_unit)
        assert_within(found.coef_rates, coef_rates, relative * coef_rates)
        # Where the coefficient passes through zero, by the rounding of ρ = ρ(0) + σ.
        shift = OPERATIONS * EPS * (np.abs(curve_params) + np.abs(start_ratio()))
        assert_within(found.coefs, coefs, relative * abs(coefs) + shift * coef_rates)

    def test_signs_and_logs(self, depth, log_scale):
        mirror, oracles = mirror_of(depth, log_scale), oracles_of(depth, log_scale)
        curve_params = grid(curve_params_for(log_scale))
        signs, logs = mirror.signs_and_logs_at(curve_params)
        xi = table(oracles, curve_params, lambda o, p: o.mirror_at(p))
        exact = table(oracles, xi, lambda o, c: o.coef(c))
        rates = table(
            oracles, curve_params, lambda o, p: o.slope(o.mirror_at(p)) * o.mirror_rate_at(p)
        )
        # Neither is determined where a coefficient vanishes up to rounding.
        shift = OPERATIONS * EPS * (np.abs(curve_params) + np.abs(start_ratio()))
        known = shift * rates < 1e-3 * abs(exact)
        assert known.mean() > 0.8
        sign_of = np.vectorize(lambda x: float(mp.sign(x)), otypes=[float])
        np.testing.assert_array_equal(signs[known], sign_of(exact[known]))
        log_of = np.vectorize(lambda x: float(mp.log(abs(x))), otypes=[float])
        sizes = log_sizes(depth, log_scale, curve_params)[known]
        allowed = OPERATIONS * EPS * sizes
        allowed = allowed + 2 * (shift * rates / abs(np.where(exact == 0, 1, exact)))[known]
        assert (np.abs(logs[known] - log_of(exact[known])) <= allowed).all()

    def test_conjugates(self, depth, log_scale):
        mirror, oracles = mirror_of(depth, log_scale), oracles_of(depth, log_scale)
        curve_params = grid(curve_params_for(log_scale))
        xi = table(oracles, curve_params, lambda o, p: o.mirror_at(p))
        exact = table(oracles, xi, lambda o, c: o.conjugate(c))
        coefs = table(oracles, xi, lambda o, c: o.coef(c))
        rates = table(oracles, curve_params, lambda o, p: o.mirror_rate_at(p))
        coef_rates = table(oracles, xi, lambda o, c: o.slope(c)) * rates
        # dΨ̂/dσ = β dξ/dσ, and d²Ψ̂ ≈ (dβ/dσ)(dξ/dσ): the rounding of ρ, to both orders.
        shift = OPERATIONS * EPS * (np.abs(curve_params) + np.abs(start_ratio()))
        relative = OPERATIONS * EPS * log_sizes(depth, log_scale, curve_params)
        tolerance = relative * exact + shift * abs(coefs) * rates + shift**2 * coef_rates * rates
        tolerance = tolerance + mpf(10) ** -58 * exact.max()  # the oracle's own rounding
        assert_within(mirror.conjugates_at(curve_params), exact, tolerance)

    def test_curve_params_of_coefficients(self, depth, log_scale):
        mirror, oracles = mirror_of(depth, log_scale), oracles_of(depth, log_scale)
        curve_params = grid(curve_params_for(log_scale))
        xi = table(oracles, curve_params, lambda o, p: o.mirror_at(p))
        exact = table(oracles, xi, lambda o, c: o.coef(c))
        coef_rates = table(oracles, curve_params, lambda o, p: o.slope(o.mirror_at(p)))
        coef_rates = coef_rates * table(oracles, curve_params, lambda o, p: o.mirror_rate_at(p))
        coefs = np.vectorize(float)(exact)
        held = (np.abs(coefs) >= TINY) & np.isfinite(coefs)
        found = mirror.curve_params_of(coefs)
        # β is rounded by eps|β|, which moves the curve parameter by that over its rate; log|β|
        # enters, which is no larger than the logarithms of the terms and of their difference.
        with np.errstate(divide="ignore"):
            logs = np.abs(np.log(np.where(held, np.abs(coefs), 1.0)))
        moved = np.vectorize(float)(abs(exact) / coef_rates)
        sizes = log_sizes(depth, log_scale, curve_params) + logs
        shift = np.abs(curve_params) + np.abs(start_ratio())
        tolerance = OPERATIONS * EPS * (sizes * moved + shift)
        assert held.any()
        assert (np.abs(found - curve_params)[held] <= tolerance[held]).all()

    def test_activation_times_are_the_poles_of_the_direction(self, depth, log_scale):
        growth = mirror_of(depth, log_scale).activation_times()
        oracles = oracles_of(depth, 0.0)
        for found, name in ((growth.t_plus, "t_plus"), (growth.t_minus, "t_minus")):
            exact = np.array([float(getattr(o, name)) for o in oracles])
            np.testing.assert_allclose(found, exact, rtol=OPERATIONS * EPS * depth * 10)
        # exp of a logarithm of modulus up to 4·138.
        assert growth.unit == pytest.approx(np.exp((2 - depth) * log_scale), rel=EPS * 600)

    def test_growths_of_the_layers(self, depth, log_scale):
        mirror, oracles = mirror_of(depth, log_scale), oracles_of(depth, log_scale)
        curve_params = grid(curve_params_for(log_scale))
        found = mirror.log_growths_at(curve_params)
        for side, start, growths in zip((1, -1), (U, W), found, strict=True):
            for (i, j), curve_param in np.ndenumerate(curve_params):
                if start[j] == 0:
                    assert growths[i, j] == 0
                    continue
                oracle = oracles[j]
                now = dict(oracle.values(oracle.mirror_at(curve_param)))[side]
                exact = float(mp.log(abs(now / dict(oracle.layers)[side])))
                size = log_sizes(depth, 0.0, curve_param)[j] + np.abs(start_ratio()[j])
                assert growths[i, j] == pytest.approx(exact, abs=OPERATIONS * EPS * size)


def start_ratio(u=U, w=W):
    """|ρ(0)| where both entries are there."""
    both = (u != 0) & (w != 0)
    return np.where(both, np.log(np.abs(np.where(both, u, 1.0) / np.where(both, w, 1.0))), 0.0)


@pytest.mark.parametrize("log_scale", LOG_SCALES[:3])
@pytest.mark.parametrize("depth", DEPTHS)
class TestAsFunctionsOfTheMirrorCoordinate:
    @staticmethod
    def mirror_coords(mirror):
        """From the start to one part in 1e9 of the way to either pole, or far where there is none.

        In units of the direction.
        """
        growth = mirror.activation_times()
        above, below = (np.where(np.isfinite(t), t, 1e3) for t in (growth.t_plus, growth.t_minus))
        parts = np.array([1e-15, 1e-6, 0.1, 0.7, 0.99, 1 - 1e-6, 1 - 1e-9])[:, None]
        return np.concatenate([-parts[::-1] * below, parts * above])

    def test_curve_params_invert_mirror_coordinates(self, depth, log_scale):
        mirror, oracles = mirror_of(depth, log_scale), oracles_of(depth, 0.0)
        xi = self.mirror_coords(mirror)
        curve_params = table(oracles, xi, lambda o, c: o.curve_param(mpf(float(c))))
        rates = table(oracles, curve_params, lambda o, p: o.mirror_rate_at(p))
        # The poles are rounded, as is the mirror coordinate: both by eps·ξ, over the mirror
        # coordinate's rate.
        relative = OPERATIONS * EPS * log_sizes(depth, 0.0, 0.0)
        tolerance = relative * (abs(curve_params) + abs(xi) / rates)
        assert_within(mirror.curve_params(xi), curve_params, tolerance)

    def test_coefs_slopes_and_conjugates(self, depth, log_scale):
        mirror, oracles = mirror_of(depth, log_scale), oracles_of(depth, log_scale)
        xi = self.mirror_coords(mirror) * mirror.mirror_unit
        found = mirror.evaluate(xi)
        coefs = table(oracles, xi, lambda o, c: o.coef(float(c)))
        slopes = table(oracles, xi, lambda o, c: o.slope(float(c)))
        conjugates = table(oracles, xi, lambda o, c: o.conjugate(float(c)))
        # The curve parameter is off as in the test above, and by the rounding of ρ(0); the mirror
        # coordinate by that times its rate. The logarithm of a slope has a slope of at most 2L in
        # the curve parameter.
        curve_params = table(oracles, xi, lambda o, c: o.curve_param(float(c)))
        rates = table(oracles, curve_params, lambda o, p: o.mirror_rate_at(p))
        relative = (
            OPERATIONS * EPS * log_sizes(depth, log_scale, np.abs(curve_params.astype(float)))
        )
        moved = relative * (abs(curve_params) + abs(xi) / rates)
        moved = moved + OPERATIONS * EPS * np.abs(start_ratio())
        assert_within(found.slopes, slopes, (relative + 2 * depth * moved) * slopes)
        shift = moved * rates
        assert_within(found.coefs, coefs, relative * abs(coefs) + shift * slopes)
        tolerance = relative * conjugates + shift * abs(coefs) + shift**2 * slopes
        tolerance = tolerance + mpf(10) ** -58 * conjugates.max()  # the oracle's own rounding
        assert_within(found.conjugates, conjugates, tolerance)


@pytest.mark.parametrize("log_scale", LOG_SCALES[:3])
@pytest.mark.parametrize("depth", [3, 6])
def test_mirror_coordinates_and_potentials_of_coefficients(depth, log_scale):
    mirror, oracles = mirror_of(depth, log_scale), oracles_of(depth, log_scale)
    values = np.array([1e-3, 0.8, 20.0])[:, None] * np.where(np.arange(len(U)) % 3 == 1, -1.0, 1.0)
    values = np.where(mirror.lower < 0, values, np.abs(values))
    values = np.where(mirror.upper > 0, values, -np.abs(values))
    xi = table(oracles, values, lambda o, b: o.mirror_coords(float(b)))
    potentials = table(oracles, values, lambda o, b: o.potential(float(b)))
    slopes = table(oracles, xi, lambda o, c: o.slope(c))
    relative = OPERATIONS * EPS * log_sizes(depth, log_scale, 20.0)
    starts = table(oracles, np.zeros_like(values), lambda o, c: o.slope(c))
    # The rounding of β, relative, over its slope; that of the curve parameter where the mirror
    # coordinate starts.
    moved = abs(values) / slopes + abs(xi)
    first = np.exp(depth * log_scale) * (np.abs(U) ** depth + np.abs(W) ** depth) / starts
    tolerance = relative * (moved + first)
    assert_within(mirror.mirror_coords(values), xi, tolerance)
    assert_within(mirror.potential(values), potentials, tolerance * abs(values))


@pytest.mark.parametrize("log_scale", LOG_SCALES[:3])
@pytest.mark.parametrize("depth", [3, 6])
def test_the_curvature_of_the_potential_is_one_over_the_slope(depth, log_scale):
    """`Q''Ψ' = 1`, Q'' by differentiating mpmath's inverse, Ψ' at the curve parameter of β."""
    mirror, oracles = mirror_of(depth, log_scale), oracles_of(depth, log_scale)
    sizes = np.array([0.3, 1.7]) * max(1.0, np.exp(depth * log_scale))
    for size in sizes:
        coefs = size * np.where(mirror.lower < 0, np.where(np.arange(len(U)) % 2, -1, 1), 1.0)
        coefs = np.where(mirror.upper > 0, coefs, -np.abs(coefs))
        point = mirror.along(mirror.curve_params_of(coefs))
        slopes = point.coef_rates / (point.mirror_rates * mirror.mirror_unit)
        for oracle, coef, slope in zip(oracles, coefs, slopes, strict=True):
            with mp.workdps(oracle.digits):
                step = abs(mpf(coef)) * mpf(10) ** -25
                rise = oracle.mirror_coords(mpf(coef) + step) - oracle.mirror_coords(
                    mpf(coef) - step
                )
                assert float(rise / (2 * step) * mpf(slope)) == pytest.approx(1, rel=1e-11)


@pytest.mark.parametrize("depth", DEPTHS)
def test_the_power_network_s_closed_forms(depth):
    """`Q' = (u(0)^−k − β^(−k/L))/K` and `Q'' = β^(−k/L − 1)/L²` for u > 0 (labarriere A.3)."""
    u = np.array([0.3, 1.0, 2.0])
    mirror, k = PowerMap.from_layers(u, None, depth, 0.0), depth - 2
    coefs = np.array([0.7, 0.01, 40.0])
    exact = (u**-k - coefs ** (-k / depth)) / (depth * k)
    np.testing.assert_allclose(mirror.mirror_coords(coefs), exact, rtol=1e-12)
    curvature = coefs ** (-k / depth - 1) / depth**2
    np.testing.assert_allclose(mirror.slopes(exact) * curvature, 1.0, rtol=1e-11)
    conjugates = coefs ** (2 / depth) / (2 * depth)
    np.testing.assert_allclose(mirror.potential(coefs), coefs * exact - conjugates, rtol=1e-12)


class TestSignConstraints:
    """Where a term is missing, or both have one sign, the coefficient cannot change sign."""

    u = np.array([1.0, -1.0, 0.0, 0.0, 1.0, -1.0, 0.0])
    w = np.array([0.0, 0.0, 1.0, -1.0, -0.5, 2.0, 0.0])

    def test_bounds_at_odd_depth(self):
        mirror = mirror_of(3, -2.0, self.u, self.w)
        np.testing.assert_array_equal(mirror.lower, [0, -np.inf, -np.inf, 0, 0, -np.inf, 0])
        np.testing.assert_array_equal(mirror.upper, [np.inf, 0, 0, np.inf, np.inf, 0, 0])

    def test_bounds_at_even_depth(self):
        mirror = mirror_of(4, -2.0, self.u, self.w)
        unbounded = [0, 0, -np.inf, -np.inf, -np.inf, -np.inf, 0]
        np.testing.assert_array_equal(mirror.lower, unbounded)
        np.testing.assert_array_equal(mirror.upper, [np.inf, np.inf, 0, 0, np.inf, np.inf, 0])

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_activation_times_are_infinite_on_the_closed_side(self, depth):
        mirror = mirror_of(depth, -2.0, self.u, self.w)
        growth = mirror.activation_times()
        np.testing.assert_array_equal(np.isinf(growth.t_plus), mirror.upper == 0)
        np.testing.assert_array_equal(np.isinf(growth.t_minus), mirror.lower == 0)

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_what_a_coefficient_cannot_be_has_no_curve_param(self, depth):
        mirror = mirror_of(depth, -2.0, self.u, self.w)
        for sign in (1.0, -1.0):
            found = mirror.curve_params_of(np.full(len(self.u), sign))
            outside = (mirror.upper == 0) if sign > 0 else (mirror.lower == 0)
            np.testing.assert_array_equal(np.isnan(found), outside)

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_the_end_of_a_sign_constraint_is_infinitely_far(self, depth):
        mirror = mirror_of(depth, -2.0, self.u, self.w)
        xi = mirror.mirror_coords(np.zeros(len(self.u)))
        rising, falling = mirror.lower == 0, mirror.upper == 0
        np.testing.assert_array_equal(xi[rising & ~falling], -np.inf)
        np.testing.assert_array_equal(xi[falling & ~rising], np.inf)
        np.testing.assert_array_equal(mirror.potential(np.zeros(len(self.u))), 0.0)

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_a_frozen_coefficient_stays_at_zero_and_its_curve_param_is_its_mirror_coordinate(
        self, depth
    ):
        mirror = mirror_of(depth, -2.0, self.u, self.w)
        curve_params = np.full(len(self.u), 0.7)
        point = mirror.along(curve_params)
        assert [float(value[-1]) for value in point] == [0.0, 0.0, 0.7, 1.0]
        assert mirror.curve_params(curve_params)[-1] == 0.7
        assert mirror.curve_params_of(np.zeros(len(self.u)))[-1] == 0.0
        assert mirror.conjugates_at(curve_params)[-1] == 0.0
        signs, logs = mirror.signs_and_logs_at(curve_params)
        assert (signs[-1], logs[-1]) == (0.0, -np.inf)


@pytest.mark.parametrize("log_scale", [*LOG_SCALES, -2302.6])
@pytest.mark.parametrize("depth", DEPTHS)
def test_at_infinite_curve_params_and_beyond_the_poles_nothing_is_undefined(depth, log_scale):
    mirror = mirror_of(depth, log_scale)
    growth = mirror.activation_times()
    for sign, pole, end in (
        (1.0, growth.t_plus, mirror.upper),
        (-1.0, growth.t_minus, mirror.lower),
    ):
        xi = sign * np.where(np.isfinite(pole), 2 * pole, np.inf)
        curve_params = mirror.curve_params(xi)
        np.testing.assert_array_equal(curve_params, sign * np.inf)
        point = mirror.along(curve_params)
        np.testing.assert_array_equal(point.coefs, end)
        np.testing.assert_allclose(point.mirror, sign * pole, rtol=1e-13)
        assert not any(np.isnan(value).any() for value in point[:2])
        signs, logs = mirror.signs_and_logs_at(curve_params)
        np.testing.assert_array_equal(logs, np.where(np.isinf(end), np.inf, -np.inf))
        np.testing.assert_array_equal(signs, np.sign(end))
        assert not np.isnan(mirror.conjugates_at(curve_params)).any()
    np.testing.assert_array_equal(np.sign(mirror.curve_params_of(mirror.upper)), 1.0)


@pytest.mark.parametrize("depth", DEPTHS)
def test_far_below_the_smallest_float_logarithms_still_hold(depth):
    """Coefficients are homogeneous: at scale s their log-moduli shift by L log s."""
    curve_params = grid(curve_params_for(-3.0))
    signs, logs = mirror_of(depth, 0.0).signs_and_logs_at(curve_params)
    tiny = mirror_of(depth, 0.0).at_log_scale(-2302.6)
    tiny_signs, tiny_logs = tiny.signs_and_logs_at(curve_params)
    assert (tiny.log_scale, tiny.degree) == (-2302.6, depth)
    np.testing.assert_array_equal(tiny_signs, signs)
    finite = np.isfinite(logs)
    np.testing.assert_allclose(tiny_logs[finite] - logs[finite], -2302.6 * depth, rtol=1e-13)
    # A visible coefficient has a curve parameter of order log(1/s), in a unit that float64 can
    # hold.
    coefs = np.where(tiny.upper > 0, 1.5, -1.5)
    point = tiny.along(tiny.curve_params_of(coefs))
    # Sums of logarithms of modulus up to 2·6·2302.
    np.testing.assert_allclose(point.coefs, coefs, rtol=OPERATIONS * EPS * 2 * depth * 2302)


@pytest.mark.parametrize("depth", DEPTHS)
def test_entries_so_small_that_their_activation_times_overflow(depth):
    """They are inactive for ever.

    Nothing about them, or about what they are paired with, is NaN.
    """
    u = np.array([1e-200, 1e-200, 1e-300, 1.0, 1e-250])
    w = np.array([1.0, 0.0, 1e-300, 1e-250, -1e-250])
    mirror = mirror_of(depth, 0.0, u, w)
    for curve_param in (0.0, 3.0, -3.0, 300.0, -300.0):
        curve_params = np.full(len(u), curve_param)
        point = mirror.along(curve_params)
        assert not any(np.isnan(value).any() for value in point)
        # Sums of logarithms of modulus up to 6·(575 + 300).
        log = mirror.signs_and_logs_at(curve_params)[1][3]
        assert log == pytest.approx(depth * curve_param, abs=OPERATIONS * EPS * depth * 875)
        assert not np.isnan(mirror.conjugates_at(curve_params)).any()
    np.testing.assert_array_equal(mirror.along(np.zeros(len(u))).mirror, 0.0)
    np.testing.assert_allclose(mirror.coefs(np.full(len(u), 1e-3))[[1, 2, 4]], 0.0, atol=TINY)


@settings(derandomize=True, deadline=None)
@given(
    u=st.floats(-10, 10, allow_subnormal=False),
    w=st.floats(-10, 10, allow_subnormal=False),
    depth=st.sampled_from(DEPTHS),
    log_scale=st.floats(-2400, 5),
    low=st.floats(-2500, 2500),
    high=st.floats(-2500, 2500),
)
def test_the_map_increases_and_is_its_own_mirror_image(u, w, depth, log_scale, low, high):
    tiny = 1e-100  # below it an activation time overflows
    u, w = (0.0 if abs(x) < tiny else x for x in (u, w))
    mirror = mirror_of(depth, log_scale, np.array([u]), np.array([w]))
    below, above = (mirror.along(np.array([p]), depth * log_scale) for p in sorted((low, high)))
    # Each value is right to a relative `eps (1 + M)`, M ≤ 6(2400 + 2500 + 2·230).
    slack = OPERATIONS * EPS * 40_000
    for a, b in ((below.coefs[0], above.coefs[0]), (below.mirror[0], above.mirror[0])):
        assert a == b or a <= b + slack * min(abs(a), abs(b)) + TINY
    # u and w exchanged turn coefficients and mirror coordinates round.
    turned = mirror_of(depth, log_scale, np.array([w]), np.array([u]))
    image = turned.along(np.array([-min(low, high)]), depth * log_scale)
    for a, b in ((below.coefs[0], -image.coefs[0]), (below.mirror[0], -image.mirror[0])):
        assert a == b or abs(a - b) <= slack * abs(a) + TINY
