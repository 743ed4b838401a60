"""The plane picture: coefficients of networks with two features (Yun et al. 2021, Fig. 1 and 3)."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from limitpoint.dynamics import Trajectory
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float, as_kind
from limitpoint.plot.margins import from_separation
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.tasks import Classification, Regression, Task, as_task
from limitpoint.theory import Limit

__all__ = ["plot_plane"]

# What is drawn leaves this part of the window free on each side.
ROOM = 0.08
# Runs that leave the box of starts, ends and limits are followed this far, in its sizes.
DETOUR = 0.5
# Of a classification the window shows the runs up to this smallest margin: a loss of about 1e-5,
# where the figures of the paper end.
MARGIN_SHOWN = 10.0
# The set of global minima, and the directions that separate.
MINIMA = "#F0C000"
CONE = "0.92"
CIRCLE: dict[str, Any] = {
    "marker": "o",
    "markersize": 11,
    "markeredgewidth": 1.6,
    "markerfacecolor": "none",
    "linestyle": "none",
}
STAR: dict[str, Any] = {"marker": "*", "markersize": 17, "linestyle": "none"}

T = TypeVar("T")


def plot_plane(
    runs: Mapping[str, Trajectory | Sequence[Trajectory]],
    task: Task,
    limits: Mapping[str, Limit | Sequence[Limit]] | None = None,
    *,
    title: str | None = None,
) -> Figure:
    """Runs in the plane of two coefficients, with what is predicted of them.

    Of a regression: the set of global minima as a line, or a point, and predicted limits as
    circles. Of a classification: the directions that separate the classes as a shaded cone and
    predicted directions as rays, while the runs are near the origin; and beside it the angle of
    the coefficients against the smallest margin, until the end.

    Parameters
    ----------
    runs
        For each label, a network's say, one run or several from different starts.
    task
        The task of all of them, with two features.
    limits
        Predictions under the same labels, as many as there are. Equal ones are drawn once.
    title
        Above the figure.

    Examples
    --------
    >>> import limitpoint as lp
    >>> task, network = lp.examples.yun_point(), lp.Diagonal(depth=2)
    >>> problem = lp.Problem(network, lp.Init.zero_last(network, task, scale=0.1), task)
    >>> figure = lp.papers.plot_plane(
    ...     {"diagonal": lp.flow(problem)}, task, {"diagonal": lp.predict(problem)}
    ... )
    >>> figure.axes[0].get_xlabel()
    'β[0]'
    """
    as_task(task)
    grouped = _grouped(runs, Trajectory, "runs")
    predicted = {} if limits is None else _grouped(limits, Limit, "limits")
    if title is not None:
        as_kind(title, str, "a text", "title", LimitpointError)
    _check(grouped, predicted, task)
    classes = task if isinstance(task, Classification) else None
    if classes is None:
        figure = new_figure((6.6, 7.2))
        plane = figure.subplots()
        window = _window_of_fits(grouped, predicted)
    else:
        figure = new_figure((11.5, 6.2))
        plane, angles = figure.subplots(1, 2)
        _draw_angles(angles, grouped, predicted, classes)
        window = _window_of_margins(grouped, classes)
    handles = _draw_set(plane, task, window)
    for rank, (label, several) in enumerate(grouped.items()):
        colour = COLOURS[rank % len(COLOURS)]
        for run in several:
            plane.plot(*run.coefs.T, color=colour, linewidth=1.4, zorder=3)
            plane.plot(*run.coefs[0], "o", color="black", markersize=4.5, zorder=5)
            plane.plot(*run.coefs[-1], ".", color=colour, markersize=7, zorder=4)
        handles.append(Line2D([], [], color=colour, linewidth=1.4, label=label))
        for limit in _different(predicted.get(label, [])):
            if classes is None:
                plane.plot(*limit.coef, color=colour, zorder=6, **CIRCLE)
            else:
                reach = 2.0 * float(np.abs(window).max())
                ray = np.outer([0.0, reach], limit.direction)
                plane.plot(*ray.T, "--", color=colour, linewidth=1.8, zorder=2)
    handles.append(
        Line2D([], [], color="black", marker="o", markersize=4.5, linestyle="none", label="start")
    )
    if any(predicted.values()):
        handles.append(_of_prediction(classes is not None))
    plane.set(xlim=window[0], ylim=window[1], xlabel="β[0]", ylabel="β[1]")
    plane.set_aspect("equal", adjustable="box")
    plane.axhline(0, color="0.8", linewidth=0.7, zorder=1)
    plane.axvline(0, color="0.8", linewidth=0.7, zorder=1)
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    if title is not None:
        figure.suptitle(title)
    return figure


def _grouped(given: Mapping[str, T | Sequence[T]], kind: type[T], name: str) -> dict[str, list[T]]:
    """For each label a list, of which all must be of this class."""
    wanted = f"a mapping from labels to a {kind.__name__}, or several"
    as_kind(given, Mapping, wanted, name, LimitpointError)
    grouped: dict[str, list[T]] = {}
    for label, one_or_more in given.items():
        several = one_or_more if isinstance(one_or_more, list | tuple) else [one_or_more]
        where = f"{name}[{label!r}]"
        grouped[label] = [
            as_kind(one, kind, f"a {kind.__name__}, or several", where, LimitpointError)
            for one in several
        ]
    return grouped


def _check(
    runs: Mapping[str, list[Trajectory]], limits: Mapping[str, list[Limit]], task: Task
) -> None:
    """Refuse what has no place in a plane."""
    if task.n_features != 2 or task.y.ndim != 1:
        raise LimitpointError(
            "plot_plane needs two features and one output; the task has "
            f"{task.n_features} features and {task.n_outputs or 1} outputs"
        )
    if not any(runs.values()):
        raise LimitpointError("runs must hold at least one run; there is none")
    for label in limits:
        if label not in runs:
            raise LimitpointError(
                f"limits has the label {label!r}, which runs has not; it has {', '.join(runs)}"
            )
    for name, grouped in (("runs", runs), ("limits", limits)):
        for label, several in grouped.items():
            for one in several:
                if one.coef.shape != (2,):
                    raise LimitpointError(
                        f"{name}[{label!r}] must have two coefficients; they have shape "
                        f"{one.coef.shape}"
                    )


def _different(limits: list[Limit]) -> list[Limit]:
    """Without those that would be drawn on the same place."""
    found: list[Limit] = []
    for limit in limits:
        size = float(np.abs(limit.coef).max())
        if all(np.abs(limit.coef - other.coef).max() > 1e-6 * size for other in found):
            found.append(limit)
    return found


def _window_of_fits(
    runs: Mapping[str, list[Trajectory]], limits: Mapping[str, list[Limit]]
) -> Float:
    """A square around starts, ends, limits and the origin, and around the runs within reach."""
    coefs = [run.coefs for several in runs.values() for run in several]
    marked = [np.zeros((1, 2)), *(c[[0, -1]] for c in coefs)]
    marked += [limit.coef[None] for several in limits.values() for limit in several]
    low, high = _bounds(np.concatenate(marked))
    reach = DETOUR * float((high - low).max())
    walked_low, walked_high = _bounds(np.concatenate(coefs))
    low = np.minimum(low, np.maximum(walked_low, low - reach))
    high = np.maximum(high, np.minimum(walked_high, high + reach))
    return _square(low, high)


def _window_of_margins(runs: Mapping[str, list[Trajectory]], task: Classification) -> Float:
    """A square around the starts, the origin, and the runs up to the margin shown."""
    seen = [np.zeros((1, 2))]
    for several in runs.values():
        for run in several:
            beyond = np.flatnonzero(task.margins(run.coefs).min(axis=-1) > MARGIN_SHOWN)
            last = int(beyond[0]) if beyond.size else len(run.coefs)
            seen.append(run.coefs[: max(last, 1)])
    return _square(*_bounds(np.concatenate(seen)))


def _bounds(points: Float) -> tuple[Float, Float]:
    finite = points[np.isfinite(points).all(axis=1)]
    return finite.min(axis=0), finite.max(axis=0)


def _square(low: Float, high: Float) -> Float:
    """The limits of both axes, of equal lengths."""
    half = (0.5 + ROOM) * (float((high - low).max()) or 1.0)
    middle = 0.5 * (low + high)
    return np.stack([middle - half, middle + half], axis=1)


def _draw_set(axes: Axes, task: Task, window: Float) -> list[Line2D | Patch]:
    """The global minima of a regression, or the cone that separates; with its legend."""
    if isinstance(task, Classification):
        corners = _cone(task.signed, window)
        axes.fill(*corners.T, color=CONE, zorder=0, linewidth=0)
        return [Patch(color=CONE, label="directions that separate")]
    if not isinstance(task, Regression):
        return []
    fit, _, rank, _ = np.linalg.lstsq(task.X, task.y, rcond=None)
    if rank == 0:
        return []
    if rank == 2:
        axes.plot(*fit, zorder=1.5, color=MINIMA, **STAR)
        return [Line2D([], [], label="global minimum", color=MINIMA, **STAR)]
    along = np.linalg.svd(task.X)[2][1]
    reach = 2.0 * float(np.abs(window - fit[:, None]).max())
    ends = fit + np.outer([-reach, reach], along)
    axes.plot(*ends.T, color=MINIMA, linewidth=3, zorder=1.5)
    return [Line2D([], [], color=MINIMA, linewidth=3, label="global minima")]


def _cone(signed: Float, window: Float) -> Float:
    """The part of the window where no sample has a negative margin: its corners, in order."""
    (left, right), (low, high) = window
    corners = np.array([[left, low], [right, low], [right, high], [left, high]])
    for row in signed:
        products = corners @ row
        kept: list[Float] = []
        for i, (corner, product) in enumerate(zip(corners, products, strict=True)):
            before = products[i - 1]
            if product * before < 0:
                part = before / (before - product)
                kept.append(corners[i - 1] + part * (corner - corners[i - 1]))
            if product >= 0:
                kept.append(corner)
        corners = np.array(kept).reshape(-1, 2)
    return corners


def _of_prediction(rays: bool) -> Line2D:
    """The legend of what is predicted, whatever its colour."""
    if rays:
        return Line2D([], [], color="black", linestyle="--", label="predicted direction")
    return Line2D([], [], color="black", label="predicted limit", **CIRCLE)


def _draw_angles(
    axes: Axes,
    runs: Mapping[str, list[Trajectory]],
    limits: Mapping[str, list[Limit]],
    task: Classification,
) -> None:
    """The direction of the coefficients against the smallest margin."""
    middle = float(_angle(task.separation.direction, 0.0))
    for rank, (label, several) in enumerate(runs.items()):
        colour = COLOURS[rank % len(COLOURS)]
        for run in several:
            margins = task.margins(run.coefs).min(axis=-1)
            first = from_separation(margins)
            angle = _angle(run.coefs[first:], middle)
            axes.plot(margins[first:], angle, color=colour, linewidth=1.4)
        for limit in _different(limits.get(label, [])):
            height = float(_angle(limit.direction, middle))
            axes.axhline(height, color=colour, linestyle="--", zorder=1)
    axes.set_xscale("log")
    axes.set_xlabel("smallest margin")
    axes.set_ylabel("angle of the coefficients, degrees")


def _angle(points: Float, middle: float) -> Float:
    """Angles in degrees from the first axis, within half a turn of the middle."""
    raw = np.degrees(np.arctan2(points[..., 1], points[..., 0]))
    angle: Float = middle + (raw - middle + 180.0) % 360.0 - 180.0
    return angle
