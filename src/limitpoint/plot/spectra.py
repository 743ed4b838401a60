"""The figure of singular values against time."""

from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from limitpoint.dynamics.analysis.spectrum import Spectrum
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float, as_float_array, as_kind, shown
from limitpoint.plot.style import COLOURS, new_figure
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
# Axes cannot be laid out for numbers beyond this; a diverging run is drawn up to it.
LARGEST_DRAWN = 1e100
# The ticks of a logarithmic axis of time overflow beyond this, the root of the largest float.
LATEST_DRAWN = 1e150


def plot_spectrum(
    spectrum: Spectrum,
    *,
    layer: int | Literal["coef"] = 0,
    predicted: ArrayLike | None = None,
    jumps: JumpProcess | ArrayLike | None = None,
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
    """
    wanted = "a Spectrum, like spectrum(trajectory)"
    as_kind(spectrum, Spectrum, wanted, "spectrum", LimitpointError)
    values, symbol = _chosen(spectrum, layer)
    with np.errstate(invalid="ignore"):
        values = np.where(np.abs(values) < LARGEST_DRAWN, values, np.nan)
    moments = np.asarray(
        spectrum.times if spectrum.steps is None else spectrum.steps, dtype=np.float64
    )
    # The times of a classification go on beyond any axis.
    held = moments < LATEST_DRAWN
    moments, values = moments[held], values[held]
    per_moment = _per_moment(spectrum)
    figure = new_figure((9, 4.8))
    axes = figure.subplots()
    named = _moving(values)[: len(COLOURS)]
    for i in range(values.shape[1]):
        axes.plot(moments, values[:, i], **_style(i, named, symbol, len(moments)))
    rest = values.shape[1] - len(named)
    if rest:
        axes.plot([], [], color="0.7", linewidth=1.0, label=_others(rest, len(named)))
    if predicted is not None:
        _draw_limits(axes, predicted)
    lines = _jump_times(jumps) / per_moment
    for time in lines:
        axes.axvline(time, color="0.35", linestyle=":", linewidth=1.2, zorder=1)
    if lines.size:
        axes.plot([], [], color="0.35", linestyle=":", linewidth=1.2, label="predicted jump")
    _set_window(axes, moments, values, lines)
    if not np.nanmin(values, initial=np.inf) > FROM_ZERO * np.nanmax(values, initial=0.0):
        axes.set_ylim(bottom=0)
    axes.set_xlabel("time" if spectrum.steps is None else "step")
    axes.set_ylabel(f"singular values of {symbol}")
    axes.set_title(spectrum.kind)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure


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


def _style(column: int, named: list[int], symbol: str, records: int) -> dict[str, Any]:
    point = {"marker": "o"} if records == 1 else {}
    if column not in named:
        return {"color": "0.7", "linewidth": 1.0, "zorder": 2, **point}
    return {
        "color": COLOURS[named.index(column)],
        "label": f"$\\sigma_{{{column + 1}}}$({symbol})",
        "linewidth": 1.8,
        "zorder": 3,
        **point,
    }


def _others(rest: int, named: int) -> str:
    if named:
        return "one other" if rest == 1 else f"{rest} others"
    return "the only one" if rest == 1 else f"all {rest}"


def _draw_limits(axes: Axes, predicted: ArrayLike) -> None:
    limits = as_float_array(predicted, "predicted", LimitpointError, ndim=(1,))
    for limit in np.unique(limits):
        axes.axhline(limit, color="black", linestyle="--", linewidth=1.0, zorder=4)
    axes.plot([], [], color="black", linestyle="--", linewidth=1.0, label="predicted limit")


def _jump_times(jumps: JumpProcess | ArrayLike | None) -> Float:
    if jumps is None:
        return np.empty(0)
    if isinstance(jumps, JumpProcess):
        return jumps.path_times * jumps.unit
    return as_float_array(jumps, "jumps", LimitpointError, ndim=(1,))


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
