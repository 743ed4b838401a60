"""Weight decay forgets the start: training of two layers ends at a lasso."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import limitpoint as lp
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.plot.style import COLOURS, new_figure

__all__ = ["WeightDecay"]

# A coefficient that is zero at the limit shrinks as e^(−(λ − |g|)t): the slowest, at this part of λ
# from its threshold, has been left to shrink for long enough that this of the largest remains.
LEFT = 1e-6


@register
@dataclass(frozen=True)
class WeightDecay(Experiment):
    """The coefficients that training with weight decay ends with, along the decay."""

    paper: ClassVar[str] = "even2023"
    figure: ClassVar[str] = "weight_decay"
    title: ClassVar[str] = "With weight decay two layers end at a lasso, from every start"
    setup: ClassVar[str] = (
        "Beyond the paper, on data like its own: 20 samples of 40 centred Gaussian features, 3 of "
        "them informative, a diagonal network of two layers by GD with weight decay λ, half the "
        "sum of squares, from a small start, from a large one and from one on the wrong side. "
        "Beside it the lasso, argmin loss(β) + λ‖β‖₁."
    )
    theorems: ClassVar[tuple[str, ...]] = ("limitpoint.weight_decay",)

    samples: int = 20
    features: int = 40
    informative: int = 3
    decays: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
    learning_rate: float = 4e-3
    steps: int = 75_000
    data_seed: int = 1

    def quick(self) -> Self:
        """Fewer decays."""
        return replace(self, decays=(1.0, 8.0))

    def problems(self) -> dict[str, lp.Problem]:
        """The same data from three starts."""
        rng = np.random.default_rng(self.data_seed)
        X = rng.standard_normal((self.samples, self.features))
        truth = np.zeros(self.features)
        truth[: self.informative] = [1.0, -1.5, 0.75]
        task, network = lp.Regression(X, X @ truth), lp.Diagonal(depth=2)
        drawn = rng.standard_normal((2, self.features))
        wrong = [np.ones(self.features), -0.5 * np.sign(truth + 1e-3)]
        starts = {
            "small": lp.Init(drawn, 1e-2),
            "large": lp.Init(drawn, 0.5),
            "wrong side": lp.Init(wrong, 0.3),
        }
        return {name: lp.Problem(network, init, task) for name, init in starts.items()}

    def run(self) -> xr.Dataset:
        """Train from every start with every decay, and solve the lasso."""
        problems = self.problems()
        ends = [
            [
                lp.train(
                    problem, lp.GD(self.learning_rate, weight_decay=decay), self.steps, record=1
                ).coef
                for decay in self.decays
            ]
            for problem in problems.values()
        ]
        one = problems["small"]
        limits = [lp.analysis.penalised_limit(one, decay) for decay in self.decays]
        return xr.Dataset(
            {
                "coef": (("start", "decay", "feature"), np.array(ends)),
                "predicted_coef": (("decay", "feature"), np.stack([one.coef for one in limits])),
                "certified": ("decay", [int(one.status.ok) for one in limits]),
            },
            coords={"start": list(problems), "decay": list(self.decays)},
        )

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Every run ends at the lasso, whatever it started from."""
        size = float(np.abs(data["coef"].values).max())
        off = np.abs(data["coef"].values - data["predicted_coef"].values).max(axis=(1, 2)) / size
        return [
            Check("lassos that are not certified", int((1 - data["certified"]).sum()), 0, 0),
            *(
                Check(f"off the lasso, from the {name} start", float(one), 0.0, LEFT)
                for name, one in zip(data["start"].values, off, strict=True)
            ),
        ]

    def plot(self, data: xr.Dataset) -> Figure:
        """Coefficients along the decay: lines for the lasso, marks for the runs."""
        figure = new_figure((6.4, 4.2))
        axes = figure.subplots()
        decays = data["decay"].values
        shown = np.flatnonzero(data["predicted_coef"].values.any(axis=0))
        for k, i in enumerate(shown):
            colour = COLOURS[k % len(COLOURS)] if i < self.informative else "0.75"
            axes.plot(decays, data["predicted_coef"].values[:, i], color=colour, linewidth=1.3)
            for mark, run in zip("os^", data["coef"].values[:, :, i], strict=True):
                axes.plot(decays, run, mark, color=colour, markersize=4, fillstyle="none")
        for mark, name in zip("os^", data["start"].values, strict=True):
            label = f"GD from the {name} start"
            axes.plot([], [], mark, color="black", fillstyle="none", markersize=4, label=label)
        axes.plot([], [], color="black", linewidth=1.3, label="lasso")
        axes.axhline(0, color="0.85", linewidth=0.7, zorder=1)
        axes.set(xscale="log", xlabel="weight decay λ", ylabel="coefficients", title=self.title)
        axes.legend(frameon=False, fontsize="small")
        return figure
