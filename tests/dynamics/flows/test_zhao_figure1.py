"""zhao's Fig. 1 model: a general two-layer network on the data of Eq. (7), from 1e-60."""

import jax.numpy as jnp
import numpy as np
import pytest
from mpmath import mp
from tests.counting import count_calls
from tests.oracles.many_digits import fig1_mp

import limitpoint as lp
from limitpoint.mirror.general.tabulated_map import TabulatedMap

# Each k is compiled, and tabulated at many scales.
pytestmark = pytest.mark.slow

SADDLES = np.array(
    [[0.8, 0.0, 0.0, 0.0], [0.0, 0.0, 1.4, 0.0], [0.0, 0.0, 10 / 7, -10 / 49]]
)  # zhao, section 7

# The Hessians have the eigenvalues ±2, so activation times are ½, not 1 (an erratum of C.1).
ACTIVATION_TIME = 0.5
# At the default tolerance the mirror coordinates at the second plateau are right to 4e-7, k⁽²⁾ to
# 2e-9.
EXACT = lp.SampleSpace(rtol=1e-11)


def smooth(block):
    a, b, c = block
    return 2 * a * b + (a**2 + b**2 + c**2) * c


def transcendental(block):
    # As a user would write it: the difference exp(b) − 1 is zero in float64 at 1e-60.
    a, b, _ = block
    return a * jnp.tanh(a) - (jnp.exp(b) - 1) ** 2


def problem(scale, seed=0):
    network = lp.General((smooth, smooth, transcendental, transcendental), block_size=3)
    blocks = np.random.default_rng(seed).uniform(-1, 1, (4, 3))
    return lp.Problem(network, lp.Init([blocks], scale), lp.examples.zhao_eq7())


def middles(given):
    """Times half-way between saddles, and long after the last."""
    times = lp.analysis.saddles(given).path_times * lp.analysis.saddles(given).time_unit
    return np.append((times[1:-1] + times[2:]) / 2, 3 * times[-1])


def test_the_saddles_are_the_printed_ones():
    path = lp.analysis.saddles(problem(1e-60))
    np.testing.assert_allclose(path.coefs[1:], SADDLES, rtol=0, atol=1e-14)
    growth = lp.analysis.activation_times(problem(1e-60).network, problem(1e-60).init)
    np.testing.assert_allclose([growth.t_plus, growth.t_minus], ACTIVATION_TIME, rtol=1e-12)
    np.testing.assert_allclose(path.path_times[1:], [0.5, 2.0, 2.0 + 40 / 49], rtol=1e-12)


def test_the_flow_evaluates_the_map_some_thousand_times(monkeypatch):
    """Measured: 2067 times, at a thousandth of a second each."""
    given = problem(1e-60)
    counts = count_calls(monkeypatch, TabulatedMap, "along")
    assert lp.flow(given, space=EXACT).status is lp.Status.CONVERGED
    assert 0 < counts["along"] < 5000


def test_plateaus_at_1e_minus_300():
    """All three to 1e-9: what the scale leaves open is below 1e-20 here."""
    given = problem(1e-300)
    found = lp.flow(given, times=middles(given)).coefs
    np.testing.assert_allclose(found, SADDLES, rtol=0, atol=1e-9)


def closest_approach():
    """The exponent e of the distance s^e to which the flow comes to k⁽²⁾, and the time, in units.

    Near a saddle an inactive coefficient is s^{2(1 − |c|/t)} for its mirror coordinate c and
    activation time t. On a plateau mirror coordinates are linear in time, and while some fall back
    others come.
    """
    path = lp.analysis.saddles(problem(1e-60))
    share = np.linspace(0, 1, 10_001)[:, None]
    xi = (1 - share) * path.mirrors[2] + share * path.mirrors[3]
    exponents = 2 * (1 - np.abs(xi) / ACTIVATION_TIME)[:, path.coefs[2] == 0].min(axis=1)
    best = exponents.argmax()
    return exponents[best], path.path_times[2] + share[best, 0] * (
        path.path_times[3] - path.path_times[2]
    )


def slopes(scales, distances):
    return np.diff(np.log(np.abs(distances).max(axis=1))) / np.diff(np.log(scales))


def test_how_close_the_flow_comes_to_the_second_saddle():
    """As s^0.108: 5e-6 at 1e-60, and 1e-9 below 1e-94 only, however exact the flow.

    Corrections to the power are of relative size s^0.1, below 1e-7 here; the grid in time is too
    coarse for the tie of two exponents by 1e-4 of their slopes, which are below 1. Only inactive
    coefficients tell: what is active follows the flow's tolerance, 1e-11, which is more than that.
    """
    exponent, when = closest_approach()
    scales = 10.0 ** -np.array([80, 140])
    found = []
    for scale in scales:
        given = problem(scale)
        times = [when * lp.analysis.saddles(given).time_unit]
        found.append(lp.flow(given, times=times, space=EXACT).coefs[0])
    inactive = np.array(found)[:, SADDLES[1] == 0]
    np.testing.assert_allclose(slopes(scales, inactive), exponent, rtol=0, atol=1e-4)


def test_how_close_the_limit_is_to_the_third_saddle():
    """As s^(8/49): 4e-8 at 1e-60, and 1e-9 below 1e-69 only, ξ of k₁ being 45/98.

    Corrections to the power are some times the distance itself, 2e-6 at 1e-50; `predict` is exact
    to 1e-14, 1e-5 of the distance at 1e-70. Both count over ten decades, a factor 23 in the log.
    """
    scales = 10.0 ** -np.array([50, 60])
    found = np.array([lp.predict(problem(scale)).coef for scale in scales])
    np.testing.assert_allclose(slopes(scales, found - SADDLES[2]), 8 / 49, rtol=0, atol=1e-5)


def test_plateaus_and_inactive_coefficients_against_110_digits():
    """At 1e-30: every coefficient to 1e-9, sign and log-modulus of inactive ones to 1e-6.

    Half the scale's digits are half the time to go, and half the digits do.

    Steps of 0.2, at growth rates up to 8, of order 14: half of one changes the logarithms by 7e-10
    and the coefficients by 3e-14.
    """
    given = problem(1e-30)
    first, second, _ = middles(given)
    times = np.array([2.5, 10.0, 24.0, first, 55.0, second, 130.0])
    run = lp.flow(given, times=times, space=EXACT)
    task, blocks = given.task, given.init.direction[0]
    factor = int(task.loss_factor)
    precise = fig1_mp.flow(task.X, task.y, blocks, -30, times, 0.2, factor, digits=110)
    logs = np.array([[float(mp.log(abs(k))) for k in row] for row in precise])
    signs = np.array([[float(mp.sign(k)) for k in row] for row in precise])
    assert logs.min() < -100
    np.testing.assert_array_equal(run.signs, signs)
    np.testing.assert_allclose(run.log_abs_coefs, logs, rtol=0, atol=1e-6)
    np.testing.assert_allclose(run.coefs, np.array(precise, dtype=float), rtol=0, atol=1e-9)
    # The limit is the predicted one, not yet k⁽³⁾.
    limit = lp.predict(given)
    assert limit.certificate.ok
    np.testing.assert_allclose(run.coefs[-1], limit.coef, rtol=0, atol=1e-9)


def test_prediction_and_both_flows_agree():
    assert lp.verify(problem(1e-60)).passed
