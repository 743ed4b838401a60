"""Figure 4: a zero last layer and equal others lead to the solution of minimum ℓ1 norm."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from limitpoint.dynamics import GD, train
from limitpoint.init import Init
from limitpoint.networks import Diagonal
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.shared.linear_program import minimum_l1
from limitpoint.papers.zhao2026.model import activations
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory import predict, saddles

__all__ = ["Figure4"]

SAMPLES, FEATURES = 3, 8
NEURON_COLOURS = (*COLOURS, "#000000")
# The run goes on for this part of the path's time after its last activation.
BEYOND = 0.5
# A stage begins off the predicted time by one of order 1 that does not depend on the scale, as
# times themselves do.
OFF = 1.0
RECORDS = 800
# The minimum ℓ1 norm, dashed and red as in the paper.
MINIMUM = "#D62728"
# The loss is drawn down to this.
LOSS_SHOWN = 1e-9


@register
@dataclass(frozen=True)
class Figure4(Experiment):
    """From `a = b`, `c = 0` to minimum ℓ1, not to the sparsest solution."""

    paper: ClassVar[str] = "zhao2026"
    figure: ClassVar[str] = "figure4"
    title: ClassVar[str] = (
        "Zero-balanced initialisation ends at minimum ℓ1, not at the sparse truth"
    )
    setup: ClassVar[str] = (
        "Printed: w = a ⊙ b ⊙ c with a = b, c = 0 at scale 1e-4, a sparse ground truth. Chosen: 3 "
        "samples, 8 features, Gaussian data, two coefficients in the truth, all entries of a "
        "equal (otherwise the norm is weighted, see the errata), learning rate 0.01 (with 0.05 the "
        "steps overshoot and end at another solution), and of the first ten seeds one for which "
        "minimum ℓ1 is not the truth."
    )
    theorems: ClassVar[tuple[str, ...]] = ("zhao2026.corollary4.6",)

    scale: float = 1e-4
    learning_rate: float = 0.01
    seed: int = 5

    def quick(self) -> "Figure4":
        """Less than half of the time, from a larger scale."""
        return replace(self, scale=3e-4)

    def run(self) -> xr.Dataset:
        """Train; the minimum ℓ1 norm by a linear program that knows nothing of networks."""
        rng = np.random.default_rng(self.seed)
        X, truth = rng.standard_normal((SAMPLES, FEATURES)), np.zeros(FEATURES)
        support = rng.choice(FEATURES, 2, replace=False)
        truth[support] = rng.choice([-1, 1], 2) * rng.uniform(1, 2, 2)
        network, ones = Diagonal(depth=3), np.ones(FEATURES)
        init = Init([ones, ones, np.zeros(FEATURES)], self.scale)
        problem = Problem(network, init, Regression(X, X @ truth, 2.0))
        path = saddles(problem)
        times = path.path_times * path.time_unit
        steps = int((1 + BEYOND) * times[-1] / self.learning_rate)
        every = np.unique(np.linspace(0, steps, RECORDS).astype(np.int64))
        trained = train(problem, GD(self.learning_rate), steps, record=every)
        activated, _ = activations(trained, path)
        return xr.Dataset(
            {
                "coef": (("epoch", "feature"), trained.coefs),
                "loss": ("epoch", trained.losses),
                "truth": ("feature", truth),
                "predicted_l1": ("feature", minimum_l1(X, X @ truth)),
                "predicted_limit": ("feature", predict(problem).coef),
                "activation": ("stage", activated / self.learning_rate),
                "predicted_activation": ("stage", times[1:] / self.learning_rate),
            },
            coords={
                "epoch": every.astype(np.int32),
                "feature": np.arange(1, FEATURES + 1, dtype=np.int32),
            },
        )

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Near the ℓ1 solution, far from the truth, at a loss of rounding size."""
        end, l1 = data["coef"].values[-1], data["predicted_l1"].values
        truth = data["truth"].values
        apart = float(np.abs(l1 - truth).max())
        # And by up to the time between two records, over which growth is not even in logarithms.
        off = OFF / self.learning_rate + float(data["epoch"][1] - data["epoch"][0])
        return [
            # Printed: "precisely". At this scale inactive coefficients are of order scale³.
            Check("distance of the end from minimum ℓ1", float(np.abs(end - l1).max()), 0.0, 1e-6),
            Check(
                "distance of the end from the limit at this scale",
                float(np.abs(end - data["predicted_limit"].values).max()),
                0.0,
                # The leak of a² − c², a part of order learning rate, of coefficients ~ scale³.
                10 * self.scale**3,
            ),
            Check(
                "distance of the end from the sparse truth",
                float(np.abs(end - truth).max()),
                apart,
                1e-6,
            ),
            Check("ℓ1 norm of the end", float(np.abs(end).sum()), float(np.abs(l1).sum()), 1e-6),
            Check("final loss", float(data["loss"].values[-1]), 0.0, 1e-20),
            *(
                Check(
                    f"epoch at which stage {stage} begins, over the predicted one",
                    float(time / due),
                    1.0,
                    off / float(due),
                )
                for stage, (time, due) in enumerate(
                    zip(
                        data["activation"].values, data["predicted_activation"].values, strict=True
                    ),
                    start=1,
                )
            ),
        ]

    def plot(self, data: xr.Dataset) -> Figure:
        """Loss left; coefficients, minimum ℓ1 (dashed) and the truth (circles) right."""
        figure = new_figure((10, 4.8))
        losses, values = figure.subplots(1, 2)
        epochs = data["epoch"].values / 1000
        losses.semilogy(epochs, np.maximum(data["loss"].values, LOSS_SHOWN), color="black")
        losses.set(xlabel="epoch / 1000", ylabel="loss", title="training loss")
        for due in data["predicted_activation"].values:
            losses.axvline(due / 1000, color="0.7", linestyle=":", linewidth=1)
        for i in range(FEATURES):
            values.plot(
                epochs,
                data["coef"].values[:, i],
                color=NEURON_COLOURS[i],
                label=f"neuron {i + 1}",
            )
            values.axhline(
                data["predicted_l1"].values[i], color=MINIMUM, linestyle="--", linewidth=1
            )
            truth = data["truth"].values[i]
            if truth != 0:
                values.plot(
                    epochs[-1], truth, "o", color=NEURON_COLOURS[i], fillstyle="none", clip_on=False
                )
        values.plot([], [], color=MINIMUM, linestyle="--", linewidth=1, label="minimum ℓ1")
        values.plot([], [], "o", color="black", fillstyle="none", linestyle="", label="truth")
        values.set(xlabel="epoch / 1000", ylabel="$w_i = a_i b_i c_i$", title="parameters")
        figure.legend(loc="outside right center", frameon=False)
        return figure
