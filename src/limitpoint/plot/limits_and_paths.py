"""Figures of limits, trajectories, paths of scales and paths of saddles."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import LogLocator, MaxNLocator
from numpy.typing import ArrayLike, NDArray

from limitpoint.dynamics import Trajectory, as_trajectory
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float, as_float_array, as_kind
from limitpoint.plot.margins import plot_separation
from limitpoint.plot.style import COLOURS, flat, largest, name_ticks, new_figure, style_of
from limitpoint.tasks import Classification
from limitpoint.theory import Limit, LimitPath, SaddlePath, as_limit

__all__ = ["plot_limit", "plot_path", "plot_saddles", "plot_trajectory"]

# The time axis begins this factor before anything moves, or less where all of the run takes less
# than that: what is moved by jumps, at times of the same order, is not pushed to the right.
LEAD = 30.0
LEAST_LEAD = 3.0
# The first move: the loss has changed by this part of itself.
MOVE = 1e-3
# A training run is laid over a flow as about this many dots.
DOTS = 60
# Axes cannot be laid out for numbers beyond this; a diverging run is drawn up to it.
LARGEST_DRAWN = 1e100
# Waiting times are shown for the first stages of a path, and the shortest of them.
STAGES_SHOWN = 5
BARS_SHOWN = 8
# A loss this far below the first is the rounding error of an exact fit.
EXACT_FIT = 1e-24
# The limits at scale 0 and infinity stand apart from the others by this part of the decades shown,
# and by this many decades at least.
EDGE = 0.1
# A logarithmic axis holds nothing below this, nor above its inverse.
SMALLEST_DRAWN = 1e-290
LEAST_ROOM = 0.2
EDGE_NAMES = {0.0: "0", np.inf: "∞"}
# Ends of the range of scales may be off by rounding, and still have their label.
ROUNDING = 1.0 + 1e-9
# So many features are named on their axis one by one.
TICKS_NAMED = 40
# Labels on the axis of scales.
TICKS = 9


def plot_trajectory(
    trajectory: Trajectory,
    limit: Limit | None = None,
    training: Trajectory | None = None,
    *,
    bound: ArrayLike | None = None,
) -> Figure:
    """Coefficients and loss against logarithmic time, with the predicted limit as dashed lines.

    A middle panel shows the log-moduli: coefficients that are still inactive are visible there
    alone. A training run can be laid over a flow as dots, an upper bound on the loss at the times
    of the trajectory as a dashed line: `bound=lp.atlas.convergence_bound(problem, run.times)`.
    What is not finite is left out.

    Of a classification the directions of the coefficients are drawn against the smallest margin (of
    a training run, the step), then their distance from the predicted one, and loss and time, both
    in logarithms.
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
    if trajectory.margins is not None:
        if bound is not None:
            raise LimitpointError("bound is for a regression; this is the run of a classification")
        return plot_separation(trajectory, limit, training)
    bound = None if bound is None else _checked_bound(trajectory, bound)
    if trajectory.coef.size == 0:
        return _plot_loss(trajectory, bound)
    figure = new_figure((9, 8.5))
    values, logs, losses = figure.subplots(3, 1, sharex=True, height_ratios=(3, 2, 2))
    shape = trajectory.coef.shape
    named = largest(trajectory.log_abs_coefs[-1].ravel())
    shown = _shown(trajectory)
    moments = _moments(trajectory)[shown]
    coefs = flat(_drawable(trajectory.coefs[shown]))
    tens = flat(_drawable(trajectory.log_abs_coefs[shown] / np.log(10)))
    for i in range(coefs.shape[1]):
        values.plot(moments, coefs[:, i], **style_of(i, named, shape, trajectory))
        logs.plot(moments, tens[:, i], **style_of(i, named, shape, trajectory))
    losses.plot(moments, _drawable(trajectory.losses[shown]), color="black", **_point_if(moments))
    if bound is not None:
        _draw_bound(losses, trajectory, bound, shown)
    if training is not None:
        height = values.get_ylim()
        _lay_over(values, training, named)
        if not np.isfinite(training.losses[-1]):
            values.set_ylim(height)  # a diverged run must not hide the flow
    if limit is not None:
        for rank, i in enumerate(named):
            values.axhline(limit.coef.ravel()[i], color=COLOURS[rank], linestyle="--", linewidth=1)
        values.plot([], [], color="black", linestyle="--", linewidth=1, label="predicted limit")
    values.set_ylabel("coefficient")
    values.set_title(trajectory.kind)
    values.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    logs.set_ylabel("log₁₀ |coefficient|")
    _label_losses(losses, trajectory, moments)
    return figure


