"""Appendix A.3: the redundant network θ = u^L, which cannot change its signs."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from limitpoint.foundation.arrays import Float
from limitpoint.init import Init
from limitpoint.networks import Power
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.shared.raw_flow import power_slopes, raw_flow
from limitpoint.plot.style import COLOURS, new_figure
from limitpoint.problem import Problem
from limitpoint.tasks import Regression
from limitpoint.theory import predict, saddles

__all__ = ["AppendixA3"]

SAMPLES, FEATURES, DEPTH = 3, 6, 3
# Targets, over the largest of the others, that no positive coefficients fit.
OUT_OF_REACH = (0.5, 0.1, 1.0)
CASES = ("inside", "boundary", "vanishing")
# Half-way along a plateau, a coefficient that rests there is (u(0)·scale/left)³, left the part of
# its activation time that is still to come: no less than this for these data.
LEFT = 0.02
LARGEST_START = 1.5
# A coefficient arrives 1/(Lgu) before its pole, g the negative gradient and u what it grows to,
# while the pole is at 1/(Lg·scale·u(0)): a part of the order of the scale, up to a few ratios of u
# and gradients.
ARRIVAL = 20.0
# Around each predicted saddle the flow is recorded this far to either side, at so many times.
AROUND, MOMENTS = 0.02, 201


@register
@dataclass(frozen=True)
class AppendixA3(Experiment):
    """Limits inside the sign constraints, on their boundary, and from vanishing scale."""

    paper: ClassVar[str] = "labarriere2024"
    figure: ClassVar[str] = "appendixA3"
    title: ClassVar[str] = (
        "θ = u³: limits inside the sign constraints, on their boundary, from scale 0"
    )
    setup: ClassVar[str] = (
        "Printed: θ = u^L, L > 2, with u of one sign, and the entropy (30), here corrected. "
        "Chosen: L = 3, 6 features, 3 samples, positive data; a target with positive solutions "
        "from scale 0.5, one without from the same start, the first one again from scale 1e-4. "
        "The parameters are integrated as they stand. The seed is one of six whose saddles are "
        "apart."
    )
    theorems: ClassVar[tuple[str, ...]] = (
        "limitpoint.sign_constrained",
        "limitpoint.boundary",
        "limitpoint.sign_constrained_at_zero",
    )

    seed: int = 3
    scale: float = 0.5
    vanishing: float = 1e-4
    records: int = 400

    def quick(self) -> "AppendixA3":
        """Fewer records."""
        return replace(self, records=100)

    def run(self) -> xr.Dataset:
        """Integrate the three cases; predict their limits, mirror coordinates and saddles."""
        rng = np.random.default_rng(self.seed)
        X, truth = rng.uniform(0, 1, (SAMPLES, FEATURES)), rng.uniform(0.2, 1.0, FEATURES)
        y, u = X @ truth, rng.uniform(0.5, 1.5, FEATURES)
        cases = {
            "inside": (Regression(X, y), self.scale, 1e4),
            "boundary": (Regression(X, np.array(OUT_OF_REACH) * y.max()), self.scale, 1e6),
            "vanishing": (Regression(X, y), self.vanishing, 100 / self.vanishing),
        }
        rows: dict[str, list[Float]] = {}
        for task, scale, t_end in cases.values():
            times = np.append(0.0, np.geomspace(1e-7 * t_end, t_end, self.records))
            problem = Problem(Power(depth=DEPTH), Init([u], scale), task)
            run = raw_flow(power_slopes(DEPTH), scale * u[None], task, times, stiff=True)
            for name, value in (
                ("time", times),
                ("coef", run.coefs),
                ("mirror", run.duals @ X),
                ("predicted_mirror", _entropy_gradient(run.coefs, scale * u)),
                ("predicted_limit", predict(problem).coef),
            ):
                rows.setdefault(name, []).append(value)
        path = saddles(problem)  # of the last case
        starts = path.path_times[1:] * path.time_unit
        plateaus, jumps = _measured_path(problem, path.coefs, starts)
        at_zero = predict(Problem(problem.network, problem.init.at_scale(0.0), problem.task))
        along = ("case", "record", "feature")
        return xr.Dataset(
            {
                "time": (along[:2], np.stack(rows["time"])),
                "coef": (along, np.stack(rows["coef"])),
                "mirror": (along, np.stack(rows["mirror"])),
                "predicted_mirror": (along, np.stack(rows["predicted_mirror"])),
                "predicted_limit": (("case", "feature"), np.stack(rows["predicted_limit"])),
                "predicted_at_zero": ("feature", at_zero.coef),
                "predicted_saddle": (("saddle", "feature"), path.coefs[1:]),
                "plateau": (("saddle", "feature"), plateaus),
                "jump": ("saddle", jumps),
                "predicted_time": ("saddle", starts),
            },
            coords={"case": list(CASES), "feature": np.arange(1, FEATURES + 1, dtype=np.int32)},
        )

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Where the three end, that no sign changes, and the entropy along the way."""
        found = []
        for case in CASES:
            one = data.sel(case=case)
            end, limit = one["coef"].values[-1], one["predicted_limit"].values
            # On the boundary a coefficient decays as (Lt|u_i|)^{-L/(L-2)}, far below this at 1e6.
            name = f"{case}: distance of the end from the limit"
            found.append(Check(name, float(np.abs(end - limit).max()), 0.0, 1e-8))
            smallest = float(one["coef"].values.min())
            name = f"{case}: whether all coefficients stay positive"
            found.append(Check(name, float(smallest > 0), 1.0, 0.0))
            # Relative to the mirror coordinates, which grow without bound on the boundary. There u
            # falls to 1e-7, and is integrated to 1e-14 per step.
            xi = one["mirror"].values
            off = np.abs(xi - one["predicted_mirror"].values)[1:]
            size = np.maximum(np.abs(xi[1:]), _largest(xi))
            name = f"{case}: distance of ∇Q(θ(t)) from the mirror coordinates, relative"
            found.append(Check(name, float((off / size).max()), 0.0, 1e-6))
        at_rest = data["predicted_limit"].sel(case="boundary").values == 0
        found.append(
            Check(
                "boundary: coefficients below 1e-12 at the end",
                float((data["coef"].sel(case="boundary").values[-1] < 1e-12).sum()),
                float(at_rest.sum()),
                0.0,
            )
        )
        end = data["coef"].sel(case="vanishing").values[-1]
        off = float(np.abs(end - data["predicted_at_zero"].values).max())
        # Inactive coefficients are of order scale³, times a constant that is 3000 for these data.
        name = "vanishing: distance of the end from the limit at scale 0"
        found.append(Check(name, off, 0.0, self.vanishing**2))
        off = float(np.abs(data["plateau"].values - data["predicted_saddle"].values).max())
        allowed = (LARGEST_START * self.vanishing / LEFT) ** 3
        found.append(Check("vanishing: distance of plateaus from saddles", off, 0.0, allowed))
        early = float(np.abs(data["jump"].values / data["predicted_time"].values - 1).max())
        name = "vanishing: times of the jumps, off the predicted, relative"
        found.append(Check(name, early, 0.0, ARRIVAL * self.vanishing))
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """The three cases side by side, with their limits or saddles."""
        figure = new_figure((12, 4.6))
        panels = figure.subplots(1, 3)
        titles = (
            "a fit inside the sign constraints",
            "none inside: on the boundary",
            "vanishing scale",
        )
        for axes, case, title in zip(panels, CASES, titles, strict=True):
            one = data.sel(case=case)
            times = one["time"].values
            for i in range(FEATURES):
                axes.plot(times[1:], one["coef"].values[1:, i], color=COLOURS[i])
                if case != "vanishing":
                    axes.axhline(
                        one["predicted_limit"].values[i],
                        color=COLOURS[i],
                        linestyle="--",
                        linewidth=1,
                    )
            axes.set_xscale("log")
            axes.set(xlabel="time", title=title)
        _draw_saddles(panels[2], data)
        panels[0].set_ylabel("coefficient $θ_i = u_i^3$")
        for i in range(FEATURES):
            panels[0].plot([], [], color=COLOURS[i], label=f"θ{i + 1}")
        panels[0].plot([], [], "k--", linewidth=1, label="predicted")
        figure.legend(loc="outside lower center", ncols=7, frameon=False)
        return figure


