"""Figure 3: noise alone, in two dimensions."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from limitpoint.dynamics.noise_process import NoiseProcess, commutator_norms
from limitpoint.experiments.check import Check
from limitpoint.experiments.experiment import Experiment, register
from limitpoint.experiments.varre2023.linear import hidden_values
from limitpoint.experiments.varre2023.noise_law import log_determinant_rate, noise_paths
from limitpoint.plot.style import COLOURS, new_figure

__all__ = ["Figure3"]

# Means are compared within so many standard errors.
ERRORS = 5.0
# The runs that are drawn are recorded so often.
RUN_RECORDS = 300


@register
@dataclass(frozen=True)
class Figure3(Experiment):
    """Three runs of the noise process, and what holds for their distribution."""

    paper: ClassVar[str] = "varre2023"
    figure: ClassVar[str] = "figure3"
    title: ClassVar[str] = "The noise process in two dimensions: growth and alignment"
    setup: ClassVar[str] = (
        "Printed: dW = (dB)aᵀ, da = WᵀdB with d = 2, W(0) = I, a(0) = 0, three runs, steps that "
        "shrink as 1/√t. Chosen: equal steps, length, seeds. Added: means over many paths, since "
        "three runs show nothing that could be wrong. Beside Proposition 4.1: the mean modulus of "
        "the commutator tends to 0.4819, not to 0, while det W and with it the commutator of "
        "almost every path vanish at the rate −0.2374."
    )
    theorems: ClassVar[tuple[str, ...]] = ("varre2023.proposition4.1",)

    runs: int = 3
    t_runs: float = 20.0
    paths: int = 100_000
    t_end: float = 3.0
    records: int = 30
    time_step: float = 2e-3
    seed: int = 0

    def quick(self) -> Self:
        """Fewer paths and longer steps."""
        return replace(self, paths=30_000, time_step=5e-3, t_runs=15.0)

    def run(self) -> xr.Dataset:
        """Step the runs and the paths; moments in closed form."""
        process = NoiseProcess(2)
        shown = RUN_RECORDS * round(self.t_runs / RUN_RECORDS / self.time_step)
        run_times, first, second = noise_paths(
            self.runs, self.t_runs, shown, RUN_RECORDS, self.seed + 1
        )
        # Paths first, as for any stack of matrices.
        first, second = np.moveaxis(first, -1, 0), np.moveaxis(second, -1, 0)
        steps = self.records * round(self.t_end / self.records / self.time_step)
        times, W, a = noise_paths(self.paths, self.t_end, steps, self.records, self.seed)
        commutator = W[:, :, 0] * a[:, None, 1] - W[:, :, 1] * a[:, None, 0]
        determinants = W[:, 0, 0] * W[:, 1, 1] - W[:, 0, 1] * W[:, 1, 0]
        logs = np.log(np.abs(determinants))
        limit = process.mean_modulus_limit
        # Most of the spread of the moduli is that of the determinant, which has mean one.
        steadied = np.abs(commutator).mean(axis=1) - limit * (determinants - 1.0)
        half = self.records // 2
        slopes = (logs[-1] - logs[half]) / (times[-1] - times[half])
        moments = np.array([process.mean_squares(time) for time in times])
        errors = np.array([process.standard_errors(time, self.paths) for time in times])
        ratios = (commutator[-1] ** 2).sum(axis=0) / determinants[-1] ** 2
        root = np.sqrt(self.paths)
        return xr.Dataset(
            {
                "run_values": (("run", "run_time", "value"), hidden_values(first)),
                "run_commutators": (("run", "run_time"), commutator_norms(first, second)[..., 0]),
                "mean_square_W": ("time", (W**2).sum(axis=(1, 2)).mean(axis=1)),
                "mean_square_a": ("time", (a**2).sum(axis=1).mean(axis=1)),
                "predicted_mean_square_W": ("time", moments[:, 0]),
                "predicted_mean_square_a": ("time", moments[:, 1]),
                "error_W": ("time", errors[:, 0]),
                "error_a": ("time", errors[:, 1]),
                "mean_modulus": ("time", steadied.mean(axis=1)),
                "modulus_error": ("time", steadied.std(axis=1) / root),
                "median_modulus": ("time", np.median(np.abs(commutator[:, 0]), axis=1)),
                "predicted_modulus_limit": ((), limit),
                "mean_commutator": ("time", commutator[:, 0].mean(axis=1)),
                "commutator_error": ("time", commutator[:, 0].std(axis=1) / root),
                "mean_ratio": ((), ratios.mean()),
                "ratio_error": ((), ratios.std() / root),
                "predicted_ratio": ((), -2 * log_determinant_rate()),
                "log_determinant": ("time", logs.mean(axis=1)),
                "rate": ((), slopes.mean()),
                "rate_error": ((), slopes.std() / root),
                "predicted_rate": ((), log_determinant_rate()),
            },
            coords={"run_time": run_times, "time": times},
        )

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Means within five standard errors, beyond what Euler's step costs."""
        time = data["time"].values
        found = []
        # Euler's second moments fall behind by d·h·t/2 = h·t, relative; other means by the order of
        # h. The paths' fourth moments are so large that only early means say much: the latest that
        # is looked at has a standard error of about one per cent.
        for name in ("W", "a"):
            measured = data[f"mean_square_{name}"].values
            predicted = data[f"predicted_mean_square_{name}"].values
            for at in (0.1, 0.3, 1.0):
                i = int(np.argmin(np.abs(time - at)))
                allowed = ERRORS * float(data[f"error_{name}"][i])
                allowed += 2 * self.time_step * time[i] * float(measured[i])
                label = f"E‖{name}‖² at t = {at:g}"
                found.append(Check(label, float(measured[i]), float(predicted[i]), allowed))
        limit, rate = float(data["predicted_modulus_limit"]), float(data["predicted_rate"])
        # What is left of the start at t = 3 is below 1e-3 of the limit.
        allowed = ERRORS * float(data["modulus_error"][-1]) + (1e-3 + 2 * self.time_step) * limit
        found.append(
            Check("E|[w₁, a]|, at the end", float(data["mean_modulus"][-1]), limit, allowed)
        )
        slack = ERRORS * float(data["commutator_error"][-1])
        found.append(Check("E[w₁, a], at the end", float(data["mean_commutator"][-1]), 0.0, slack))
        # The start is forgotten as e^{−2t} at least: by the middle of the time to 5 %, and on
        # average over the second half to a third of that.
        slack = ERRORS * float(data["rate_error"]) + (0.02 + 2 * self.time_step) * abs(rate)
        found.append(Check("rate of log det W", float(data["rate"]), rate, slack))
        ratio = float(data["predicted_ratio"])
        # By the end to e^{−6}.
        slack = ERRORS * float(data["ratio_error"]) + (2.5e-3 + 2 * self.time_step) * ratio
        found.append(Check("E(|e|/det W)², at the end", float(data["mean_ratio"]), ratio, slack))
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """The two panels of the paper above, the means below."""
        figure = new_figure((10.0, 7.2))
        (top_left, top_right), (left, right) = figure.subplots(2, 2)
        time, rate = data["run_time"].values, float(data["predicted_rate"])
        values = data["run_values"].values
        for run in range(values.shape[0]):
            colour = COLOURS[run]
            label = f"run {run + 1}"
            top_left.plot(time, values[run, :, 0], color=colour, label=f"{label}: $\\sigma_0$")
            top_left.plot(
                time, values[run, :, 1], color=colour, linestyle=":", label=f"{label}: $\\sigma_1$"
            )
            commutators = np.where(time > 0, data["run_commutators"].values[run], np.nan)
            top_right.plot(time, commutators, color=colour, label=label)
        guide = np.exp(rate * time)
        top_right.plot(time, guide, "k--", linewidth=1.2, label=f"predicted rate {rate:.4f}")
        # A commutator that passes through zero dips as far as the records happen to resolve.
        top_right.set_ylim(1e-5, 20.0)
        top_left.set_title("(a) singular values of W")
        top_right.set_title("(b) |[w₁, a]|")
        _draw_means(left, right, data)
        for axes in (top_left, top_right, left):
            axes.set_yscale("log")
        for axes in (top_left, top_right, left, right):
            axes.set_xlabel("time")
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        return figure


