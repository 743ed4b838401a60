"""Mirror maps of diagonal networks of three layers and more, against 50 digits and closed forms."""

from functools import cache

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.special import elliprf
from tests.counting import count_calls
from tests.oracles.many_digits.diagonal_mp import (
    PreciseDiagonal,
    lemma4_end,
    lemma4_h,
    lemma4_h_inverse,
    lemma4_potential,
)

from limitpoint.mirror import DeepMap
from limitpoint.mirror.deep_diagonal.deep_diagonal_table import DeepTable

EPS = np.finfo(np.float64).eps
# A map is a product of some tens of float64 operations and a sum of some tens of panels, in
# curve parameters up to 40: 1e-13 at worst, and two digits in hand.
RTOL = 1e-11
# Mirror coordinates are sums of panels, each rounded: a float64 mirror coordinate stands for that
# many roundings of it.
MIRROR_UNITS = 16
DEPTHS = (3, 4, 5, 6)
SCALES = (1e-6, 1.0, 1e2)
# Far out on both sides (at their pole to rounding beyond depth 4), across zero, near the start.
CURVE_PARAMS = (-18.0, -2.3, -0.4, 1e-12, 0.7, 3.1, 16.0)


def layers_of(depth):
    """Columns: of every sign, graded by 1e8, with a zero, negative, and tied in all ways."""
    rng = np.random.default_rng(depth)
    plain = rng.standard_normal(depth)
    graded = np.sqrt(0.09 + np.geomspace(1e-4, 1e4, depth - 1))
    equal = np.full(depth, -0.9)
    columns = {
        "random": plain,
        "graded": np.array([0.3, *graded]),
        "far from the others": np.array([-1e-3, *np.linspace(2, 3, depth - 1)]),
        "smallest zero": np.array([0.0, *np.linspace(0.5, 1.5, depth - 1)]),
        "smallest negative": np.array([-0.4, *np.linspace(0.6, 1.1, depth - 1)]),
        "two tied": np.array([0.5, 0.5, *np.linspace(1, 2, depth - 2)]),
        "two opposite": np.array([0.5, -0.5, *np.linspace(0.7, 2, depth - 2)]),
        "larger ones tied": np.array([0.2, *np.full(depth - 1, 1.4)]),
        "all equal": equal,
    }
    if depth > 3:
        columns["three tied"] = np.array([1e-2, 1e-2, 1e-2, *np.linspace(1, 100, depth - 3)])
    return columns


def mirror_of(depth, scale=1.0):
    return DeepMap.from_layers(np.transpose(list(layers_of(depth).values())), np.log(scale))


class Exact:
    """One coordinate in 50 digits at a float64 curve parameter, at scale 1.

    At scale s all of it is exactly `s^L β`, `s^{2−L} ξ`, `s² Ψ̂`.
    """

    def __init__(self, oracle, curve_param):
        with mp.workdps(65):
            if oracle.tied:
                # |v| grows with the curve parameter where v > 0, falls where v < 0.
                self.v = oracle.v0 * mp.exp(oracle.side * mpf(curve_param))
            else:
                self.v = oracle.least * mp.sinh(oracle._tau(oracle.v0) + mpf(curve_param))
            self.coef = oracle.coef_of_v(self.v)
            self.mirror = oracle.mirror_of_v(self.v)
            squares = [self.v**2] + [self.v**2 + gap for gap in oracle.gaps]
            self.slope = sum(
                mp.fprod(q for k, q in enumerate(squares) if k != left_out)
                for left_out in range(len(squares))
            )
            self.conjugate = self.v**2 / 2
            self.potential = self.coef * self.mirror - self.conjugate


@cache
def exact_table(depth):
    """Of every column at every curve parameter."""
    oracles = [PreciseDiagonal([float(a) for a in c]) for c in layers_of(depth).values()]
    return [[Exact(oracle, curve_param) for oracle in oracles] for curve_param in CURVE_PARAMS]


def exactly(depth, log_scale, power, read):
    """`s^power` times a quantity of the table, in mpmath."""
    with mp.workdps(65):
        factor = mp.exp(mpf(float(log_scale))) ** power
        return [[factor * read(exact) for exact in row] for row in exact_table(depth)]


