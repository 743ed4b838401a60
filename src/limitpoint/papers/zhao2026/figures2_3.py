"""Figures 2 and 3: which neuron of a deep diagonal network emerges when, and how to change it."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from limitpoint.dynamics import GD, train
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import Diagonal
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.zhao2026.model import activations
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory import predict, saddles

__all__ = ["Figure2", "Figure3"]

SAMPLES, FEATURES = 3, 8
# Eight neurons: the seven colours of all figures and black.
NEURON_COLOURS = (*COLOURS, "#000000")
# The run goes on for this part of the path's time after its last activation.
BEYOND = 0.3
# A stage begins off the predicted time by one of order 1 that does not depend on the scale, as
# times themselves do.
OFF = 1.0
# Predicted epochs, dashed and red as in the paper.
DUE = "#D62728"
# The loss is drawn down to this.
LOSS_SHOWN = 1e-9
# Bars of waiting times begin at this part of the shortest.
BELOW_SHORTEST = 0.4
# A neuron has emerged at this part of the largest coefficient of the limit.
EMERGED = 0.05
# The records of a run, equally spaced.
RECORDS = 1500


@dataclass(frozen=True)
class _Emergence(Experiment):
    """What the two figures share."""

    paper: ClassVar[str] = "zhao2026"
    theorems: ClassVar[tuple[str, ...]] = ("zhao2026.corollary4.6",)

    scale: float = 1e-4
    learning_rate: float = 0.05
    seed: int = 10
    # The neuron, counted from 1, whose layers are amplified; 0 for none.
    amplified: int = 0
    factor: float = 5.0

    def quick(self) -> Self:
        """A tenth of the time, from ten times the scale; the leak of the steps is larger there."""
        return replace(self, scale=1e-3, learning_rate=0.02)

    def problem(self) -> Problem:
        """Gaussian data; three layers with a > b > c > 0 in every coordinate."""
        rng = np.random.default_rng(self.seed)
        X, y = rng.standard_normal((SAMPLES, FEATURES)), rng.standard_normal(SAMPLES)
        layers = -np.sort(-rng.uniform(0.5, 1.5, (3, FEATURES)), axis=0)
        if self.amplified:
            layers[:, self.amplified - 1] *= self.factor
        # The paper's loss ‖Xw − y‖² is twice ours.
        return Problem(Diagonal(depth=3), Init(layers, self.scale), Regression(X, y, 2.0))

    def run(self) -> xr.Dataset:
        """Train, and predict saddles, times and waiting times by Algorithm 1."""
        problem = self.problem()
        path = saddles(problem)
        times = path.path_times * path.time_unit
        steps = int((1 + BEYOND) * times[-1] / self.learning_rate)
        every = np.unique(np.linspace(0, steps, RECORDS).astype(np.int64))
        trained = train(problem, GD(self.learning_rate), steps, record=every)
        activated, _ = activations(trained, path)
        middles = (activated + np.append(activated[1:], trained.times[-1])) / 2
        waits = np.stack([path.waiting_times(p) for p in range(path.n_saddles)]) * path.time_unit
        return xr.Dataset(
            {
                "coef": (("epoch", "feature"), trained.coefs),
                "loss": ("epoch", trained.losses),
                "activation": ("stage", activated / self.learning_rate),
                "plateau": (
                    ("stage", "feature"),
                    trained.coefs[np.searchsorted(trained.times, middles)],
                ),
                "predicted_saddle": (("stage", "feature"), path.coefs[1:]),
                "predicted_activation": ("stage", times[1:] / self.learning_rate),
                "predicted_wait": (("stage", "feature"), waits / self.learning_rate),
                "predicted_winner": ("stage", [float(one[0] + 1) for one in path.entered]),
                "predicted_limit": ("feature", predict(problem).coef),
            },
            coords={
                "epoch": every.astype(np.int32),
                "stage": np.arange(1, path.n_saddles + 1, dtype=np.int32),
                "feature": np.arange(1, FEATURES + 1, dtype=np.int32),
            },
        )

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Order, times and values of the stages, and the limit."""
        order = _order_of_emergence(data)
        winners = data["predicted_winner"].values
        found = [Check("neurons that emerge", float(len(order)), float(len(winners)), 0.0)]
        for stage, winner in enumerate(winners):
            measured = float(order[stage]) if stage < len(order) else np.nan
            found.append(Check(f"neuron of stage {stage + 1}", measured, float(winner), 0.0))
        if self.amplified:
            name = "the amplified neuron emerges first"
            found.append(Check(name, float(order[0]), float(self.amplified), 0.0))
        expected = data["predicted_activation"].values
        # And by up to the time between two records, over which growth is not even in logarithms.
        off = OFF / self.learning_rate + float(data["epoch"][1] - data["epoch"][0])
        for stage, (time, due) in enumerate(zip(data["activation"].values, expected, strict=True)):
            name = f"epoch at which stage {stage + 1} begins, over the predicted one"
            allowed = off / float(due)
            found.append(Check(name, float(time / due), 1.0, allowed))
        lasted = np.diff(data["activation"].values, prepend=0.0)
        for stage, (wait, winner) in enumerate(zip(lasted, winners, strict=True)):
            due = float(data["predicted_wait"].values[stage, round(winner) - 1])
            name = f"epochs of stage {stage + 1}, over the predicted activation time of its winner"
            allowed = off / due
            found.append(Check(name, float(wait) / due, 1.0, allowed))
        off = np.abs(data["plateau"].values - data["predicted_saddle"].values).max(axis=1)
        for stage, distance in enumerate(off, start=1):
            # Inactive coefficients are of order scale³, times constants of the start that grow as
            # mirror coordinates come near their thresholds; here those are below 1/scale.
            name = f"distance of plateau {stage} from Algorithm 1"
            found.append(Check(name, float(distance), 0.0, self.scale**2))
        end = np.abs(data["coef"].values[-1] - data["predicted_limit"].values).max()
        # The leak of the invariants, of order learning rate times scale², moves inactive
        # coefficients by that part of themselves, scale³.
        found.append(
            Check("distance of the end from the limit", float(end), 0.0, 10 * self.scale**3)
        )
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """Loss, moduli of the coefficients, and the bars of activation times of every stage."""
        figure = new_figure((10, 8.5))
        rows: Any = figure.subfigures(2, 1, height_ratios=(3, 2))
        top, bottom = rows
        losses, values = top.subplots(1, 2)
        epochs = data["epoch"].values / 1000
        losses.semilogy(epochs, np.maximum(data["loss"].values, LOSS_SHOWN), color="black")
        losses.set(xlabel="epoch / 1000", ylabel="loss", title="(a) training loss")
        for i in range(FEATURES):
            values.plot(
                epochs,
                np.abs(data["coef"].values[:, i]),
                color=NEURON_COLOURS[i],
                label=f"neuron {i + 1}",
            )
        values.set(xlabel="epoch / 1000", ylabel="$|w_i| = |a_i b_i c_i|$", title="(b) neurons")
        _draw_saddles(values, data)
        for panel in (losses, values):
            for due in data["predicted_activation"].values:
                panel.axvline(due / 1000, color=DUE, linestyle="--", linewidth=1)
        values.plot([], [], color=DUE, linestyle="--", linewidth=1, label="predicted epoch")
        values.plot([], [], color="black", linestyle=":", label="predicted saddle")
        top.legend(loc="outside right center", frameon=False)
        _draw_bars(bottom, data)
        return figure


