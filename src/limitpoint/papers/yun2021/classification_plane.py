"""Figure 3, classification: the printed runs, and the same runs continued to the end."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from limitpoint.dynamics import Trajectory, flow
from limitpoint.examples import yun_two_points
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.shared.coordinates import coordinates
from limitpoint.papers.yun2021.exponents import along_margins, exponent, exponent_error
from limitpoint.papers.yun2021.plane import (
    COLOUR_OF,
    DIRECTIONS,
    NAMES,
    directions,
    draw_runs,
    legend_handles,
    problem_of,
    schedule,
    train_together,
)
from limitpoint.plot.style import new_figure
from limitpoint.problem import Problem
from limitpoint.theory import predict, prove

__all__ = ["Figure3Classification", "proved_along"]

# The directions of the ℓ2, the ℓ1 and the Fourier ℓ1 margin.
NAMED = {"dense": (1, 2), "diagonal": (0, 1), "convolutional": (1, 1)}

# Exponents are measured from this margin on.
FROM = 1e4
# The runs are shown at so many margins, from this on: GD ends at margins from 10 to 12.
MARGINS, FIRST = 60, 15.0
# Directions that still differ by this much, in degrees, depend visibly on the start.
VISIBLE = 10.0


@register
@dataclass(frozen=True)
class Figure3Classification(Experiment):
    """Directions that are still far apart where the paper stops, and where they end."""

    paper: ClassVar[str] = "yun2021"
    figure: ClassVar[str] = "figure3_classification"
    title: ClassVar[str] = "Where training stops the start is still seen; continued, it is not"
    setup: ClassVar[str] = (
        "Printed: two-layer dense, diagonal and convolutional networks on (1, 2) → 1 and "
        "(0, −3) → −1, exponential loss, the starts of Figure 1 at α = 0.01, 0.5 and 1, GD with "
        "step 5e-4 for 2e6 steps; losses at the end ≲ 1e-5, and directions that depend on the "
        "start. Chosen: directions as in Figure 1. Beyond the paper: every run is continued from "
        "where GD left it by the flow in normalised time, to margin 1e7, a loss of "
        "exp(−10 000 000); and the directions (1, 2), (0, 1) and (1, 1) are proved exactly, in "
        "rational numbers, by `prove`."
    )
    theorems: ClassVar[tuple[str, ...]] = (
        "yun2021.corollary1",
        "yun2021.corollary2",
        "yun2021.corollary3",
    )

    scales: tuple[float, ...] = (0.01, 0.5, 1.0)
    learning_rate: float = 5e-4
    steps: int = 2_000_000
    starts: int = DIRECTIONS
    seed: int = 0
    followed: int = DIRECTIONS
    records: int = 120
    margin: float = 1e7
    rtol: float = 1e-9

    def quick(self) -> "Figure3Classification":
        """The largest scale, larger steps to the same time, and one start that is followed."""
        return replace(self, scales=(1.0,), followed=1, learning_rate=5e-3, steps=200_000)

    def run(self) -> xr.Dataset:
        """Train; follow the flow from the first start to the same time; and continue."""
        task, steps = yun_two_points(), schedule(self.steps, self.records)
        shape = (len(NAMES), len(self.scales), self.starts)
        margins = np.geomspace(FIRST, self.margin, MARGINS)
        coefs = np.empty((*shape, len(steps), 2))
        limits, rates = np.empty((len(NAMES), 2)), np.empty(len(NAMES))
        exact = np.zeros(len(NAMES), dtype=np.int32)
        begun, left = [], []
        for n, name in enumerate(NAMES):
            problems = [
                problem_of(name, direction, scale, task)
                for scale in self.scales
                for direction in directions(self.starts, self.seed)
            ]
            layers = train_together(problems, self.learning_rate, steps)
            for i, problem in enumerate(problems):
                a, z = divmod(i, self.starts)
                coefs[n, a, z] = problem.network.coef([layer[i] for layer in layers])
                if z == 0:
                    begun.append(problem)
                if z < self.followed:
                    onwards = Init.from_layers([layer[i, -1] for layer in layers])
                    left.append(Problem(problem.network, onwards, task))
            limit, exact[n] = predict(problems[0]), proved_along(problems[0], NAMED[name])
            limits[n], rates[n] = limit.direction, limit.rate or 0.0
        with ThreadPoolExecutor(max_workers=2) as pool:  # most of the time is spent compiling
            flowed = list(pool.map(self._to_same_time, begun))
            continued = list(pool.map(self._onwards, left))
        shape = (*shape[:2], self.followed)
        turned = np.stack([along_margins(run, margins) for run in continued])
        reached = np.array([run.coef for run in flowed])
        log_losses = np.array([run.log_losses[-1] for run in flowed])
        axes = ("network", "scale", "start")
        along = (*axes[:2], "followed")
        return xr.Dataset(
            {
                "coef": ((*axes, "record", "feature"), coefs),
                "loss": (axes, np.exp(task.log_loss(task.margins(coefs[..., -1, :])))),
                "continued": ((*along, "margin", "feature"), turned.reshape(*shape, MARGINS, 2)),
                "predicted_coef": ((*axes[:2], "feature"), reached.reshape(*shape[:2], 2)),
                "predicted_log_loss": (axes[:2], log_losses.reshape(shape[:2])),
                "predicted_direction": (("network", "feature"), limits),
                "predicted_exponent": ("network", rates),
                "proved": ("network", exact),
            },
            coords={
                "network": list(NAMES),
                "scale": np.array(self.scales),
                "time": ("record", steps * self.learning_rate),
                "margin": margins,
            },
        )

    def _to_same_time(self, problem: Problem) -> Trajectory:
        end = self.steps * self.learning_rate
        return flow(problem, t_end=end, space=coordinates(problem, self.rtol))

    def _onwards(self, problem: Problem) -> Trajectory:
        return flow(problem, margin=self.margin, space=coordinates(problem, self.rtol))

    def checks(self, data: xr.Dataset) -> list[Check]:
        """What the paper saw, that it is the flow, and what comes after."""
        ends, flowed = data["coef"].values[..., -1, :], data["predicted_coef"].values
        losses, log_losses = data["loss"].values, data["predicted_log_loss"].values
        found = [
            Check("largest loss at the end of GD", float(losses.max()), 0.0, 3e-5),
            # GD differs from the flow by half its step times the change of the velocity on the way,
            # and the flow spreads that by little: no more than twice is asked.
            Check(
                "GD to the flow, first start, coefficients",
                float(np.abs(ends[:, :, 0] - flowed).max()),
                0.0,
                self.learning_rate * _turn(data),
            ),
            # Of margins the same is below 20.
            Check(
                "GD to the flow, first start, log loss",
                float(np.abs(np.log(losses[..., 0]) - log_losses).max()),
                0.0,
                20 * self.learning_rate,
            ),
        ]
        for n, name in enumerate(NAMES):
            words = f"{name}: direction {NAMED[name]} proved in rationals"
            found.append(Check(words, float(data["proved"].values[n]), 1.0, 0.0))
            spread = np.ptp(_degrees(ends[n, -1]))
            one_sided = min(float(spread), VISIBLE)
            found.append(Check(f"{name}: degrees between starts, ≥ 10", one_sided, VISIBLE, 0.0))
        margins, directed = data["margin"].values, data["continued"].values
        for n, name in enumerate(NAMES):
            apart = np.linalg.norm(directed[n] - data["predicted_direction"].values[n], axis=-1)
            found.append(
                Check(f"{name}: continued, to the max margin", float(apart[..., -1].max()), 0, 1e-3)
            )
            slopes = [exponent(margins, one, FROM) for one in apart.reshape(-1, MARGINS)]
            due = float(data["predicted_exponent"].values[n])
            # The next terms are at most margin^−½ of the leading one.
            allowed = exponent_error(margins, 0.5, FROM)
            for word, slope in (("smallest", min(slopes)), ("largest", max(slopes))):
                found.append(Check(f"{name}: {word} exponent", slope, due, allowed))
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """The plane for each scale, and below it the directions as the margins grow."""
        figure = new_figure((4.6 * max(len(self.scales), 2), 8.6))
        rows = figure.subplots(2, len(self.scales), squeeze=False, height_ratios=(3, 2))
        for a, scale in enumerate(self.scales):
            plane, angles = rows[:, a]
            runs = data["coef"].values[:, a]
            _draw_rays(plane, data["predicted_direction"].values)
            draw_runs(plane, runs, _window(runs))
            plane.set_title(f"α = {scale:g}, GD to time {data['time'].values[-1]:g}")
            self._draw_angles(angles, data, a)
        rows[1, 0].set_ylabel("angle of β, degrees")
        ray = Line2D([], [], color="black", linestyle="--", label="predicted direction")
        end = Line2D([], [], color="black", marker="s", markersize=5, linestyle="none")
        end.set(label="end of GD", markerfacecolor="white")
        handles = [*legend_handles(), ray, end]
        figure.legend(handles=handles, loc="outside lower center", ncols=6, frameon=False)
        return figure

    def _draw_angles(self, axes: Axes, data: xr.Dataset, a: int) -> None:
        margins = data["margin"].values
        signed = yun_two_points().signed
        for n, name in enumerate(NAMES):
            look: dict[str, Any] = {"color": COLOUR_OF[name]}
            for z, trained in enumerate(data["coef"].values[n, a]):
                smallest = (trained @ signed.T).min(axis=-1)
                seen = smallest > 0.1
                turned = _degrees(trained[seen])
                axes.plot(smallest[seen], turned, linewidth=1.5, **look)
                axes.plot(smallest[-1], turned[-1], marker="s", mfc="white", zorder=4, ms=5, **look)
                if z < data.sizes["followed"]:
                    further = np.append(turned[-1], _degrees(data["continued"].values[n, a, z]))
                    axes.plot(np.append(smallest[-1], margins), further, linewidth=1.0, **look)
            height = float(_degrees(data["predicted_direction"].values[n]))
            axes.axhline(height, color=COLOUR_OF[name], linestyle="--", zorder=1)
        axes.set_xscale("log")
        axes.set(xlabel="smallest margin", xlim=(0.1, margins[-1]))


def proved_along(problem: Problem, direction: tuple[int, int]) -> bool:
    """Whether the limit is proved to have exactly this direction, in rational numbers."""
    proof = prove(problem)
    if not proof.ok or proof.coef is None or proof.coef.exact is None:
        return False
    first, second = (Fraction(one) for one in proof.coef.exact)
    a, b = direction
    return first * b == second * a and first * a + second * b > 0


def _degrees(points: Float) -> Float:
    return np.asarray(np.degrees(np.arctan2(points[..., 1], points[..., 0])))


def _draw_rays(axes: Axes, directed: Float) -> None:
    for name, direction in zip(NAMES, directed, strict=True):
        ray = np.outer([0.0, 100.0], direction)
        axes.plot(*ray.T, "--", color=COLOUR_OF[name], linewidth=1.6, zorder=2)


def _window(runs: Float) -> tuple[float, float, float, float]:
    points = runs.reshape(-1, 2)
    low, high = np.minimum(points.min(axis=0), 0.0), np.maximum(points.max(axis=0), 0.0)
    room = 0.06 * float((high - low).max())
    return low[0] - room, high[0] + room, low[1] - room, high[1] + room


def _turn(data: xr.Dataset) -> float:
    """By how much the velocities of GD from the first starts change on the way; the largest."""
    steps = np.diff(data["coef"].values[:, :, 0], axis=2)
    velocity = steps / np.diff(data["time"].values)[:, None]
    changes = np.linalg.norm(np.diff(velocity, axis=2), axis=-1).sum(axis=-1)
    return float((changes + np.linalg.norm(velocity[:, :, -1], axis=-1)).max())
