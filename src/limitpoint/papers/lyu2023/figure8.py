"""Figure 8: rank-one networks against diagonal ones."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import limitpoint as lp
from limitpoint.papers.experiment import register
from limitpoint.papers.lyu2023 import setting
from limitpoint.papers.lyu2023.training import Training
from limitpoint.papers.measured import Check
from limitpoint.plot.style import COLOURS, new_figure

__all__ = ["Figure8"]

# In a signed power of depth 2 the product w₊w₋ is conserved by the flow; GD takes away a share of
# at most (2η|u|)² at each step, u the negative gradient in the coefficient: in all 4η·loss(0), a
# first-order error. Half the step is extrapolated as everywhere; this is what is left where the
# first-order error itself vanishes in rounding.
FLOOR = 1e-6
# GD has ended where its loss, over that of zero coefficients, is below this: coefficients then are
# off by some 1e-7 of themselves at most, below the floor.
ENDED = 1e-14


COLUMNS = (
    *("distance", "distance_truth", "distance_half_step", "distance_truth_half_step"),
    *("second_order", "predicted_distance", "predicted_distance_truth"),
)


@register
@dataclass(frozen=True)
class Figure8(Training):
    """Networks of both kinds from growing starts: one leaves minimum norm, the other nears it."""

    paper: ClassVar[str] = "lyu2023"
    figure: ClassVar[str] = "figure8"
    title: ClassVar[str] = "Small starts lead to minimum ℓ2 norm in rank-one networks, not diagonal"
    setup: ClassVar[str] = (
        "As printed: the data of Figure 5; θ = w₊² − w₋² from w₊(0) = w₋(0) = C, GD with 20000 "
        "iterations, beside GD and SGD of the rank-one network of Figure 5; learning rate 1e-3. "
        "Chosen: the same eight values for C and ‖θ(0)‖, and ten seeds. Beyond the paper: the "
        "predicted limit of either, and the flow of rank-one networks down to ‖θ(0)‖ = 1e-20, "
        "where D vanishes in proportion to the scale."
    )
    theorems: ClassVar[tuple[str, ...]] = (
        "lyu2023.theorem1",
        "lyu2023.corollary1.1",
        "limitpoint.null_space_law",
    )

    norms: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4, 0.8, 1.4, 2.0, 3.0)
    vanishing: tuple[float, ...] = (1e-5, 1e-10, 1e-15, 1e-20)

    def quick(self) -> Self:
        """Fewer scales and seeds."""
        return replace(self, norms=(0.1, 0.4, 0.8, 2.0), vanishing=(1e-10, 1e-20), seeds=3)

    def run(self) -> xr.Dataset:
        """Train both networks, predict both, and follow the flow from vanishing starts."""
        data = self.draw()
        problem = self.rank_one(data)
        rank_one = self.ends(problem, data, self.norms, COLUMNS)
        return xr.merge([rank_one, self._diagonal(data), self._vanishing(problem, data)])

    def _diagonal(self, data: setting.Data) -> xr.Dataset:
        """GD, with the whole and half the step, and the limit of the flow."""
        network = lp.SignedPower(depth=2)
        problem = lp.Problem(network, lp.Init.unbiased(network, data.task, scale=1.0), data.task)
        found = lp.train_many(
            problem,
            [lp.GD(self.learning_rate), lp.GD(self.learning_rate / 2)],
            2 * self.steps,
            scales=self.norms,
            truth=data.truth,
            record=[self.steps],
        ).data.isel(seed=0)
        path = lp.predict_path(problem, self.norms)
        # From the smallest C, 20000 iterations are not the end: GD is compared with the flow then.
        now = [self.learning_rate * self.steps]
        reached = setting.along_flow(problem, self.norms, np.array(now))[:, -1]
        whole = found.isel(optimiser=0).sel(step=self.steps)
        half = found.isel(optimiser=1).sel(step=2 * self.steps)
        names = setting.DISTANCES
        return xr.Dataset(
            {
                **{f"diagonal_{name}": ("norm", whole[old].values) for name, old in names.items()},
                **{
                    f"diagonal_{name}_half_step": ("norm", half[old].values)
                    for name, old in names.items()
                },
                "diagonal_second_order": (
                    "norm",
                    setting.second_order_of(*found["coef"].values),
                ),
                "diagonal_loss": ("norm", whole["loss"].values / float(np.mean(data.task.y**2))),
                "predicted_diagonal_reached": ("norm", data.distance(reached)),
                "predicted_diagonal_distance": ("norm", data.distance(path.coefs)),
                "predicted_diagonal_distance_truth": ("norm", data.distance_truth(path.coefs)),
            },
            coords={"norm": list(self.norms)},
        )

    def _vanishing(self, problem: lp.Problem, data: setting.Data) -> xr.Dataset:
        """The flow from vanishing starts, against Corollary 1.1."""
        sizes, distances, ratio = setting.vanishing(problem, data, self.vanishing)
        return xr.Dataset(
            {
                "vanishing_scale": ("vanishing_norm", sizes),
                "vanishing_distance": ("vanishing_norm", distances),
                "predicted_ratio": ((), ratio),
            },
            coords={"vanishing_norm": list(self.vanishing)},
        )

    def checks(self, data: xr.Dataset) -> list[Check]:
        """Directions of the curves, both limits, and Corollary 1.1."""
        gd, diagonal = data["distance"].values[0, :, 0], data["diagonal_distance"].values
        finer = data["diagonal_distance_half_step"].values
        away = np.abs(
            setting.extrapolated(diagonal, finer) - data["predicted_diagonal_reached"].values
        )
        ratios = data["vanishing_distance"].values / data["vanishing_scale"].values
        ratio = float(data["predicted_ratio"])
        allowed = setting.VANISHING * data["vanishing_scale"].values ** 2 + FLOOR
        return [
            Check(
                "rank-one: steps of the scale at which D to minimum norm does not rise (GD)",
                int(np.sum(np.diff(gd) <= 0)),
                0,
                0,
            ),
            Check(
                "rank-one: the same for SGD",
                int(np.sum(np.diff(data["distance"].values[1].mean(axis=1)) <= 0)),
                0,
                0,
            ),
            Check(
                "diagonal: steps of C at which D to minimum norm does not fall",
                int(np.sum(np.diff(diagonal) >= 0)),
                0,
                0,
            ),
            Check(
                "rank-one: scales at which SGD does not end nearer to minimum norm than GD",
                setting.nearer(data["distance"].values),
                0,
                0,
            ),
            Check(
                "diagonal: D of GD as its step vanishes, off the flow, in second-order errors",
                float((away / (setting.second_order(diagonal, finer) + FLOOR * diagonal)).max()),
                0,
                1,
            ),
            *self._limits(data),
            Check(
                "rank-one: D/scale of vanishing starts, off ‖X⁺y‖^λ‖P_null v‖, in tolerances",
                float((np.abs(ratios / ratio - 1) / allowed).max()),
                0,
                1,
            ),
        ]

    def _limits(self, data: xr.Dataset) -> list[Check]:
        """Both distances of both networks, where GD has ended, off their limits."""
        ended = data["diagonal_loss"].values <= ENDED
        found = [
            Check("diagonal: share of C from which GD has not ended", 1 - ended.mean(), 0, 0.5)
        ]
        for kind, point in (("distance", "θ_ℓ2"), ("distance_truth", "θ*")):
            for network, prefix, here in (
                ("rank-one", "", np.full_like(ended, True)),
                ("diagonal", "diagonal_", ended),
            ):
                whole, half = data[f"{prefix}{kind}"].values, data[f"{prefix}{kind}_half_step"]
                whole = whole if whole.ndim == 1 else whole[0, :, 0]
                off = setting.extrapolated(whole, half.values)
                off = np.abs(off - data[f"predicted_{prefix}{kind}"].values)
                # Relative to the coefficients, or to the distance, which may be far smaller.
                allowed = data[f"{prefix}second_order"].values + FLOOR * whole
                allowed = allowed + setting.second_order(whole, half.values)
                found.append(
                    Check(
                        f"{network}: D({point}) of GD as its step vanishes, off its limit, in "
                        "second-order errors",
                        float((off / allowed)[here].max()),
                        0,
                        1,
                    )
                )
        return found

    def plot(self, data: xr.Dataset) -> Figure:
        """Two panels, as printed, and a third for vanishing starts."""
        figure = new_figure((14.0, 4.8))
        panels = figure.subplots(1, 3)
        for axes, kind, label in zip(
            panels[:2],
            ("distance", "distance_truth"),
            (r"\theta_{\ell_2}^*", r"\theta^*"),
            strict=True,
        ):
            _draw(axes, data, kind)
            axes.set_ylabel(rf"$D(\theta(\infty), {label})$")
            axes.set_xlabel(r"$\|\theta(0)\|$ (rank-one) or $C$ (diagonal)")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
        norms, distances = data["vanishing_norm"].values, data["vanishing_distance"].values
        line = float(data["predicted_ratio"]) * data["vanishing_scale"].values
        panels[2].loglog(norms, line, "k-", linewidth=1, label="Corollary 1.1, first order")
        panels[2].loglog(norms, distances, "D", color=COLOURS[3], label="rank-one, exact flow")
        panels[2].set_xlabel(r"$\|\theta(0)\|$ (rank-one)")
        panels[2].set_ylabel(r"$D(\theta(\infty), \theta_{\ell_2}^*)$")
        panels[2].legend(frameon=False, loc="upper left")
        for axes, title in zip(
            panels, ("(a)", "(b)", "beyond the paper: vanishing starts"), strict=True
        ):
            axes.set_title(title, loc="left", fontsize=10)
        return figure


def _draw(axes: Any, data: xr.Dataset, kind: str) -> None:
    """Runs as points, predictions as lines."""
    norms, runs = data["norm"].values, data[kind].values
    predicted, diagonal = (
        data[f"predicted_{kind}"].values,
        data[f"predicted_diagonal_{kind}"].values,
    )
    axes.plot(norms, predicted, "-", color=COLOURS[0], label="rank-one, argmin V")
    axes.plot(norms, diagonal, "-", color=COLOURS[2], label="diagonal, predicted")
    axes.plot(norms, runs[0, :, 0], "o", color=COLOURS[0], mfc="white", label="rank-one, GD")
    mean, spread = runs[1].mean(axis=1), runs[1].std(axis=1, ddof=1)
    axes.errorbar(
        norms, mean, yerr=spread, fmt="s", color=COLOURS[1], mfc="white", label="rank-one, SGD"
    )
    points = data[f"diagonal_{kind}"].values
    axes.plot(norms, points, "^", color=COLOURS[2], mfc="white", label="diagonal, GD")
