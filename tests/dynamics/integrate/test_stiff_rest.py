"""An integrator that keeps one step for ever is replaced.

LSODA does so when it is started anew where stiff coefficients are at rest, between two saddles of a
deep flow: which bits of the state make it do so cannot be told in advance, so that here a step that
cannot grow stands in for it. Oracle: the closed form of an exponential.
"""

import importlib

import numpy as np
import pytest

from limitpoint.dynamics.integrate.quiet_solvers import QuietLSODA
from limitpoint.status import Status

INTEGRATE = importlib.import_module("limitpoint.dynamics.integrate.until_converged")
STEPS = importlib.import_module("limitpoint.dynamics.integrate.stepper")
RTOL = 1e-10


class Stubborn(QuietLSODA):
    """Steps of 1e-6: twenty million of them to the end."""

    def __init__(self, *args, **settings):
        super().__init__(*args, max_step=1e-6, **settings)


def relax(**end):
    """`dx/dt = 1 − x` from 0."""
    return INTEGRATE.integrate(
        lambda state: 1.0 - state,
        lambda state: -np.eye(1),
        np.zeros(1),
        relative_residual=lambda state: float(abs(1.0 - state[0])),
        rounding=lambda state: 1e-15,
        residual_tolerance=1e-9,
        arrived=Status.CONVERGED,
        rtol=RTOL,
        atol=RTOL,
        max_steps=5000,
        **{"t_end": None, "times": None} | end,
    )


@pytest.fixture(autouse=True)
def stubborn(monkeypatch):
    monkeypatch.setattr(STEPS, "QuietLSODA", Stubborn)


def test_arrives_all_the_same():
    found = relax()
    assert found.status is Status.CONVERGED
    # 100 local errors of the integrator, in the time and in the state.
    np.testing.assert_allclose(found.states[:, 0], -np.expm1(-found.times), atol=100 * RTOL)


def test_times_and_ends_are_kept_across_the_change():
    times = np.array([0.0, 1e-4, 0.5, 3.0])
    found = relax(times=times)
    np.testing.assert_array_equal(found.times, times)
    np.testing.assert_allclose(found.states[:, 0], -np.expm1(-times), atol=100 * RTOL)
    assert relax(t_end=2.0).times[-1] == pytest.approx(2.0, rel=1e-12)


def test_at_the_end_no_step_can_be_taken():
    motion = importlib.import_module("limitpoint.dynamics.integrate.time_change").InTime(
        lambda state: -state, lambda state: -np.eye(1), np.ones(1), 1e-5, RTOL, RTOL
    )
    while not motion.finished:
        assert motion.advance()
    assert not motion.advance()
    assert motion.time == 1e-5
