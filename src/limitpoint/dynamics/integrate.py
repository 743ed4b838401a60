"""Integrate a stiff flow until it has converged, or to a given time."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import DOP853, LSODA, OdeSolver

from limitpoint.arrays import Float
from limitpoint.status import Status

__all__ = [
    "EXPLICIT_SHARE",
    "LARGEST_JACOBIAN",
    "LARGEST_RECORD",
    "LARGEST_TRIAL",
    "Integration",
    "integrate",
]

# Coefficients and slopes are cut off here inside the integrator's trial steps only, so that a
# trial far too long is rejected for its error instead of overflowing.
LARGEST_TRIAL = 1e150

# Without requested times the integrator's own steps are kept, at most about this many: they are
# dense where something happens and sparse on plateaus.
RECORDS = 500
# Of large states so many numbers are kept at most on the way: half a gigabyte.
LARGEST_RECORD = 2**26
# A misfit that has not halved in this many steps, at the level of rounding, will not fall further.
STUCK_STEPS = 50
# After so many, when rounding alone can be as large, nothing more will come.
HOPELESS_STEPS = 2000
# Rounding that left a larger misfit than this, relative, would leave no solution to speak of.
LARGEST_ROUNDING = 1e-3


# More numbers than this are integrated without a Jacobian: one factorisation of it would cost as
# much as a whole explicit integration.
LARGEST_JACOBIAN = 2000
# An explicit method whose step is held by stability keeps its error at the tolerance instead of
# letting it decay: it is given this part of it, so that the misfit can fall below the tolerance.
EXPLICIT_SHARE = 1e-3
# After a failure the integrator starts again from the last state, with this part of its last step.
RESTART_STEP = 1e-3
MAX_RESTARTS = 100
# The integrator's clock is reset when its steps are shorter than this part of the time on it: five
# digits are left to tell them apart.
FINEST_STEP = 1e-11


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
    misfit: Callable[[Float], float],
    rounding: Callable[[Float], float],
    misfit_tolerance: float,
    arrived: Status,
    t_end: float | None,
    times: Float | None,
    rtol: float,
    atol: float | Float,
    max_steps: int,
) -> Integration:
    """Integrate an autonomous flow by LSODA (Adams where smooth, BDF where stiff).

    Without a Jacobian, for states too large to have one, by the explicit Runge–Kutta method DOP853.
    Stops when `misfit(state)` falls to its tolerance, or gets stuck where rounding of the state
    alone can hold it, unless an end was asked for.
    """
    watch = _Watch(misfit, rounding, misfit_tolerance)
    wanted = None if times is None else np.asarray(times, dtype=np.float64)
    last = t_end if wanted is None else float(wanted.max())
    if last == 0.0 or not np.any(velocity(start)):
        recorded = np.zeros(1) if wanted is None else wanted
        if watch.arrived(start):
            status = arrived
        else:
            status = Status.REACHED_END if last == 0.0 else Status.STATIONARY
        return Integration(recorded, np.tile(start, (len(recorded), 1)), status)

    clock = _Stopwatch()

    def solver_from(state: Float, first_step: float | None = None) -> OdeSolver:
        end = np.inf if last is None else max(last - clock.before, 0.0)
        settings: dict[str, Any] = {"first_step": first_step, "rtol": rtol, "atol": atol}
        if jacobian is None:
            settings |= {name: EXPLICIT_SHARE * settings[name] for name in ("rtol", "atol")}
            return DOP853(lambda _, state: velocity(state), 0.0, state, end, **settings)
        return LSODA(
            lambda _, state: velocity(state),
            0.0,
            state,
            end,
            jac=lambda _, state: jacobian(state),
            **settings,
        )

    def gentle_step(state: Float, stride: float) -> float:
        # On a plateau the velocity of a stiff state is rounding error times a huge rate: a first
        # step must not take it along.
        fastest = float(np.abs(velocity(state)).max())
        return min(stride, rtol / fastest) if fastest > 0 else stride

    solver = solver_from(start)
    restarts = 0
    kept_times, kept_states = [0.0], [start.copy()]
    dense: list[Float] = []
    status = Status.STEP_LIMIT
    for _ in range(max_steps):
        here = watch.arrived(solver.y)
        if solver.status == "finished" or (last is None and here):
            status = arrived if here else Status.REACHED_END
            break
        if last is None and watch.hopeless(solver.y):
            status = Status.INTEGRATOR_FAILED
            break
        state, stride = solver.y.copy(), float(solver.step_size or 0.0)
        since = float(solver.t)
        if 0.0 < stride < FINEST_STEP * since:
            # Near a pole steps become too short to be added to the time: count from here anew.
            clock.before += since
            solver, since = solver_from(state, gentle_step(state, stride)), 0.0
        with warnings.catch_warnings():
            # What the integrator has to say ends up in the status.
            warnings.simplefilter("ignore", UserWarning)
            solver.step()
        if solver.status == "failed" or not np.isfinite(solver.y).all():
            # Long steps on a plateau can end too far beyond it for the integrator to recover.
            if restarts >= MAX_RESTARTS or stride == 0.0:
                status = Status.INTEGRATOR_FAILED
                break
            restarts += 1
            clock.before += since
            solver = solver_from(state, gentle_step(state, RESTART_STEP * stride))
            continue
        if wanted is None:
            kept_times.append(clock.before + float(solver.t))
            kept_states.append(solver.y.copy())
            if len(kept_times) * start.size > LARGEST_RECORD:
                # Every other one, the first and the last among them.
                del kept_times[-2:0:-2], kept_states[-2:0:-2]
        else:
            from_, to = clock.before + float(solver.t_old), clock.before + float(solver.t)
            inside = wanted[(wanted > from_) & (wanted <= to)]
            if inside.size:
                dense.append(solver.dense_output()(inside - clock.before).T)
    if wanted is None:
        keep = np.unique(np.linspace(0, len(kept_times) - 1, RECORDS).round().astype(int))
        return Integration(np.array(kept_times)[keep], np.array(kept_states)[keep], status)
    initial = np.tile(start, (int((wanted == 0.0).sum()), 1))
    states = np.concatenate([initial, *dense])
    if len(states) == 0:
        # Stopped before the first of them: what was reached is all there is.
        reached = np.array([clock.before + float(solver.t)])
        return Integration(reached, solver.y[None].copy(), status)
    return Integration(wanted[: len(states)], states, status)


@dataclass
class _Stopwatch:
    """Time that passed before the integrator's own clock was last set to zero."""

    before: float = 0.0


class _Watch:
    """Tells from step to step whether the misfit has fallen as far as it can."""

    def __init__(
        self,
        misfit: Callable[[Float], float],
        rounding: Callable[[Float], float],
        tolerance: float,
    ) -> None:
        self._misfit = misfit
        self._rounding = rounding
        self._tolerance = tolerance
        self._best = np.inf
        self._stuck = 0

    def arrived(self, state: Float) -> bool:
        """Whether the tolerance is met, or no progress is made at the level of rounding."""
        found = self._misfit(state)
        if found <= 0.5 * self._best:
            self._best, self._stuck = found, 0
        else:
            self._stuck += 1
        if found <= self._tolerance:
            return True
        # A misfit on a plateau, far above any rounding, is not stuck; that spares most estimates.
        if self._stuck < STUCK_STEPS or found > LARGEST_ROUNDING:
            return False
        return found <= self._rounding(state)

    def hopeless(self, state: Float) -> bool:
        """Whether rounding alone holds a misfit that leaves no solution to speak of."""
        return self._stuck >= HOPELESS_STEPS and self._misfit(state) <= self._rounding(state)
