"""Figure 1: from saddle to saddle, by gradient descent and by the exact flow."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from limitpoint.dynamics import GD, Trajectory, flow, train
from limitpoint.foundation.arrays import Float
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.zhao2026.model import activations, figure1_problem
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.problem import Problem
from limitpoint.theory import SaddlePath, predict, saddles

__all__ = ["Figure1"]

# The dashed lines stand late on a plateau, after this part of the time between two activations:
# what leaves has decayed and what activates next is not yet seen.
LATE = 0.85
# To be timed, flows are recorded so often, until so many times their last saddle.
FINELY, AFTER = 2000, 1.2
# Between records coefficients are taken to grow evenly in logarithms: the time between two, of that
# to the first saddle, which is a seventh of all.
OFF = 7 / FINELY
# The flow follows its mirror coordinates to 1e-10 per step, over some hundred steps.
FLOW_TOLERANCE = 1e-8


@register
@dataclass(frozen=True)
class Figure1(Experiment):
    """Gradient descent with learning rate 0.1 from 1e-60, and the exact flow beside it."""

    paper: ClassVar[str] = "zhao2026"
    figure: ClassVar[str] = "figure1"
    title: ClassVar[str] = "From saddle to saddle: gradient descent beside the exact flow"
    setup: ClassVar[str] = (
        "Printed: the data (7); k₁, k₂ = 2ab + (a²+b²+c²)c, k₃, k₄ = a·tanh a − (eᵇ−1)²; "
        "parameters uniform in [−1e-60, 1e-60]; gradient descent with learning rate 0.1. Chosen: "
        "the seed; the gradient without its factor 2, which the printed epochs need; rotated "
        "coordinates of k₁ and k₂, in which float64 does what the paper needs 200 digits for. "
        "Beyond the paper: the exact flow from the same start."
    )
    theorems: ClassVar[tuple[str, ...]] = ("zhao2026.corollary4.6", "limitpoint.separable")

    log10_scale: float = -60.0
    learning_rate: float = 0.1
    epochs: int = 6000
    record_every: int = 20
    seed: int = 0
    # Where the text says that k₁ changes sign under gradient descent.
    sign_change_after: int = 3000
    sign_change_before: int = 4000

    def quick(self) -> "Figure1":
        """A fifth of the records: the run itself takes little of the time."""
        return replace(self, record_every=100)

    def run(self) -> xr.Dataset:
        """Train, flow to the same times, and predict saddles and limit."""
        problem = figure1_problem(self.log10_scale * np.log(10), self.seed)
        path = saddles(problem)
        every = np.arange(0, self.epochs + 1, self.record_every)
        trained = train(problem, GD(self.learning_rate), self.epochs, record=every)
        finely = _finely(problem, path, trained.times)
        shown = np.searchsorted(finely.times, trained.times)
        exact = finely.select(shown)
        runs = (trained, exact)
        along = ("run", "epoch", "feature")
        return xr.Dataset(
            {
                "coef": (along, np.stack([run.coefs for run in runs])),
                "sign": (along, np.stack([run.signs for run in runs])),
                "log10_abs_coef": (
                    along,
                    np.stack([run.log_abs_coefs / np.log(10) for run in runs]),
                ),
                "loss": (along[:2], np.stack([run.losses for run in runs])),
                "activation": (("run", "saddle"), np.stack([_times(r, path) for r in runs])),
                "line": (("run", "saddle"), np.stack([_lines(r, path) for r in runs])),
                "activation_finely": (
                    ("power", "saddle"),
                    np.stack([_times(finely, path), self._far_below()]),
                ),
                "predicted_saddle": (("saddle", "feature"), path.coefs[1:]),
                "predicted_activation": ("saddle", path.path_times[1:] * path.time_unit),
                "predicted_limit": ("feature", predict(problem).coef),
            },
            coords={
                "run": ["gradient descent", "exact flow"],
                "epoch": every.astype(np.int32),
                "saddle": np.arange(1, path.n_saddles + 1, dtype=np.int32),
                "feature": np.arange(1, 5, dtype=np.int32),
            },
        )

    def _far_below(self) -> Float:
        """When the flow activates its coefficients from the square of the scale."""
        problem = figure1_problem(2 * self.log10_scale * np.log(10), self.seed)
        path = saddles(problem)
        return _times(_finely(problem, path, np.zeros(1)), path)

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Plateaus, the limit, and which of the two runs changes the sign of k₁."""
        found = []
        for run in data["run"].values:
            values = _at_lines(data, run)
            off = np.abs(values - data["predicted_saddle"].values).max(axis=1)
            for saddle, distance in enumerate(off, start=1):
                # As printed to three digits, which is also what the step size and the part of the
                # plateau that is still to come allow.
                name = f"{run}: distance of plateau {saddle} from Algorithm 1"
                found.append(Check(name, float(distance), expected=0.0, tolerance=1e-3))
        end = data["coef"].sel(run="exact flow").values[-1]
        off = np.abs(end - data["predicted_limit"].values).max()
        name = "exact flow: distance of its end from the limit"
        found.append(Check(name, float(off), 0.0, FLOW_TOLERANCE))
        # Times are log(1/scale) times Algorithm 1's, and one of order 1 beside, which is the same
        # at the square of the scale.
        later = np.diff(data["activation_finely"].values, axis=0)[0]
        for saddle, (time, due) in enumerate(
            zip(later, data["predicted_activation"].values, strict=True), start=1
        ):
            name = (
                f"exact flow: time to saddle {saddle} from the square of the scale, less this one"
            )
            found.append(Check(name, float(time / due), 1.0, OFF))
        changes = [_sign_changes(data, run) for run in data["run"].values]
        found += [
            Check("gradient descent: sign changes of k₁ once it has grown", len(changes[0]), 1, 0),
            Check("exact flow: sign changes of k₁ once it has grown", len(changes[1]), 0, 0),
            Check(
                "gradient descent: epoch of that sign change",
                float(changes[0][0]) if len(changes[0]) else np.nan,
                expected=(self.sign_change_after + self.sign_change_before) / 2,
                tolerance=(self.sign_change_before - self.sign_change_after) / 2,
            ),
        ]
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """Loss, coefficients and their logarithms; gradient descent left, the flow right."""
        figure = new_figure((11, 9))
        axes = figure.subplots(3, 2, sharex=True, sharey="row", height_ratios=(2, 3, 3))
        for column, run in zip(axes.T, data["run"].values, strict=True):
            self._draw(column, data, str(run))
        for row, label in zip(axes, ("loss", "$k_i$", "log₁₀ $|k_i|$"), strict=True):
            row[0].set_ylabel(label)
        handles, labels = axes[1, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
        return figure

    def _draw(self, column: Sequence[Axes], data: xr.Dataset, run: str) -> None:
        losses, values, logs = column
        one = data.sel(run=run)
        epochs = data["epoch"].values
        losses.semilogy(epochs, np.maximum(one["loss"].values, 1e-12), color="black")
        losses.set_title(run)
        for i in range(data.sizes["feature"]):
            values.plot(epochs, one["coef"].values[:, i], color=COLOURS[i], label=f"$k_{i + 1}$")
            logs.plot(epochs, one["log10_abs_coef"].values[:, i], color=COLOURS[i])
        _draw_saddles(values, data, self.learning_rate)
        for line in one["line"].values:
            for panel in column:
                panel.axvline(epochs[int(line)], color="0.4", linestyle="--", linewidth=1)
            _box(values, float(epochs[int(line)]), one["coef"].values[int(line)])
        values.set_ylim(-0.5, 2.9)
        for epoch in _sign_changes(data, run):
            place = (epoch, float(one["log10_abs_coef"].sel(epoch=epoch, feature=1)))
            logs.annotate(
                "$k_1$ turns\nnegative",
                place,
                (place[0] + 700, -38.0),
                color=COLOURS[0],
                arrowprops={"arrowstyle": "->", "color": COLOURS[0]},
            )
        logs.set_xlabel("epoch (time over learning rate)")


def _finely(problem: Problem, path: SaddlePath, times: Float) -> Trajectory:
    """The flow at these times, and at many until after its last saddle."""
    end = AFTER * path.path_times[-1] * path.time_unit
    return flow(problem, times=np.union1d(times, np.linspace(0.0, end, FINELY)))


def _times(run: Trajectory, path: SaddlePath) -> Float:
    return activations(run, path)[0]


def _lines(run: Trajectory, path: SaddlePath) -> Float:
    """The records at the dashed lines: late on each plateau, and near the end for the last."""
    times = activations(run, path)[0]
    ends = np.append(times[1:], run.times[-1])
    late = times + LATE * (ends - times)
    # As float: NetCDF 3 has no index type, and these are small whole numbers.
    return (np.searchsorted(run.times, late) - 1).astype(np.float64)


def _at_lines(data: xr.Dataset, run: str) -> Float:
    one = data.sel(run=run)
    lines = one["line"].values.astype(int)
    return np.asarray(one["coef"].values[lines])


def _sign_changes(data: xr.Dataset, run: str) -> Float:
    """Epochs at which k₁ has another sign than one record before, from its plateau on."""
    one = data.sel(run=run, feature=1)
    first = int(one["line"].values[0])
    signs = one["sign"].values[first:]
    return np.asarray(data["epoch"].values[first + 1 :][np.diff(signs) != 0], dtype=np.float64)


def _draw_saddles(axes: Axes, data: xr.Dataset, learning_rate: float) -> None:
    """The saddles of Algorithm 1 as steps."""
    epochs = data["epoch"].values
    edges = data["predicted_activation"].values / learning_rate
    starts, ends = edges, np.append(edges[1:], epochs[-1])
    for i in range(data.sizes["feature"]):
        for value, a, b in zip(data["predicted_saddle"].values[:, i], starts, ends, strict=True):
            axes.plot([a, b], [value, value], color=COLOURS[i], linestyle=":", linewidth=2)
    axes.plot([], [], color="black", linestyle=":", linewidth=2, label="Algorithm 1")


def _box(axes: Axes, epoch: float, values: Float) -> None:
    """The coefficients at a dashed line, in a box as in the paper."""
    lines = [f"$k_{i} = $ {_short(value)}" for i, value in enumerate(values, start=1)]
    box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.6"}
    axes.annotate(
        "\n".join(lines),
        (epoch, 2.8),
        fontsize=7.5,
        ha="center",
        va="top",
        bbox=box,
    )


def _short(value: float) -> str:
    return f"{value:.3f}" if abs(value) >= 1e-3 else f"{value:.1e}"
