"""A flow followed along its time, or by a time change, with the time as one more number."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from limitpoint.dynamics.integrate.stepper import FINEST_RTOL, Motion, Steps
from limitpoint.foundation.arrays import Float

__all__ = ["EXPLICIT_SHARE", "ByTimeChange", "InTime"]

# An explicit method whose step is held by stability keeps its error at the tolerance instead of
# letting it decay: it is given this part of it, so that the relative residual can fall below the
# tolerance.
EXPLICIT_SHARE = 1e-3


class InTime:
    """A flow followed along its time.

    Attributes
    ----------
    before
        The time before the last step.
    """

    def __init__(
        self,
        velocity: Callable[[Float], Float],
        jacobian: Callable[[Float], Float] | None,
        start: Float,
        last: float | None,
        rtol: float | Float,
        atol: float | Float,
        *,
        is_relative: bool = False,
    ) -> None:
        end = np.inf if last is None else last
        share = EXPLICIT_SHARE if jacobian is None else 1.0
        self._steps = Steps(
            _Motion(velocity, jacobian),
            start,
            end,
            np.maximum(share * rtol, FINEST_RTOL) if np.ndim(rtol) else share * rtol,
            share * atol,
            is_relative=is_relative,
        )
        self.before = 0.0

    @property
    def time(self) -> float:
        """The time after the last step."""
        return self._steps.place

    @property
    def state(self) -> Float:
        """The state after the last step."""
        return self._steps.state

    @property
    def finished(self) -> bool:
        """Whether the last time has come, or time has left float64."""
        return self._steps.at_end

    def advance(self) -> bool:
        """One step; False where none can be taken."""
        self.before = self.time
        return self._steps.advance()

    def states(self, times: Float) -> Float:
        """States at times within the last step."""
        return self._steps.states(times)


class ByTimeChange:
    """A flow followed by its time change: the time is the last number of the integrator's state.

    Attributes
    ----------
    before, time, state
        The time before the last step, and time and state after it; at most the last one asked for.
    """

    def __init__(
        self,
        time_change: Motion,
        start: Float,
        last: float | None,
        rtol: float,
        atol: float | Float,
    ) -> None:
        begin = np.append(start, 0.0)
        velocity = time_change.velocity(begin)
        # Times are relative; at first to the time in which something moves by one.
        first = float(velocity[-1] / np.abs(velocity[:-1]).max())
        each = np.broadcast_to(np.asarray(atol, dtype=np.float64), start.shape)
        # A growth off by δ, however long it was, moves a coefficient by a multiple of δ of itself.
        relative = np.append(np.full(len(start), FINEST_RTOL), rtol)
        self._steps = Steps(
            time_change, begin, np.inf, relative, np.append(each, first * each.min())
        )
        self._last = np.inf if last is None else last
        self.before = self.time = 0.0
        self.state = start

    @property
    def finished(self) -> bool:
        """Whether the last time has come, or time has left float64."""
        return self.time >= self._last

    def advance(self) -> bool:
        """One step; False where none can be taken."""
        if not self._steps.advance():
            return False
        self.before, self.time = self.time, float(self._steps.state[-1])
        self.state = self._steps.state[:-1].copy()
        if self.finished:
            self.time, self.state = self._last, self._state_at(self._last)
        return True

    def states(self, times: Float) -> Float:
        """States at times within the last step."""
        return np.array([self._state_at(time) for time in times])

    def _state_at(self, time: float) -> Float:
        """Where the interpolated time is this one."""
        return self._steps.where(lambda both: float(both[-1]) - time)[:-1]


@dataclass(frozen=True, eq=False)
class _Motion:
    """What is followed in time needs no other variable."""

    velocity: Callable[[Float], Float]
    given: Callable[[Float], Float] | None

    @property
    def has_jacobian(self) -> bool:
        return self.given is not None

    @property
    def starts_freely(self) -> bool:
        return False

    def jacobian(self, state: Float) -> Float:
        assert self.given is not None
        return self.given(state)

    def reach(self, state: Float, after: Float) -> float:
        return np.inf

    def overrun(self, state: Float) -> float:
        return -np.inf

    def reparametrised(self, state: Float) -> None:
        return None
