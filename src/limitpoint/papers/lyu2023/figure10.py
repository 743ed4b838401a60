"""Figure 10: the training loss behind the direction of Theorem 3's integral."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from scipy.integrate import cumulative_simpson

import limitpoint as lp
from limitpoint.dynamics.diffusion import Paths, simulate
from limitpoint.dynamics.training.sgd_model import SGDModel
from limitpoint.foundation.arrays import Float
from limitpoint.papers.experiment import register
from limitpoint.papers.lyu2023 import setting
from limitpoint.papers.lyu2023.probes import Alignment, projector
from limitpoint.papers.lyu2023.training import Training
from limitpoint.papers.measured import Check
from limitpoint.plot.style import COLOURS, new_figure

__all__ = ["Figure10"]

STANDARD_ERRORS = 5.0
FLOW = 1e-6
# The mirror identity is integrated over the records by Simpson's rule; left out is what Euler's
# step does beyond its own first-order term, of the order of the step times the rate of the fastest
# direction, 2ηξ²(2L−1)σ²/m ≈ 0.02, once more relative to that term's 5 %.
IDENTITY = 3e-3

# A quarter of the iterations.
QUICKLY = 5000.0


@register
@dataclass(frozen=True)
class Figure10(Training):
    """The loss of SGD, GD, the flow and Lemma 3's diffusion; the direction of the integral."""

    paper: ClassVar[str] = "lyu2023"
    figure: ClassVar[str] = "figure10"
    title: ClassVar[str] = "The loss decays quickly, so that the noise integral remembers the start"
    setup: ClassVar[str] = (
        "As printed: the training loss of the experiment of Figure 4(b), SGD on a rank-one network "
        "of depth 3 and width 100 from a random start; learning rate 5e-5, batches of 4. Chosen: "
        "the data of Figure 5, ‖θ(0)‖ = 0.8696, 20000 iterations, 32 seeds. Beyond the paper: GD, "
        "the exact flow, 32 paths of the diffusion of Lemma 3 with its exponent corrected, and the "
        "angle between θ(0) and the integral α(t) of Theorem 3."
    )
    theorems: ClassVar[tuple[str, ...]] = ("lyu2023.lemma3", "lyu2023.theorem3")

    depth: int = 3
    learning_rate: float = 5e-5
    records: int = 400
    norm: float = 0.8696
    seeds: int = 32

    def quick(self) -> Self:
        """Fewer seeds, paths and iterations."""
        return replace(self, seeds=12, steps=3000, records=60)

    def run(self) -> xr.Dataset:
        """Train, follow the flow, simulate the diffusion."""
        data = self.draw()
        unit = setting.rank_one(data, self.depth, self.width, self.start_seed)
        scale = float(setting.scales(unit, [self.norm])[0])
        problem = lp.Problem(unit.network, unit.init.at_scale(scale), data.task)
        shown = np.linspace(0, self.steps, self.records + 1).round().astype(int)
        runs = setting.sweep(
            unit,
            data,
            norms=[self.norm],
            seeds=self.seeds,
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            steps=self.steps,
            record=[int(step) for step in shown],
            probes=[Alignment()],
        ).isel(scale=0)
        flow = lp.flow(problem, times=self.learning_rate * shown)
        optimiser = lp.SGD(self.learning_rate, self.batch_size)
        model = SGDModel(problem, optimiser)
        paths = simulate(
            model, self.learning_rate * self.steps, paths=self.seeds, records=self.records
        )
        residuals = paths.states @ data.task.X.T - data.task.y
        ends = runs["coef"].values
        start = model.start
        cosines = ends @ start / (np.linalg.norm(ends, axis=-1) * np.linalg.norm(start))
        lost, predicted = self._identity(model, paths)
        return xr.Dataset(
            {
                "loss": (("seed", "step"), runs["loss"].values[1]),
                "gd_loss": ("step", runs["loss"].values[0, 0]),
                "gd_loss_half_step": ("step", runs["loss_half_step"].values),
                "alignment": (("seed", "step"), runs["alignment"].values[1]),
                "end_alignment": ("seed", cosines[1]),
                "diffusion_lost": (("path", "step"), lost),
                "predicted_loss": ("step", flow.losses),
                "predicted_diffusion_loss": (
                    ("path", "step"),
                    np.mean(residuals**2, axis=-1),
                ),
                "predicted_diffusion_lost": (("path", "step"), predicted),
            },
            coords={"step": shown.astype(np.int32)},
        )

    def _identity(self, model: SGDModel, paths: Paths) -> tuple[Float, Float]:
        """Both sides of `P_null z(t) = P_null(z(0) − g(t))` along the paths of the diffusion.

        As the share of the start that is lost. Euler's step, of length η here, adds to g' at first
        order: z is curved, and `½η²·∂²z[F, F]` along the drift F = −2ξ²HXᵀr/m puts
        `ℓ tr(P_⊥XᵀX)/(mb) + ‖f‖² − 2L(fᵀθ)²/‖θ‖²`, f = Xᵀr/m, in place of the first term alone.
        """
        task, states, power = model.problem.regression, paths.states, model.exponent
        norms = np.linalg.norm(states, axis=-1, keepdims=True)
        mirrored, unit = states * norms**-power, states / norms
        kept = projector(model.problem) @ mirrored[0, 0]
        residual = states @ task.X.T - task.y
        trace = float(np.sum(task.X**2)) - np.sum((unit @ task.X.T) ** 2, axis=-1)
        gradient = residual @ task.X / task.n_samples
        along = np.sum(gradient * unit, axis=-1)
        full = np.sum(gradient**2, axis=-1) - 2 * model.depth * along**2
        noise = np.mean(residual**2, axis=-1) * trace
        moment = noise / (task.n_samples * model.optimiser.batch_size) + full
        rate = 2 * power * model.optimiser.learning_rate * moment * norms[..., 0] ** (3 * power - 2)
        slope = rate * (states @ kept) / (kept @ kept)
        predicted = cumulative_simpson(slope, x=paths.times, axis=1, initial=0.0)
        return 1 - mirrored @ kept / (kept @ kept), np.asarray(predicted)

    def checks(self, data: xr.Dataset) -> list[Check]:
        """GD on the flow, SGD on the diffusion, Theorem 3 in the diffusion, the direction of α."""
        whole, half = data["gd_loss"].values, data["gd_loss_half_step"].values
        flow = data["predicted_loss"].values
        off = np.abs(setting.extrapolated(whole, half) - flow)
        allowed = setting.second_order(whole, half).max() + FLOW * flow[0]
        noisy, model = data["loss"].values, data["predicted_diffusion_loss"].values
        error = np.hypot(_error(noisy), _error(model))[1:]
        gaps = np.abs(noisy.mean(axis=0) - model.mean(axis=0))[1:]
        lost, predicted = data["diffusion_lost"].values, data["predicted_diffusion_lost"].values
        loss, alignment = noisy.mean(axis=0), data["alignment"].values[:, -1]
        return [
            Check(
                "loss along GD as its step vanishes, off the flow, in second-order errors",
                float(off.max() / allowed),
                0,
                1,
            ),
            Check(
                "mean loss of SGD, off that of Lemma 3's diffusion, in standard errors, largest",
                float((gaps / error).max()),
                0,
                STANDARD_ERRORS,
            ),
            Check(
                "Theorem 3 in the diffusion: lost share over its prediction at the end",
                float(lost[:, -1].mean() / predicted[:, -1].mean()),
                1,
                IDENTITY,
            ),
            # The paper: "a high value at the start of the training, and decays very quickly".
            Check(
                "iteration after which the loss is below a tenth of its start, of 20000",
                float(data["step"].values[np.argmax(loss < 0.1 * loss[0])]),
                0,
                QUICKLY,
            ),
            Check(
                "runs in which the integral α(∞) is no nearer to θ(0) than θ(∞) itself",
                int(np.sum(alignment <= data["end_alignment"].values)),
                0,
                0,
            ),
        ]

    def plot(self, data: xr.Dataset) -> Figure:
        """The loss along training, as printed, and the angle that it explains."""
        figure = new_figure((11.0, 4.6))
        left, right = figure.subplots(1, 2)
        steps, dots = data["step"].values, slice(0, None, max(len(data["step"]) // 16, 1))
        for run in data["loss"].values[:4]:
            left.semilogy(steps, run, "-", color=COLOURS[1], alpha=0.3, linewidth=0.8)
        mean = data["loss"].values.mean(axis=0)
        left.semilogy(steps, mean, "-", color=COLOURS[1], label="SGD, mean (pale: runs)")
        left.semilogy(steps, data["gd_loss"].values, "-", color=COLOURS[0], label="GD")
        flow = data["predicted_loss"].values
        left.semilogy(steps[dots], flow[dots], "k.", label="exact flow")
        model = data["predicted_diffusion_loss"].values.mean(axis=0)
        left.semilogy(
            steps[dots], model[dots], "D", color=COLOURS[2], mfc="none", label="Lemma 3, mean"
        )
        left.set_ylabel(r"$\mathcal{L}(\theta)$")
        left.legend(frameon=False, loc="upper right")
        angles = data["alignment"].values
        right.plot(steps, angles.mean(axis=0), color=COLOURS[1], label=r"$\alpha(t)$, SGD")
        right.axhline(
            float(data["end_alignment"].mean()),
            color="black",
            linestyle="--",
            linewidth=1,
            label=r"$\theta(\infty)$, SGD",
        )
        right.set_ylim(top=1.02)
        right.set_ylabel(r"cosine of the angle to $\theta(0)$")
        right.legend(frameon=False, loc="center right")
        for axes in (left, right):
            axes.set_xlabel("iteration")
        return figure


def _error(values: Float) -> Float:
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(len(values)))