def _plot_loss(trajectory: Trajectory, bound: Float | None) -> Figure:
    """The loss alone, of a network that has no coefficients."""
    figure = new_figure((9, 4))
    losses, shown = figure.subplots(), _shown(trajectory)
    moments = _moments(trajectory)[shown]
    losses.plot(moments, _drawable(trajectory.losses[shown]), color="black", **_point_if(moments))
    if bound is not None:
        _draw_bound(losses, trajectory, bound, shown)
    losses.set_title(trajectory.kind)
    _label_losses(losses, trajectory, moments)
    return figure


def _label_losses(losses: Axes, trajectory: Trajectory, moments: Float) -> None:
    """Labels and scales of the axes of time and loss."""
    losses.set_ylabel("loss")
    losses.set_xlabel("time" if trajectory.steps is None else "step")
    if (trajectory.losses > 0).any():
        losses.set_yscale("log")
    if len(moments) > 1:
        losses.set_xscale("log")
        first = _first_move(trajectory)
        lead = min(LEAD, max(LEAST_LEAD, float(moments[-1]) / first))
        losses.set_xlim(first / lead, moments[-1] * 1.3)


def plot_limit(limit: Limit) -> Figure:
    """The predicted coefficients as stems, and their moduli in logarithms.

    Of a classification, those of the predicted direction.
    """
    as_limit(limit)
    figure = new_figure((9, 5.5))
    values, logs = figure.subplots(2, 1, sharex=True)
    # The outputs of a feature stand side by side.
    turning = issubclass(limit.theorem.task, Classification)
    coef = (limit.direction if turning else limit.coef).ravel()
    signs = limit.signs.ravel()
    outputs = limit.coef.size // len(limit.coef)
    features = np.arange(coef.size) / outputs
    values.vlines(features, 0, coef, color=COLOURS[0])
    values.plot(features, coef, "o", color=COLOURS[0], markersize=4)
    values.axhline(0, color="black", linewidth=0.8)
    values.set_ylabel("coefficient / norm" if turning else "coefficient")
    values.set_title(f"{'direction' if turning else 'limit'} by {limit.theorem.id}")
    logs_of_size = limit.log_abs_coef.ravel()
    if turning:
        logs_of_size = logs_of_size - np.log(float(np.linalg.norm(limit.coef)) or 1.0)
    tens = logs_of_size / np.log(10)
    for sign, marker, name in ((1, "^", "positive"), (-1, "v", "negative")):
        chosen = (signs == sign) & np.isfinite(tens)
        logs.plot(
            features[chosen],
            tens[chosen],
            marker,
            color=COLOURS[0 if sign > 0 else 1],
            markersize=4,
            label=name,
        )
    logs.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    logs.set_ylabel("log₁₀ |coefficient / norm|" if turning else "log₁₀ |coefficient|")
    logs.set_xlabel("feature")
    if limit.feature_names is None or len(limit.coef) > TICKS_NAMED:
        logs.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        name_ticks(logs, range(len(limit.coef)), limit)
    return figure


