"""Integrate a stiff flow until it has converged, or to a given time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from limitpoint.dynamics.integrate.stepper import LARGEST_TRIAL, Motion
from limitpoint.dynamics.integrate.time_change import EXPLICIT_SHARE, ByTimeChange, InTime
from limitpoint.errors import ScaleNotRepresentable
from limitpoint.foundation.arrays import Float
from limitpoint.foundation.progress import job
from limitpoint.status import Status

__all__ = [
    "EXPLICIT_SHARE",
    "LARGEST_JACOBIAN",
    "LARGEST_RECORD",
    "LARGEST_TRIAL",
    "STUCK_STEPS",
    "Integration",
    "integrate",
]

# Without requested times the integrator's own steps are kept, at most about this many: they are
# dense where something happens and sparse on plateaus.
RECORDS = 500
# Of large states so many numbers are kept at most on the way: half a gigabyte.
LARGEST_RECORD = 2**26
# A relative residual that has not halved in this many steps, at the level of rounding, will not
# fall further.
STUCK_STEPS = 50
# After so many, when rounding alone can be as large, nothing more will come.
HOPELESS_STEPS = 2000
# Rounding that left a larger relative residual than this would leave no solution to speak of.
LARGEST_ROUNDING = 1e-3


# More numbers than this are integrated without a Jacobian: one factorisation of it would cost as
# much as a whole explicit integration.
LARGEST_JACOBIAN = 2000


@dataclass(frozen=True, eq=False)
class Integration:
    """Recorded times and states, and how the integration ended."""

    times: Float
    states: Float
    status: Status


def integrate(
    velocity: Callable[[Float], Float],
    jacobian: Callable[[Float], Float] | None,
    start: Float,
    *,
    relative_residual: Callable[[Float], float],
    rounding: Callable[[Float], float],
    residual_tolerance: float,
    arrived: Status,
    t_end: float | None,
    times: Float | None,
    rtol: float | Float,
    atol: float | Float,
    max_steps: int,
    time_change: Motion | None = None,
    is_relative: bool = False,
    patience: int = STUCK_STEPS,
) -> Integration:
    """Integrate an autonomous flow by LSODA (Adams where smooth, BDF where stiff).

    Without a Jacobian, for states too large to have one, by the explicit Runge–Kutta method DOP853.
    With a time change, along its path instead of time: the velocity and Jacobian are then the time
    change's own, of the state with the time as its last number. `is_relative` says that the state
    is of numbers which grow and decay, with errors relative to themselves, and `patience` after how
    many steps without progress a relative residual at the level of rounding is taken for the last.

    Stops when `relative_residual(state)` falls to its tolerance, or gets stuck where rounding of
    the state alone can hold it, unless an end was asked for.

    Raises
    ------
    ScaleNotRepresentable
        If no end was asked for and rounding hides the data altogether.
    """
    watch = _Watch(relative_residual, rounding, residual_tolerance, patience)
    wanted = None if times is None else np.asarray(times, dtype=np.float64)
    last = t_end if wanted is None else float(wanted.max())
    if last == 0.0 or not np.any(velocity(start)):
        if wanted is None:
            # Where nothing moves it is at the end what it is at the start.
            wanted = np.array([0.0, last]) if last else np.zeros(1)
        recorded = wanted
        if watch.arrived(start):
            status = arrived
        else:
            status = Status.REACHED_END if last == 0.0 else Status.STATIONARY
        return Integration(recorded, np.tile(start, (len(recorded), 1)), status)

    way = (
        InTime(velocity, jacobian, start, last, rtol, atol, is_relative=is_relative)
        if time_change is None
        else ByTimeChange(time_change, start, last, float(np.min(rtol)), atol)
    )
    records = _Records(start, wanted)
    status = Status.STEP_LIMIT
    with job("gradient flow") as steps:
        for _ in range(max_steps):
            here = watch.arrived(way.state)
            if way.finished if last is not None else here:
                status = arrived if here else Status.REACHED_END
                break
            if last is None and (way.finished or watch.is_stuck):  # finished: time overflowed
                watch.check_hope()
                if way.finished:
                    status = Status.INTEGRATOR_FAILED
                    break
            if not way.advance():
                if last is None:
                    watch.check_hope()
                status = Status.INTEGRATOR_FAILED
                break
            records.add(way)
            steps.advance()
    return records.integration(way, status)


class _Records:
    """What is kept: the states at the times asked for, or at the integrator's own steps."""

    def __init__(self, start: Float, wanted: Float | None) -> None:
        self._start, self._wanted = start, wanted
        self._times, self._states = [0.0], [start.copy()]
        self._dense: list[Float] = []

    def add(self, way: InTime | ByTimeChange) -> None:
        """Keep the state after a step of the integrator."""
        if self._wanted is not None:
            inside = (self._wanted > way.before) & (self._wanted <= way.time)
            if inside.any():
                self._dense.append(way.states(self._wanted[inside]))
            return
        self._times.append(way.time)
        self._states.append(way.state.copy())
        if len(self._times) * self._start.size > LARGEST_RECORD:
            # Every other one, the first and the last among them.
            del self._times[-2:0:-2], self._states[-2:0:-2]

    def integration(self, way: InTime | ByTimeChange, status: Status) -> Integration:
        """What was kept, and how the integration ended."""
        if self._wanted is None:
            keep = np.unique(np.linspace(0, len(self._times) - 1, RECORDS).round().astype(int))
            return Integration(np.array(self._times)[keep], np.array(self._states)[keep], status)
        initial = np.tile(self._start, (int((self._wanted == 0.0).sum()), 1))
        states = np.concatenate([initial, *self._dense])
        if len(states) == 0:
            # Stopped before the first of them: what was reached is all there is.
            return Integration(np.array([way.time]), way.state[None].copy(), status)
        return Integration(self._wanted[: len(states)], states, status)


class _Watch:
    """Tells from step to step whether the relative residual has fallen as far as it can."""

    def __init__(
        self,
        relative_residual: Callable[[Float], float],
        rounding: Callable[[Float], float],
        tolerance: float,
        patience: int,
    ) -> None:
        self._patience = patience
        self._relative_residual = relative_residual
        self._rounding = rounding
        self._tolerance = tolerance
        self._best = np.inf
        self._stuck = 0
        self._held = 0.0  # the rounding that hides the data, if it does

    def arrived(self, state: Float) -> bool:
        """Whether the tolerance is met, or no progress is made at the level of rounding."""
        found = self._relative_residual(state)
        if found <= 0.5 * self._best:
            self._best, self._stuck, self._held = found, 0, 0.0
        else:
            self._stuck += 1
        if found <= self._tolerance:
            return True
        # A relative residual on a plateau, far above any rounding, is not stuck; that spares most
        # estimates.
        if found > LARGEST_ROUNDING:
            if self._stuck % STUCK_STEPS == STUCK_STEPS - 1:
                rounding = self._rounding(state)
                self._held = rounding if found <= rounding else self._held
            return False
        if self._stuck < self._patience:
            return False
        return found <= self._rounding(state)

    @property
    def is_stuck(self) -> bool:
        """Whether nothing more is to be expected."""
        return self._stuck >= HOPELESS_STEPS

    def check_hope(self) -> None:
        """Refuse to go on where rounding alone holds a residual that leaves no solution."""
        if self._held:
            raise ScaleNotRepresentable(
                "the flow cannot reach the data: rounding of coefficients that start far above "
                f"them can miss them by {self._held:.1g} times their size. Start from a smaller "
                "scale, or ask for an earlier end with t_end or times"
            )