@register
@dataclass(frozen=True)
class Figure2(_Emergence):
    """The order that the data give."""

    figure: ClassVar[str] = "figure2"
    title: ClassVar[str] = "Depth 3: which neuron emerges when"
    setup: ClassVar[str] = (
        "Printed: w = a ⊙ b ⊙ c, 3 samples, 8 features, initial scale 1e-4 with a > b > c, "
        "gradient descent. Chosen: Gaussian data, layers sorted from [0.5, 1.5] times the scale, "
        "learning rate 0.05, and of the first dozen seeds one whose stages are far apart and in "
        "which Figure 3's neuron does not come first by itself."
    )


@register
@dataclass(frozen=True)
class Figure3(_Emergence):
    """One neuron starts five times larger."""

    figure: ClassVar[str] = "figure3"
    title: ClassVar[str] = "Depth 3: a neuron that starts five times larger emerges first"
    setup: ClassVar[str] = (
        "As Figure 2, on the same data, with the layers of one neuron amplified by 5. It is the "
        "fifth in the text and the first in the caption; here the fifth."
    )

    amplified: int = 5


def _order_of_emergence(data: xr.Dataset) -> Float:
    """The neurons that exceed a part of the largest coefficient, by when they first do."""
    moduli = np.abs(data["coef"].values)
    emerged = moduli > EMERGED * moduli[-1].max()
    first = np.where(emerged.any(axis=0), emerged.argmax(axis=0), len(moduli))
    order = np.argsort(first, kind="stable")
    return np.asarray(order[first[order] < len(moduli)] + 1, dtype=np.float64)


def _draw_saddles(axes: Axes, data: xr.Dataset) -> None:
    starts = data["predicted_activation"].values / 1000
    ends = np.append(starts[1:], data["epoch"].values[-1] / 1000)
    for saddles_of_one in np.abs(data["predicted_saddle"].values).T:
        for value, a, b in zip(saddles_of_one, starts, ends, strict=True):
            if value > 0:
                axes.plot([a, b], [value, value], color="black", linestyle=":", zorder=3)


def _draw_bars(figure: SubFigure, data: xr.Dataset) -> None:
    """Time that each neuron at rest needs from the start of a stage; the shortest one wins."""
    figure.suptitle("(c) predicted activation time at the start of each stage")
    panels = figure.subplots(1, data.sizes["stage"], squeeze=False)[0]
    activated = data["activation"].values
    lasted = np.diff(np.append(0.0, activated))
    for stage, axes in enumerate(panels):
        waits = data["predicted_wait"].values[stage]
        winner = int(data["predicted_winner"].values[stage]) - 1
        # What can never grow at this gradient, and what has grown, has no bar.
        shown = np.flatnonzero(np.isfinite(waits))
        axes.bar(
            shown + 1,
            waits[shown],
            color=[COLOURS[1] if i == winner else "0.75" for i in shown],
        )
        axes.plot(winner + 1, lasted[stage], "D", color="black", markersize=5)
        axes.set_yscale("log")
        axes.set_ylim(bottom=BELOW_SHORTEST * waits[winner])
        axes.set_xticks(np.arange(1, FEATURES + 1))
        axes.set_title(f"stage {stage + 1}", fontsize=10)
        axes.set_xlabel("neuron")
    panels[0].set_ylabel("epochs")
    handles: list[Artist] = [
        Patch(color=COLOURS[1], label="predicted winner"),
        Patch(color="0.75", label="the others"),
        Line2D([], [], marker="D", color="black", markersize=5, linestyle="", label="measured"),
    ]
    figure.legend(handles=handles, loc="outside right center", frameon=False)