def plot_path(path: LimitPath) -> Figure:
    """The limit against the scale of the initialisation, on a logarithmic axis.

    The limits at scale 0 and at infinity, if they are there, stand at the edges, where no scale
    has its place.
    """
    wanted = "a LimitPath, like predict_path(problem, scales)"
    as_kind(path, LimitPath, wanted, "path", LimitpointError)
    figure = new_figure((9, 5.5))
    axes = figure.subplots()
    order = np.argsort(path.scales, kind="stable")
    scales, coefs = path.scales[order], flat(_drawable(path.coefs[order]))
    shape = path.coefs.shape[1:]
    between = (scales > 0) & np.isfinite(scales)
    inner = scales[between] if between.any() else np.ones(1)
    room = max(EDGE * float(np.log10(inner[-1] / inner[0])), LEAST_ROOM)
    with np.errstate(over="ignore", under="ignore"):
        edges = {
            0.0: max(inner[0] / 10**room, SMALLEST_DRAWN),
            np.inf: min(inner[-1] * 10**room, 1 / SMALLEST_DRAWN),
        }
    named = largest(np.nan_to_num(np.abs(coefs), nan=0.0).max(axis=0))
    for i in range(coefs.shape[1]):
        style = style_of(i, named, shape, path)
        axes.plot(scales[between], coefs[between, i], **style, **_point_if(scales[between]))
        for scale, place in edges.items():
            ends = coefs[scales == scale, i][:1]
            dot = {**style, "label": None, "marker": "o", "markersize": 5, "clip_on": False}
            axes.plot(np.full(ends.shape, place), ends, **dot)
    axes.set_xscale("log")
    _label_edges(axes, {s: edges[s] for s in edges if s in scales}, inner, bool(between.any()))
    axes.axhline(0, color="black", linewidth=0.8, zorder=1)
    axes.set_xlabel("scale of the initialisation")
    axes.set_ylabel("coefficient of the limit")
    axes.set_title("limit of training")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure


def plot_saddles(path: SaddlePath) -> Figure:
    """The path as steps over time: coefficients, loss, and what activates next at every saddle.

    The bars show, for the coefficients still at rest, how long each would need at that saddle's
    gradient to reach its activation time (zhao Fig. 2c): the shortest one is the next to activate.
    """
    as_kind(path, SaddlePath, "a SaddlePath, like saddles(problem)", "path", LimitpointError)
    stages = min(path.n_saddles, STAGES_SHOWN)
    figure = new_figure((9, 6.5 + (2.2 if stages else 0)))
    heights = (6.5, 2.2) if stages else (6.5,)
    rows: Any = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    values, losses = rows[0].subplots(2, 1, sharex=True, height_ratios=(2, 1))
    unit = path.time_unit if np.isfinite(path.time_unit) else 1.0
    times = path.path_times * unit
    # The last saddle is the limit: it lasts for ever, drawn as one more tenth of the path.
    end = times[-1] + 0.1 * (times[-1] or 1.0)
    edges = np.append(times, end)
    coefs = path.coefs
    with np.errstate(divide="ignore"):
        named = largest(np.log(np.abs(coefs).max(axis=0)))
    for i in np.flatnonzero(coefs.any(axis=0)).tolist():
        values.step(
            edges,
            np.append(coefs[:, i], coefs[-1, i]),
            where="post",
            **style_of(i, named, path.coef.shape, path),
        )
    fitted = np.where(path.losses > EXACT_FIT * path.losses[0], path.losses, np.nan)
    losses.step(edges, np.append(fitted, fitted[-1]), where="post", color="black")
    if (fitted > 0).any():
        losses.set_yscale("log")
    for axes in (values, losses):
        for time in times[1:]:
            axes.axvline(time, color="0.85", linewidth=0.8, zorder=0)
    values.axhline(0, color="black", linewidth=0.8)
    values.set_ylabel("coefficient")
    values.set_title(f"saddle path: {path.n_saddles} saddles")
    if coefs.any():
        values.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    losses.set_ylabel("loss")
    units = "in units of the activation time" if unit == 1.0 else "of the flow at this scale"
    losses.set_xlabel(f"time, {units}")
    if stages:
        _waiting_bars(rows[1], path, stages)
    return figure


