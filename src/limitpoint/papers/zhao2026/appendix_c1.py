"""Appendix C.1: Algorithm 1 by hand on the data (7), against mirror coordinates of the flow."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from limitpoint.dynamics import flow
from limitpoint.foundation.arrays import Float
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.shared.exact_path import TENFOLD, differ, path_of_eq7
from limitpoint.papers.zhao2026.model import activations, figure1_problem
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.theory import saddles

__all__ = ["AppendixC1"]

# Algorithm 1 with activation times ½ (printed: 1, which doubles s and δ and changes nothing else).
PRINTED_SADDLES = (("4/5", "0", "0", "0"), ("0", "0", "7/5", "0"), ("0", "0", "10/7", "-10/49"))
HALF_COORDINATES = (
    ("1/2", "1/4", "7/20", "0"),
    ("1/2", "-1/5", "1/2", "-21/50"),
    ("45/98", "-15/49", "1/2", "-1/2"),
)
HALF_WAITS = ("1/2", "3/2", "40/49")


@register
@dataclass(frozen=True)
class AppendixC1(Experiment):
    """The worked example, with the activation times corrected to ½."""

    paper: ClassVar[str] = "zhao2026"
    figure: ClassVar[str] = "appendixC1"
    title: ClassVar[str] = "Algorithm 1 step by step, and the mirror coordinates of the flow"
    setup: ClassVar[str] = (
        "Printed: the model and data of Figure 1, with Algorithm 1 carried out by hand. Corrected: "
        "activation times are ½, not 1. Chosen: exact flows from two scales, 10^-434 and 10^-869; "
        "activations are late by a time that does not depend on the scale, so that the difference "
        "of the two, over that of log(1/scale), is the mirror coordinate of the limit. Algorithm 1 "
        "is also carried out without rounding: saddles, times and the last mirror coordinates are "
        "proved to be the fractions."
    )
    theorems: ClassVar[tuple[str, ...]] = ("zhao2026.corollary4.6",)

    log_scale: float = -1000.0
    seed: int = 0

    def quick(self) -> "AppendixC1":
        """Larger scales."""
        return replace(self, log_scale=-300.0)

    def run(self) -> xr.Dataset:
        """Flow from both scales, and run Algorithm 1."""
        times, xi, plateaus = [], [], []
        for factor in (1.0, 2.0):
            problem = figure1_problem(factor * self.log_scale, self.seed)
            path, run = saddles(problem), flow(problem)
            activated, _ = activations(run, path)
            assert run.duals is not None, "the flow in sample space has duals"
            # Linear between records: at rest, mirror coordinates are.
            duals = np.stack([np.interp(activated, run.times, one) for one in run.duals.T], axis=1)
            times.append(activated)
            xi.append(duals @ problem.task.X)
            ends = np.append(activated[1:], run.times[-1])
            late = activated + 0.85 * (ends - activated)
            plateaus.append(
                run.coefs[np.searchsorted(run.times, late).clip(max=len(run.times) - 1)]
            )
        waits = np.stack([path.waiting_times(p) for p in range(path.n_saddles)])
        along = ("saddle", "feature")
        unit = -self.log_scale
        return xr.Dataset(
            {
                "time": ("saddle", (times[1] - times[0]) / unit),
                "mirror": (along, (xi[1] - xi[0]) / unit),
                "plateau": (along, plateaus[1]),
                "predicted_time": ("saddle", path.path_times[1:]),
                "predicted_mirror": (along, path.mirrors[1:]),
                "predicted_saddle": (along, path.coefs[1:]),
                "predicted_wait": (along, waits),
                "unproved_fractions": ("claim", _unproved()),
            },
            coords={
                "saddle": np.arange(1, 4, dtype=np.int32),
                "feature": np.arange(1, 5, dtype=np.int32),
                "claim": ["saddles", "times", "last mirror coordinates"],
            },
        )

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Times, ξ and values of the flow; Algorithm 1 against the printed fractions."""
        found = []
        # Activations are read off between records about one unit of time apart, over the unit.
        tolerance = 1.0 / -self.log_scale
        for p in range(3):
            one = data.isel(saddle=p)
            off = float(np.abs(one["mirror"].values - one["predicted_mirror"].values).max())
            time, due = float(one["time"]), float(one["predicted_time"])
            value = float(np.abs(one["plateau"].values - one["predicted_saddle"].values).max())
            found += [
                Check(f"time of saddle {p + 1}", time, due, tolerance),
                Check(f"distance of the mirror coordinates at saddle {p + 1}", off, 0.0, tolerance),
                Check(f"distance of plateau {p + 1}", value, 0.0, 1e-6),
            ]
        for name, words, exact in (
            ("saddle", "saddles", PRINTED_SADDLES),
            ("mirror", "mirror coordinates", HALF_COORDINATES),
        ):
            floats = np.array([_floats(row) for row in exact])
            off = float(np.abs(data[f"predicted_{name}"].values - floats).max())
            found.append(Check(f"Algorithm 1 against the fractions: {words}", off, 0.0, 1e-12))
        waits = data["predicted_wait"].values.min(axis=1)
        off = float(np.abs(waits - _floats(HALF_WAITS)).max())
        found.append(Check("Algorithm 1 against the fractions: winning δ", off, 0.0, 1e-12))
        for claim in data["claim"].values:
            left = float(data["unproved_fractions"].sel(claim=claim))
            found.append(Check(f"Fractions that are not proved: {claim}", left, 0.0, 0.0))
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """ξ along time between its thresholds, and the waiting times at every step."""
        figure = new_figure((10, 4.8))
        path_axes, *bars = figure.subplots(1, 4, width_ratios=(3, 1, 1, 1))
        times = np.append(0.0, data["predicted_time"].values)
        for i in range(4):
            line = np.append(0.0, data["predicted_mirror"].values[:, i])
            path_axes.plot(times, line, color=COLOURS[i], label=f"$s_{i + 1}$")
            path_axes.plot(data["time"].values, data["mirror"].values[:, i], "o", color=COLOURS[i])
        for threshold in (-0.5, 0.5):
            path_axes.axhline(threshold, color="0.5", linestyle="--", linewidth=1)
        path_axes.plot([], [], "ko", linestyle="", label="flow")
        path_axes.plot([], [], color="0.5", linestyle="--", linewidth=1, label="±t = ±½")
        path_axes.set(xlabel="time / log(1/scale)", ylabel="mirror coordinate / log(1/scale)")
        path_axes.set_title("mirror coordinates: lines Algorithm 1")
        for p, axes in enumerate(bars):
            waits = data["predicted_wait"].values[p]
            shown = np.flatnonzero(np.isfinite(waits))
            best = shown[np.argmin(waits[shown])]
            axes.bar(
                shown + 1,
                waits[shown],
                color=[COLOURS[1] if i == best else "0.75" for i in shown],
            )
            measured = np.diff(np.append(0.0, data["time"].values))[p]
            axes.plot(best + 1, measured, "D", color="black", markersize=5)
            axes.set_xticks(np.arange(1, 5))
            axes.set(title=f"$\\delta$ at $p = {p + 1}$", xlabel="neuron")
            axes.set_xlim(0.4, 4.6)
        handles, _ = path_axes.get_legend_handles_labels()
        handles.append(Patch(color=COLOURS[1], label="shortest δ"))
        handles.append(
            Line2D([], [], marker="D", color="black", linestyle="", markersize=5, label="flow, δ")
        )
        figure.legend(handles=handles, loc="outside lower center", ncols=8, frameon=False)
        return figure


def _unproved() -> list[int]:
    """How many of the fractions are not what Algorithm 1 gives without rounding."""
    proof = path_of_eq7(0.5)
    times = np.cumsum([Fraction(0), *map(Fraction, HALF_WAITS)])
    # The activation times of the proof, and s with them, are larger.
    last = [TENFOLD**2 * Fraction(one) for one in HALF_COORDINATES[-1]]
    return [
        differ(proof.more.get("saddles"), [("0",) * 4, *PRINTED_SADDLES]),
        differ(proof.more.get("path_times"), [str(one) for one in times]),
        differ(proof.mirror, [str(one) for one in last]),
    ]


def _floats(fractions: Sequence[str]) -> Float:
    return np.array([float(Fraction(one)) for one in fractions])
