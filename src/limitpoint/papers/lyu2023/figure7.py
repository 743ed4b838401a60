"""Figure 7: distances along training from an extremely large start."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import xarray as xr
from matplotlib.figure import Figure

from limitpoint.papers.experiment import register
from limitpoint.papers.lyu2023.along import checks_along, draw_along, train_along
from limitpoint.papers.lyu2023.training import Training
from limitpoint.papers.measured import Check
from limitpoint.plot.style import new_figure

__all__ = ["Figure7"]


@register
@dataclass(frozen=True)
class Figure7(Training):
    """GD and SGD on a rank-one network from starts several times as large as the solution."""

    paper: ClassVar[str] = "lyu2023"
    figure: ClassVar[str] = "figure7"
    title: ClassVar[str] = "SGD ends nearer to minimum norm also from extremely large starts"
    setup: ClassVar[str] = (
        "As printed: the data of Figure 5; a rank-one network of depth 3 and width 100; learning "
        "rate 1e-3, batches of 4, 20000 iterations. Chosen: ‖θ(0)‖ of 5, 7 and 9, about the "
        "largest at which SGD with this learning rate is stable, and ten seeds. Beyond the paper: "
        "the exact flow, and the exact law for every run."
    )
    theorems: ClassVar[tuple[str, ...]] = ("lyu2023.theorem1", "limitpoint.null_space_law")

    norms: tuple[float, ...] = (5.0, 7.0, 9.0)

    def quick(self) -> Self:
        """Fewer seeds and iterations."""
        return replace(self, norms=(5.0, 7.0), seeds=4, steps=5000)

    def run(self) -> xr.Dataset:
        """Train, follow the flow, predict."""
        data = self.draw()
        return train_along(self, self.rank_one(data), data, self.norms)

    def checks(self, data: xr.Dataset) -> list[Check]:
        """SGD below GD at the end; GD on the flow as its step vanishes; the exact law."""
        return checks_along(data)

    def plot(self, data: xr.Dataset) -> Figure:
        """One panel, as printed."""
        figure = new_figure((7.6, 4.6))
        axes = figure.subplots()
        draw_along(axes, data, [f"{norm:.4g}" for norm in data["norm"].values])
        axes.set_title("rank-one network; in brackets ‖θ(0)‖", loc="left", fontsize=10)
        axes.legend(loc="center left", bbox_to_anchor=(1.03, 0.5), frameon=False, fontsize=8)
        return figure
