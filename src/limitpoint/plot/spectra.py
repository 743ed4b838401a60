"""The figure of singular values against time."""

from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from limitpoint.dynamics.analysis.spectrum import Spectrum
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float, as_float_array, as_kind, shown
from limitpoint.plot.coefficient_lines import drawable, point_if
from limitpoint.plot.panels import AxesGiven, SizeGiven, open_panels
from limitpoint.plot.style import GREY, colour, colours, ink, line_width, name_others
from limitpoint.theory.two_layer.riccati import JumpProcess

__all__ = ["plot_spectrum"]

# A value moves while it is further than this part of the largest from where it starts or ends.
MOVE = 0.01
# From first to last move: a logarithmic axis where time grows by more than this factor.
LOG_FACTOR = 10.0
# What is shown before the first move and after the last: factors on a logarithmic axis, and a part
# of the moves' length on a linear one.
BEFORE, AFTER = 3.0, 3.0
MARGIN = 0.25
# Values that all stay above this part of the largest are not shown from zero on.
FROM_ZERO = 0.5
# The ticks of a logarithmic axis of time overflow beyond this, the root of the largest float.
LATEST_DRAWN = 1e150


def plot_spectrum(
    spectrum: Spectrum,
    *,
    layer: int | Literal["coef"] = 0,
    predicted: ArrayLike | None = None,
    jumps: JumpProcess | ArrayLike | None = None,
    ax: AxesGiven = None,
    figsize: SizeGiven = None,
) -> Figure:
    """Singular values against time, with predicted limits and jump times.

    Those that move are named, the largest at the end first; the others are grey. The axis of time
    is logarithmic where the moves stretch over more than a factor of ten, and shows little more
    than them.

    Parameters
    ----------
    spectrum
        From `spectrum(trajectory)`.
    layer
        The number of the layer, or "coef" for the coefficients.
    predicted
        Predicted singular values at the end, drawn as dashed lines; in any order.
    jumps
        Predicted jump times, drawn as vertical lines: a `JumpProcess` with its unit, or times.
    ax
        Axes to draw into.
    figsize
        Width and height of a new figure, in inches.

    Returns
    -------
    Figure
        A new figure, or that of `ax`.
    """
    wanted = "a Spectrum, like spectrum(trajectory)"
    as_kind(spectrum, Spectrum, wanted, "spectrum", LimitpointError)
    values, symbol = _chosen(spectrum, layer)
    values = drawable(values)
    limits = _as_numbers(predicted, "predicted")
    lines = _jump_times(jumps) / _per_moment(spectrum)
    moments = np.asarray(
        spectrum.times if spectrum.steps is None else spectrum.steps, dtype=np.float64
    )
    # The times of a classification go on beyond any axis.
    held = moments < LATEST_DRAWN
    moments, values = moments[held], values[held]
    opened = open_panels({"values": 1.0}, (9.0, 4.8), ax=ax, figsize=figsize)
    axes = opened["values"]
    named = _moving(values)[: len(colours())]
    for i in range(values.shape[1]):
        axes.plot(moments, values[:, i], **_style(i, named, symbol), **point_if(moments))
    name_others(axes, values.shape[1] - len(named), len(named))
    _draw_predictions(axes, limits, lines)
    _set_window(axes, moments, values, lines)
    if not np.nanmin(values, initial=np.inf) > FROM_ZERO * np.nanmax(values, initial=0.0):
        axes.set_ylim(bottom=0)
    opened.set_ylabel(f"singular values of {symbol}", "values")
    opened.set_xlabel("time" if spectrum.steps is None else "step")
    opened.set_title(spectrum.kind)
    opened.add_legend("values")
    return opened.figure


def _chosen(spectrum: Spectrum, layer: int | str) -> tuple[Float, str]:
    """The values to draw, and the name of their matrix."""
    if isinstance(layer, str) and layer == "coef":
        return spectrum.coefs, "β"
    count = len(spectrum.layers)
    if isinstance(layer, bool) or not isinstance(layer, int) or not 0 <= layer < count:
        raise LimitpointError(
            f"layer must be 'coef' or a number from 0 to {count - 1}; it is {shown(layer)}"
        )
    return spectrum.layers[layer], f"$W_{{{layer + 1}}}$"


