"""Proposition 2: gradient flow interpolates from every start but those on one curve."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import limitpoint as lp
from limitpoint.foundation.arrays import Float
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.plot.style import COLOURS, new_figure

__all__ = ["Proposition2"]

# The flow ends when the data are fitted to 2e-10; how far the limit is off is that over the speed
# at which the flow still moves, and the limits here are within a few times that.
FLOW = 1e-7
RECORDS = 200


@register
@dataclass(frozen=True)
class Proposition2(Experiment):
    """One sample in the plane: the flow from a circle of starts, one of which ends at zero."""

    paper: ClassVar[str] = "lyu2023"
    figure: ClassVar[str] = "proposition2"
    title: ClassVar[str] = (
        "All starts but one interpolate; the one against the solution ends at zero"
    )
    setup: ClassVar[str] = (
        "Our own worked example of Proposition 2, which says that the flow always interpolates: "
        "one sample x = (1, 2), y = 1, a balanced rank-one network of depth 2, starts on a circle "
        "of radius 0.4 at angles to −X⁺y from 0 to 180 degrees on both sides; gradient flow, and "
        "GD with learning rate 0.01 from the start on the stable manifold."
    )
    theorems: ClassVar[tuple[str, ...]] = ("lyu2023.proposition2", "lyu2023.theorem1")

    depth: int = 2
    norm: float = 0.4
    degrees: tuple[float, ...] = (1, 5, 15, 35, 60, 90, 120, 150, 179)
    learning_rate: float = 1e-2
    steps: int = 40_000

    def quick(self) -> Self:
        """Fewer starts and steps."""
        return replace(self, degrees=(5, 60, 150), steps=10_000)

    def run(self) -> xr.Dataset:
        """The flow from every start, its predicted limit, and GD from the one on the manifold."""
        task = lp.Regression([[1.0, 2.0]], [1.0])
        least = np.linalg.pinv(task.X) @ task.y
        network = lp.RankOne(depth=self.depth, width=1)
        angles = np.deg2rad([*[-a for a in reversed(self.degrees)], *self.degrees])
        paths, limits = [], []
        for angle in angles:
            problem = self._problem(network, task, _turned(-least, angle))
            end = float(lp.flow(problem).times[-1])
            paths.append(lp.flow(problem, times=np.linspace(0, end, RECORDS)).coefs)
            limits.append(lp.predict(problem).coef)
        on_manifold = self._problem(network, task, -least)
        limit = lp.predict(on_manifold)
        run = lp.train(on_manifold, lp.GD(self.learning_rate), self.steps, record=400)
        # On the line v = −‖v₁‖ along x the flow is v' = −v^{2(L−1)} ‖x‖(y + ‖x‖v^{2L−1}).
        speed = float(np.linalg.norm(task.X) * task.y[0])
        return xr.Dataset(
            {
                "path": (("start", "record", "feature"), np.stack(paths)),
                "predicted_limit": (("start", "feature"), np.stack(limits)),
                "on_manifold": (("time", "feature"), run.coefs),
                "on_manifold_loss": ("time", run.losses),
                "on_manifold_limit": ("feature", limit.coef),
                "on_manifold_status": ((), str(limit.status.name)),
                "predicted_on_manifold_speed": ((), (2 * self.depth - 3) * speed),
                "least": ("feature", least),
                "X": ("feature", task.X[0]),
                "y": ((), float(task.y[0])),
            },
            coords={"angle": ("start", np.rad2deg(angles)), "time": run.times},
        )

    def _problem(self, network: lp.RankOne, task: lp.Regression, direction: Float) -> lp.Problem:
        init = lp.Init.balanced(network, task, norm=self.norm, direction=direction)
        return lp.Problem(network, init, task)

    def checks(self, data: xr.Dataset) -> list[Check]:
        """All but one end at their limits; the one approaches 0 at the rate of its saddle."""
        ends, limits = data["path"].values[:, -1], data["predicted_limit"].values
        residuals = limits @ data["X"].values - float(data["y"])
        norms, times = np.linalg.norm(data["on_manifold"].values, axis=-1), data["time"].values
        # ‖v₁‖^{−(2L−3)} grows linearly as ‖v₁‖ = ‖θ‖^{1/(2L−1)} vanishes.
        length = norms ** (-(2 * self.depth - 3) / (2 * self.depth - 1))
        late = np.searchsorted(times, 0.5 * times[-1])
        slope = (length[-1] - length[late]) / (times[-1] - times[late])
        speed = float(data["predicted_on_manifold_speed"])
        # GD takes η·speed·v more of each step, v the length at half of the time.
        step = self.learning_rate * speed / length[late]
        beginning, now = data["on_manifold_loss"].values[[0, -1]]
        return [
            Check(
                "ends of the flow off the predicted limits, relative, largest",
                float(np.linalg.norm(ends - limits, axis=1).max() / np.linalg.norm(limits)),
                0,
                FLOW,
            ),
            Check(
                "residual of these limits, largest",
                float(np.abs(residuals).max()),
                0,
                1e-12,
            ),
            Check(
                "the start on the stable manifold: 1 if predicted to end at the saddle, at zero",
                int(
                    str(data["on_manifold_status"].values) == "SADDLE"
                    and not data["on_manifold_limit"].any()
                ),
                1,
                0,
            ),
            Check(
                "the start on the stable manifold: speed of ‖v₁‖^{−(2L−3)} over its prediction",
                float(slope / speed),
                1,
                2 * step,
            ),
            Check(
                "the start on the stable manifold: loss at the end over ½y² (printed: 0)",
                float(now / (0.5 * float(data["y"]) ** 2)),
                1,
                # Linear in what is left of θ, ‖x‖·‖θ‖/y.
                3 * float(np.linalg.norm(data["X"].values) * norms[-1] / float(data["y"])),
            ),
            Check(
                "the start on the stable manifold: 1 if its loss has fallen",
                int(now < beginning),
                1,
                0,
            ),
        ]

    def plot(self, data: xr.Dataset) -> Figure:
        """The plane of coefficients with the line of solutions, and that start over time."""
        figure = new_figure((11.0, 4.9))
        left, right = figure.subplots(1, 2)
        paths, limits = data["path"].values, data["predicted_limit"].values
        for path in paths:
            left.plot(*path.T, color=COLOURS[0], linewidth=1)
        left.plot([], [], color=COLOURS[0], label="gradient flow")
        left.plot(*limits.T, "o", color=COLOURS[2], mfc="white", label="predicted limit")
        left.plot(
            *data["on_manifold"].values.T,
            color=COLOURS[1],
            lw=2.5,
            label="the start on the stable manifold",
        )
        left.plot(0, 0, "X", color=COLOURS[1], ms=9, label="saddle at zero")
        x, least = data["X"].values, data["least"].values
        along = np.array([-x[1], x[0]]) / np.linalg.norm(x)
        span = np.array([-1.0, 1.0])[:, None] * along * 0.9
        left.plot(*(least + span).T, "k--", linewidth=1, label=r"$X\theta = y$")
        left.plot(*least, "k*", ms=10, label=r"$\theta_{\ell_2}^*$")
        left.set_aspect("equal")
        left.set(xlabel=r"$\theta_1$", ylabel=r"$\theta_2$")
        left.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
        times, norms = (
            data["time"].values[1:],
            np.linalg.norm(data["on_manifold"].values, axis=-1)[1:],
        )
        length = (float(data["predicted_on_manifold_speed"]) * times) ** (-1 / (2 * self.depth - 3))
        right.loglog(
            times, norms, color=COLOURS[1], label="GD from the start on the stable manifold"
        )
        right.loglog(
            times[times > 1], length[times > 1] ** (2 * self.depth - 1), "k--", label="predicted"
        )
        right.set(xlabel="time", ylabel=r"$\|\theta(t)\|$")
        right.legend(frameon=False)
        return figure


def _turned(vector: Float, angle: float) -> Float:
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([[cosine, -sine], [sine, cosine]]) @ vector
