"""The tabulated map against closed forms and 50-digit arithmetic."""

import jax.numpy as jnp
import numpy as np
import pytest
from mpmath import mp
from tests.oracles.many_digits.general_mp import (
    DIGITS,
    CubicBlock,
    PolynomialBlock,
    PreciseCurve,
    TanhExpBlock,
)

from limitpoint.init import Init
from limitpoint.mirror import ExponentialMap
from limitpoint.networks.general.general_network import General

# Blocks are compiled and compared with precise arithmetic one by one: half a minute in all.
pytestmark = pytest.mark.slow


def polynomial(z):
    return 2 * z[0] * z[1] + (z @ z) * z[2]


def tanh_exp(z):
    return z[0] * jnp.tanh(z[0]) - (jnp.exp(z[1]) - 1) ** 2


def cubic(z):
    return z[0] * z[1] + z[0] ** 3


def product(z):
    return z[0] * z[1]


FUNCTIONS = {
    "polynomial": (polynomial, PolynomialBlock(), 3),
    "tanh and exp": (tanh_exp, TanhExpBlock(), 3),
    "cubic": (cubic, CubicBlock(), 2),
}


def table(k, directions, log_scale):
    directions = np.atleast_2d(directions)
    network = General(k, block_size=directions.shape[1])
    return network.mirror_map(Init([directions], log_scale=log_scale))


def log_slopes(mirror, xi):
    """`log Ψ'` without the floats that underflow."""
    at = mirror.groups[0].values(mirror.curve_params(xi))
    return at.log_rates - np.log(at.mirror_rates)


