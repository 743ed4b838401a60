"""Figures of trajectories: flows and training runs."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from limitpoint.dynamics import Trajectory, as_trajectory
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float, as_float_array
from limitpoint.plot.coefficient_lines import (
    draw_coefs,
    draw_limit,
    drawable,
    lay_dots,
    point_if,
    rows_of_dots,
)
from limitpoint.plot.margins import plot_separation
from limitpoint.plot.panels import AxesGiven, Panels, PanelsGiven, SizeGiven, open_panels
from limitpoint.plot.style import colour, flat, ink, largest, line_width
from limitpoint.status import Status
from limitpoint.theory import Limit, as_limit

__all__ = ["plot_trajectory"]

# The panels of a regression, and how high they are against each other.
PANELS = {"coefs": 3.0, "log_coefs": 2.0, "loss": 2.0}
# The time axis begins this factor before anything moves, or less where all of the run takes less
# than that: what is moved by jumps, at times of the same order, is not pushed to the right.
LEAD = 30.0
LEAST_LEAD = 3.0
# The first move: the loss has changed by this part of itself.
MOVE = 1e-3
# A logarithmic axis holds no time beyond this.
LATEST_DRAWN = 1e290


def plot_trajectory(
    trajectory: Trajectory,
    limit: Limit | None = None,
    training: Trajectory | None = None,
    *,
    bound: ArrayLike | None = None,
    panels: PanelsGiven = None,
    ax: AxesGiven = None,
    figsize: SizeGiven = None,
) -> Figure:
    """Coefficients and loss against logarithmic time, with the predicted limit as dashed lines.

    The panel `log_coefs` shows the log-moduli: coefficients that are still inactive are visible
    there alone. A training run can be laid over a flow as dots, an upper bound on the loss at the
    times of the trajectory as a dashed line: `bound=lp.atlas.convergence_bound(problem,
    run.times)`. What is not finite is left out.

    Of a classification the directions of the coefficients are drawn against the smallest margin (of
    a training run, the step), then their distance from the predicted one, and loss and time, both
    in logarithms.

    Parameters
    ----------
    trajectory
        From `flow` or `train`.
    limit
        From `predict`, to be compared.
    training
        A training run of the same problem, drawn as dots.
    bound
        Upper bounds on the loss, one for each time of the trajectory.
    panels
        One or more of "coefs", "log_coefs" and "loss"; of a classification "coefs", with a limit
        "distance", and "loss"; of a network without coefficients "loss". By default those that have
        room in a figure of this size.
    ax
        Axes to draw into, one for each panel, in the order of the panels.
    figsize
        Width and height of a new figure, in inches.

    Returns
    -------
    Figure
        A new figure, or that of `ax`.
    """
    as_trajectory(trajectory)
    if limit is not None:
        as_limit(limit, trajectory.coef.shape)
    if training is not None and as_trajectory(training, "training").coef.shape != (
        trajectory.coef.shape
    ):
        raise LimitpointError(
            f"training must have coefficients of shape {trajectory.coef.shape}, as the trajectory "
            f"has; they have shape {training.coef.shape}"
        )
    if training is not None:
        _check_same_axis(trajectory, training)
    chosen: dict[str, Any] = {"panels": panels, "ax": ax, "figsize": figsize}
    if trajectory.margins is not None:
        if bound is not None:
            raise LimitpointError("bound is for a regression; this is the run of a classification")
        return plot_separation(trajectory, limit, training, **chosen)
    bound = None if bound is None else _checked_bound(trajectory, bound)
    offered, size = PANELS, (9.0, 8.5)
    if trajectory.coef.size == 0:
        offered, size = {"loss": 1.0}, (9.0, 4.0)
    opened = open_panels(offered, size, **chosen)
    _draw_coef_panels(opened, trajectory, limit, training)
    if "loss" in opened:
        _draw_loss(opened, trajectory, bound)
    _set_times(opened, trajectory)
    return opened.figure


def _check_same_axis(trajectory: Trajectory, training: Trajectory) -> None:
    """Raise an error if the training run has no place on the axis of the trajectory."""
    if (trajectory.margins is None) != (training.margins is None):
        kinds = ("a regression", "a classification")
        own, other = (kinds[run.margins is not None] for run in (trajectory, training))
        raise LimitpointError(f"training must be a run of {own}, as the trajectory is, not {other}")
    if trajectory.steps is not None and training.steps is None:
        raise LimitpointError(
            "training must have steps, as the trajectory has; it is a flow: draw that as the "
            "trajectory and the other as training"
        )


def _draw_coef_panels(
    opened: Panels, trajectory: Trajectory, limit: Limit | None, training: Trajectory | None
) -> None:
    """Coefficients, and their moduli in logarithms."""
    if trajectory.coef.size == 0:
        return
    shown, shape = _shown(trajectory), trajectory.coef.shape
    moments = _moments(trajectory)[shown]
    named = largest(trajectory.log_abs_coefs[-1].ravel())
    if "coefs" in opened:
        axes = opened["coefs"]
        draw_coefs(axes, moments, flat(trajectory.coefs[shown]), named, shape, trajectory)
        if training is not None:
            height = axes.get_ylim()
            rows = rows_of_dots(len(training.times))
            places = training.times if trajectory.steps is None else _moments(training)
            lay_dots(axes, places[rows], flat(training.coefs)[rows], named)
            if training.status is Status.DIVERGED:
                axes.set_ylim(height)  # a diverged run must not hide the flow
        if limit is not None:
            draw_limit(axes, limit.coef, named)
        opened.set_ylabel("coefficient", "coefs")
        opened.add_legend("coefs")
    if "log_coefs" in opened:
        axes = opened["log_coefs"]
        tens = flat(trajectory.log_abs_coefs[shown] / np.log(10))
        draw_coefs(axes, moments, tens, named, shape, trajectory)
        opened.set_ylabel("log₁₀ |coefficient|", "log_coefs")
        if "coefs" not in opened:  # the same lines are explained there
            opened.add_legend("log_coefs")


def _draw_loss(opened: Panels, trajectory: Trajectory, bound: Float | None) -> None:
    """The loss, and a bound on it."""
    axes, shown = opened["loss"], _shown(trajectory)
    moments, losses = _moments(trajectory)[shown], drawable(trajectory.losses[shown])
    axes.plot(moments, losses, color=ink(), linewidth=line_width(), **point_if(moments))
    if bound is not None:
        style: dict[str, Any] = {"color": colour(1), "linestyle": "--", **point_if(moments)}
        axes.plot(moments, drawable(bound[shown]), label="upper bound", **style)
    opened.set_ylabel("loss", "loss")
    if (trajectory.losses > 0).any():
        axes.set_yscale("log")
    opened.add_legend("loss")


def _set_times(opened: Panels, trajectory: Trajectory) -> None:
    """The axis of time, from before anything moves."""
    moments = _moments(trajectory)[_shown(trajectory)]
    opened.set_title(trajectory.kind)
    opened.set_xlabel("time" if trajectory.steps is None else "step")
    if len(moments) < 2:
        return
    first = _first_move(trajectory)
    lead = min(LEAD, max(LEAST_LEAD, float(moments[-1]) / first))
    for axes in opened.axes.values():
        axes.set_xscale("log")
        axes.set_xlim(first / lead, moments[-1] * 1.3)


def _moments(trajectory: Trajectory) -> Float:
    moments = trajectory.times if trajectory.steps is None else trajectory.steps
    return np.asarray(moments, dtype=np.float64)


def _first_move(trajectory: Trajectory) -> float:
    """The first moment after 0 at which the loss has moved; the first record if it never has."""
    moments, losses = _moments(trajectory), drawable(trajectory.losses)
    later = moments > 0
    moved = later & (np.abs(losses - losses[0]) > MOVE * np.abs(losses[0]))
    return float(moments[moved][0] if moved.any() else moments[later][0])


def _shown(trajectory: Trajectory) -> NDArray[np.bool_]:
    """Which records are drawn: those after time 0, until the loss has long been where it ends.

    Time 0 has no place on a logarithmic axis; it is drawn only if there is nothing else. Nor have
    the times that a flow needs which never arrives.
    """
    moments, losses = _moments(trajectory), drawable(trajectory.losses)
    held: NDArray[np.bool_] = (moments > 0) & (moments < LATEST_DRAWN)
    if not held.any():
        return ~held
    end = losses[held][-1]
    with np.errstate(invalid="ignore"):
        moving = np.flatnonzero(held & ~(np.abs(losses - end) <= MOVE * np.abs(end)))
    if moving.size == 0:
        return held
    converged = moments[min(moving[-1] + 1, len(moments) - 1)]
    early: NDArray[np.bool_] = moments <= max(LEAD * converged, moments[held][0])
    return held & early


def _checked_bound(trajectory: Trajectory, bound: ArrayLike) -> Float:
    values = as_float_array(bound, "bound", LimitpointError, ndim=(1,))
    if values.shape != trajectory.losses.shape:
        raise LimitpointError(
            f"bound must have one entry for each of the {len(trajectory.losses)} times of the "
            f"trajectory; it has shape {values.shape}"
        )
    return values
