"""Figure 1b: scalar regression by gradient descent, with and without noise on the labels.

Notation: X orthogonal, `β = Wa`, g the negative gradient in β at a step, η the rate, `s² = ηδ²` of
the noise.

All of descent happens along one line: β stays a multiple of the truth, W moves by a matrix of rank
one whose right vector is that of a. With σ and |a| along it, a step makes `(σ, |a|)` of
`(σ + ηg|a|, |a| + ηgσ)` and hence `σ² − |a|²` a part `1 − η²g²` of what it was, exactly: the flow
keeps 2γ, descent `2γ·Π(1 − η²g²)`, and every other singular value of W. What noise does is in
`label_noise_law`.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import ortho_group

from limitpoint.dynamics.flow import flow
from limitpoint.dynamics.training.label_noise import LabelNoise
from limitpoint.dynamics.training.optimisers import GD
from limitpoint.dynamics.training.train import train
from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import TwoLayer
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.varre2023.label_noise_law import LabelNoiseLaw
from limitpoint.papers.varre2023.linear import flow_on_grid, hidden_values, integral
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory.convergence import two_layer_bounds
from limitpoint.theory.predict import predict
from limitpoint.theory.two_layer.spectral_path import exact_spectrum, spectral_jumps
from limitpoint.theory.two_layer.spectral_potential import coef_gradient

__all__ = ["Figure1b"]

# What the flow may be off by, relative: a thousand times its tolerance of 1e-10.
FLOW = 1e-7
# Fluctuations are allowed so many standard deviations.
DEVIATIONS = 5.0
# A number that is computed in two ways.
IDENTITY = 1e-12


@register
@dataclass(frozen=True)
class Figure1b(Experiment):
    """Descent lifts one singular value and keeps the others; label noise lets them decay."""

    paper: ClassVar[str] = "varre2023"
    figure: ClassVar[str] = "figure1b"
    title: ClassVar[str] = "Gradient descent with and without label noise, scalar regression"
    setup: ClassVar[str] = (
        "Printed: orthogonal data, n = d = 5, one output, width 200. Chosen: γ = 0.5, truth, "
        "rate, size and length of the noise, seeds. Added: the exact flow with its closed form, "
        "its mirror flow and the bounds on its loss; the jump at γ = 1e-12; and a law of ours for "
        "the hidden layer under label noise."
    )
    theorems: ClassVar[tuple[str, ...]] = (
        "varre2023.theorem3.1",
        "varre2023.theorem3.2b",
        "varre2023.theoremC.12",
        "varre2023.lemmaC.6",
        "varre2023.lemmaC.8",
    )

    features: int = 5
    width: int = 200
    gamma: float = 0.5
    truth_norm: float = 2.0
    learning_rate: float = 1e-2
    delta: float = 1.0
    steps: int = 30_000
    record_every: int = 10
    paths: int = 500
    tiny_gamma: float = 1e-12
    seed: int = 0

    def quick(self) -> Self:
        """Fewer steps with more noise, in a narrower network."""
        return replace(self, width=20, steps=8_000, delta=2.0)

    def run(self) -> xr.Dataset:
        """Flow, descent and noisy descent from the same start."""
        task, network = self._task(), TwoLayer(self.width)
        init = Init.orthogonal(network, task, gamma=self.gamma, seed=self.seed)
        problem = Problem(network, init, task)
        record = np.arange(0, self.steps + 1, self.record_every)
        descent = train(problem, GD(self.learning_rate), self.steps, record=record)
        noise = LabelNoise(self.learning_rate, self.delta, seed=self.seed)
        noisy = train(problem, noise, self.steps, record=record)
        assert descent.layers is not None
        assert noisy.layers is not None
        first, _ = predict(problem).layers or ()
        ends, predicted = self._under_noise(problem, noisy)
        return xr.Dataset(
            {
                "descent": (("time", "value"), hidden_values(descent.layers[0])),
                "predicted_descent": ("value", hidden_values(first)),
                "kept": ("side", self._kept(problem, descent)),
                "noisy": (("time", "value"), hidden_values(noisy.layers[0])),
                "noisy_ends": (("path", "value"), ends),
                "predicted_noisy": (("path", "value"), predicted),
                "predicted_floor": ("time", self._floor(noisy.times)),
                "curvature": ((), _curvature(noisy)),
                **self._of_the_flow(problem),
                **self._of_the_jump(task, network),
            },
            coords={"time": descent.times},
        )

    def _task(self) -> Regression:
        X = ortho_group.rvs(self.features, random_state=self.seed)
        truth = np.random.default_rng(self.seed).standard_normal(self.features)
        return Regression(X, X @ truth * (self.truth_norm / np.linalg.norm(truth)))

    def _of_the_flow(self, problem: Problem) -> dict[str, tuple[Any, ...]]:
        run = flow_on_grid(problem, 801)
        assert run.layers is not None
        exact = exact_spectrum(problem, run.times)["layer_0"].values
        bounds = two_layer_bounds(problem, run.times)
        dual, predicted, error = self._mirror_flow(problem.regression, run)
        return {
            "flow_time": ("moment", run.times),
            "flow": ("moment", hidden_values(run.layers[0])[:, 0]),
            "predicted_flow": ("moment", exact[:, 0]),
            "loss": ("moment", run.losses),
            "predicted_bound_C6": ("moment", bounds["varre2023.lemmaC.6"]),
            "predicted_bound_C8": ("moment", bounds["varre2023.lemmaC.8"]),
            "dual": (("half", "feature"), dual),
            "predicted_dual": (("half", "feature"), predicted),
            "dual_error": ((), error),
        }

    def _mirror_flow(self, task: Regression, run: Trajectory) -> tuple[Float, Float, float]:
        """`∇ψ(β)` at every second time, `−∫√w ∇loss dt`, and the latter's error."""
        neg_grad = (task.y - run.coefs @ task.X.T) @ task.X
        norms = np.linalg.norm(run.coefs, axis=1)
        warp = np.sqrt(np.hypot(norms, self.gamma) + self.gamma)
        predicted, error = integral(warp[:, None] * neg_grad, run.times)
        dual = np.array([coef_gradient(coef, gamma=self.gamma) for coef in run.coefs[::2]])
        return dual, predicted, error

    def _of_the_jump(self, task: Regression, network: TwoLayer) -> dict[str, tuple[Any, ...]]:
        init = Init.orthogonal(network, task, gamma=self.tiny_gamma, seed=self.seed)
        problem = Problem(network, init, task)
        jumps = spectral_jumps(problem)
        moment = float(jumps.path_times[0] * jumps.unit)
        size = self.truth_norm
        run = flow(problem, times=[0.98 * moment, moment, 1.02 * moment])
        values = np.linalg.norm(run.coefs[-3:], axis=1)
        return {
            "at_jump": ((), values[1]),
            "predicted_at_jump": ((), size / (1 + 2 * size)),
            "predicted_jump_time": ((), moment),
            "around_jump": ("side", values[[0, 2]]),
            "around_time": ("side", run.times[[-3, -1]]),
        }

    def _kept(self, problem: Problem, run: Trajectory) -> Float:
        """Which part of `σ₁² − |a|²` descent keeps, `Π(1 − η²g²)`: at least, and at most.

        g falls all the time: between two records it is at most that of the first, and at least
        that of the second.
        """
        task = problem.regression
        neg_grads = np.sum(((task.y - run.coefs @ task.X.T) @ task.X) ** 2, axis=1)
        logs = self.record_every * np.log1p(-(self.learning_rate**2) * neg_grads)
        return np.exp([logs[:-1].sum(), logs[1:].sum()])

    def _law(self) -> LabelNoiseLaw:
        return LabelNoiseLaw(self.gamma, self.delta, self.learning_rate, self.record_every)

    def _under_noise(self, problem: Problem, run: Trajectory) -> tuple[Float, Float]:
        """Singular values of W at the end, of this run and then of the ensemble; and by the law."""
        assert run.layers is not None
        rows = problem.init.layers[0] / np.sqrt(2 * self.gamma)
        path = run.layers[1].reshape(len(run.times), -1) @ rows.T
        task, law = problem.regression, self._law()
        ends, paths = law.ensemble(task.X.T @ task.y, self.paths, self.steps, self.seed + 1)
        this = hidden_values(run.layers[0])[-1:]
        return np.concatenate([this, ends]), law.values(np.concatenate([path[None], paths]))

    def _floor(self, times: Float) -> Float:
        """`√(2γ)e^{−s²t/2}`."""
        values: Float = np.sqrt(2 * self.gamma) * np.exp(-self._law().decay * times / 2)
        return values

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Flow and descent against theory; what noise leaves."""
        flow_off = float(np.abs(data["flow"] - data["predicted_flow"]).max())
        end, limit = data["descent"].values[-1], data["predicted_descent"].values
        # Corollary 3.1 at γ and at what descent keeps of it.
        least, most, flow = (
            float(np.sqrt(part + np.hypot(part, self.truth_norm)))
            for part in self.gamma * np.append(data["kept"].values, 1.0)
        )
        dual = float(np.abs(data["dual"] - data["predicted_dual"]).max())
        found = [
            Check("flow: σ₁(W₁) in time against C.12", flow_off, 0.0, FLOW * limit[0]),
            Check(
                "descent: σ₁(W₁), of that of Cor. 3.1",
                float(end[0] / limit[0]),
                (least + most) / (2 * flow),
                (most - least) / (2 * flow) + FLOW,
            ),
            Check(
                "descent: the others, off Cor. 3.1",
                float(np.abs(end - limit)[1:].max()),
                0.0,
                FLOW,
            ),
            Check(
                "flow: ∇ψ(β) against its mirror flow",
                dual,
                0.0,
                float(data["dual_error"]) + 10 * FLOW,
            ),
        ]
        for name in ("C6", "C8"):
            over = (data["loss"] / data[f"predicted_bound_{name}"]).values.max() - 1
            words = f"loss over the bound of Lemma {name[0]}.{name[1]}"
            found.append(Check(words, max(float(over), 0.0), 0.0, FLOW))
            start = float(data[f"predicted_bound_{name}"][0] / data["loss"][0])
            found.append(Check(f"bound of Lemma {name} over the loss, at 0", start, 1.0, IDENTITY))
        odds = np.array([_odds(value, self.truth_norm) for value in data["around_jump"].values])
        # In between their logarithms are linear in time: when do they pass those of the jump?
        passed = np.log(_odds(self.truth_norm / (1 + 2 * self.truth_norm), self.truth_norm))
        jump = float(np.interp(passed, np.log(odds), data["around_time"].values))
        jump /= float(data["predicted_jump_time"])
        found += [
            # Corrections are of order γ log γ; the flow runs for a time t and grows as e^{2σt}.
            Check("at the jump", float(data["at_jump"]), float(data["predicted_at_jump"]), 1e-5),
            # 2 % before and after, `e^{±2σt·0.02}`, γ^{∓0.02}, is the odds' factor: 1.7 each way.
            Check(
                "odds after over odds before, in logs",
                float(np.log(odds[1] / odds[0])),
                float(-0.04 * np.log(self.tiny_gamma)),
                1e-4,
            ),
            Check("time of the jump, of the predicted", jump, 1.0, 1e-5),
            *self._noisy_checks(data),
        ]
        return found

    def _noisy_checks(self, data: xr.Dataset) -> list[Check]:
        ends, predicted = data["noisy_ends"].values, data["predicted_noisy"].values
        # The squares of the noise fluctuate by √2 of their mean: T steps move σ² by
        # √(2T)·ηs², relative, and σ by half that. And the residual, which is not noise, makes up a
        # part ηh/2 of the negative gradient in a direction of curvature h: the law has that to
        # first order.
        spread = 0.5 * np.sqrt(2 * self.steps) * (self.learning_rate * self.delta) ** 2
        residual = self.learning_rate * float(data["curvature"]) / 2
        found = [
            Check(
                f"label noise: σ{i + 1}, of the predicted",
                value,
                1.0,
                float(DEVIATIONS * spread + residual**2),
            )
            for i, value in enumerate(ends[0] / predicted[0])
        ]
        # Values that noise holds apart repel each other, and the law of the mean has them equal:
        # the largest, which is alone, and the sum of all squares are compared.
        for name, ratio in (
            ("σ₁", ends[:, 0] / predicted[:, 0]),
            ("‖W‖", np.sqrt((ends**2).sum(axis=1) / (predicted**2).sum(axis=1))),
        ):
            allowed = DEVIATIONS * float(ratio.std(ddof=1) / np.sqrt(len(ratio))) + residual**2
            words = f"label noise: {name}, of the predicted, mean of {len(ratio)} runs"
            found.append(Check(words, float(ratio.mean()), 1.0, allowed))
        floor = data["predicted_floor"].values
        start = float(floor[0] / data["noisy"].values[0, -1])
        below = max(1 - float(ends[0, -1]) / float(floor[-1]), 0.0)
        found += [
            Check("label noise: the floor over the least value, at 0", start, 1.0, IDENTITY),
            # `WᵀW ≥ 2γe^{−s²t}`, up to the fluctuations and the residual.
            Check(
                "label noise: the least, below its floor",
                below,
                0.0,
                float(DEVIATIONS * spread + residual),
            ),
        ]
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """Descent, noisy descent, and the loss of the flow under its bounds."""
        figure = new_figure((11.5, 3.9))
        left, middle, right = figure.subplots(1, 3)
        time = data["time"].values
        for axes, name in ((left, "descent"), (middle, "noisy")):
            for i, values in enumerate(data[name].values.T):
                axes.plot(time, values, color=COLOURS[i], lw=1.2, label=f"$\\sigma_{i + 1}$")
            axes.set_ylim(0, 1.15 * float(data["noisy"].max()))
            axes.set_xlabel("time")
            axes.set_ylabel("singular values of $W_1$")
        for value in np.unique(data["predicted_descent"].values.round(9)):
            left.axhline(value, color="black", linestyle="--", linewidth=1.0, zorder=4)
        left.plot([], [], "k--", linewidth=1.0, label="Cor. 3.1")
        moments = data["flow_time"].values[1:]
        left.plot(moments, data["predicted_flow"][1:], "k:", linewidth=1.6, label="flow, C.12")
        left.set_xscale("log")
        left.set_xlim(moments[moments > 0.01][0], time[-1])
        left.set_title("gradient descent")
        middle.plot(
            time, data["predicted_floor"], "k--", lw=1.0, label=r"$\sqrt{2\gamma}e^{-s^2t/2}$"
        )
        ends = data["predicted_noisy"].values[0]
        middle.plot(np.full(len(ends), time[-1]), ends, "k_", markersize=9, label="predicted")
        middle.set_title("with label noise")
        _draw_loss(right, data)
        for axes in (left, middle, right):
            axes.legend(
                loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, frameon=False, fontsize=9
            )
        return figure


def _curvature(run: Trajectory) -> float:
    """The largest of `σ₁(W)² + |a|²` on average in time."""
    assert run.layers is not None
    sizes = np.linalg.norm(run.layers[0], ord=2, axis=(1, 2)) ** 2
    return float(np.mean(sizes + np.sum(run.layers[1].reshape(len(sizes), -1) ** 2, axis=1)))


def _odds(value: float, limit: float) -> float:
    """`σ/(σ* − σ)`, which grows as `e^{2σ*t}` when γ is small."""
    return float(value / (limit - value))


def _draw_loss(axes: Axes, data: xr.Dataset) -> None:
    time = data["flow_time"].values[1:]
    axes.plot(time, data["loss"][1:], color=COLOURS[0], label="loss of the flow")
    for name, colour in (("C6", COLOURS[1]), ("C8", COLOURS[2])):
        label = f"Lemma {name[0]}.{name[1]}"
        axes.plot(time, data[f"predicted_bound_{name}"][1:], "--", color=colour, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(1e-6, 2 * float(data["loss"][0]))
    axes.set_xlim(1e-2, time[-1])
    axes.set_title("loss and its bounds")
    axes.set_xlabel("time")
    axes.set_ylabel("loss")
