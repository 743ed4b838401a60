"""Distances along training, with the flow beside GD: Figures 6, 7 and 12."""

from typing import Any

import numpy as np
import xarray as xr

import limitpoint as lp
from limitpoint.papers.lyu2023 import setting
from limitpoint.papers.lyu2023.training import Training
from limitpoint.papers.measured import Check
from limitpoint.plot.style import COLOURS

__all__ = ["checks_along", "draw_along", "steps_shown", "train_along"]

# Relative to the largest distance: flow and training are recorded at the same times, and the flow's
# own error (its tolerance is 1e-10) is far below.
FLOW = 1e-6


def steps_shown(steps: int, count: int = 60) -> list[int]:
    """Log-spaced steps."""
    return [int(step) for step in np.unique(np.geomspace(1, steps, count).round())]


def train_along(
    figure: Training, problem: lp.Problem, data: setting.Data, norms: tuple[float, ...]
) -> xr.Dataset:
    """`D(θ(t), θ_ℓ2)` of GD, of SGD and of gradient flow from every norm."""
    runs = figure.sweep(problem, data, norms, record=steps_shown(figure.steps))
    shown = runs["step"].values
    flow = setting.along_flow(problem, setting.scales(problem, norms), figure.learning_rate * shown)
    runs_axes = ("optimiser", "norm", "seed")
    return xr.Dataset(
        {
            "distance": ((*runs_axes, "step"), runs["distance_l2"].values),
            "distance_half_step": (("norm", "step"), runs["distance_l2_half_step"].values),
            "coef": ((*runs_axes, "feature"), runs["coef"].values),
            "predicted_distance": (("norm", "step"), data.distance(flow)),
            "predicted_limit": ("norm", data.distance(setting.limits(problem, norms))),
            "predicted_by_law": ((*runs_axes, "feature"), setting.by_law(problem, runs)),
        },
        coords={
            "optimiser": setting.GD_AND_SGD,
            "seed": runs["seed"].values.astype(np.int32),
            "norm": list(norms),
            "step": shown.astype(np.int32),
        },
    )


def checks_along(one: xr.Dataset, name: str = "") -> list[Check]:
    """SGD below GD at the end; GD along the flow as its step vanishes; the exact law."""
    prefix = f"{name}: " if name else ""
    distances = one["distance"].values
    gd, half = distances[0, :, 0], one["distance_half_step"].values
    flow, limits = one["predicted_distance"].values, one["predicted_limit"].values
    off = np.abs(setting.extrapolated(gd, half) - flow)
    # In a fast phase the whole first-order error passes through an instant: the largest counts.
    allowed = setting.second_order(gd, half).max(axis=1, keepdims=True)
    allowed = allowed + FLOW * flow.max(axis=1, keepdims=True)
    coefs, law = one["coef"].values, one["predicted_by_law"].values
    ends = setting.extrapolated(gd[:, -1], half[:, -1])
    return [
        Check(
            f"{prefix}starts from which SGD does not end nearer to minimum norm than GD",
            setting.nearer(distances[..., -1]),
            0,
            0,
        ),
        Check(
            f"{prefix}D along GD as its step vanishes, off the flow, in second-order errors",
            float((off / allowed).max()),
            0,
            1,
        ),
        Check(
            f"{prefix}the same at the end, off the predicted limit",
            float((np.abs(ends - limits) / allowed[:, 0]).max()),
            0,
            1,
        ),
        Check(
            f"{prefix}runs off the exact law, relative, largest over all",
            float(setting.relative(coefs, law).max()),
            0,
            setting.LAW,
        ),
    ]


def draw_along(axes: Any, one: xr.Dataset, labels: list[str]) -> None:
    """GD solid, SGD dashed, as printed; the flow's dots on GD, its limit at the edge."""
    steps, distances = one["step"].values, one["distance"].values
    for i, label in enumerate(labels):
        colour = COLOURS[i % len(COLOURS)]
        axes.plot(steps, distances[0, i, 0], "-", color=colour, label=f"GD ({label})")
        mean = distances[1, i].mean(axis=0)
        axes.plot(steps, mean, "--", color=colour, label=f"SGD ({label})")
        spread = distances[1, i].std(axis=0, ddof=1)
        axes.fill_between(steps, mean - spread, mean + spread, color=colour, alpha=0.2, linewidth=0)
        every = slice(1, None, 4)
        flow = one["predicted_distance"].values[i]
        axes.plot(
            steps[every],
            flow[every],
            "k.",
            markersize=4,
            label="exact flow" if i == len(labels) - 1 else None,
        )
        axes.plot(
            [1.0],
            [one["predicted_limit"].values[i]],
            marker="<",
            color=colour,
            markeredgecolor="black",
            clip_on=False,
            transform=axes.get_yaxis_transform(),
            linestyle="none",
            label="predicted limit of GD" if i == len(labels) - 1 else None,
        )
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlim(0, int(steps[-1]))
    axes.set_xlabel("iteration")
    axes.set_ylabel(r"$D(\theta(t), \theta_{\ell_2}^*)$")