def _draw_means(left: Axes, right: Axes, data: xr.Dataset) -> None:
    time = data["time"].values
    marks = {"W": (COLOURS[0], "o"), "a": (COLOURS[1], "s")}
    for name, (colour, marker) in marks.items():
        mean = data[f"mean_square_{name}"].values[1:]
        left.errorbar(
            time[1:],
            mean,
            np.minimum(data[f"error_{name}"].values[1:], 0.9 * mean),
            color=colour,
            marker=marker,
            markersize=3,
            linestyle="none",
            label=f"E‖{name}‖², paths",
        )
        label = "predicted" if name == "W" else None
        left.plot(time[1:], data[f"predicted_mean_square_{name}"][1:], "k--", lw=1.2, label=label)
    left.set_title("means of squares")
    limit = float(data["predicted_modulus_limit"])
    right.errorbar(
        time[1:],
        data["mean_modulus"][1:],
        data["modulus_error"][1:],
        color=COLOURS[2],
        marker="o",
        markersize=3,
        linestyle="none",
        label="mean",
    )
    right.plot(time, data["median_modulus"], color=COLOURS[3], label="median")
    right.plot(time, data["mean_commutator"], color=COLOURS[4], label="signed mean")
    right.axhline(limit, color="black", linestyle="--", linewidth=1.2, label=f"{limit:.4f}")
    right.set_title("|[w₁, a]| over all paths")