def as_floats(rows):
    return np.array([[float(x) for x in row] for row in rows])


def errors(found, exact):
    with mp.workdps(65):
        return as_floats(
            [
                [abs(mpf(float(f)) - e) for f, e in zip(some, row, strict=True)]
                for some, row in zip(found, exact, strict=True)
            ]
        )


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("scale", SCALES)
class TestAgainst50Digits:
    def setup_method(self):
        self.curve_params = np.repeat(np.array(CURVE_PARAMS)[:, None], 1, axis=1)

    def everything(self, depth, scale):
        mirror = mirror_of(depth, scale)
        grid = self.curve_params * np.ones(len(mirror.lower))
        log = mirror.log_scale
        coefs = exactly(depth, log, depth, lambda e: e.coef)
        xi = exactly(depth, log, 2 - depth, lambda e: e.mirror)
        slopes = exactly(depth, log, 2 * depth - 2, lambda e: e.slope)
        conjugates = exactly(depth, log, 2, lambda e: e.conjugate)
        return mirror, grid, coefs, xi, slopes, conjugates

    def test_along_curve_params(self, depth, scale):
        mirror, grid, coefs, xi, slopes, conjugates = self.everything(depth, scale)
        point = mirror.along(grid)
        assert (errors(point.coefs, coefs) <= RTOL * np.abs(as_floats(coefs))).all()
        found = mirror.mirror_unit * point.mirror
        # Relative to themselves: also 1e-12 of a mirror coordinate from the start.
        assert (errors(found, xi) <= RTOL * np.abs(as_floats(xi))).all()
        found = point.coef_rates / (mirror.mirror_unit * point.mirror_rates)
        assert (errors(found, slopes) <= RTOL * as_floats(slopes)).all()
        found = mirror.conjugates_at(grid)
        assert (errors(found, conjugates) <= RTOL * as_floats(conjugates)).all()
        signs, logs = mirror.signs_and_logs_at(grid)
        with mp.workdps(65):
            exact = [[mp.log(abs(c)) for c in row] for row in coefs]
        np.testing.assert_array_equal(signs, np.sign(as_floats(coefs)))
        assert (errors(logs, exact) <= RTOL * (1 + np.abs(as_floats(exact)))).all()

    def test_along_curve_params_in_a_unit_of_coefficients(self, depth, scale):
        mirror, grid, coefs, *_ = self.everything(depth, scale)
        unit = 3.7 * depth
        found = mirror.along(grid, unit).coefs
        # exp(log_scale − unit/L) to the power L: rounding of 20 in the exponent.
        np.testing.assert_allclose(found, as_floats(coefs) * np.exp(-unit), rtol=RTOL)

    def test_as_functions_of_mirror_coordinates(self, depth, scale):
        """At the float64 mirror coordinate next to that of each curve parameter.

        The map is exact for a mirror coordinate off by some roundings of the mirror coordinate, `δ
        = MIRROR_UNITS·eps·|ξ|`: the coefficient is then off by `Ψ'δ` (relative: the condition
        number |ξ|Ψ'/Ψ times rounding), the conjugate by `βδ` since `Ψ̂' = β`, the slope by `Ψ''δ`.
        Where the distance to the pole is below a thousand of these δ, nothing is left to compare.
        """
        mirror, _, coefs, xi, slopes, conjugates = self.everything(depth, scale)
        given = as_floats(xi)
        times = mirror.activation_times()
        room = np.where(given > 0, times.t_plus, times.t_minus) * times.unit - np.abs(given)
        noise = MIRROR_UNITS * EPS * np.abs(given)
        resolved = room > 1e3 * noise
        assert resolved.sum() >= 0.7 * resolved.size
        found = mirror.evaluate(given)
        rounded = errors(given, xi)
        off = noise + rounded
        # The power of v in Ψ', over that in 1/dξ, bounds Ψ''/Ψ' by 2(L−1) of d(log v)/dξ.
        exact = as_floats(coefs)
        steep = as_floats(slopes)
        with np.errstate(all="ignore"):
            bend = 2 * (depth - 1) * steep * off / np.abs(exact)
        bend = np.where(np.isfinite(bend), bend, 0.0)
        # Second order in δ: the remainder of Taylor's formula is below the first-order term.
        wrong = errors(found.coefs, coefs) > RTOL * np.abs(exact) + 2 * steep * off
        assert not (wrong & resolved).any()
        wrong = errors(found.slopes, slopes) > (RTOL + 2 * bend) * steep
        assert not (wrong & resolved).any()
        size = as_floats(conjugates)
        wrong = errors(found.conjugates, conjugates) > RTOL * size + 2 * np.abs(exact) * off
        assert not (wrong & resolved).any()

    def test_the_inverse_and_the_potential(self, depth, scale):
        """At the float64 coefficient next to the exact one, which stands for its roundings.

        `β = s^L β₁` is rounded 2L times and the start likewise: ξ is off by that over Ψ',
        the potential, whose derivative is ξ, by ξ times that and by the cancellation in `βξ − ½v²`.
        """
        mirror, _, coefs, xi, slopes, conjugates = self.everything(depth, scale)
        given = as_floats(coefs)
        found, potential = mirror.mirror_and_potential(given)
        off = (errors(given, coefs) + MIRROR_UNITS * EPS * np.abs(given)) / as_floats(slopes)
        exact = as_floats(xi)
        assert (errors(found, xi) <= RTOL * np.abs(exact) + off).all()
        with mp.workdps(65):
            energies = [
                [b * x - e for b, x, e in zip(*rows, strict=True)]
                for rows in zip(coefs, xi, conjugates, strict=True)
            ]
        size = np.abs(given * exact) + as_floats(conjugates)
        allowed = RTOL * size + np.abs(given) * off
        assert (errors(potential, energies) <= allowed).all()
        np.testing.assert_array_equal(mirror.mirror_coords(given), found)
        np.testing.assert_array_equal(mirror.potential(given), potential)


