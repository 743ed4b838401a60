"""Section 8.2: what a modified ℓ1 norm changes, and what gradient descent leaks."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from limitpoint.dynamics import GD, flow, train
from limitpoint.examples import zhao_eq7
from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import Diagonal
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.shared.exact_path import differ, path_of_eq7
from limitpoint.papers.shared.linear_program import minimum_l1
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory import predict

__all__ = ["Section82"]

# The solutions under both norms.
PRINTED = {"ℓ1": ("0", "0", "10/7", "-10/49"), "modified ℓ1": ("1", "0", "0", "-5/7")}
# A coefficient belongs to the support above this: float64 shows inactive ones below 1e-15 here,
# and those of the solutions are above 0.1.
IN_SUPPORT = 1e-6


@register
@dataclass(frozen=True)
class Section82(Experiment):
    """Weight ½ on k₁ changes the support; curved invariant sets leak under gradient descent."""

    paper: ClassVar[str] = "zhao2026"
    figure: ClassVar[str] = "section8_2"
    title: ClassVar[str] = "ℓ1 against modified ℓ1, and affine against curved invariant manifolds"
    setup: ClassVar[str] = (
        "Printed: the data (7); the weight of |k₁| is 1, then 0.5; gradient descent with learning "
        "rate 0.1; the invariant sets a₁ = b₁ = 0 and a² − b² = 1. Chosen: the networks k = ab, "
        "and k₁ = 2ab with the others ab, whose activation times are the weights, flown from "
        "1e-60; for the leak, a start with a₁ = b₁ = 0, a₃ = b₃ and a² − b² = 1 in the other two. "
        "Both solutions are also proved: Algorithm 1 without rounding ends at the printed "
        "fractions."
    )
    theorems: ClassVar[tuple[str, ...]] = ("zhao2026.corollary4.6",)

    log10_scale: float = -60.0
    learning_rate: float = 0.1
    steps: int = 60
    seed: int = 0

    def quick(self) -> "Section82":
        """Half of the steps; the flows are quick."""
        return replace(self, steps=30)

    def run(self) -> xr.Dataset:
        """Flow both networks, train one from both kinds of invariant set."""
        task = zhao_eq7()
        weights = np.array([[1.0, 1.0, 1.0, 1.0], [0.5, 1.0, 1.0, 1.0]])
        ends, limits, programs = [], [], []
        for row in weights:
            problem = self._weighted(row)
            vanishing = Problem(problem.network, problem.init.at_scale(0.0), problem.task)
            ends.append(flow(problem).coef / row)
            limits.append(predict(vanishing).coef / row)
            programs.append(minimum_l1(task.X, task.y, row))
        gaps, neg_grads = self._leak()
        # One gradient step turns a² − b² into (1 − (ηu)²)(a² − b²), exactly.
        factors = np.cumprod(1 - (self.learning_rate * neg_grads[:-1]) ** 2, axis=0)
        expected = np.vstack([gaps[:1], gaps[:1] * factors])
        along = ("norm", "feature")
        return xr.Dataset(
            {
                "weight": (along, weights),
                "coef": (along, np.stack(ends)),
                "gap": (("step", "feature"), gaps),
                "predicted_limit": (along, np.stack(limits)),
                "predicted_program": (along, np.stack(programs)),
                "predicted_gap": (("step", "feature"), expected),
                "unproved_fractions": (
                    "norm",
                    [
                        differ(path_of_eq7(row).coef, fractions)
                        for row, fractions in zip(weights, PRINTED.values(), strict=True)
                    ],
                ),
            },
            coords={
                "norm": ["ℓ1", "modified ℓ1"],
                "feature": np.arange(1, 5, dtype=np.int32),
                "step": np.arange(self.steps + 1, dtype=np.int32),
            },
        )

    def _weighted(self, weights: Float) -> Problem:
        """The network `k_i = a_i b_i / weight_i`, as the product ab on columns over the weights.

        The activation times of `ab / weight` are the weight, since its Hessian has eigenvalues
        ±1/weight; k is the coefficient over the weight.
        """
        printed = zhao_eq7()
        task = Regression(printed.X / weights, printed.y, printed.loss_factor)
        layers = np.random.default_rng(self.seed).uniform(-1.0, 1.0, (2, 4))
        start = Init(layers, log_scale=self.log10_scale * np.log(10))
        return Problem(Diagonal(depth=2), start, task)

    def _leak(self) -> tuple[Float, Float]:
        """`a² − b²` along gradient descent, and the negative gradients `u = Xᵀ(y − Xk)`."""
        printed = zhao_eq7()
        task = Regression(printed.X, printed.y)
        b = np.array([0.0, 0.5, 0.6, 0.8])
        a = np.array([0.0, np.hypot(1.0, 0.5), 0.6, np.hypot(1.0, 0.8)])
        problem = Problem(Diagonal(depth=2), Init([a, b]), task)
        run = train(problem, GD(self.learning_rate), self.steps, record=np.arange(self.steps + 1))
        assert run.layers is not None, "training records layers"
        first, second = run.layers
        return first**2 - second**2, (task.y - run.coefs @ task.X.T) @ task.X

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Values and supports of both solutions; where gradient descent leaks, and how much."""
        found = []
        for norm, fractions in PRINTED.items():
            values = [float(Fraction(fraction)) for fraction in fractions]
            one = data.sel(norm=norm)
            coef = one["coef"].values
            support = np.flatnonzero(np.abs(coef) > IN_SUPPORT) + 1
            number = float("".join(str(i) for i in support))
            expected = 34.0 if norm == "ℓ1" else 14.0
            # The flow stops at a relative residual of 1e-10; what is inactive is far below.
            for name, other in (
                ("the printed solution", np.array(values)),
                ("Corollary 4.6", one["predicted_limit"].values),
                ("the linear program", one["predicted_program"].values),
            ):
                off = float(np.abs(coef - other).max())
                found.append(Check(f"{norm}: distance of the flow from {name}", off, 0.0, 1e-8))
            found.append(Check(f"{norm}: support, as digits", number, expected, 0.0))
            left = float(one["unproved_fractions"])
            found.append(Check(f"{norm}: fractions that are not proved", left, 0.0, 0.0))
        gaps, expected_gaps = data["gap"].values, data["predicted_gap"].values
        moved = np.abs(gaps[-1] - gaps[0])
        found += [
            Check("change of a² − b² where a = b = 0", float(moved[0]), 0.0, 0.0),
            Check("change of a² − b² where a = b", float(moved[2]), 0.0, 0.0),
        ]
        for i in (1, 3):
            # An identity; rounding of as many steps, of numbers of order 1.
            name = f"a² − b² of k{i + 1} after all steps, from 1"
            tolerance = 1e-15 * len(gaps) * 4
            found.append(Check(name, float(gaps[-1, i]), float(expected_gaps[-1, i]), tolerance))
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """The two solutions as bars, and the invariants under gradient descent."""
        figure = new_figure((10, 4.6))
        solutions, leaks = figure.subplots(1, 2)
        features = data["feature"].values
        for shift, norm, colour in ((-0.19, "ℓ1", COLOURS[0]), (0.19, "modified ℓ1", COLOURS[1])):
            one = data.sel(norm=norm)
            solutions.bar(features + shift, one["coef"].values, 0.36, color=colour, label=norm)
            solutions.plot(features + shift, one["predicted_limit"].values, "k_", markersize=16)
        solutions.plot([], [], "k_", markersize=12, label="Corollary 4.6")
        solutions.axhline(0, color="black", linewidth=0.8)
        solutions.set_xticks(features, [f"$k_{i}$" for i in features])
        solutions.set(ylabel="coefficient", title="end of the flow from vanishing scale")
        solutions.legend(loc="upper right", frameon=False)
        steps = data["step"].values
        labels = ("$a_1 = b_1 = 0$", "$a_2^2 - b_2^2 = 1$", "$a_3 = b_3$", "$a_4^2 - b_4^2 = 1$")
        styles = ("-", "o", ":", "s")
        for i, (label, style) in enumerate(zip(labels, styles, strict=True)):
            change = data["gap"].values[:, i] - data["gap"].values[0, i]
            leaks.plot(steps, change, style, color=COLOURS[i], markersize=4, lw=2.5, label=label)
        for i in (1, 3):
            change = data["predicted_gap"].values[:, i] - data["predicted_gap"].values[0, i]
            leaks.plot(steps, change, "k--", linewidth=1)
        leaks.plot([], [], "k--", linewidth=1, label="$\\prod (1 - (\\eta u)^2)$")
        leaks.set(xlabel="step of gradient descent", ylabel="change of $a_i^2 - b_i^2$")
        leaks.set_title("affine sets are kept, curved ones leak")
        leaks.legend(loc="center right", bbox_to_anchor=(1.0, 0.6), frameon=False)
        return figure
