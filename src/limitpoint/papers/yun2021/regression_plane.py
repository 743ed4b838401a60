"""Figure 1 and the first panel of Figure 3: regression on one point, from several scales."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from limitpoint.examples import yun_point
from limitpoint.foundation.arrays import Float
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.yun2021.plane import (
    CIRCLE,
    COLOUR_OF,
    DIRECTIONS,
    NAMES,
    NETWORKS,
    directions,
    draw_runs,
    legend_handles,
    problem_of,
    schedule,
    train_together,
)
from limitpoint.papers.yun2021.printed_theorem6 import data_matrix, printed_limit
from limitpoint.plot.style import new_figure
from limitpoint.problem import Problem
from limitpoint.theory import predict

__all__ = ["Figure1", "Figure3Regression"]

# λ, the smallest p_j² − q_j² of the starts. The two singular values of a dense network are equal,
# so that any rotation of their vectors will do: the best shares the sum of 1 among both.
LEAD = {"dense": 0.5, "diagonal": 1.0, "convolutional": 1.0}
# Smaller losses, relative to the first, are rounding.
RESOLVED = 1e-20
# A number that is computed in two ways.
IDENTITY = 1e-12
MINIMA = "#F0C000"
ROOM = 0.12

SETUP = (
    "Printed: two-layer dense, diagonal and convolutional networks on the one point x = (1, 2), "
    "y = 1, from layers times α with the same coefficients α²z for four random directions z; GD "
    "with step 1e-3 for 5000 steps; {scales}. Chosen: z of norm 1, one in each quarter, seed 0; "
    "layers that have p² − q² = 1 along every singular vector. The predicted limits are those of "
    "`predict`, and of Theorem 6 as printed."
)


@dataclass(frozen=True)
class _RegressionPlane(Experiment):
    paper: ClassVar[str] = "yun2021"
    theorems: ClassVar[tuple[str, ...]] = ("yun2021.theorem6",)

    scales: tuple[float, ...] = ()
    learning_rate: float = 1e-3
    steps: int = 5000
    starts: int = DIRECTIONS
    seed: int = 0
    records: int = 150

    def quick(self) -> Self:
        """Fewer records: the run itself takes no time."""
        return replace(self, records=60)

    def run(self) -> xr.Dataset:
        """Train all networks from all starts, and predict where they end."""
        task, steps = yun_point(), schedule(self.steps, self.records)
        axes = ("network", "scale", "start", "record", "feature")
        shape = (len(NAMES), len(self.scales), self.starts)
        coefs = np.empty((*shape, len(steps), 2))
        limits, printed = np.empty((*shape, 2)), np.empty((*shape, 2))
        rates, least = np.empty(shape[:2]), np.empty(shape)
        for n, name in enumerate(NAMES):
            problems = {
                (a, z): problem_of(name, direction, scale, task)
                for a, scale in enumerate(self.scales)
                for z, direction in enumerate(directions(self.starts, self.seed))
            }
            layers = train_together(list(problems.values()), self.learning_rate, steps)
            for i, ((a, z), problem) in enumerate(problems.items()):
                coefs[n, a, z] = problem.network.coef([layer[i] for layer in layers])
                limits[n, a, z] = predict(problem).coef
                printed[n, a, z] = _printed_coef(problem)
                least[n, a, z] = _least_rate(problem)
            square = float((data_matrix(NETWORKS[name], task.X[0]) ** 2).sum())
            rates[n] = 2 * np.array(self.scales) ** 2 * LEAD[name] * square
        losses = 0.5 * (coefs @ task.X[0] - task.y[0]) ** 2
        return xr.Dataset(
            {
                "coef": (axes, coefs),
                "loss": (axes[:-1], losses),
                "predicted_limit": ((*axes[:3], "feature"), limits),
                "predicted_theorem6": ((*axes[:3], "feature"), printed),
                "least_rate": (axes[:3], least),
                "predicted_rate": (axes[:2], rates),
            },
            coords={
                "network": list(NAMES),
                "scale": np.array(self.scales),
                "time": ("record", steps * self.learning_rate),
            },
        )

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Limits, the same starts, and the bound on the loss in the proof, (73)."""
        coefs, limits = data["coef"].values, data["predicted_limit"].values
        off = np.linalg.norm(coefs[..., -1, :] - limits, axis=-1).max(axis=-1)
        found = [
            # GD is off by a multiple of its step, 1e-3, and the data are fitted to better.
            Check(f"{name}, α = {scale:g}: GD to the limit", float(off[n, a]), 0.0, 1e-3)
            for a, scale in enumerate(self.scales)
            for n, name in enumerate(NAMES)
        ]
        apart = np.abs(limits - data["predicted_theorem6"].values).max()
        # Both solve one scalar equation to rounding; hyperbolic functions of 1/α² lose some digits.
        found.append(Check("predict to Theorem 6 as printed", float(apart), 0.0, 1e-9))
        begun = coefs[..., 0, :]
        found.append(
            Check("starts of the networks apart", float(np.ptp(begun, axis=0).max()), 0.0, 1e-14)
        )
        # The rate of the loss is twice the sum of the two, and this of their difference is kept.
        off = data["least_rate"].values / data["predicted_rate"].values[..., None] - 1
        name = "2(‖∂f/∂w₂‖² − ‖∂f/∂w₁‖²) off the rate of (73), relative"
        found.append(Check(name, float(np.abs(off).max()), 0.0, IDENTITY))
        # Every step of GD is off by a part (step × rate)², rates being up to 50 here: over the
        # time 1/rate in which the loss falls that adds up to less than step × rate.
        times = data["time"].values
        bound = np.exp(-data["predicted_rate"].values[..., None, None] * times)
        losses = data["loss"].values
        share = losses / losses[..., :1]
        over = (share / bound)[share > RESOLVED].max() - 1.0
        found.append(Check("loss above bound (73)", max(0.0, float(over)), 0.0, 0.05))
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """The plane, one panel for each scale."""
        figure = new_figure((5.6 * len(self.scales), 6.2))
        panels = figure.subplots(1, len(self.scales), squeeze=False)[0]
        for a, (axes, scale) in enumerate(zip(panels, self.scales, strict=True)):
            runs, limits = data["coef"].values[:, a], data["predicted_limit"].values[:, a]
            window = _window(runs, limits)
            draw_runs(axes, runs, window)
            ends = np.array([[-10.0, 5.5], [10.0, -4.5]])  # β[0] + 2β[1] = 1
            axes.plot(*ends.T, color=MINIMA, linewidth=3, zorder=1.5)
            for name, several in zip(NAMES, limits, strict=True):
                axes.plot(*several.T, color=COLOUR_OF[name], zorder=6, **CIRCLE)
            axes.set_title(f"α = {scale:g}")
        line = Line2D([], [], color=MINIMA, linewidth=3, label="global minima")
        circle = Line2D([], [], color="black", label="predicted limit", **CIRCLE)
        handles = [*legend_handles(), line, circle]
        figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
        return figure


