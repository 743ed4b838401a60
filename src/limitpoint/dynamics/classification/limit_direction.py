"""Where the direction of a classification's flow ends.

The exact flow is followed to some margin, and from there on in the logarithm of the margin (see
`far_charts`) with the sharpness κ/10 and with κ. What these leave of the direction falls as 1/κ:
the two are extrapolated.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from limitpoint.dynamics.classification.far_charts import MARGIN_ERROR, FarChart, far_chart
from limitpoint.dynamics.classification.flow_to_margin import MARGIN, as_margin, flow_to_margin
from limitpoint.dynamics.coordinates import (
    default_coordinates,
    tolerance_of,
)
from limitpoint.dynamics.integrate.quiet_solvers import QuietBDF
from limitpoint.dynamics.integrate.until_converged import LARGEST_JACOBIAN
from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float, as_positive, as_whole_number
from limitpoint.foundation.display import Page, counted, left_out, number, table
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.labels import Labelled, carries_names
from limitpoint.foundation.progress import job
from limitpoint.foundation.result import Result
from limitpoint.problem import Problem, as_problem
from limitpoint.status import Status
from limitpoint.tasks import Classification

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_module("xarray", "to_xarray")

__all__ = ["LimitDirection", "limit_direction"]

# Weights of margins rescaled to κ are rounded by κ·eps, and what is left of the direction before
# the extrapolation is a few 1/κ, after it the square of that: at 1e6 both are 1e-10 or less.
SHARPNESS = 1e6
SHARPEST = 1e10
COARSER = 10.0
# A power margin^ε is seen, if it starts at 1e-10, from ε = 2e-4 on.
LOG_MARGIN = 1e5
# The integrator's tolerance is 1e-10 or so: a slower power than margin^−1e-9 is none it can tell.
LARGEST_LOG_MARGIN = 1e9
MAX_FAR_STEPS = 5000
# The exponent is fitted where the direction is so far from its end, relative to the integrator's
# tolerance: ever slower powers are alone the longer one waits.
FITTED = (1e1, 1e4)
FEWEST_FITTED = 5
# A printed table shows this many coefficients, the largest ones.
COEFS_SHOWN = 12


@dataclass(frozen=True, eq=False, repr=False)
class LimitDirection(Labelled, Result):
    """How the direction of a flow converges, over margins beyond all floats.

    Attributes
    ----------
    run
        The exact flow, to the margin from which on the direction alone was followed.
    log_margins, directions
        The logarithm of the smallest margin, and the direction there, from that margin on.
    direction
        Where it ends, extrapolated to a sharpness without end.
    uncertainty
        What the extrapolation changed.
    turned
        How far it turned while the last half of `log_margins` went by, over which the margin was
        squared.
    rate
        The exponent of its approach to its end, `distance ~ margin^−rate`, by regression over the
        last that is seen of it, and no larger than 1: the support vectors' own approach, which is
        that of all flows, is not seen. NaN where too little is. Where samples tie, so that their
        weights hang on what is still to vanish, it may be smaller than that of the exact flow.
    rate_from
        The logarithm of the margin from which on that was fitted.
    layers
        The layers of norm one, all together, that it ends with, where they were followed for
        themselves.
    status
        DIRECTION_CONVERGED where it turned by no more than the uncertainty.
    feature_names
        The names that the task has for its features, or None.
    """

    run: Trajectory
    log_margins: Float
    directions: Float
    direction: Float
    uncertainty: float
    turned: float
    rate: float
    rate_from: float
    layers: tuple[Float, ...] | None
    status: Status

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values; None for what is not finite: the flow did not converge."""
        numbers = {
            "uncertainty": self.uncertainty,
            "log_margin": float(self.log_margins[-1]),
            "turned": self.turned,
            "rate": self.rate,
        }
        return {
            **self._names(),
            "status": self.status.name,
            "direction": self.direction.tolist(),
            **{name: value if np.isfinite(value) else None for name, value in numbers.items()},
        }

    def to_xarray(self) -> "xr.Dataset":
        """As a labelled data set: directions by the logarithm of the margin."""
        return xr.Dataset(
            {"direction": (("log_margin", "feature"), self.directions)},
            coords={"log_margin": self.log_margins, **self._coords(len(self.direction))},
            attrs={"status": self.status.name, "uncertainty": self.uncertainty, "rate": self.rate},
        )

    def _facts(self) -> tuple[str, ...]:
        return (
            counted(len(self.direction), "coefficient"),
            f"log margin {number(float(self.log_margins[-1]))}",
            self.status.words,
        )

    def _page(self) -> Page:
        largest = np.argsort(-np.abs(self.direction), kind="stable")[:COEFS_SHOWN]
        rows = [
            (self._place((index,)), number(self.direction[index])) for index in np.sort(largest)
        ]
        return Page(
            table(
                f"Direction at log margin {self.log_margins[-1]:.3g}, to {self.uncertainty:.1g}",
                ("feature", "direction"),
                rows,
                left_out(
                    (len(rows), len(self.direction), "coefficients"),
                    where=".direction or --json",
                ),
            ),
            str(self.status),
            *([f"It approached as margin^−{self.rate:.3g}."] if np.isfinite(self.rate) else []),
        )


