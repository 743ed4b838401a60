"""Figure 4: both layers start Gaussian."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from limitpoint.init import Init
from limitpoint.networks import TwoLayer
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.varre2023.linear import (
    HiddenBounds,
    bounds_off,
    draw_bounds,
    flow_on_grid,
    hidden_values,
    padded_values,
    vector_task,
)
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.problem import Problem
from limitpoint.theory.theorems.null_space_law import limit_given_outer

__all__ = ["Figure4"]

# What the flow may be off by, relative: a thousand times its tolerance of 1e-10.
FLOW = 1e-7
# The figure shows so many singular values.
SHOWN = 4


@register
@dataclass(frozen=True)
class Figure4(Experiment):
    """A second layer that does not start at zero changes little: the top k grow."""

    paper: ClassVar[str] = "varre2023"
    figure: ClassVar[str] = "figure4"
    title: ClassVar[str] = "Hidden singular values when both layers start Gaussian"
    setup: ClassVar[str] = (
        "Printed: the data of Figure 1a; W₁ Gaussian with variance 1e-3, W₂ with 1e-2 and 1e-3. "
        "Chosen: seeds, exact gradient flow. No theorem of the paper holds. Predicted: where β "
        "ends, given W₂ (the first layer keeps its part in the null space of X), and exact bounds "
        "on every hidden singular value, ours, that become Corollary 3.1 for an orthogonal start."
    )
    theorems: ClassVar[tuple[str, ...]] = ("limitpoint.null_space_law",)

    samples: int = 5
    features: int = 10
    outputs: int = 3
    width: int = 200
    variance: float = 1e-3
    outer_variances: tuple[float, ...] = (1e-2, 1e-3)
    records: int = 1001
    seed: int = 0

    def quick(self) -> Self:
        """Fewer records."""
        return replace(self, records=301)

    def run(self) -> xr.Dataset:
        """Flow from both starts, with bounds."""
        task = vector_task(self.samples, self.features, self.outputs, self.seed)
        network = TwoLayer(self.width)
        rng = np.random.default_rng(self.seed + 1)
        first = np.sqrt(self.variance) * rng.standard_normal((self.features, self.width))
        second = rng.standard_normal((self.width, self.outputs))
        data: dict[str, tuple[Any, ...]] = {}
        for i, variance in enumerate(self.outer_variances):
            init = Init.from_layers([first, np.sqrt(variance) * second])
            problem = Problem(network, init, task)
            run = flow_on_grid(problem, self.records)
            assert run.layers is not None
            low, high = HiddenBounds.of(*init.layers).around(run.coef, self.features)
            ends = [[layer[at] for layer in run.layers] for at in (0, -1)]
            kept = [one.T @ one - two @ two.T for one, two in ends]
            data |= {
                f"time_{i}": (f"moment_{i}", run.times),
                f"values_{i}": ((f"moment_{i}", "value"), hidden_values(run.layers[0])),
                f"coef_{i}": (("feature", "output"), run.coef),
                f"predicted_coef_{i}": (
                    ("feature", "output"),
                    limit_given_outer(problem, run.layers[1][-1]).coef,
                ),
                f"conserved_{i}": ("hidden", np.linalg.eigvalsh(kept[1])),
                f"predicted_conserved_{i}": ("hidden", np.linalg.eigvalsh(kept[0])),
                f"coef_values_{i}": ("value", padded_values(run.coef, self.features)),
                f"ends_{i}": ("end", HiddenBounds.of(*ends[1]).ends),
                f"predicted_low_{i}": ("value", low),
                f"predicted_high_{i}": ("value", high),
            }
        return xr.Dataset(data)

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Where β ends, what is conserved, the bounds, and that k values leave the others."""
        found = []
        for i, variance in enumerate(self.outer_variances):
            words = f"W₂ of variance {variance:g}"
            values = data[f"values_{i}"].values
            low, high = data[f"predicted_low_{i}"].values, data[f"predicted_high_{i}"].values
            outside = float(np.maximum(low - values[-1], values[-1] - high).max())
            coef = float(np.abs(data[f"coef_{i}"] - data[f"predicted_coef_{i}"]).max())
            size = float(np.abs(data[f"coef_{i}"]).max())
            kept = float(np.abs(data[f"conserved_{i}"] - data[f"predicted_conserved_{i}"]).max())
            # A value of W₁ above the bound for a zero of β can only belong to one that is not.
            grown = float((values[-1] > high[-1]).sum())
            found += [
                Check(f"{words}: β against X⁺Y + P_null W₁(0)W₂", coef, 0.0, FLOW * size),
                Check(f"{words}: drift of W₁ᵀW₁ − W₂W₂ᵀ", kept, 0.0, FLOW * values.max() ** 2),
                Check(f"{words}: farthest out of the bounds", max(outside, 0.0), 0.0, FLOW),
                # The bounds are made from the start; C is conserved: the end gives them too.
                Check(
                    f"{words}: the bounds in M² − 2gM = σ², g and σ of the end",
                    bounds_off(
                        low, high, data[f"ends_{i}"].values, data[f"coef_values_{i}"].values
                    ),
                    0.0,
                    FLOW,
                ),
                Check(f"{words}: values above what zeros of β allow", grown, self.outputs, 0.0),
                # At the start all are about √(l·variance), up to 1 ± √(d/l).
                Check(
                    f"{words}: largest change of the others, of their size",
                    float(np.abs(values[-1] / values[0] - 1)[self.outputs :].max()),
                    0.0,
                    float(2 * np.sqrt(self.features / self.width)),
                ),
            ]
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """One panel per start."""
        figure = new_figure((9.5, 4.0))
        panels = figure.subplots(1, len(self.outer_variances), sharey=True)
        for i, (axes, variance) in enumerate(zip(panels, self.outer_variances, strict=True)):
            time, values = data[f"time_{i}"].values, data[f"values_{i}"].values
            for j in range(values.shape[1]):
                colour, label = (COLOURS[j], f"$\\sigma_{j + 1}$") if j < SHOWN else ("0.75", None)
                axes.plot(time, values[:, j], color=colour, label=label, zorder=4 - (j >= SHOWN))
            axes.plot([], [], color="0.75", label="the others")
            bounds = [data[f"predicted_{what}_{i}"].values for what in ("low", "high")]
            draw_bounds(axes, bounds[0], bounds[1], self.outputs, at=60.0)
            axes.axhline(bounds[1][-1], color="black", linestyle="--", linewidth=1.0)
            axes.set_title(f"$W_1$: variance {self.variance:g}, $W_2$: {variance:g}")
            axes.set_xscale("log")
            axes.set_xlim(0.02, 130.0)
            axes.set_ylim(bottom=0)
            axes.set_xlabel("time")
        panels[0].plot([], [], "k--", linewidth=1.0, label="most where β has rank k")
        panels[0].plot([], [], color="black", marker="_", linewidth=1.0, label="exact bounds")
        panels[0].set_ylabel("singular values of $W_1$")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=7, frameon=False)
        return figure
