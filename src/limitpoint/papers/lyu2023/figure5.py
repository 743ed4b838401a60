"""Figure 5: where GD and SGD end, against the scale of the initialisation."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from limitpoint.foundation.arrays import Float
from limitpoint.papers.experiment import register
from limitpoint.papers.lyu2023 import setting
from limitpoint.papers.lyu2023.training import Training
from limitpoint.papers.measured import Check
from limitpoint.plot.style import COLOURS, new_figure

__all__ = ["Figure5"]


COLUMNS = (
    *("distance", "distance_truth", "loss", "coef"),
    *("distance_half_step", "distance_truth_half_step", "coef_half_step"),
    *("predicted_limit", "predicted_distance", "predicted_distance_truth", "predicted_by_law"),
    *("least", "truth"),
)


@register
@dataclass(frozen=True)
class Figure5(Training):
    """GD and SGD on rank-one and standard networks; GD against argmin V, all against the law."""

    paper: ClassVar[str] = "lyu2023"
    figure: ClassVar[str] = "figure5"
    title: ClassVar[str] = "SGD ends nearer to the minimum-norm solution than GD, at every scale"
    setup: ClassVar[str] = (
        "As printed: 40 Gaussian samples of 100 features, 20 informative; a rank-one network of "
        "depth 3 and a standard one of depth 4, width 100; learning rate 1e-3, batches of 4, 20000 "
        "iterations; one random direction of θ(0). Chosen: the truth is standard normal, D is the "
        "Euclidean distance, eight scales ‖θ(0)‖, ten seeds of SGD, a balanced start. Beyond the "
        "paper: the exact law X⁺y + P_null A(0)·o(∞) for every run, and GD with half the step, by "
        "which the limit of small steps is extrapolated."
    )
    theorems: ClassVar[tuple[str, ...]] = (
        "lyu2023.theorem1",
        "lyu2023.theorem2",
        "limitpoint.null_space_law",
    )

    norms: tuple[float, ...] = (0.05, 0.2, 0.5, 0.8696, 1.5, 2.5, 3.5, 4.5)

    def quick(self) -> Self:
        """Fewer scales, seeds and iterations."""
        return replace(self, norms=(0.5, 0.8696, 2.5), seeds=3, steps=6000)

    def run(self) -> xr.Dataset:
        """Train both networks, and predict."""
        data = self.draw()
        problems = self.problems(data)
        found = [self.ends(one, data, self.norms, COLUMNS) for one in problems.values()]
        return xr.concat(found, dim="network").assign_coords(network=list(problems))

    def checks(self, data: xr.Dataset) -> list[Check]:
        """SGD below GD everywhere; GD at argmin V; every run where the law puts it."""
        found = []
        for name in data["network"].values:
            one = data.sel(network=name)
            ends, halves = one["coef"].values[0, :, 0], one["coef_half_step"].values
            off = setting.extrapolated(ends, halves) - one["predicted_limit"].values
            errors = setting.second_order_of(ends, halves)
            found += [
                Check(
                    f"{name}: scales at which SGD does not end nearer to minimum norm than GD",
                    setting.nearer(one["distance"].values),
                    0,
                    0,
                ),
                Check(
                    f"{name}: GD as its step vanishes, off argmin V, in second-order errors",
                    float((np.linalg.norm(off, axis=-1) / errors).max()),
                    0,
                    1,
                ),
                *(
                    Check(
                        f"{name}: the same for its distance from {point}",
                        float((np.abs(_extrapolated(one, kind)) / errors).max()),
                        0,
                        1,
                    )
                    for kind, point in (("distance", "θ_ℓ2"), ("distance_truth", "θ*"))
                ),
                Check(
                    f"{name}: runs off the exact law, relative, largest over all",
                    float(
                        setting.relative(one["coef"].values, one["predicted_by_law"].values).max()
                    ),
                    0,
                    setting.LAW,
                ),
            ]
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """Four panels, as printed: distances to θ_ℓ2 and to θ*, of both networks."""
        figure = new_figure((10.5, 7.6))
        panels = figure.subplots(2, 2, sharex=True)
        letters = iter("abcd")
        for row, name in zip(panels, data["network"].values, strict=True):
            one = data.sel(network=name)
            for axes, kind, label in zip(
                row,
                ("distance", "distance_truth"),
                (r"\theta_{\ell_2}^*", r"\theta^*"),
                strict=True,
            ):
                _draw(axes, one, kind)
                axes.set_title(f"({next(letters)}) {name} network", loc="left", fontsize=10)
                axes.set_ylabel(rf"$D(\theta(\infty), {label})$")
        for axes in panels[1]:
            axes.set_xlabel(r"$\|\theta(0)\|$")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        return figure


def _extrapolated(one: xr.Dataset, kind: str) -> Float:
    """A distance of GD as its step vanishes, less the predicted one."""
    whole, half = one[kind].values[0, :, 0], one[f"{kind}_half_step"].values
    return np.asarray(setting.extrapolated(whole, half) - one[f"predicted_{kind}"].values)


def _draw(axes: Any, one: xr.Dataset, kind: str) -> None:
    """Runs as points, the limit of the flow as a line, the law as crosses."""
    norms = one["norm"].values
    axes.plot(norms, one[f"predicted_{kind}"].values, "-", color="black", label="argmin V", lw=1.2)
    point = one["least"].values if kind == "distance" else one["truth"].values
    law = np.linalg.norm(one["predicted_by_law"].values - point, axis=-1)
    for i, (name, marker) in enumerate(zip(setting.GD_AND_SGD, "os", strict=True)):
        values = one[kind].values[i]
        spread = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
        axes.errorbar(
            norms,
            values.mean(axis=1),
            yerr=spread,
            fmt=marker,
            color=COLOURS[i],
            markerfacecolor="white",
            markersize=8,
            capsize=3,
            label=name,
        )
        label = "exact law" if i else None
        axes.plot(norms, law[i].mean(axis=1), "k+", markersize=6, label=label, zorder=5)