@carries_names
def limit_direction(
    problem: Problem,
    *,
    margin: float = MARGIN,
    log_margin: float = LOG_MARGIN,
    sharpness: float = SHARPNESS,
    max_steps: int = MAX_FAR_STEPS,
) -> LimitDirection:
    """Follow the direction of a classification's flow to its end.

    Directions converge as powers of the margin, that is of the logarithm of time, often slow
    ones: at a margin of 1e8 many are still far from their limit, or pass by another one. Here
    they are followed to margins of e^100000.

    Parameters
    ----------
    problem
        A homogeneous network that is linear in its input, its start, and a classification.
    margin
        The smallest margin to which the exact flow is followed first; at most 1e12.
    log_margin
        The logarithm of the margin at which to stop. Growth of networks deeper than two overflows
        at some hundreds; they stop there, converged long before.
    sharpness
        The samples' weights from there on are those of margins of this size, κ. What that leaves
        out is O(1/κ²), and rounding is κ times that of float64.
    max_steps
        Of the integrator, for each of two sharpnesses.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task = lp.Classification([[1, 2], [0, -3]], [1, -1])
    >>> network = lp.Diagonal(depth=2)
    >>> problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=0.1), task)
    >>> lp.analysis.limit_direction(problem).direction.round(8).tolist()
    [0.0, 1.0]
    """
    _check(problem)
    end = as_positive(log_margin, "log_margin", LimitpointError)
    if end > LARGEST_LOG_MARGIN:
        raise LimitpointError(
            f"log_margin must be at most {LARGEST_LOG_MARGIN:g}: powers slower than its inverse "
            f"are lost to the integrator's tolerance; it is {end:g}"
        )
    sharp = as_positive(sharpness, "sharpness", LimitpointError)
    steps = as_whole_number(max_steps, 1, "max_steps", LimitpointError)
    if not COARSER < sharp <= SHARPEST:
        raise LimitpointError(
            f"sharpness must be above {COARSER:g} and at most {SHARPEST:g}, where rounding of the "
            f"weights is a part in a thousand; it is {sharp:g}"
        )
    near = default_coordinates(problem)
    run, state = flow_to_margin(
        problem, None, None, as_margin(margin), tolerance_of(near, problem), near.max_steps
    )
    if run.status is not Status.SEPARATED:
        return _not_converged(run)
    coarse, fine = (
        _follow(far_chart(problem, kappa), state, end, steps) for kappa in (sharp / COARSER, sharp)
    )
    log_margins, directions, layers = fine
    direction = _extrapolated(directions[-1], coarse[1][-1])
    if layers is not None and coarse[2] is not None:
        both = [np.concatenate([np.ravel(layer) for layer in one]) for one in (layers, coarse[2])]
        parts = np.split(_extrapolated(*both), np.cumsum([layer.size for layer in layers])[:-1])
        layers = tuple(part.reshape(one.shape) for part, one in zip(parts, layers, strict=True))
    tolerance = MARGIN_ERROR / sharp
    uncertainty = max(float(np.linalg.norm(direction - directions[-1])), tolerance)
    halfway = int(np.searchsorted(log_margins, 0.5 * log_margins[-1], side="right")) - 1
    squared = halfway >= 0
    turned = float(np.linalg.norm(directions[-1] - directions[halfway])) if squared else np.inf
    return LimitDirection(
        run,
        log_margins,
        directions,
        direction,
        uncertainty,
        turned,
        *_rate(log_margins, directions, tolerance),
        layers,
        Status.DIRECTION_CONVERGED if turned <= uncertainty else Status.SEPARATED,
    )