def _measured_path(problem: Problem, saddle: Float, starts: Float) -> tuple[Float, Float]:
    """Coefficients half-way along each plateau, and times half-way from saddle to saddle.

    Read off a flow of the parameters; the predictions say only where to look.
    """
    halfway = np.append((starts[:-1] + starts[1:]) / 2, 1.5 * starts[-1])
    around = np.multiply.outer(starts, np.linspace(1 - AROUND, 1 + AROUND, MOMENTS))
    times = np.unique(np.concatenate([[0.0], halfway, around.ravel()]))
    start = np.stack(problem.init.layers)
    run = raw_flow(power_slopes(DEPTH), start, problem.regression, times, stiff=True)
    jumps = []
    for i, moments in enumerate(around):
        way = saddle[i + 1] - saddle[i]
        gone = (run.coefs[np.searchsorted(times, moments)] - saddle[i]) @ way / (way @ way)
        jumps.append(np.interp(0.5, gone, moments))
    return run.coefs[np.searchsorted(times, halfway)], np.array(jumps)


def _entropy_gradient(coefs: Float, start: Float) -> Float:
    """`∇Q(θ) = (u(0)^{−(L−2)} − θ^{−(L−2)/L})/(L(L−2))`: (30) corrected."""
    power = DEPTH - 2
    gradient: Float = (start**-power - coefs ** (-power / DEPTH)) / (DEPTH * power)
    return gradient


def _largest(xi: Float) -> Float:
    """For each coefficient, the largest mirror coordinate up to each time."""
    return np.asarray(np.maximum.accumulate(np.abs(xi), axis=0)[1:])


def _draw_saddles(axes: Axes, data: xr.Dataset) -> None:
    starts = data["predicted_time"].values
    ends = np.append(starts[1:], data["time"].sel(case="vanishing").values[-1])
    for i in range(FEATURES):
        for value, a, b in zip(data["predicted_saddle"].values[:, i], starts, ends, strict=True):
            axes.plot([a, b], [value, value], color=COLOURS[i], linestyle="--", linewidth=1)
    axes.set_xlim(0.3 * starts[0], ends[-1])