def _least_rate(problem: Problem) -> float:
    """`2(‖∂f/∂w₂‖² − ‖∂f/∂w₁‖²)` at the start, f the output: the flow keeps it.

    f is linear in every layer, so that its derivatives are its values at units in place of one.
    """
    layers, squares = problem.init.layers, []
    for place_of, layer in enumerate(layers):
        total = 0.0
        for place in np.ndindex(layer.shape):
            unit = np.zeros_like(layer)
            unit[place] = 1.0
            one = [unit if i == place_of else other for i, other in enumerate(layers)]
            total += float(problem.regression.X[0] @ problem.network.coef(one)) ** 2
        squares.append(total)
    return 2 * (squares[1] - squares[0])


def _printed_coef(problem: Problem) -> Float:
    """The coefficients of the printed layers."""
    shapes = [layer.shape for layer in problem.init.direction]
    layers = [
        vector.reshape(shape, order="F")
        for vector, shape in zip(printed_limit(problem), shapes, strict=True)
    ]
    return np.asarray(problem.network.coef(layers))


def _window(runs: Float, limits: Float) -> tuple[float, float, float, float]:
    """A square around the runs and their limits."""
    points = np.concatenate([runs.reshape(-1, 2), limits.reshape(-1, 2), np.zeros((1, 2))])
    low, high = points.min(axis=0), points.max(axis=0)
    half = (0.5 + ROOM) * float((high - low).max())
    middle = 0.5 * (low + high)
    left, right = middle[0] - half, middle[0] + half
    return left, right, middle[1] - half, middle[1] + half


@register
@dataclass(frozen=True)
class Figure1(_RegressionPlane):
    """From a small and from a large scale."""

    figure: ClassVar[str] = "figure1"
    title: ClassVar[str] = "Three networks from the same coefficients end at different minima"
    setup: ClassVar[str] = SETUP.format(scales="α = 0.01 and 1")

    scales: tuple[float, ...] = (0.01, 1.0)


@register
@dataclass(frozen=True)
class Figure3Regression(_RegressionPlane):
    """From a scale between them."""

    figure: ClassVar[str] = "figure3_regression"
    title: ClassVar[str] = "The same from a scale between: limits depend on the start"
    setup: ClassVar[str] = SETUP.format(scales="α = 0.5")

    scales: tuple[float, ...] = (0.5,)