def _per_moment(spectrum: Spectrum) -> float:
    """Time per unit of the axis: 1, or the learning rate of a training run."""
    if spectrum.steps is None or spectrum.steps[-1] == 0:
        return 1.0
    return float(spectrum.times[-1] / spectrum.steps[-1])


def _moving(values: Float) -> list[int]:
    """Columns that move at all, the largest at the end first."""
    finite = np.nan_to_num(values, nan=0.0)
    moved = finite.max(axis=0) - finite.min(axis=0) > MOVE * max(float(finite.max()), 0.0)
    return [int(i) for i in np.flatnonzero(moved)]


def _style(column: int, named: list[int], symbol: str) -> dict[str, Any]:
    if column not in named:
        return {"color": GREY, "linewidth": line_width(0.65), "zorder": 2}
    return {
        "color": colour(named.index(column)),
        "label": f"$\\sigma_{{{column + 1}}}$({symbol})",
        "linewidth": line_width(1.2),
        "zorder": 3,
    }


def _draw_predictions(axes: Axes, limits: Float, jumps: Float) -> None:
    """Predicted values as dashed lines, predicted jumps as dotted ones."""
    dashed: dict[str, Any] = {"color": ink(), "linestyle": "--", "linewidth": line_width(0.65)}
    dotted: dict[str, Any] = {"color": "0.35", "linestyle": ":", "linewidth": line_width(0.8)}
    for limit in np.unique(limits):
        axes.axhline(limit, zorder=4, **dashed)
    if limits.size:
        axes.plot([], [], label="predicted limit", **dashed)
    for time in jumps:
        axes.axvline(time, zorder=1, **dotted)
    if jumps.size:
        axes.plot([], [], label="predicted jump", **dotted)


def _as_numbers(numbers: ArrayLike | None, name: str) -> Float:
    if numbers is None:
        return np.empty(0)
    return as_float_array(numbers, name, LimitpointError, ndim=(1,))


def _jump_times(jumps: JumpProcess | ArrayLike | None) -> Float:
    if isinstance(jumps, JumpProcess):
        return jumps.path_times * jumps.unit
    return _as_numbers(jumps, "jumps")


def _set_window(axes: Axes, moments: Float, values: Float, lines: Float) -> None:
    """Show the time from the first move to the last, with some room."""
    first, last = _moves(moments, values)
    if first is None or last is None:
        return
    inside = lines[(lines > 0) & (lines <= moments[-1])]
    first, last = min([first, *inside]), max([last, *inside])
    if last > LOG_FACTOR * first:
        axes.set_xscale("log")
        axes.set_xlim(max(first / BEFORE, _first_positive(moments) / BEFORE), last * AFTER)
    else:
        axes.set_xlim(0, min(last + MARGIN * last, max(float(moments[-1]), last)))


def _moves(moments: Float, values: Float) -> tuple[float | None, float | None]:
    """The first moment after 0 at which a value has left its start, and when all have converged."""
    known = ~np.isnan(values).any(axis=1)
    if not known.any():
        return None, None
    rows = np.flatnonzero(known)
    tolerance = MOVE * float(values[rows].max())
    left: NDArray[np.bool_] = (np.abs(values - values[rows[0]]) > tolerance).any(axis=1)
    moving: NDArray[np.bool_] = (np.abs(values - values[rows[-1]]) > tolerance).any(axis=1)
    later = np.flatnonzero(left & (moments > 0))
    not_converged = np.flatnonzero(moving)
    if later.size == 0:
        return None, None
    converged = (
        min(int(not_converged[-1]) + 1, len(moments) - 1) if not_converged.size else int(later[0])
    )
    return float(moments[later[0]]), float(moments[converged])


def _first_positive(moments: Float) -> float:
    return float(moments[moments > 0][0])
