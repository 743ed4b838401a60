"""Figure 3: noise alone, in two dimensions."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from limitpoint.foundation.arrays import Float
from limitpoint.papers.experiment import Experiment, register
from limitpoint.papers.measured import Check
from limitpoint.papers.varre2023.linear import hidden_values
from limitpoint.papers.varre2023.noise_law import (
    log_determinant_rate,
    noise_paths,
    steadied,
)
from limitpoint.papers.varre2023.noise_process import NoiseProcess, commutator_norms
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
        limit = process.mean_modulus_limit
        # Most of the spread of the moduli is that of the determinant, which has mean one.
        moduli = np.abs(commutator).mean(axis=1) - limit * (determinants - 1.0)
        moments = np.array([process.mean_squares(time) for time in times])
        errors = np.array([process.standard_errors(time, self.paths) for time in times])
        squares_w, squares_a = (W**2).sum(axis=(1, 2)), (a**2).sum(axis=1)
        root = np.sqrt(self.paths)
        return xr.Dataset(
            {
                "run_values": (("run", "run_time", "value"), hidden_values(first)),
                "run_commutators": (("run", "run_time"), commutator_norms(first, second)[..., 0]),
                "mean_square_W": ("time", squares_w.mean(axis=1)),
                "mean_square_a": ("time", squares_a.mean(axis=1)),
                "error_apart": ("time", (squares_w - squares_a).std(axis=1) / root),
                "predicted_mean_square_W": ("time", moments[:, 0]),
                "predicted_mean_square_a": ("time", moments[:, 1]),
                "error_W": ("time", errors[:, 0]),
                "error_a": ("time", errors[:, 1]),
                "euler_lag": ("time", -np.diff(moments - self._by_euler())[:, 0]),
                "mean_modulus": ("time", moduli.mean(axis=1)),
                "moduli_error": ("time", moduli.std(axis=1) / root),
                "median_modulus": ("time", np.median(np.abs(commutator[:, 0]), axis=1)),
                "predicted_modulus_limit": ((), limit),
                "mean_commutator": ("time", commutator[:, 0].mean(axis=1)),
                "commutator_error": ("time", commutator[:, 0].std(axis=1) / root),
                "log_determinant": ("time", np.log(np.abs(determinants)).mean(axis=1)),
                **self._steady(times, commutator, determinants),
                "predicted_ratio": ((), -2 * log_determinant_rate()),
                "predicted_rate": ((), log_determinant_rate()),
            },
            coords={"run_time": run_times, "time": times},
        )

    def _by_euler(self) -> Float:
        """E‖W‖² and E‖a‖² at the records as Euler's steps have them: they grow by 2h‖a‖², h‖W‖²."""
        each = round(self.t_end / self.records / self.time_step)
        now, found = np.array([2.0, 0.0]), [np.array([2.0, 0.0])]
        for _ in range(self.records):
            for _ in range(each):
                now = now + self.time_step * np.array([2 * now[1], now[0]])
            found.append(now)
        return np.stack(found)

    def _steady(
        self, times: Float, commutator: Float, determinants: Float
    ) -> dict[str, tuple[tuple[()], float]]:
        """Means at the end with their errors, and what controls have left of the spread."""
        length = np.sqrt((commutator**2).sum(axis=1))
        ratios, end = (length / determinants) ** 2, determinants[-1]
        last = ratios[-1]
        found = {"ratio": (last, steadied(last, 2 - 6 * last + 3 * last**2))}
        # By symmetry the commutators of the two rows point anywhere: E|e₁| = (2/π) E|e|.
        modulus = 2 / np.pi * length[-1]
        weighed = end * (2 - 4 * last + last**2)
        found["modulus"] = (modulus, steadied(modulus, end - 1, weighed))
        # log D falls by ½ρ² on average, beside a martingale, whose steps between records are those
        # of D itself over D. Euler's step makes that ½ρ² + ¾ρ⁴h.
        half = self.records // 2
        span = times[-1] - times[half]
        martingale = (determinants[half + 1 :] / determinants[half:-1] - 1).sum(axis=0) / span
        falls = 0.5 * ratios[half:] + 0.75 * self.time_step * ratios[half:] ** 2
        slope = np.log(np.abs(end / determinants[half])) / span
        slope = slope + np.trapezoid(falls, times[half:], axis=0) / span
        found["beyond"] = (slope, steadied(slope, martingale))
        numbers: dict[str, tuple[tuple[()], float]] = {}
        for name, (plain, steady) in found.items():
            numbers[f"end_{name}"] = ((), float(steady.mean()))
            numbers[f"{name}_error"] = ((), float(steady.std() / np.sqrt(self.paths)))
            numbers[f"{name}_left"] = ((), float(steady.std() / plain.std()))
        return numbers

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
        for at in (0.1, 0.3):
            # What is random in the two squares is the same to first order, and their difference is
            # not: there, means of a tell more.
            i = int(np.argmin(np.abs(time - at)))
            both = [
                (data[f"mean_square_{n}"][i], data[f"predicted_mean_square_{n}"][i]) for n in "Wa"
            ]
            (large, due), (small, less) = both
            allowed = ERRORS * float(data["error_apart"][i])
            # What Euler's steps fall behind by is known here, and added.
            apart = float(large - small + data["euler_lag"][i])
            label = f"E‖W‖² − E‖a‖² at t = {at:g}"
            found.append(Check(label, apart, float(due - less), allowed))
        limit, rate = float(data["predicted_modulus_limit"]), float(data["predicted_rate"])
        ratio = float(data["predicted_ratio"])
        # At t = 3 what is left of the start is below 1e-3 of the modulus' limit and e^{−6} of the
        # ratio; Euler's step costs the order of h. Controls take the same part of that as of the
        # spread.
        allowed = ERRORS * float(data["modulus_error"])
        allowed += float(data["modulus_left"]) * (1e-3 + 2 * self.time_step) * limit
        found.append(Check("E|[w₁, a]|, at the end", float(data["end_modulus"]), limit, allowed))
        slack = ERRORS * float(data["commutator_error"][-1])
        found.append(Check("E[w₁, a], at the end", float(data["mean_commutator"][-1]), 0.0, slack))
        slack = ERRORS * float(data["ratio_error"])
        slack += float(data["ratio_left"]) * (2.5e-3 + 2 * self.time_step) * ratio
        end = float(data["end_ratio"])
        found.append(Check("E(|e|/det W)², at the end", end, ratio, slack))
        # What log det W falls by beyond −½(|e|/det W)² of the same paths is of second order in h.
        allowed = ERRORS * float(data["beyond_error"]) + self.time_step**2
        beyond = float(data["end_beyond"])
        found.append(Check("rate of log det W, beyond −½(|e|/det W)²", beyond, 0.0, allowed))
        found.append(Check("−½E(|e|/det W)², the rate of log det W", -end / 2, rate, slack / 2))
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
        data["moduli_error"][1:],
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