@pytest.mark.parametrize("depth", DEPTHS)
def test_the_oracle_agrees_with_itself_at_another_scale(depth):
    """That the table at scale 1 may be multiplied by powers of the scale."""
    entries = [float(a) for a in layers_of(depth)["smallest negative"]]
    oracle = PreciseDiagonal(entries, log_scale=-13.5)
    with mp.workdps(65):
        scale = mp.exp(mpf(-13.5))
        other = Exact(PreciseDiagonal(entries), 0.7)
        assert abs(oracle.coef_of_v(scale * other.v) / (scale**depth * other.coef) - 1) < 1e-45
        ratio = oracle.mirror_of_v(scale * other.v) / (scale ** (2 - depth) * other.mirror)
        assert abs(ratio - 1) < 1e-45


@pytest.mark.parametrize("depth", DEPTHS)
def test_second_derivatives_of_the_two_potentials_are_inverse(depth):
    """`Q''Ψ' = 1`, with Q'' from the inverse by differences of order 8 along the curve.

    In curve parameters coefficients are sums of exponentials up to e^{Lσ} and mirror coordinates
    analytic within π/2, so the ninth derivative is at most L⁹ ≤ 1e7 of a function's size and the
    truncation `h⁸f⁽⁹⁾/630` 2e-12 for h = 0.01; rounding adds about 3·eps/h = 1e-13.
    """
    mirror = mirror_of(depth)
    step, orders = 0.01, np.arange(1, 5)
    weights = np.array([4 / 5, -1 / 5, 4 / 105, -1 / 280])
    # Where mirror coordinates still move: a rate far below the mirror coordinate itself would be
    # lost in differences.
    for middle in (-1.1, -0.3, 0.2, 1.0):
        at = np.full(len(mirror.lower), middle)
        up = [mirror.along(at + k * step).coefs for k in orders]
        down = [mirror.along(at - k * step).coefs for k in orders]
        both = zip(up, down, strict=True)
        bent = sum(w * (p - q) for w, (p, q) in zip(weights, both, strict=True)) / step
        both = zip(up, down, strict=True)
        turned = [mirror.mirror_coords(p) - mirror.mirror_coords(q) for p, q in both]
        curvature = sum(w * d for w, d in zip(weights, turned, strict=True)) / step / bent
        point = mirror.along(at)
        slopes = mirror.slopes(mirror.mirror_unit * point.mirror)
        # Of differences of mirror coordinates and coefficients, which may be larger than their
        # rates.
        loss = np.abs(point.mirror) / point.mirror_rates + np.abs(point.coefs) / point.coef_rates
        tolerance = 1e-11 * np.maximum(1, loss)
        assert (np.abs(curvature * slopes - 1) <= tolerance).all()