def _label_edges(axes: Axes, edges: dict[float, float], inner: Float, named: bool) -> None:
    """Name the two limits on the axis, apart from the scales by a thin line."""
    left, right = inner[0], inner[-1]
    if left == right:
        left, right = left / 10**LEAST_ROOM, right * 10**LEAST_ROOM
    ticks = np.asarray(LogLocator(numticks=TICKS).tick_values(left, right))
    ticks = ticks[(left / ROUNDING <= ticks) & (ticks <= right * ROUNDING)]
    names = [f"$10^{{{round(np.log10(tick))}}}$" for tick in ticks]
    if len(ticks) < 2:  # less than a decade: name the ends
        ticks, names = (
            np.unique(inner[[0, -1]]),
            [f"{end:.3g}" for end in np.unique(inner[[0, -1]])],
        )
    if not named:
        ticks, names = ticks[:0], []
    axes.set_xticks([*ticks, *edges.values()], [*names, *(EDGE_NAMES[s] for s in edges)])
    axes.minorticks_off()
    ends = {0.0: left, np.inf: right}
    for scale, place in edges.items():
        middle = np.sqrt(ends[scale]) * np.sqrt(place)
        axes.axvline(middle, color="0.85", linewidth=0.8, zorder=0)
        # The dots stand in the middle of their strip.
        ends[scale] = place * (place / middle)
    axes.set_xlim(ends[0.0], ends[np.inf])


def _waiting_bars(figure: SubFigure, path: SaddlePath, stages: int) -> None:
    """One panel per stage: the shortest waiting times, the winner in colour."""
    panels = figure.subplots(1, stages, squeeze=False)[0]
    for stage, axes in enumerate(panels):
        waits = path.waiting_times(stage)
        order = np.argsort(waits, kind="stable")[:BARS_SHOWN]
        order = np.sort(order[np.isfinite(waits[order])])
        colours = [COLOURS[1] if i in path.entered[stage] else "0.75" for i in order]
        axes.bar(np.arange(len(order)), waits[order], color=colours)
        name_ticks(axes, order.tolist(), path, fontsize=8)
        axes.tick_params(axis="y", labelsize=8)
        axes.set_title(f"at saddle {stage}" if stage else "at the start", fontsize=9)
    panels[0].set_ylabel("time to activate")
    figure.supxlabel("feature (the next to activate in colour)", fontsize=9)


def _moments(trajectory: Trajectory) -> Float:
    moments = trajectory.times if trajectory.steps is None else trajectory.steps
    return np.asarray(moments, dtype=np.float64)


def _drawable(numbers: Float) -> Float:
    """The numbers with NaN, which draws nothing, in place of what no axis can hold."""
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(numbers) < LARGEST_DRAWN, numbers, np.nan)


def _point_if(moments: Float) -> dict[str, Any]:
    """A single record is drawn as a point: a line through it would be invisible."""
    return {"marker": "o"} if len(moments) == 1 else {}


def _first_move(trajectory: Trajectory) -> float:
    """The first moment after 0 at which the loss has moved; the first record if it never has."""
    moments, losses = _moments(trajectory), _drawable(trajectory.losses)
    later = moments > 0
    moved = later & (np.abs(losses - losses[0]) > MOVE * np.abs(losses[0]))
    return float(moments[moved][0] if moved.any() else moments[later][0])


def _shown(trajectory: Trajectory) -> NDArray[np.bool_]:
    """Which records are drawn: those after time 0, until the loss has long been where it ends.

    Time 0 has no place on a logarithmic axis; it is drawn only if there is nothing else. Nor have
    the times that a flow needs which never arrives.
    """
    moments, losses = _moments(trajectory), _drawable(trajectory.losses)
    held: NDArray[np.bool_] = (moments > 0) & (moments < 1 / SMALLEST_DRAWN)
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


def _draw_bound(
    axes: Axes, trajectory: Trajectory, values: Float, shown: NDArray[np.bool_]
) -> None:
    """The bound as a dashed line over the loss."""
    moments = _moments(trajectory)[shown]
    style = {"color": COLOURS[1], "linestyle": "--", **_point_if(moments)}
    axes.plot(moments, _drawable(values[shown]), label="upper bound", **style)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def _lay_over(axes: Axes, training: Trajectory, named: list[int]) -> None:
    rows = np.unique(np.linspace(1, len(training.times) - 1, DOTS).astype(int))
    for rank, i in enumerate(named):
        axes.plot(
            training.times[rows],
            _drawable(flat(training.coefs)[rows, i]),
            ".",
            color=COLOURS[rank],
            markersize=7,
            markeredgecolor="white",
            markeredgewidth=0.3,
            zorder=4,
        )
    axes.plot([], [], ".", color="black", markersize=7, label="training")
