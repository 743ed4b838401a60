"""Steps of an integrator along a path, started again where it fails or loses its place."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.integrate import DOP853, OdeSolver
from scipy.optimize import brentq

from limitpoint.dynamics.integrate.quiet_solvers import QuietBDF, QuietLSODA
from limitpoint.foundation.arrays import Float

__all__ = ["FINEST_RTOL", "LARGEST_TRIAL", "Motion", "Steps"]

# Coefficients and slopes are cut off here inside the integrator's trial steps only, so that a
# trial far too long is rejected for its error instead of overflowing.
LARGEST_TRIAL = 1e150
# After a failure the integrator starts again from the last state, with this part of its last step.
RESTART_STEP = 1e-3
MAX_RESTARTS = 100
# LSODA begins with Adams' method each time it is started. Where a stiff state has come to rest its
# velocity is rounding, the corrector converges at once, and LSODA never learns that the state is
# stiff: it goes on with one and the same step for ever. So many of them in a row, equal up to the
# rounding of the place, tell; SciPy's BDF, implicit from its first step, takes over.
HELD_STEPS = 200
EQUAL_STEPS = 1e-9
# Where the velocity is more than rounding, the steps that stability allows vary a little. Those
# that accuracy allows change by orders of magnitude along a flow from plateau to plateau: so many
# within a factor tell as well.
SIMILAR_STEPS = 1000
SIMILAR = 3.0
# Numbers that grow as exponentials, to an accuracy relative to themselves, take equal steps too.
# Where one of them moves by more than this part of itself in a step, the state is not at rest.
AT_REST = 1e-3
# The integrator's place is reset when its steps are shorter than this part of it: five digits are
# left to tell them apart.
FINEST_STEP = 1e-11
# Whether another time change would be better is asked after so many steps: it costs as much as one.
SAME_PACE = 10
# The integrators accept no smaller relative tolerance.
FINEST_RTOL = 1e-13
EPS = float(np.finfo(np.float64).eps)


class Motion(Protocol):
    """A flow along some path: the time, or another variable."""

    @property
    def has_jacobian(self) -> bool:
        """Whether there is a Jacobian: not of states too large for one."""

    @property
    def starts_freely(self) -> bool:
        """Whether the integrator chooses its own first step by a new time change."""

    def velocity(self, state: Float) -> Float:
        """Of the state along the path."""

    def jacobian(self, state: Float) -> Float:
        """The derivative of the velocity in the state."""

    def reach(self, state: Float, after: Float) -> float:
        """How far a step from this state, which led to another, may lead at most."""

    def overrun(self, state: Float) -> float:
        """Positive where the time change suits no longer."""

    def reparametrised(self, state: Float) -> "Motion | None":
        """The same by another time change, where that suits the state better."""


class Steps:
    """The state after each step, and the place on the path.

    Attributes
    ----------
    state, place
        After the last step.
    before
        The place before it.
    """

    def __init__(
        self,
        motion: Motion,
        start: Float,
        end: float,
        rtol: float | Float,
        atol: float | Float,
        *,
        is_relative: bool = False,
    ) -> None:
        self._motion = motion
        self._is_relative = is_relative  # whether errors are relative to numbers that keep signs
        self._end = end
        self._rtol, self._atol = np.maximum(rtol, FINEST_RTOL), atol
        self._restarts = self._held = self._similar = self._steps = 0
        self._shortest = self._longest = 0.0  # of the steps alike
        self._is_back = False  # whether the integrator is ahead of the state
        self._first = 0.0  # the first step that was given to the integrator
        self._origin = 0.0  # the place from which it counts
        self.state, self.place, self.before = start, 0.0, 0.0
        self._solver = self._from(start)

    @property
    def at_end(self) -> bool:
        """Whether the end of the path is reached."""
        return bool(self._solver.status == "finished")

    def advance(self) -> bool:
        """One step; False where none can be taken: at the end, or where none is accurate enough."""
        if self.at_end:
            return False
        self._prepare()
        while True:
            stride = float(self._solver.step_size or self._first)
            if 0.0 < stride < FINEST_STEP * float(self._solver.t):
                # Near a pole steps become too short to be added to the place: count from here anew.
                self._start_again(stride)
            with np.errstate(all="ignore"):  # what overflows in its trial steps is rejected
                self._solver.step()
            if self._solver.status != "failed" and np.isfinite(self._solver.y).all():
                break
            # Long steps on a plateau can end too far beyond it for the integrator to recover.
            if self._restarts >= MAX_RESTARTS or stride == 0.0:
                return False
            self._restarts += 1
            self._start_again(RESTART_STEP * stride)
        self._count(stride, float(self._solver.step_size))
        farthest = self.place + self._motion.reach(self.state, self._solver.y)
        self.before, self.place = self.place, self._origin + float(self._solver.t)
        self.state = self._solver.y.copy()
        if self.place > farthest:
            self._go_back(farthest)
        if self._motion.overrun(self.state) > 0:
            # The rest of the step went by a time change that suited no longer.
            self._go_back(self._crossing(self._motion.overrun))
        return True

    def _count(self, before: float, step: float) -> None:
        """How many of LSODA's steps in a row were equal, and how many alike."""
        if not isinstance(self._solver, QuietLSODA):
            self._held = self._similar = 0
            return
        self._held = self._held + 1 if abs(step - before) <= EQUAL_STEPS * before else 0
        self._shortest = min(self._shortest, step) if self._similar else step
        self._longest = max(self._longest, step) if self._similar else step
        alike = self._longest <= SIMILAR * self._shortest
        self._similar = self._similar + 1 if alike else 0
        if self._is_relative and self._seems_held and self._moved() > AT_REST:
            self._held = self._similar = 0

    @property
    def _seems_held(self) -> bool:
        return self._held >= HELD_STEPS or self._similar >= SIMILAR_STEPS

    def _moved(self) -> float:
        """By how much of itself some number moved in the integrator's last step."""
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = np.abs(self._solver.y - self.state) / np.abs(self.state)
        return float(np.nan_to_num(moved, nan=0.0, posinf=0.0).max(initial=0.0))

    def states(self, places: Float) -> Float:
        """The states at places within the last step."""
        states: Float = self._solver.dense_output()(places - self._origin).T
        return states

    def where(self, gap: Callable[[Float], float]) -> Float:
        """The state within the last step at which the gap closes, positive at the step's end."""
        return self._at(self._crossing(gap))

    def _at(self, place: float) -> Float:
        state: Float = self.states(np.array([place]))[0]
        return state

    def _crossing(self, gap: Callable[[Float], float]) -> float:
        def at(place: float) -> float:
            return gap(self._at(place))

        # Next to an end the interpolant may be on the other side by its own error.
        if at(self.before) >= 0:
            return self.before
        if at(self.place) <= 0:
            return self.place
        return float(brentq(at, self.before, self.place, xtol=EPS * self.place, rtol=4 * EPS))

    def _go_back(self, place: float) -> None:
        """Take only the first part of the last step."""
        self.place, self.state = place, self._at(place)
        self._is_back = True

    def _prepare(self) -> None:
        """Go on with another integrator or by another time change if need be."""
        self._steps += 1
        if self._steps % SAME_PACE == 0 or self._motion.overrun(self.state) > 0:
            motion = self._motion.reparametrised(self.state)
            if motion is not None:
                self._motion = motion
                self._start_again(np.inf, free=motion.starts_freely)
        if self._is_back:
            self._start_again(np.inf)
        if self._seems_held and self._solver.status == "running":
            self._start_again(float(self._solver.step_size), stiff=True)

    def _start_again(self, stride: float, *, stiff: bool = False, free: bool = False) -> None:
        """Go on from here with a first step of at most the stride, or a free one.

        On a plateau the velocity of a stiff state is rounding error times a huge rate: a first step
        must not take it along farther than an error is tolerated.
        """
        allowed = self._atol + self._rtol * np.abs(self.state)
        with np.errstate(divide="ignore", over="ignore"):
            own = allowed / np.abs(self._motion.velocity(self.state))
        self._first = min(stride, float(own.min()))
        self._origin = self.place
        self._solver = self._from(self.state, None if free else self._first, stiff=stiff)
        self._held, self._similar, self._is_back = 0, 0, False

    def _from(
        self, state: Float, first_step: float | None = None, *, stiff: bool = False
    ) -> OdeSolver:
        motion, end = self._motion, max(self._end - self._origin, 0.0)
        settings: dict[str, Any] = {
            "first_step": first_step,
            "rtol": self._rtol,
            "atol": self._atol,
        }

        def velocity(_: float, state: Float) -> Float:
            return motion.velocity(state)

        if not motion.has_jacobian:
            return DOP853(velocity, 0.0, state, end, **settings)
        settings |= {"jac": lambda _, state: motion.jacobian(state)}
        if stiff and np.ndim(self._rtol):
            # SciPy's BDF knows one relative tolerance only.
            settings |= {"rtol": FINEST_RTOL, "atol": self._atol + self._rtol * np.abs(state)}
        method = QuietBDF if stiff else QuietLSODA
        return method(velocity, 0.0, state, end, **settings)
