"""The figure of sparse recovery."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from limitpoint.foundation.arrays import Float
from limitpoint.plot.style import COLOURS, new_figure

__all__ = ["distance_of_flow", "distances", "draw"]

MARKERS = ("o", "s", "^", "D", "v")
# Coefficients are shown from the largest on, at most so many times those of the truth.
SHOWN = 8


def distances(data: xr.Dataset, name: str = "coef") -> Float:
    """`‖β − β*‖`, batch sizes × learning rates × seeds."""
    return np.asarray(np.linalg.norm(data[name].values - data["truth"].values, axis=-1))


def distance_of_flow(data: xr.Dataset) -> float:
    """That of the limit of gradient flow from the start itself."""
    return float(np.linalg.norm(data["predicted_flow"].values - data["truth"].values))


def draw(data: xr.Dataset) -> Figure:
    """Four panels."""
    figure = new_figure((11.0, 8.4))
    panels = figure.subplots(2, 2)
    _ends(panels[0, 0], data)
    _shrinking(panels[0, 1], data)
    _scales(panels[1, 0], data)
    _sizes(panels[1, 1], data)
    titles = (
        "(a) GD and SGD up to the edge of divergence",
        "(b) what the steps take from the scale",
        "(c) coefficient by coefficient",
        "(d) sparsity of the ends",
    )
    for axes, title in zip(panels.flat, titles, strict=True):
        axes.set_title(title, loc="left", fontsize=10)
    return figure


def _rules(data: xr.Dataset) -> list[tuple[int, str, dict[str, Any]]]:
    """Every rule: its place, its name, its marker and colour."""
    sizes = [int(b) for b in data["batch_size"].values]
    names = ["GD", *(f"SGD, batches of {b}" for b in sizes[1:])]
    return [(i, name, {"color": COLOURS[i], "marker": MARKERS[i]}) for i, name in enumerate(names)]


def _ends(axes: Any, data: xr.Dataset) -> None:
    """Distance from the truth against the learning rate: every run, and the law's line."""
    measured, predicted = distances(data), distances(data, "predicted_coef")
    dots = {"color": "k", "marker": ".", "ls": "", "ms": 3, "zorder": 4}
    for i, name, look in _rules(data):
        rates, seeds = data["learning_rate"].values[i], slice(None) if i else slice(1)
        axes.plot(rates, predicted[i].mean(axis=-1), "-", color=look["color"])
        runs = axes.plot(rates, measured[i, :, seeds], **look, ls="", mfc="white")
        runs[0].set_label(name)
        axes.plot(rates, predicted[i, :, seeds], **dots)
    axes.plot([], [], **dots, label="predicted from the effective start")
    axes.axhline(distance_of_flow(data), color="k", ls="--", lw=1, label="gradient flow, predicted")
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("learning rate")
    axes.set_ylabel(r"distance from the truth, $\|\beta - \beta^*\|$")
    axes.legend(frameon=False, fontsize="small", loc="upper left")


def _shrinking(axes: Any, data: xr.Dataset) -> None:
    """Means of `−S` over the support of the truth, and over all other coefficients."""
    on = data["truth"].values != 0
    shrunk = -data["log_shrinkage"].values
    kinds = ((on, "-", "full", "informative coefficients"), (~on, ":", "none", "others"))
    for where, line, filled, words in kinds:
        for i, name, look in _rules(data):
            mean = shrunk[i][..., where].mean(axis=(-2, -1))
            drawn = axes.plot(data["learning_rate"].values[i], mean, **look, ls=line)
            drawn[0].set(fillstyle=filled, label=name if line == "-" else None)
        axes.plot([], [], color="0.4", marker="o", ls=line, fillstyle=filled, label=words)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("learning rate")
    axes.set_ylabel("$-S$, mean over coefficients and seeds")
    axes.legend(frameon=False, fontsize="small", loc="upper left")


def _scales(axes: Any, data: xr.Dataset) -> None:
    """`e^S` of every coefficient at the largest learning rates, by its mean S over the seeds.

    Sorted on the support of the truth and off it.
    """
    on = data["truth"].values != 0
    places = np.arange(1, len(on) + 1)
    for i, name, look in _rules(data):
        left = np.exp(data["log_shrinkage"].values[i, -1].mean(axis=0))
        parts = [np.sort(left[where])[::-1] for where in (on, ~on)]
        axes.plot(places, np.concatenate(parts), **look, ls="", ms=4, mfc="white", label=name)
    axes.axvspan(0.5, on.sum() + 0.5, color="0.9", zorder=0, label="informative coefficients")
    axes.set_yscale("log")
    axes.set_xlabel("coefficients: informative ones, then the others, both sorted")
    axes.set_ylabel("left of the scale at the largest learning rate, $e^S$")
    axes.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0.06, 0.0))


def _sizes(axes: Any, data: xr.Dataset) -> None:
    """Sorted moduli of the ends at the largest learning rates."""
    count = int((data["truth"].values != 0).sum())
    order = np.arange(1, min(SHOWN * count, data.sizes["feature"]) + 1)

    def largest(coef: Float) -> Float:
        found: Float = np.sort(np.abs(coef))[::-1][: len(order)]
        return found

    truth = largest(data["truth"].values)
    axes.plot(order[:count], truth[:count], "k_", ms=12, mew=2, label="truth")
    flow = largest(data["predicted_flow"].values)
    axes.plot(order, flow, "k--", lw=1, label="gradient flow, predicted")
    axes.plot([], [], "-", color="0.4", lw=1, label="predicted from the effective start")
    for i, name, look in _rules(data):
        predicted = largest(data["predicted_coef"].values[i, -1, 0])
        axes.plot(order, predicted, "-", color=look["color"], lw=1)
        found = largest(data["coef"].values[i, -1, 0])
        axes.plot(order, found, **look, ls="", ms=4, mfc="white", label=name)
    axes.set_yscale("log")
    axes.set_xlabel("coefficients, sorted")
    axes.set_ylabel(r"$|\beta_i|$ at the largest learning rate, one seed")
    axes.legend(frameon=False, fontsize="small")
