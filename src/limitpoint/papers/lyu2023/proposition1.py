"""Proposition 1: a rank-one network is a dense one with a special start; a diagonal one is not."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import limitpoint as lp
from limitpoint.foundation.arrays import Float
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.lyu2023 import setting
from limitpoint.papers.lyu2023.along import steps_shown
from limitpoint.papers.measured import Check
from limitpoint.plot.style import COLOURS, new_figure

__all__ = ["Proposition1"]

# Both networks take the same steps, summed up in another order; steps that fit the data forget
# rounding, so that a thousand roundings are left at most.
ROUNDING = 1e-12


@register
@dataclass(frozen=True)
class Proposition1(Experiment):
    """Dense networks of depth 5 from two patterns of zeros: the one is kept, the other is not."""

    paper: ClassVar[str] = "lyu2023"
    figure: ClassVar[str] = "proposition1"
    title: ClassVar[str] = "Training keeps a one-neuron pattern of a dense network, not a diagonal"
    setup: ClassVar[str] = (
        "Our own worked example of Proposition 1: 6 Gaussian samples of 12 features, a dense "
        "network of depth 5 with every other hidden layer one neuron wide at the start, beside the "
        "rank-one network of depth 3 of the same vectors; GD and SGD with batches of 2, learning "
        "rate 1e-2. And the same dense network from diagonal layers."
    )
    theorems: ClassVar[tuple[str, ...]] = ("lyu2023.proposition1",)

    samples: int = 6
    features: int = 12
    informative: int = 3
    learning_rate: float = 1e-2
    batch_size: int = 2
    steps: int = 20_000
    scale: float = 0.5
    data_seed: int = 0
    start_seed: int = 1

    def quick(self) -> Self:
        """Fewer iterations."""
        return replace(self, steps=4000)

    def run(self) -> xr.Dataset:
        """Train the dense network, the rank-one network, and the dense one from a diagonal."""
        data = setting.Data.draw(self.samples, self.features, self.informative, self.data_seed)
        dense = lp.FullyConnected(widths=(self.features,) * 4)
        narrow = lp.Init.one_neuron(dense, data.task, scale=1.0, seed=self.start_seed)
        # Of layers of norm 1 the coefficients start at scale⁵.
        start = lp.Init([_unit(layer) for layer in narrow.direction], self.scale)
        rank_one = lp.RankOne(depth=3, width=self.features)
        first, second, third, fourth, last = start.direction
        same = lp.Init([first[:, 0], second[0], third[:, 0], fourth[0], last], self.scale)
        ones = np.eye(self.features) / np.sqrt(self.features)
        diagonal = lp.Init([ones, ones, ones, ones, last], 1.0)
        shown = steps_shown(self.steps, 40)
        rules = {
            "GD": lp.GD(self.learning_rate),
            "SGD": lp.SGD(self.learning_rate, self.batch_size),
        }
        found = []
        for rule in rules.values():
            runs = [
                lp.train(lp.Problem(network, init, data.task), rule, self.steps, record=shown)
                for network, init in ((dense, start), (rank_one, same), (dense, diagonal))
            ]
            found.append(self._record(*runs))
        return xr.concat(found, dim="optimiser").assign_coords(optimiser=list(rules))

    def _record(
        self,
        dense: lp.results.Trajectory,
        twin: lp.results.Trajectory,
        other: lp.results.Trajectory,
    ) -> xr.Dataset:
        assert dense.layers is not None
        assert other.layers is not None
        assert dense.steps is not None
        return xr.Dataset(
            {
                "coef": (("step", "feature"), dense.coefs),
                "predicted_coef": (("step", "feature"), twin.coefs),
                "weights": (("layer", "row", "column"), _stacked(dense.layers)),
                "diagonal_weights": (("layer", "row", "column"), _stacked(other.layers)),
                "loss": ("step", dense.losses),
            },
            coords={"step": dense.steps.astype(np.int32)},
        )

    def checks(self, data: xr.Dataset) -> list[Check]:
        """The same coefficients at every step, zeros that stay zero, and zeros that do not."""
        coefs, twin = data["coef"].values, data["predicted_coef"].values
        size = np.linalg.norm(twin, axis=-1).max()
        weights = data["weights"].values
        outside = weights.copy()
        outside[:, ::2, :, 0] = 0.0
        outside[:, 1::2, 0, :] = 0.0
        beside = ~np.eye(self.features, dtype=bool)
        moved = data["diagonal_weights"].values[..., beside]
        loss = data["loss"].values
        return [
            Check(
                "coefficients off those of the rank-one network, relative, largest along training",
                float(np.linalg.norm(coefs - twin, axis=-1).max() / size),
                0,
                ROUNDING,
            ),
            Check(
                "weights outside the pattern that are not zero at the end",
                int(np.count_nonzero(outside)),
                0,
                0,
            ),
            Check(
                "weights off the diagonal that are still zero at the end, from a diagonal start",
                int(np.sum(moved == 0)),
                0,
                0,
            ),
            Check(
                "loss at the end, relative to the start (trained at all)",
                float((loss[:, -1] / loss[:, 0]).max()),
                0,
                1e-3,
            ),
        ]

    def plot(self, data: xr.Dataset) -> Figure:
        """Weights at the end from both starts, and the coefficients along training."""
        figure = new_figure((12.5, 5.2))
        grid = figure.add_gridspec(2, 5, width_ratios=(1, 1, 1, 1, 2.2))
        gd = data.sel(optimiser="GD")
        rows = ("weights", "one neuron in every other layer"), ("diagonal_weights", "diagonal")
        for i, (name, words) in enumerate(rows):
            for k in range(4):
                axes = figure.add_subplot(grid[i, k])
                image = np.abs(gd[name].values[k])
                axes.imshow(np.where(image > 0, image, np.nan), cmap="cividis", vmin=0)
                axes.set_facecolor("0.9")
                axes.set(xticks=[], yticks=[])
                axes.set_xlabel(f"$W_{k + 1}$")
                if k == 0:
                    axes.set_title(f"GD, start: {words} (grey: 0)", loc="left", fontsize=9)
        axes = figure.add_subplot(grid[:, 4])
        for i, name in enumerate(data["optimiser"].values):
            one = data.sel(optimiser=name)
            steps, style = one["step"].values, ("-", "--")[i]
            for j in range(4):
                axes.plot(steps, one["coef"].values[:, j], style, color=COLOURS[j], lw=1.2)
                axes.plot(steps[::4], one["predicted_coef"].values[::4, j], "k.", ms=3)
            axes.plot([], [], style, color="0.3", label=f"dense, {name}")
        axes.plot([], [], "k.", label="rank-one network")
        axes.set_xscale("symlog", linthresh=1)
        axes.set_xlim(0, int(data["step"][-1]))
        axes.set_xlabel("iteration")
        axes.set_ylabel("four of the coefficients")
        axes.legend(loc="upper left", frameon=False, fontsize=8)
        return figure


def _unit(layer: Float) -> Float:
    return np.asarray(layer / np.linalg.norm(layer))


def _stacked(layers: tuple[Float, ...]) -> Float:
    """The square matrices at the end."""
    return np.stack([layer[-1] for layer in layers[:4]])