@pytest.mark.parametrize("depth", DEPTHS)
class TestLemma4:
    """Layers (1, …, 1, 0) are the functions of Lemma 4 of Yun, Krishnan and Mobahi."""

    def mirror(self, depth, times):
        ones = np.ones_like(times)
        return DeepMap.from_layers([ones] * (depth - 1) + [0 * ones], 0.0)

    def test_h_and_its_end(self, depth):
        end = float(lemma4_end(depth))
        parts = np.array([-0.9, -0.5, -1e-3, 1e-12, 0.2, 0.7, 0.95])
        mirror = self.mirror(depth, parts)
        times = mirror.activation_times()
        np.testing.assert_allclose(times.t_plus, end, rtol=1e-12)
        np.testing.assert_allclose(times.t_minus, end, rtol=1e-12)
        exact = [float(lemma4_h(depth, float(t))) for t in parts * end]
        np.testing.assert_allclose(mirror.coefs(parts * end), exact, rtol=1e-12)

    def test_its_inverse_and_potential(self, depth):
        values = np.array([-1e6, -3.0, -1e-9, 1e-3, 0.5, 20.0, 1e12])
        mirror = self.mirror(depth, values)
        inverse = [float(lemma4_h_inverse(depth, float(x))) for x in values]
        np.testing.assert_allclose(mirror.mirror_coords(values), inverse, rtol=1e-12)
        potential = [float(lemma4_potential(depth, float(x))) for x in values]
        np.testing.assert_allclose(mirror.potential(values), potential, rtol=1e-12)

    def test_any_layer_by_its_size(self, depth):
        """`Q = α² w̄² H_L(β/(α^L |w̄|^L))` (Corollary 5)."""
        common = np.array([0.3, -1.0, 2.5])
        mirror = DeepMap.from_layers([common] * (depth - 1) + [0 * common], np.log(0.1))
        coefs = np.array([1e-3, -0.4, 7.0])
        size = np.abs(0.1 * common)
        # The mirror coordinate carries the sign of the product of the others: Q is even, so no sign
        # enters.
        values = [
            float(lemma4_potential(depth, mpf(float(b)) / mpf(float(c)) ** depth)) * c**2
            for b, c in zip(coefs, size, strict=True)
        ]
        np.testing.assert_allclose(mirror.potential(coefs), values, rtol=1e-12)


def test_h_3_is_elementary():
    times = np.array([-1.5, -0.3, 1e-15, 0.8, 1.4])
    ones = np.ones_like(times)
    found = DeepMap.from_layers([ones, ones, 0 * ones], 0.0).coefs(times)
    np.testing.assert_allclose(found, np.tan(times) / np.cos(times) ** 2, rtol=1e-12)