def _extrapolated(fine: Float, coarse: Float) -> Float:
    """A unit vector of which what is left falls as 1/κ."""
    found: Float = (COARSER * fine - coarse) / (COARSER - 1.0)
    return found / np.linalg.norm(found)


def _check(problem: Problem) -> None:
    """Refuse what has no direction that could be followed for itself."""
    network = as_problem(problem).network
    if not isinstance(problem.task, Classification):
        raise LimitpointError("limit_direction follows the direction of a classification; use flow")
    if not (network.is_homogeneous and network.is_linear):
        raise LimitpointError(
            "limit_direction needs a network that is linear in its input and homogeneous in its "
            f"layers: of others no direction goes on by itself. The network is {network}; use flow"
        )
    growth = network.log_chart(problem.init)
    size = (
        sum(layer.size for layer in problem.init.direction) if growth is None else growth.dimension
    )
    if size > LARGEST_JACOBIAN:
        raise LimitpointError(
            f"limit_direction needs a Jacobian, and the state has {size} numbers, more than "
            f"{LARGEST_JACOBIAN}; use flow"
        )


def _not_converged(run: Trajectory) -> LimitDirection:
    """Of a flow that did not get as far."""
    margins = run.margins
    assert margins is not None, "a classification has margins"
    with np.errstate(divide="ignore", invalid="ignore"):
        log_margins = np.log(np.maximum(margins.min(axis=1), 0.0))
    directions = run.directions
    return LimitDirection(
        run,
        log_margins[-1:],
        directions[-1:],
        directions[-1],
        np.inf,
        np.inf,
        np.nan,
        np.nan,
        None,
        run.status,
    )


def _follow(
    chart: FarChart, state: Float, log_margin: float, max_steps: int
) -> tuple[Float, Float, tuple[Float, ...] | None]:
    """Log margins and directions along the steps, and the layers of norm one at the last."""
    # BDF rather than LSODA, which starts as if nothing was stiff and, with the velocity of what
    # is in balance mere rounding, finds no reason to change.
    solver = QuietBDF(
        chart.velocity, 0.0, state, np.inf, jac=chart.slope, rtol=chart.rtol, atol=chart.atol
    )
    last = state
    place, direction = chart.seen(state)
    log_margins, directions = [place], [direction]
    with job("direction of the flow") as steps:
        for _ in range(max_steps):
            if place >= log_margin:
                break
            solver.step()
            if solver.status != "running" or not np.isfinite(solver.y).all():
                break
            place, direction = chart.seen(solver.y)
            if place > chart.farthest or not np.isfinite(direction).all():
                break
            last = solver.y
            log_margins.append(place)
            directions.append(direction)
            steps.advance()
    return np.array(log_margins), np.array(directions), chart.layers(last)


def _rate(log_margins: Float, directions: Float, tolerance: float) -> tuple[float, float]:
    """The exponent of the approach to the last direction, and where its fit begins."""
    distances = np.linalg.norm(directions - directions[-1], axis=1)
    nearest, farthest = (factor * tolerance for factor in FITTED)
    # From the last time on that it was farther than that, until it is at the tolerance.
    begun = np.flatnonzero(distances > farthest)
    first = int(begun[-1]) + 1 if begun.size else 0
    reached = np.flatnonzero(distances[first:] < nearest)
    last = first + int(reached[0]) if reached.size else len(distances)
    if last - first < FEWEST_FITTED:
        return np.nan, np.nan
    fitted = np.polyfit(log_margins[first:last], np.log(distances[first:last]), 1)
    return min(float(-fitted[0]), 1.0), float(log_margins[first])
