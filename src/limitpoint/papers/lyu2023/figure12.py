"""Figure 12: distances along training from unbalanced starts."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import xarray as xr
from matplotlib.figure import Figure

from limitpoint.papers.experiment import register
from limitpoint.papers.lyu2023.along import checks_along, draw_along, train_along
from limitpoint.papers.lyu2023.training import Training
from limitpoint.papers.measured import Check
from limitpoint.plot.style import new_figure

__all__ = ["Figure12"]


@register
@dataclass(frozen=True)
class Figure12(Training):
    """GD and SGD along training on a rank-one network, from starts off balance by Δ."""

    paper: ClassVar[str] = "lyu2023"
    figure: ClassVar[str] = "figure12"
    title: ClassVar[str] = "Without balance, SGD leaves GD in the same way along training"
    setup: ClassVar[str] = (
        "As printed: the rank-one network of Figure 5 from ‖θ(0)‖ = 0.8696, off balance by Δ. "
        "Chosen: Δ of 0, 0.5 and 2 with the same θ(0), and ten seeds. Beyond the paper: the "
        "exact flow from unbalanced starts, its limit, and the exact law for every run."
    )
    theorems: ClassVar[tuple[str, ...]] = ("limitpoint.rank_one", "limitpoint.null_space_law")

    norm: float = 0.8696
    imbalances: tuple[float, ...] = (0.0, 0.5, 2.0)

    def quick(self) -> Self:
        """Fewer values of Δ, seeds and iterations."""
        return replace(self, imbalances=(2.0,), seeds=4, steps=6000)

    def run(self) -> xr.Dataset:
        """Train, follow the flow, predict."""
        data = self.draw()
        found = [
            train_along(self, self.rank_one(data, imbalance), data, (self.norm,)).isel(
                norm=0, drop=True
            )
            for imbalance in self.imbalances
        ]
        return xr.concat(found, dim="imbalance").assign_coords(imbalance=list(self.imbalances))

    def checks(self, data: xr.Dataset) -> list[Check]:
        """SGD below GD at the end; GD on the flow as its step vanishes; the exact law."""
        return checks_along(_by_start(data))

    def plot(self, data: xr.Dataset) -> Figure:
        """One panel, with Δ in brackets."""
        figure = new_figure((7.6, 4.6))
        axes = figure.subplots()
        draw_along(axes, _by_start(data), [f"Δ = {value:g}" for value in data["imbalance"].values])
        axes.set_title("rank-one network, ‖θ(0)‖ = 0.8696", loc="left", fontsize=10)
        axes.legend(loc="center left", bbox_to_anchor=(1.03, 0.5), frameon=False, fontsize=8)
        return figure


def _by_start(data: xr.Dataset) -> xr.Dataset:
    """The starts in the place that the norms have in Figures 6 and 7."""
    return data.rename(imbalance="norm").transpose(
        "optimiser", "norm", "seed", "step", "feature", ...
    )
