"""Figure 5: the loss of the ReLU student falls in steps, and after the first its rank is one."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from limitpoint.dynamics.analysis.spectrum import spectrum
from limitpoint.foundation.arrays import Float
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.varre2023.students import few_neurons, student_run, teacher_task
from limitpoint.plot.style import COLOURS, new_figure

__all__ = ["Figure5"]


@register
@dataclass(frozen=True)
class Figure5(Experiment):
    """From zero by a saddle of rank one to the fit."""

    paper: ClassVar[str] = "varre2023"
    figure: ClassVar[str] = "figure5"
    title: ClassVar[str] = "Saddle to saddle: the training curve of a ReLU student and its phase 1"
    setup: ClassVar[str] = (
        "Printed: the teacher and student of Figure 2 at a small scale. Chosen: scale 1e-5, seeds, "
        "gradient descent with small steps. Predicted, by an argument of ours: the saddle after "
        "phase 1 is where one neuron ends that starts along the direction of steepest descent."
    )

    samples: int = 10
    features: int = 5
    teachers: int = 2
    width: int = 20
    scale: float = 1e-5
    rate: float = 5e-3
    steps: int = 20_000
    steps_alone: int = 10_000
    teacher_seed: int = 24
    seed: int = 1

    def quick(self) -> Self:
        """Larger and fewer steps."""
        return replace(self, rate=1e-2, steps=6_000, steps_alone=5_000)

    def run(self) -> xr.Dataset:
        """Train the student, and one neuron by itself."""
        task = teacher_task(self.samples, self.features, self.teachers, self.teacher_seed)
        # The staircase ends about time 8; after that the loss creeps down.
        dense = np.arange(0, min(round(10 / self.rate), self.steps) + 1, round(0.02 / self.rate))
        record = np.unique(np.concatenate([dense, [self.steps]]))
        run = student_run(task, self.width, self.scale, self.seed, self.rate, self.steps, record)
        norm, loss = few_neurons(task, 1, self.rate, self.steps_alone)
        return xr.Dataset(
            {
                "loss": ("time", run.losses),
                "values": (("time", "value"), spectrum(run).layers[0]),
                "predicted_saddle_loss": ((), loss),
                "predicted_saddle_value": ((), float(norm[0])),
            },
            coords={"time": run.times},
        )

    def checks(self, data: xr.Dataset) -> list[Check]:
        """The pause is at the predicted saddle, of rank one; before and after it the loss falls."""
        loss, values = data["loss"].values, data["values"].values
        time, saddle = data["time"].values, float(data["predicted_saddle_loss"])
        speed = -np.gradient(loss[:-1], time[:-1])
        first, pause, second = _pause(speed)
        at, slower = values[pause], min(speed[first], speed[second])
        passed = float(at[1] / at[0])
        # Loss and σ₁ still move at the pause: what they can make of that between the two falls is
        # how far they may be from the saddle's.
        between = float(time[second] - time[first])
        off = float(speed[pause]) * between / saddle
        turn = abs(float(np.gradient(values[:-1, 0], time[:-1])[pause])) * between
        return [
            Check(
                "loss at the saddle, of the predicted one",
                float(loss[pause]) / saddle,
                1.0,
                off,
            ),
            Check(
                "σ₁ at the saddle, of the predicted one",
                float(at[0] / data["predicted_saddle_value"]),
                1.0,
                turn / float(data["predicted_saddle_value"]),
            ),
            Check("σ₂/σ₁ at the saddle", passed, 0.0, 0.02),
            # What makes it a staircase: fifty times slower than the falls on either side.
            Check("speed at the pause, of the slower fall", speed[pause] / slower, 0.0, 0.02),
            Check("loss well before the first fall", loss[first // 4] / loss[0], 1.0, 0.01),
            Check("loss at the end, of that at the saddle", loss[-1] / loss[pause], 0.0, 0.01),
            Check("σ₃/σ₂ at the end", values[-1, 2] / values[-1, 1], 0.0, 0.01),
        ]

    def plot(self, data: xr.Dataset) -> Figure:
        """Training curve on the left, singular values of phase 1 on the right."""
        time, loss, values = data["time"].values, data["loss"].values, data["values"].values
        saddle = float(data["predicted_saddle_loss"])
        figure = new_figure((9.5, 4.0))
        left, right = figure.subplots(1, 2)
        shown = time <= 10.0
        left.plot(time[shown], loss[shown], color=COLOURS[0], linewidth=1.8)
        left.axhline(saddle, color="black", linestyle="--", linewidth=1.0)
        left.annotate(
            "predicted saddle: one neuron",
            (10.0, saddle),
            xytext=(0, 4),
            textcoords="offset points",
            ha="right",
        )
        left.set_ylim(bottom=0)
        left.set_title("(a) training loss")
        left.set_ylabel("loss")
        # Phase 1 ends where the second direction is a tenth of the first.
        end = time[int(np.argmax(values[:, 1] > 0.1 * values[:, 0].max()))]
        phase = time <= end
        for i in range(values.shape[1]):
            right.plot(time[phase], values[phase, i], color=COLOURS[i], label=f"$\\sigma_{i + 1}$")
        right.axhline(
            float(data["predicted_saddle_value"]),
            color="black",
            linestyle="--",
            linewidth=1.0,
            label="predicted",
        )
        right.set_title("(b) hidden singular values in phase 1")
        right.set_ylim(bottom=0)
        right.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        for axes in (left, right):
            axes.set_xlabel("time")
            axes.set_xlim(left=0)
        return figure


def _pause(speed: Float) -> tuple[int, int, int]:
    """Records of the first fall, of the slowest moment after it, and of the second fall."""
    inner = (speed[1:-1] > speed[:-2]) & (speed[1:-1] >= speed[2:])
    peaks = np.flatnonzero(inner) + 1
    first, second = np.sort(peaks[np.argsort(-speed[peaks])][:2])
    pause = int(first + np.argmin(speed[first:second]))
    return int(first), pause, int(second)
