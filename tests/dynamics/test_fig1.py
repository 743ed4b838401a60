"""zhao's Fig. 1 model: a general two-layer network on the data of Eq. (7), from 1e-60."""

import time

import jax.numpy as jnp
import numpy as np
import pytest
from mpmath import mp
from tests.oracles import fig1_mp

import limitpoint as lp

SADDLES = np.array(
    [[0.8, 0.0, 0.0, 0.0], [0.0, 0.0, 1.4, 0.0], [0.0, 0.0, 10 / 7, -10 / 49]]
)  # zhao, section 7


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
    times = lp.saddles(given).times * lp.saddles(given).time_unit
    return np.append((times[1:-1] + times[2:]) / 2, 3 * times[-1])


def test_the_saddles_are_the_printed_ones():
    path = lp.saddles(problem(1e-60))
    np.testing.assert_allclose(path.coefs[1:], SADDLES, rtol=0, atol=1e-14)
    # The Hessians have the eigenvalues ±2, so growth times are ½, not 1 (an erratum of C.1).
    np.testing.assert_allclose(path.times[1:], [0.5, 2.0, 2.0 + 40 / 49], rtol=1e-12)


def test_the_flow_takes_less_than_three_seconds():
    """Of processor time: other work on the machine does not count."""
    given = problem(1e-60)
    lp.predict(given)  # compiles k and tabulates the map
    seconds = []
    for _ in range(2):
        begin = time.process_time()
        assert lp.flow(given).status is lp.Status.CONVERGED
        seconds.append(time.process_time() - begin)
    assert min(seconds) < 3.0


def test_plateaus_at_1e_minus_300():
    """All three to 1e-9: what the scale leaves open is below 1e-20 here."""
    given = problem(1e-300)
    found = lp.flow(given, times=middles(given)).coefs
    np.testing.assert_allclose(found, SADDLES, rtol=0, atol=1e-9)


def test_plateaus_at_1e_minus_60():
    """The first to 1e-9; the others as close as the scale lets them be.

    Dormant coefficients are s^p with p from their clocks: near the second plateau and at the limit
    the closest is above 1e-6 and 1e-8, whoever integrates. With those fits known the flow is exact.
    """
    given = problem(1e-60)
    found = lp.flow(given, times=middles(given)).coefs
    np.testing.assert_allclose(found[0], SADDLES[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found[1], SADDLES[1], rtol=0, atol=1e-3)
    np.testing.assert_allclose(found[2], SADDLES[2], rtol=0, atol=1e-7)
    limit = lp.predict(given)
    assert limit.certificate.ok
    np.testing.assert_allclose(found[2], limit.coef, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_dormant_coefficients_against_200_digits():
    """Sign and log-modulus of every coefficient to 1e-6, dormant ones of 1e-100 included.

    A step of 0.06 at growth rates up to 8 leaves an error of about 1e-7 over the whole time (a
    quarter of the step changes the result by 4e-9 at t = 20, half of it by 2e-7).
    """
    given = problem(1e-60)
    times = np.array([5.0, 20.0, 48.0, 110.0])
    run = lp.flow(given, times=times)
    task, blocks = given.task, given.init.direction[0]
    precise = fig1_mp.flow(task.X, task.y, blocks, -60, times, 0.06, int(task.loss_factor))
    logs = np.array([[float(mp.log(abs(k))) for k in row] for row in precise])
    signs = np.array([[float(mp.sign(k)) for k in row] for row in precise])
    assert logs.min() < -200
    np.testing.assert_array_equal(run.signs, signs)
    np.testing.assert_allclose(run.log_abs_coefs, logs, rtol=0, atol=1e-6)


@pytest.mark.slow
def test_prediction_and_both_flows_agree():
    assert lp.verify(problem(1e-60)).passed
