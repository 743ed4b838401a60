"""Theorem 1 at work: the limits of a deep network at all scales, from 0 to infinity."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from limitpoint.dynamics import ParameterSpace, flow
from limitpoint.init import Init
from limitpoint.networks import Diagonal
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory import predict, predict_path

__all__ = ["Theorem1"]

SAMPLES, FEATURES, DEPTH = 3, 6, 3
# The limits at scale 0 and infinity are drawn this factor beyond the scales.
EDGE = 6.0
# The flow stops at a residual of 1e-10 of y, times the condition of the data.
FLOWED = 1e-8


@register
@dataclass(frozen=True)
class Theorem1(Experiment):
    """The entropy that the paper leaves open, used: which solution, at which scale."""

    paper: ClassVar[str] = "labarriere2024"
    figure: ClassVar[str] = "theorem1"
    title: ClassVar[str] = "Theorem 1 with its entropy in closed form: limits from scale 0 to ∞"
    setup: ClassVar[str] = (
        "Not in the paper, which has no figure of its mirror flow's limit. 3 layers, 6 features, "
        "3 samples, Gaussian data; a zero last layer, so that the coefficients start at zero, and "
        "different others. The prediction minimises the entropy Q of Theorem 1 at every scale, "
        "the weighted ℓ1 norm of Zhao et al. at 0 and a weighted ℓ2 norm at infinity; dots are "
        "flows of the parameters."
    )
    theorems: ClassVar[tuple[str, ...]] = (
        "labarriere2024.theorem1",
        "zhao2026.corollary4.6",
        "limitpoint.lazy",
    )

    seed: int = 1
    flows: tuple[float, ...] = (1e-4, 1e-2, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 5.0, 30.0)
    scales: int = 120

    def quick(self) -> "Theorem1":
        """Four flows, and fewer limits."""
        return replace(self, flows=(1e-4, 0.2, 0.8, 30.0), scales=30)

    def run(self) -> xr.Dataset:
        """Limits along the scales, and flows at some."""
        rng = np.random.default_rng(self.seed)
        X, y = rng.standard_normal((SAMPLES, FEATURES)), rng.standard_normal(SAMPLES)
        task, network = Regression(X, y), Diagonal(depth=DEPTH)
        layers = [rng.uniform(0.5, 1.5, FEATURES) for _ in range(DEPTH - 1)]
        init = Init([*layers, np.zeros(FEATURES)], 1.0)
        problem = Problem(network, init, task)
        # Those of the flows are among them, so that the path is compared with them too.
        between = np.geomspace(min(self.flows), max(self.flows), self.scales)
        scales = np.union1d(between, self.flows)
        path = predict_path(problem, [0.0, *scales, np.inf])
        ends, limits = [], []
        for scale in self.flows:
            at_scale = Problem(network, init.at_scale(scale), task)
            ends.append(flow(at_scale, space=ParameterSpace()).coef)
            limits.append(predict(at_scale).coef)
        return xr.Dataset(
            {
                "end": (("flow", "feature"), np.stack(ends)),
                "predicted_end": (("flow", "feature"), np.stack(limits)),
                "predicted_limit": (("scale", "feature"), path.coefs[1:-1]),
                "predicted_at_zero": ("feature", path.coefs[0]),
                "predicted_at_infinity": ("feature", path.coefs[-1]),
            },
            coords={
                "flow": np.array(self.flows),
                "scale": scales,
                "feature": np.arange(1, FEATURES + 1, dtype=np.int32),
            },
        )

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Every flow ends where Theorem 1 says, the first and the last near the two limits."""
        ends, limits = data["end"].values, data["predicted_end"].values
        along = data["predicted_limit"].sel(scale=list(self.flows)).values
        found = []
        for scale, off in zip(self.flows, np.abs(ends - limits).max(axis=1), strict=True):
            name = f"scale {scale:g}: distance of the flow from argmin Q"
            found.append(Check(name, float(off), 0.0, FLOWED))
        off = np.abs(ends - along).max()
        found.append(
            Check("distance of the flows from the path of limits", float(off), 0.0, FLOWED)
        )
        small, large = min(self.flows), max(self.flows)
        off = np.abs(ends[0] - data["predicted_at_zero"].values).max()
        # Coefficients that stay inactive are of order scale³.
        found.append(Check("smallest scale: distance from scale 0", float(off), 0.0, small**2))
        off = np.abs(ends[-1] - data["predicted_at_infinity"].values).max()
        # The map is odd: its first correction is of second order in β/scale³, relative.
        size = float(np.abs(ends[-1]).max())
        due = 10 * size * (size / large**DEPTH) ** 2 + FLOWED
        found.append(Check("largest scale: distance from infinite scale", float(off), 0.0, due))
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """Limits against the scale as lines, flows as dots, scales 0 and ∞ as diamonds."""
        figure = new_figure((9, 5))
        axes = figure.subplots()
        scales = data["scale"].values
        left, right = scales[0] / EDGE, scales[-1] * EDGE
        for i in range(FEATURES):
            colour = COLOURS[i]
            axes.plot(scales, data["predicted_limit"].values[:, i], color=colour, label=f"θ{i + 1}")
            axes.plot(data["flow"].values, data["end"].values[:, i], "o", color=colour, ms=5)
            axes.plot(left, data["predicted_at_zero"].values[i], "D", color=colour, ms=6)
            axes.plot(right, data["predicted_at_infinity"].values[i], "D", color=colour, ms=6)
        axes.plot([], [], "ko", ms=5, label="flow")
        axes.plot([], [], "kD", ms=6, label="scale 0 and ∞")
        axes.set_xscale("log")
        axes.axhline(0, color="black", linewidth=0.8)
        ticks = [left, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, right]
        names = ["0", *(f"$10^{{{e}}}$" for e in range(-4, 2)), "∞"]
        axes.set_xticks(ticks, names)
        axes.minorticks_off()
        axes.set(xlabel="scale of the initialisation", ylabel="coefficient of the limit")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        return figure
