"""Figure 6: distances along training, and the test error of a ReLU network."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import limitpoint as lp
from limitpoint.papers.experiment import register
from limitpoint.papers.lyu2023 import setting
from limitpoint.papers.lyu2023.along import (
    checks_along,
    draw_along,
    steps_shown,
    train_along,
)
from limitpoint.papers.lyu2023.training import Training
from limitpoint.papers.measured import Check
from limitpoint.plot.style import COLOURS, new_figure

__all__ = ["Figure6"]

RELU_RECORDS = 40


@register
@dataclass(frozen=True)
class Figure6(Training):
    """GD and SGD along training on rank-one, standard and ReLU networks."""

    paper: ClassVar[str] = "lyu2023"
    figure: ClassVar[str] = "figure6"
    title: ClassVar[str] = "Along training, SGD leaves GD towards the minimum-norm solution"
    setup: ClassVar[str] = (
        "As printed: the data of Figure 5; (a) rank-one, depth 3, (b) standard, depth 4, (c) ReLU, "
        "depth 4, all of width 100; learning rate 1e-3, batches of 4, 20000 iterations; for ReLU "
        "the test error on new samples, and √Σ‖W_k(0)‖² as the scale. Chosen: three scales each, "
        "standard normal directions for ReLU, 500 test samples, ten seeds (ReLU: two). Beyond "
        "the paper: the exact flow beside GD, and the exact law for every linear run."
    )
    theorems: ClassVar[tuple[str, ...]] = (
        "lyu2023.theorem1",
        "lyu2023.theorem2",
        "limitpoint.null_space_law",
    )

    depth: int = 4
    norms: tuple[float, ...] = (0.2, 0.8696, 2.5)
    relu_width: int = 100
    relu_norms: tuple[float, ...] = (10.0, 14.0, 20.0)
    relu_seeds: int = 2
    relu_steps: int = 20_000
    test_samples: int = 500

    def quick(self) -> Self:
        """Fewer scales, seeds and iterations."""
        return replace(
            self,
            norms=(0.8696, 2.5),
            seeds=4,
            steps=8000,
            relu_width=40,
            relu_norms=(10.0, 14.0),
            relu_steps=1200,
            relu_seeds=1,
        )

    def run(self) -> xr.Dataset:
        """Train all three networks, follow the flow of the linear ones."""
        data = self.draw()
        problems = self.problems(data)
        linear = [train_along(self, problem, data, self.norms) for problem in problems.values()]
        both = xr.concat(linear, dim="network").assign_coords(network=list(problems))
        return xr.merge([both, self._relu(data)])

    def _relu(self, data: setting.Data) -> xr.Dataset:
        """Test error and loss of the ReLU network along training."""
        network = lp.ReLU(widths=(self.relu_width,) * (self.depth - 1))
        drawn = lp.Init.random(network, data.task, scale=1.0, seed=self.start_seed)
        unit = np.sqrt(sum(float(np.sum(layer**2)) for layer in drawn.direction))
        rng = np.random.default_rng((self.data_seed, 1))
        new = rng.standard_normal((self.test_samples, self.features))
        target = new @ data.truth
        shown = np.unique([0, *steps_shown(self.relu_steps, RELU_RECORDS)])
        shape = (2, len(self.relu_norms), self.relu_seeds, len(shown))
        errors, losses = np.empty(shape), np.empty(shape)
        for i, norm in enumerate(self.relu_norms):
            problem = lp.Problem(network, drawn.at_scale(norm / unit), data.task)
            for seed in range(self.relu_seeds):
                rules: list[lp.extend.Optimiser] = [
                    lp.SGD(self.learning_rate, self.batch_size, seed=seed)
                ]
                rules = [lp.GD(self.learning_rate), *rules] if seed == 0 else rules
                for rule in rules:
                    run = lp.train(problem, rule, self.relu_steps, record=shown)
                    assert run.layers is not None
                    outputs = network.outputs(run.layers, new)
                    place = (1, i, seed) if isinstance(rule, lp.SGD) else (0, i)
                    errors[place] = np.mean((outputs - target) ** 2, axis=-1)
                    losses[place] = run.losses
        axes = ("optimiser", "relu_norm", "relu_seed", "relu_step")
        return xr.Dataset(
            {
                "test_error": (axes, errors),
                "relu_loss": (axes, losses),
                "label_power": ((), float(np.mean(target**2))),
            },
            coords={
                "optimiser": setting.GD_AND_SGD,
                "relu_norm": list(self.relu_norms),
                "relu_step": shown.astype(np.int32),
            },
        )

    def checks(self, data: xr.Dataset) -> list[Check]:
        """As in the figure: SGD below GD at the end, in all three panels."""
        found = []
        for name in data["network"].values:
            found += checks_along(data.sel(network=name), str(name))
        errors, losses = data["test_error"].values, data["relu_loss"].values
        quiet, noisy = errors[0, :, 0, -1], errors[1, :, :, -1]
        return [
            *found,
            Check(
                "ReLU: runs of SGD whose test error does not end below that of GD",
                int(np.sum(noisy >= quiet[:, None])),
                0,
                0,
            ),
            # Larger starts generalise less: the steps of GD's test error from scale to scale.
            Check(
                "ReLU: scales at which GD's test error is not above that of the one before",
                int(np.sum(np.diff(quiet) <= 0)),
                0,
                0,
            ),
            # Fitted to a thousandth, the error on new samples no longer moves by what it differs.
            Check(
                "ReLU: largest loss at the end, relative to the start",
                float((losses[..., -1] / losses[..., 0]).max()),
                0,
                1e-3,
            ),
        ]

    def plot(self, data: xr.Dataset) -> Figure:
        """Three panels, as printed."""
        figure = new_figure((15.0, 4.9))
        panels = figure.subplots(1, 3)
        labels = [f"{norm:.4g}" for norm in data["norm"].values]
        for axes, name, letter in zip(panels[:2], data["network"].values, "ab", strict=True):
            draw_along(axes, data.sel(network=name), labels)
            axes.set_title(
                f"({letter}) {name} network; in brackets ‖θ(0)‖", loc="left", fontsize=10
            )
        _draw_relu(panels[2], data)
        panels[2].set_title("(c) ReLU network; in brackets √Σ‖W_k(0)‖²", loc="left", fontsize=10)
        for axes in panels:
            axes.legend(
                loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False, fontsize=8
            )
        return figure


def _draw_relu(axes: Any, data: xr.Dataset) -> None:
    steps = data["relu_step"].values
    for i, norm in enumerate(data["relu_norm"].values):
        errors = data["test_error"].values[:, i]
        label = f"({norm:.4g})"
        axes.plot(steps, errors[0, 0], "-", color=COLOURS[i], label=f"GD {label}")
        axes.plot(steps, errors[1].mean(axis=0), "--", color=COLOURS[i], label=f"SGD {label}")
    axes.axhline(float(data["label_power"]), color="0.5", linewidth=1, label="predicting zero")
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlim(0, int(steps[-1]))
    axes.set_xlabel("iteration")
    axes.set_ylabel("test error")