def compare(name, seed, scale, side, targets, tolerance):
    """Sign, log-modulus and slope at ξ spread over the inactive and the visible part."""
    k, block, size = FUNCTIONS[name]
    direction = np.random.default_rng(seed).uniform(-1, 1, size)
    log_scale = np.log(scale)
    mirror = table(k, direction, log_scale)
    start = abs(float(mirror.coefs(np.zeros(1))[0]))
    visible = mirror.mirror_coords(side * max(1.0, 4 * start) * np.array(targets)[:, None])[:, 0]
    end = side * max(1.0, -log_scale) / 2
    xi = np.concatenate([end * np.array([1e-12, 1e-4, 0.3, 0.8]), visible])
    # Not beyond the last target: there may be a pole.
    reached = np.abs(visible[np.isfinite(visible)]).max(initial=0.0)
    xi = xi[np.isfinite(xi) & (xi * side > 0) & (np.abs(xi) <= reached)]
    xi = np.array(sorted(xi, key=abs))
    curve = PreciseCurve(block, direction, log_scale)
    states = curve.states(xi)
    with mp.workdps(DIGITS):
        values = [curve.value(z) for z in states]
        signs = np.array([float(mp.sign(value)) for value in values])
        logs = np.array([float(mp.log(abs(value))) for value in values])
        slopes = np.array([float(mp.log(curve.slope(z))) for z in states])
    found_signs, found_logs = mirror.signs_and_logs(xi[:, None])
    assert np.array_equal(found_signs[:, 0], signs)
    np.testing.assert_allclose(found_logs[:, 0], logs, rtol=0, atol=tolerance)
    found_slopes = log_slopes(mirror, xi[:, None])[:, 0]
    np.testing.assert_allclose(found_slopes, slopes, rtol=0, atol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_tiny_scale_against_precise_arithmetic(name, seed, side):
    # The mirror coordinate as a float64 (138) is off by 1e-14, which the slope of log k, up to 4|k|
    # for the exponential, makes 1e-12; the formula's own rounding is 6e-13 per unit of the
    # curve parameter.
    compare(name, seed, 1e-60, side, [1e-3, 0.5, 5.0], 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_tiniest_scale_against_precise_arithmetic(name):
    compare(name, 2, 1e-300, 1, [1e-3, 2.0], 1e-9)


# At scale 10 the exponential, e^10 squared, has its pole at a mirror coordinate of 1e-9 already.
LARGE = {name: 2.0 if name == "tanh and exp" else 10.0 for name in FUNCTIONS}


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_moderate_scale_against_precise_arithmetic(name, side):
    for scale in (1e-2, 1.0, LARGE[name]):
        compare(name, 0, scale, side, [0.5, 3.0], 1e-11)


@pytest.mark.parametrize("log_scale", [-2302.6, -138.0, -4.6, 0.0, 4.6])
def test_product_of_two_is_the_exponential_map(log_scale):
    layers = np.random.default_rng(0).uniform(-1, 1, (4, 2))
    layers[3] = [1.0, 0.0]
    mirror = table(product, layers, log_scale)
    exact = ExponentialMap.from_layers(layers[:, 0], layers[:, 1], log_scale)
    end = abs(log_scale) + 5.0
    grid = np.concatenate([np.linspace(-1, 1, 101), np.logspace(-14, -1, 14)]) * end
    xi = np.repeat(grid[grid != 0][:, None], 4, axis=1)
    signs, logs = mirror.signs_and_logs(xi)
    exact_signs, exact_logs = exact.signs_and_logs(xi)
    # Mirror coordinates of 2302 are rounded by 4.5e-13.
    tolerance = 1e-11
    assert np.array_equal(signs, exact_signs)
    np.testing.assert_allclose(logs, exact_logs, rtol=0, atol=tolerance)
    for found, wanted in zip(mirror.evaluate(xi), exact.evaluate(xi), strict=True):
        held = np.abs(wanted) > 1e-290
        np.testing.assert_allclose(found[held], wanted[held], rtol=tolerance)
    coefs = np.repeat(
        np.concatenate([np.logspace(-5, 5, 11), -np.logspace(-5, 5, 11)])[:, None], 4, 1
    )
    np.testing.assert_allclose(
        mirror.mirror_coords(coefs), exact.mirror_coords(coefs), rtol=tolerance
    )
    np.testing.assert_allclose(mirror.potential(coefs), exact.potential(coefs), rtol=tolerance)
    assert np.isneginf(mirror.lower).all()
    assert np.isposinf(mirror.upper).all()


def test_quadratic_form_with_three_eigenvalues():
    rng = np.random.default_rng(1)
    basis, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    eigenvalues = np.array([-1.5, 0.7, 2.0])
    form = basis @ np.diag(eigenvalues) @ basis.T

    def k(z):
        return 0.5 * z @ form @ z

    blocks = rng.uniform(-1, 1, (5, 3))
    for log_scale in (-690.0, -3.0):
        mirror = table(k, blocks, log_scale)
        xi = np.repeat(np.linspace(-1, 1, 21)[:, None] * max(2.0, -log_scale / 2), 5, axis=1)
        z = np.log(np.abs(blocks @ basis)) + log_scale
        terms = 2 * (z + xi[..., None] * eigenvalues)
        positive = np.logaddexp(terms[..., 1] + np.log(0.35), terms[..., 2])
        negative = terms[..., 0] + np.log(0.75)
        gap = positive - negative
        exact = np.maximum(positive, negative) + np.log(-np.expm1(-np.abs(gap)))
        signs, logs = mirror.signs_and_logs(xi)
        assert np.array_equal(signs, np.sign(gap))
        np.testing.assert_allclose(logs, exact, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", list(FUNCTIONS))
@pytest.mark.parametrize("scale", [1e-60, 1e-2, 1.0])
def test_inverse_rates_and_conjugate_are_those_of_one_curve(name, scale):
    k, _, size = FUNCTIONS[name]
    blocks = np.random.default_rng(5).uniform(0.2, 1, (3, size))
    mirror = table(k, blocks, np.log(scale))
    coefs = np.array([[0.3], [1.0], [4.0], [-0.3]]) * np.ones(3)
    xi = mirror.mirror_coords(coefs)
    np.testing.assert_allclose(mirror.coefs(xi), coefs, rtol=1e-10)
    curve_params = mirror.curve_params_of(coefs)
    np.testing.assert_allclose(mirror.curve_params(xi), curve_params, rtol=1e-12, atol=1e-11)
    # Derivatives by central differences of fourth order, h = 1e-2: errors of 1e-8 times the
    # fifth derivative.
    h = 1e-2
    points = {j: mirror.along(curve_params + j * h) for j in (-2, -1, 1, 2)}

    def difference(values):
        return (8 * (values[1] - values[-1]) - (values[2] - values[-2])) / (12 * h)

    here = mirror.along(curve_params)
    coef_rates = difference({j: point.coefs for j, point in points.items()})
    mirror_rates = difference({j: point.mirror for j, point in points.items()})
    conjugate_rates = difference({j: mirror.conjugates_at(curve_params + j * h) for j in points})
    np.testing.assert_allclose(here.coef_rates, coef_rates, rtol=1e-5)
    np.testing.assert_allclose(here.mirror_rates, mirror_rates, rtol=1e-5)
    np.testing.assert_allclose(conjugate_rates, here.coefs * here.mirror_rates, rtol=1e-5)
    zero = mirror.curve_params_of(np.zeros(3))
    np.testing.assert_allclose(mirror.conjugates_at(zero), 0.0, atol=1e-30)


def test_bounded_side_is_found_only_where_the_curve_runs_there():
    blocks = np.array([[0.4, 0.3, 0.1], [0.4, -0.3, 0.1]])
    for log_scale in (-np.inf, -690.0, -138.0, -3.0, 0.0):
        mirror = table(tanh_exp, blocks, log_scale)
        assert np.isposinf(mirror.upper).all()
        assert np.isneginf(mirror.lower[0])
        # The table ends where k changes by 1e-9 of itself per unit of the curve parameter; what is
        # left is that over the rate's decay, about 20, and is estimated to a few per cent.
        np.testing.assert_allclose(mirror.lower[1], -1.0, rtol=1e-11)
    mirror = table(tanh_exp, blocks, -138.0)
    assert np.isnan(mirror.curve_params_of(np.array([-1.5, -1.5]))[1])
    near = mirror.mirror_coords(np.array([-1.5, -0.999]))
    np.testing.assert_allclose(mirror.coefs(near), [-1.5, -0.999], rtol=1e-10)
    # k + 1 falls like 2e^b, and e^-b like 2|ξ|.
    far = mirror.coefs(np.array([0.0, -1e6]))[1]
    np.testing.assert_allclose(1 + far, 1e-6, rtol=1e-2)


def test_nothing_lies_beyond_a_bound():
    """`tanh(ab)` at any scale: its rate is rounding before it is zero."""
    blocks = np.array([[0.8, 0.3], [0.5, -0.7]])
    for log_scale in (-690.0, -138.0, -2.3, 0.0):
        mirror = table(lambda z: jnp.tanh(z[0] * z[1]), blocks, log_scale)
        # k changes by less than 1e-9 of itself where the table ends.
        np.testing.assert_allclose(mirror.upper, 1.0, atol=1e-9)
        np.testing.assert_allclose(mirror.lower, -1.0, atol=1e-9)
        for beyond in (1.0 + 1e-8, 1.5, 1e6):
            assert np.isnan(mirror.curve_params_of(np.full(2, beyond))).all()
            assert np.isnan(mirror.curve_params_of(np.full(2, -beyond))).all()
        far = np.array([[1e3], [1e300]]) * np.ones(2)
        assert (mirror.coefs(far) <= mirror.upper).all()
        assert (mirror.coefs(-far) >= mirror.lower).all()


def test_nothing_is_known_beyond_a_kink():
    """`2ab`, and `ab` beyond a = ½: known exactly up to there, and not at all further on."""

    def bent(z):
        return jnp.where(z[0] > 0.5, z[0] * z[1], 2 * z[0] * z[1])

    mirror = table(bent, np.array([[1.0, 0.0]]), np.log(0.1))
    exact = ExponentialMap.from_exponentials(
        *(np.full(1, x) for x in (0.5, 0.5, 0.0, 0.0)), np.log(0.1), 2.0
    )
    # Up the curve a = 0.1 cosh 2ξ: the kink is at cosh 2ξ = 5.
    end = float(np.arccosh(5.0)) / 2
    before = np.array([[0.5], [0.9], [1 - 1e-6]]) * end
    np.testing.assert_allclose(mirror.coefs(before), 2 * exact.coefs(before), rtol=1e-9)
    assert np.isnan(mirror.coefs(np.array([1.01 * end]))).all()
    _, above = mirror.known
    np.testing.assert_allclose(above, 2 * exact.coefs(np.array([end])), rtol=1e-6)
    assert np.isnan(mirror.mirror_coords(1.01 * above)).all()
    assert np.isfinite(mirror.mirror_coords(0.99 * above)).all()


def test_pole_of_the_mirror_coordinate():
    # k = a³/3: ȧ = a², a = 1/(1/a₀ − ξ). (Its Hessian at zero vanishes: no linear stage.)
    mirror = table(lambda z: z[0] ** 3 / 3, np.array([[1.0]]), 0.0)
    xi = np.array([[0.5], [0.9], [1 - 1e-6]])
    np.testing.assert_allclose(mirror.coefs(xi)[:, 0], 1 / (3 * (1 - xi[:, 0]) ** 3), rtol=1e-9)
    assert np.isposinf(mirror.curve_params(np.array([1.1])))[0]
    assert np.isposinf(mirror.coefs(np.array([1.1])))[0]


def test_sign_constraint_and_frozen_blocks():
    layers = np.array([[1.0, 1.0], [1.0, -1.0], [0.0, 0.0]])
    for log_scale in (-300.0, 0.0):
        mirror = table(product, layers, log_scale)
        np.testing.assert_array_equal(mirror.lower, [0.0, -np.inf, 0.0])
        np.testing.assert_array_equal(mirror.upper, [np.inf, 0.0, 0.0])
        xi = np.array([[0.5, 0.5, 0.5], [-3.0, -3.0, -3.0]])
        signs, logs = mirror.signs_and_logs(xi)
        np.testing.assert_array_equal(signs, [[1, -1, 0]] * 2)
        exact = 2 * xi[:, :2] * [1, -1] + 2 * log_scale
        np.testing.assert_allclose(logs[:, :2], exact, atol=1e-11)
        np.testing.assert_array_equal(mirror.curve_params(xi)[:, 2], xi[:, 2])
        assert np.isnan(mirror.curve_params_of(np.array([-1.0, 1.0, 1.0]))).all()
        times = mirror.activation_times()
        np.testing.assert_array_equal(times.t_plus, [1.0, np.inf, np.inf])
        np.testing.assert_array_equal(times.t_minus, [np.inf, 1.0, np.inf])


def test_many_blocks_agree_with_single_ones():
    blocks = np.random.default_rng(0).uniform(-1, 1, (24, 3))
    mirror = table(polynomial, blocks, -138.0)
    coefs = np.ones(24)
    xi = mirror.mirror_coords(coefs)
    for i in (0, 23):
        alone = table(polynomial, blocks[i], -138.0)
        np.testing.assert_allclose(alone.mirror_coords(coefs[:1])[0], xi[i], rtol=1e-13)


def test_another_scale_makes_another_table():
    block = np.array([0.3, -0.8, 0.4])
    mirror = table(polynomial, block, -138.0).at_log_scale(-2.0)
    assert mirror.log_scale == -2.0
    other = table(polynomial, block, -2.0)
    xi = np.array([0.4])
    np.testing.assert_array_equal(mirror.coefs(xi), other.coefs(xi))


@pytest.mark.parametrize("scale", [3e-5, 1e-4, 1.01e-4, 1e-3, 0.1])
def test_curves_that_pass_close_to_zero_go_on(scale):
    """`p² − q²/2`: where one term is small it grows while the other shrinks, past k = 0.

    The exact curves are `p e^{2ξ}` and `q e^{−ξ}`. A curve that starts outside the linear stage and
    enters it on its way to zero does not end there, unless nothing is left that grows.
    """
    ratios = 10.0 ** -np.arange(0, 7)
    small, large = ratios / np.hypot(1, ratios), 1 / np.hypot(1, ratios)
    blocks = np.concatenate([np.stack([small, large], 1), np.stack([large, -small], 1)])
    mirror = General(lambda z: z[0] ** 2 - z[1] ** 2 / 2, block_size=2).mirror_map(
        Init([blocks], scale)
    )
    assert np.isneginf(mirror.lower).all()
    assert np.isposinf(mirror.upper).all()
    for one_xi in (-9.0, -4.0, -1.0, 0.5, 3.0, 12.0):
        xi = np.full(len(blocks), one_xi)
        p, q = scale * blocks.T * np.exp(np.outer([2.0, -1.0], xi))
        # Velocities are resolved to 1e-13 on each of some twenty panels.
        allowed = 20 * 1e-13 * (1 + 4 * abs(one_xi)) * (p**2 + q**2)
        assert (np.abs(mirror.coefs(xi) - (p**2 - q**2 / 2)) <= allowed).all()


def test_a_curve_that_ends_at_zero_does():
    """With p = 0 nothing grows on the positive side: `−q²/2` comes from below and stays there."""
    mirror = General(lambda z: z[0] ** 2 - z[1] ** 2 / 2, block_size=2).mirror_map(
        Init([np.array([[0.0, 1.0]])], 1e-3)
    )
    assert mirror.upper.tolist() == [0.0]
    assert mirror.coefs(np.array([30.0]))[0] == pytest.approx(-5e-7 * np.exp(-60), rel=1e-9)


@pytest.mark.parametrize("scale", [1e-3, 0.1])
def test_a_curve_that_has_ended_goes_on_shrinking(scale):
    """`p²/2 + q²` falls to zero as `p e^ξ` and `q e^{2ξ}` do, without its start's rounding."""
    blocks = np.array([[0.6, 0.8], [1.0, 1e-6]])
    mirror = General(lambda z: z[0] ** 2 / 2 + z[1] ** 2, block_size=2).mirror_map(
        Init([blocks], scale)
    )
    xi = -np.array([1.0, 3.0, 8.0, 30.0, 100.0])[:, None] * np.ones(2)
    p, q = (scale * blocks[:, j] * np.exp((j + 1) * xi) for j in (0, 1))
    exact = p**2 / 2 + q**2
    # Velocities are resolved to 1e-13 on each of a few panels; k falls by e^{12} on one.
    np.testing.assert_allclose(mirror.coefs(xi), exact, rtol=1e-10)
    np.testing.assert_allclose(mirror.slopes(xi), p**2 + 4 * q**2, rtol=1e-8)
    np.testing.assert_allclose(mirror.mirror_coords(exact), xi, rtol=1e-10)
    conjugates = mirror.evaluate(xi).conjugates  # from the start on: right relative to it
    np.testing.assert_allclose(conjugates, (p**2 + q**2) / 4, rtol=1e-8, atol=1e-15 * scale**2)
    assert mirror.lower.tolist() == [0.0, 0.0]


def driven_curve(rates, start, xi):
    """`k = λp²/2 + μq²/2 + pq²` while 2p is nothing beside μ: `q = q₀e^{μξ}` moves p."""
    fast, slow = rates
    p, q = start
    added = q**2 * (np.exp(2 * slow * xi) - np.exp(fast * xi)) / (2 * slow - fast)
    return p * np.exp(fast * xi) + added, q * np.exp(slow * xi)


@pytest.mark.parametrize("scale", [1e-30, 1e-18])
@pytest.mark.parametrize("small", [0.0, 1e-14])
@pytest.mark.parametrize("slow", [1.0, -1.0])
def test_components_that_are_driven_away_from_zero_grow(scale, small, slow):
    """What is far below the block's rounding at the start is all of it later on."""

    def k(z):
        return 1.5 * z[0] ** 2 + slow / 2 * z[1] ** 2 + z[0] * z[1] ** 2

    mirror = table(k, np.array([small, 1.0]), np.log(scale))
    assert mirror.upper.tolist() == [np.inf]
    # Until p is 1e-11, where what the exact curve leaves out, 2p beside μ, is that much.
    ends = np.linspace(0.0, 1.0, 9)[1:]
    last = (np.log(1e-11) - np.log(scale * small + scale**2 / abs(2 * slow - 3))) / 3
    xi = last * ends
    p, q = driven_curve((3.0, slow), (scale * small, scale), xi)
    exact = 1.5 * p**2 + slow / 2 * q**2 + p * q**2
    error = np.abs(mirror.coefs(xi[:, None])[:, 0] - exact)
    # The mirror coordinate is rounded by 1e-14, and each of some thirty panels is resolved to
    # 1e-13.
    assert (error <= 1e-10 * (p**2 + q**2)).all()