def test_depth_3_is_an_elliptic_integral():
    """`∫_v^∞ dx/√((x²+a)(x²+b)) = R_F(v², v²+a, v²+b)` for v > 0, doubled to −∞ through zero."""
    start, a, b = 0.4, 0.5, 3.0
    layers = [start, np.sqrt(start**2 + a), np.sqrt(start**2 + b)]
    ends = np.array([0.1, 0.7, 5.0, 1e4, -0.05, -3.0, -1e6])
    mirror = DeepMap.from_layers([np.full(len(ends), x) for x in layers], 0.0)

    def outside(v):
        return elliprf(v**2, v**2 + a, v**2 + b)

    expected = np.where(
        ends > 0,
        outside(start) - outside(ends),
        outside(start) + outside(ends) - 2 * elliprf(0.0, a, b),
    )
    coefs = ends * np.sqrt((ends**2 + a) * (ends**2 + b))
    # Differences of integrals up to the whole, each to some roundings.
    np.testing.assert_allclose(mirror.mirror_coords(coefs), expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("depth", DEPTHS)
def test_small_mirror_coordinates_are_relative_to_themselves(depth):
    """At scale s ≫ 1 all mirror coordinates of a training are `s^{−L}` of their unit."""
    mirror = mirror_of(depth)
    columns = len(mirror.lower)
    for size in np.append(10.0 ** -np.arange(5, 20), 1e-300):
        for xi in (size, -size):
            back = mirror.along(mirror.curve_params(np.full(columns, xi))).mirror
            # Some roundings each way.
            np.testing.assert_allclose(back, xi, rtol=1e-13)
    np.testing.assert_array_equal(mirror.curve_params(np.zeros(columns)), 0.0)


@pytest.mark.parametrize("depth", DEPTHS)
def test_curve_params_and_mirror_coordinates_are_inverse(depth):
    mirror = mirror_of(depth)
    curve_params = np.linspace(-6, 6, 25)[:, None] * np.ones(len(mirror.lower))
    point = mirror.along(curve_params)
    found = mirror.curve_params(point.mirror)
    # A mirror coordinate is given to some roundings, its curve parameter to those over the rate.
    allowed = (
        MIRROR_UNITS * EPS * (np.abs(curve_params) + np.abs(point.mirror) / point.mirror_rates)
    )
    assert (np.abs(found - curve_params) <= allowed).all()
    back = mirror.curve_params_of(point.coefs)
    allowed = (
        MIRROR_UNITS
        * EPS
        * (1 + np.abs(curve_params) + depth * np.abs(point.coefs) / point.coef_rates)
        + np.abs(curve_params) * 1e-14
    )
    assert (np.abs(back - curve_params) <= allowed).all()


class TestEnds:
    """Poles, sign constraints and frozen coefficients."""

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_at_and_beyond_the_poles(self, depth):
        layers = np.transpose([np.linspace(0.3, 2, depth)])
        mirror = DeepMap.from_layers(layers, 0.0)
        times = mirror.activation_times()
        for xi, end in ((1.01 * times.t_plus, np.inf), (-1.01 * times.t_minus, -np.inf)):
            point = mirror.evaluate(xi)
            np.testing.assert_array_equal(point.coefs, end)
            np.testing.assert_array_equal(point.slopes, np.inf)
            np.testing.assert_array_equal(mirror.curve_params(xi), end)
            signs, logs = mirror.signs_and_logs(xi)
            np.testing.assert_array_equal(signs * logs, end)

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_sign_constraints(self, depth):
        mirror = mirror_of(depth)
        names = list(layers_of(depth))
        tied = np.array([name in ("two tied", "two opposite", "all equal") for name in names])
        tied |= np.array([name == "three tied" for name in names])
        np.testing.assert_array_equal(np.isfinite(mirror.lower) | np.isfinite(mirror.upper), tied)
        start = np.sign(mirror.start_coefs())
        np.testing.assert_array_equal(mirror.lower[tied], np.where(start[tied] > 0, 0.0, -np.inf))
        np.testing.assert_array_equal(mirror.upper[tied], np.where(start[tied] < 0, 0.0, np.inf))
        xi = mirror.mirror_coords(np.zeros(len(names)))
        np.testing.assert_array_equal(xi[tied], -start[tied] * np.inf)
        assert np.isfinite(xi[~tied]).all()
        np.testing.assert_array_equal(mirror.potential(np.zeros(len(names))), 0.0)

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_what_a_coefficient_cannot_be(self, depth):
        layers = np.ones((depth, 3))
        layers[:2, 0] = 0.0
        layers[0, 2] = 0.1
        mirror = DeepMap.from_layers(layers, 0.0)
        # Frozen at zero; positive for ever; free.
        found = mirror.curve_params_of(np.array([0.5, -1.0, -1.0]))
        np.testing.assert_array_equal(np.isnan(found), [True, True, False])

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_all_layers_equal_are_a_power(self, depth):
        """`dv/dξ = v^{L−1}`, so `v^{2−L} = v₀^{2−L} − (L−2)ξ`, also far towards zero."""
        v0 = 0.7
        mirror = DeepMap.from_layers([np.full(6, v0)] * depth, 0.0)
        v = np.array([1e-30, 1e-8, 0.1, 0.7, 3.0, 1e9])
        xi = (v0 ** (2 - depth) - v ** (2.0 - depth)) / (depth - 2)
        found = mirror.mirror_coords(v**depth)
        # A difference of two powers, each rounded.
        size = (v0 ** (2 - depth) + v ** (2.0 - depth)) / (depth - 2)
        assert (np.abs(found - xi) <= 1e-12 * size).all()

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_frozen(self, depth):
        layers = np.ones((depth, 3))
        layers[:2, 0] = 0.0
        layers[:, 1] = 0.0
        mirror = DeepMap.from_layers(layers, np.log(0.1))
        np.testing.assert_array_equal(mirror.lower[:2], 0.0)
        np.testing.assert_array_equal(mirror.upper[:2], 0.0)
        xi = np.array([[5.0, -3.0, 0.1], [0.0, 1e9, -1.0]])
        point = mirror.evaluate(xi)
        for values in (
            point.coefs,
            point.slopes,
            point.conjugates,
            mirror.signs_and_logs(xi)[0],
        ):
            np.testing.assert_array_equal(values[:, :2], 0.0)
        np.testing.assert_array_equal(mirror.signs_and_logs(xi)[1][:, :2], -np.inf)
        np.testing.assert_array_equal(mirror.mirror_coords(np.array([0.0, 0.0, 1.0]))[:2], 0.0)
        np.testing.assert_array_equal(mirror.curve_params(xi)[:, :2], xi[:, :2])


@pytest.mark.parametrize("depth", DEPTHS)
def test_another_scale_of_the_same_direction(depth):
    mirror = mirror_of(depth)
    moved = mirror.at_log_scale(np.log(1e-3))
    built = mirror_of(depth, 1e-3)
    assert moved.table is mirror.table
    assert moved.log_scale == built.log_scale
    assert moved.degree == depth
    assert moved.log_mirror_unit == (2 - depth) * np.log(1e-3)
    curve_params = np.linspace(-5, 9, 8)[:, None] * np.ones(len(mirror.lower))
    for one, other in zip(moved.along(curve_params), built.along(curve_params), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(moved.activation_times().t_plus, mirror.activation_times().t_plus)
    assert moved.activation_times().unit == built.mirror_unit
    # A quarter of the smallest scale that float64 holds: logarithms only.
    tiny = mirror.at_log_scale(-300.0 * np.log(10.0) / (depth - 2))
    _, logs = tiny.signs_and_logs_at(curve_params)
    _, plain = mirror.signs_and_logs_at(curve_params)
    np.testing.assert_allclose(logs - plain, depth * tiny.log_scale, rtol=1e-12)


def test_rows_of_mirror_coordinates_are_taken_one_by_one():
    mirror = mirror_of(4)
    times = mirror.activation_times()
    xi = np.array([[0.1], [-0.2], [0.5]]) * np.minimum(times.t_plus, times.t_minus)
    for many, one in zip(mirror.evaluate(xi), mirror.evaluate(xi[1]), strict=True):
        np.testing.assert_array_equal(many[1], one)
    np.testing.assert_array_equal(
        mirror.mirror_coords(mirror.coefs(xi))[2], mirror.mirror_coords(mirror.coefs(xi[2]))
    )


def test_a_thousand_coordinates_are_inverted_together(monkeypatch):
    """By a few steps of Newton's method for all: measured 5, as many as for 10 of them."""
    layers = np.random.default_rng(0).standard_normal((5, 1000))
    mirror = DeepMap.from_layers(layers, 0.0)
    times = mirror.activation_times()
    xi = np.random.default_rng(1).uniform(-times.t_minus, times.t_plus)
    counts = count_calls(monkeypatch, DeepTable, "mirror_coords")
    mirror.curve_params(xi)
    assert 0 < counts["mirror_coords"] <= 10
