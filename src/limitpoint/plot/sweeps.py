"""Figures of many training runs."""

from itertools import cycle

import numpy as np
from matplotlib.figure import Figure

from limitpoint.dynamics import Sweep
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import Float, as_kind, shown
from limitpoint.plot.style import COLOURS, new_figure

__all__ = ["plot_sweep"]

# So many scales are named on their axis one by one.
SCALES_NAMED = 8
# Axes cannot be laid out for numbers beyond this.
LARGEST_DRAWN = 1e100
# Line style and marker of each optimiser; the colour is that of the scale.
STYLES = (("-", "o"), ("--", "s"), (":", "^"), ("-.", "D"))


def plot_sweep(sweep: Sweep, probe: str | None = None) -> Figure:
    """A probe at the end against the scale, and along the steps, for each optimiser.

    Lines are means over the seeds, bars and bands one standard error of them.

    Parameters
    ----------
    sweep
        From `train_many`.
    probe
        The name of the probe to draw, or "loss"; by default the first probe. What is not finite is
        left out.
    """
    wanted = "a Sweep, like train_many(problem, ...)"
    as_kind(sweep, Sweep, wanted, "sweep", LimitpointError)
    known = (*sweep.probes, "loss")
    name = known[0] if probe is None else probe
    if not isinstance(name, str) or name not in known:
        raise LimitpointError(f"probe must be one of {', '.join(known)}; it is {shown(probe)}")
    figure = new_figure((10.5, 4.2))
    ends, along = figure.subplots(1, 2, width_ratios=(1, 1.25))
    means, errors = _over_seeds(np.asarray(sweep.data[name].values))
    for label, style, mean, error in zip(
        sweep.optimisers, cycle(STYLES), means, errors, strict=False
    ):
        line, marker = style
        ends.errorbar(
            sweep.scales,
            mean[:, -1],
            yerr=error[:, -1],
            linestyle=line,
            marker=marker,
            color="black",
            markerfacecolor="white",
            capsize=3,
            label=label,
        )
        for rank, (path, spread) in enumerate(zip(mean, error, strict=True)):
            colour = COLOURS[rank % len(COLOURS)]
            along.plot(sweep.steps, path, line, color=colour, linewidth=1.4)
            along.fill_between(
                sweep.steps, path - spread, path + spread, color=colour, alpha=0.2, linewidth=0
            )
    words = name.replace("_", " ")
    if len(sweep.scales) > 1:
        ends.set_xscale("log")
    if len(sweep.scales) <= SCALES_NAMED:
        ends.set_xticks(sweep.scales, [f"{scale:.3g}" for scale in sweep.scales])
        ends.minorticks_off()
    ends.set_xlabel("scale of the initialisation")
    ends.set_ylabel(f"{words} at the end")
    ends.legend(frameon=False, fontsize=8)
    along.set_xscale("symlog", linthresh=1)
    along.set_xlim(0, int(sweep.steps[-1]))
    along.set_xlabel("step")
    along.set_ylabel(words)
    for rank, scale in enumerate(sweep.scales[: len(COLOURS)]):
        along.plot([], [], color=COLOURS[rank], label=f"scale {scale:.3g}")
    along.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    return figure


def _over_seeds(values: Float) -> tuple[Float, Float]:
    """Mean and standard error over the third axis; NaN where a run has diverged."""
    with np.errstate(invalid="ignore"):
        values = np.where(np.abs(values) < LARGEST_DRAWN, values, np.nan)
    count = values.shape[2]
    spread = (
        values.std(axis=2, ddof=1) / np.sqrt(count) if count > 1 else np.zeros_like(values[:, :, 0])
    )
    return values.mean(axis=2), spread
