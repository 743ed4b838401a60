"""Figure 9: how sampling noise alleviates the dependence on the start."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import limitpoint as lp
from limitpoint.foundation.arrays import Float
from limitpoint.papers.experiment import register
from limitpoint.papers.lyu2023 import setting
from limitpoint.papers.lyu2023.along_one_run import noise_terms
from limitpoint.papers.lyu2023.probes import (
    LostByBalance,
    LostByModel,
    LostShare,
    projector,
)
from limitpoint.papers.lyu2023.training import Training
from limitpoint.papers.measured import Check
from limitpoint.plot.style import COLOURS, new_figure

__all__ = ["Figure9"]

# The paper's own words: "after about 1000 iterations".
STEADY = 1000
# The first-order law leaves out what is of second order in the learning rate: a small multiple of
# the lost share itself.
SECOND_ORDER = 5.0
STANDARD_ERRORS = 5.0
# Relative to the largest p: the flow's own error is far below.
FLOW = 1e-6
# The sums over the steps of one run, of thousands of terms of one sign, each rounded.
SUMMED = 1e-9
# That run ends at this record: enough steps for the sums to be most of what they become.
COMPARED = 20


@register
@dataclass(frozen=True)
class Figure9(Training):
    """What noise takes from the start: p and p − q along SGD, with the exponent corrected."""

    paper: ClassVar[str] = "lyu2023"
    figure: ClassVar[str] = "figure9"
    title: ClassVar[str] = "Sampling noise alleviates the dependence on the initialisation"
    setup: ClassVar[str] = (
        "As printed: three rank-one networks of depth 3 and width 100, SGD with batches of 4 and "
        "learning rate 5e-5; p = θᵀθ(0)/‖θ(0)‖^λ and q = (2λη/(mb)) θᵀ∫ℓ‖θ‖^e tr(P_⊥XᵀX)θ ds. "
        "Chosen: the data of Figure 5, ‖θ(0)‖ of 0.3, 0.8696 and 2, 20000 iterations, forty seeds, "
        "the exponent e = 3λ − 2 in place of λ − 2. Beyond the paper: GD and the flow, and the "
        "share of P_null ∇V(0) that is lost, against Theorem 3 and against the loss of balance, "
        "which gives it to first order."
    )
    theorems: ClassVar[tuple[str, ...]] = ("lyu2023.theorem3",)

    learning_rate: float = 5e-5
    norms: tuple[float, ...] = (0.3, 0.8696, 2.0)
    seeds: int = 40

    def quick(self) -> Self:
        """Fewer scales, seeds and iterations."""
        return replace(self, norms=(0.8696, 2.0), seeds=8, steps=6000)

    def run(self) -> xr.Dataset:
        """Train with probes, and follow the flow."""
        data = self.draw()
        problem = self.rank_one(data)
        null, power = projector(problem), 1 - 1 / problem.network.degree
        record = np.unique(np.linspace(0, self.steps, 81).round().astype(int))
        runs = self.sweep(
            problem,
            data,
            self.norms,
            record=[int(step) for step in record],
            probes=[
                lp.analysis.StartTerm(),
                lp.analysis.NoiseTerm(),
                LostShare(null),
                LostByModel(null),
                LostByModel(null, power - 2, name="lost_as_printed"),
                LostByBalance(self.batch_size),
            ],
        )
        sizes = setting.scales(problem, self.norms)
        steps = runs["step"].values
        one = lp.Problem(problem.network, problem.init.at_scale(float(sizes[0])), problem.task)
        rule = lp.SGD(self.learning_rate, self.batch_size, seed=0)
        by_hand = noise_terms(one, rule, int(steps[COMPARED]))
        flow = setting.along_flow(problem, sizes, self.learning_rate * steps)
        start = flow[:, :1]
        norm = np.linalg.norm(start, axis=-1)
        axes = ("norm", "seed", "step")
        noisy = {
            "p": "start_term",
            "predicted_q": "noise_term",
            "lost": "lost",
            "predicted_lost": "lost_by_balance",
            "predicted_lost_by_theorem3": "lost_by_model",
            "lost_as_printed": "lost_as_printed",
        }
        return xr.Dataset(
            {
                **{name: (axes, runs[old].values[1]) for name, old in noisy.items()},
                **{f"by_hand_{name}": ((), value) for name, value in by_hand.items()},
                "gd_p": (("norm", "step"), runs["start_term"].values[0, :, 0]),
                "gd_p_half_step": (("norm", "step"), runs["start_term_half_step"].values),
                "predicted_p": (("norm", "step"), np.sum(flow * start, axis=-1) / norm**power),
                "growth": (
                    "norm",
                    (np.linalg.norm(flow[:, -1], axis=-1) / norm[:, 0])
                    ** (2 / problem.network.degree),
                ),
            },
            coords={"norm": list(self.norms), "step": steps.astype(np.int32)},
        )

    def checks(self, data: xr.Dataset) -> list[Check]:
        """With noise p − q is nearer to 0 than p; the lost share; p of GD on the flow."""
        p, q = data["p"].values, data["predicted_q"].values
        converged = data["step"].values >= STEADY
        whole, half = data["gd_p"].values, data["gd_p_half_step"].values
        flow = data["predicted_p"].values
        off = np.abs(setting.extrapolated(whole, half) - flow)
        allowed = setting.second_order(whole, half).max(axis=1, keepdims=True)
        allowed = allowed + FLOW * flow.max(axis=1, keepdims=True)
        lost, law = data["lost"].values[..., -1], data["predicted_lost"].values[..., -1]
        model = data["predicted_lost_by_theorem3"].values[..., -1].mean(axis=1)
        tolerance = STANDARD_ERRORS * _error(lost - law) / law.mean(axis=1)
        tolerance += SECOND_ORDER * law.mean(axis=1)
        place = np.log(model / lost.mean(axis=1)) / np.log(data["growth"].values)
        one_run = [
            Check(
                f"{name} of one run, over the sum of its steps written out",
                float(data[f"predicted_{name}"][0, 0, COMPARED] / data[f"by_hand_{name}"]),
                1,
                SUMMED,
            )
            for name in ("q", "lost", "lost_by_theorem3")
        ]
        return [
            *one_run,
            Check(
                "records from iteration 1000 on at which p − q is no nearer to 0 than p",
                int(np.sum(np.abs(p - q)[..., converged] >= np.abs(p)[..., converged])),
                0,
                0,
            ),
            Check(
                "p along GD as its step vanishes, off the flow, in second-order errors",
                float((off / allowed).max()),
                0,
                1,
            ),
            Check(
                "share of the start that SGD loses, off the first-order law, in tolerances",
                float((np.abs(lost.mean(axis=1) / law.mean(axis=1) - 1) / tolerance).max()),
                0,
                1,
            ),
            # Theorem 3 weighs the noise by ‖v₁‖² when it came instead of at the end: too much, but
            # by no more than ‖v₁‖² has grown. On the scale where 0 is right and 1 is that much.
            Check(
                "what Theorem 3 predicts beyond what is lost, between nothing and the growth",
                float(place[np.argmax(np.abs(place - 0.5))]),
                0.5,
                0.5,
            ),
        ]

    def plot(self, data: xr.Dataset) -> Figure:
        """The printed panel, p solid and p − q dotted, and the lost share beside it."""
        figure = new_figure((12.5, 5.2))
        left, middle, right = figure.subplots(1, 3)
        steps = data["step"].values
        for i, norm in enumerate(data["norm"].values):
            colour, one = COLOURS[i], data.isel(norm=i)
            p, q = one["p"].values.mean(axis=0), one["predicted_q"].values.mean(axis=0)
            left.plot(steps, p, "-", color=colour, label=rf"$p_\theta$, {norm:.4g}")
            left.plot(
                steps, p - q, ":", color=colour, lw=2, label=rf"$p_\theta-q_\theta$, {norm:.4g}"
            )
            dots = slice(0, None, 10)
            label = "flow" if i == len(data["norm"]) - 1 else None
            left.plot(steps[dots], one["predicted_p"].values[dots], "k.", ms=4, label=label)
            middle.plot(steps, q, ":", color=colour, lw=2, label=rf"$q_\theta$, {norm:.4g}")
            _draw_lost(right, steps, one, colour, f"{norm:.4g}")
        left.set_title("as printed; numbers are ‖θ(0)‖", loc="left", fontsize=10)
        middle.set_title("the difference alone", loc="left", fontsize=10)
        middle.set_ylabel(r"$q_\theta$")
        left.set_ylabel(r"$p_\theta$ and $p_\theta-q_\theta$")
        right.set_title("beyond: share of the start that is lost", loc="left", fontsize=10)
        right.set_ylabel(r"lost share of $P_{null}\nabla V(\theta(0))$")
        for axes in (left, middle, right):
            axes.set_xlabel("iteration")
            axes.legend(
                loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, frameon=False, fontsize=8
            )
        return figure


def _draw_lost(axes: Any, steps: Float, one: xr.Dataset, colour: str, label: str) -> None:
    lost = one["lost"].values
    axes.plot(steps, lost.mean(axis=0), "-", color=colour, label=f"SGD, {label}")
    dots = slice(0, None, 8)
    axes.plot(
        steps[dots],
        one["predicted_lost"].values.mean(axis=0)[dots],
        "o",
        color=colour,
        mfc="none",
        ms=5,
        label=f"loss of balance, {label}",
    )
    model = one["predicted_lost_by_theorem3"].values.mean(axis=0)
    axes.plot(steps, model, "--", color=colour, lw=1, label=f"Theorem 3, {label}")
    printed = one["lost_as_printed"].values.mean(axis=0)
    axes.plot(steps, printed, ":", color=colour, lw=1, label=f"as printed, {label}")


def _error(values: Float) -> Float:
    return np.asarray(values.std(axis=1, ddof=1) / np.sqrt(values.shape[1]))
