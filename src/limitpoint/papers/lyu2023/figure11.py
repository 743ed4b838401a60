"""Figure 11: where GD and SGD end from unbalanced starts."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import limitpoint as lp
from limitpoint.foundation.arrays import Float
from limitpoint.papers.experiment import register
from limitpoint.papers.lyu2023 import setting
from limitpoint.papers.lyu2023.training import Training
from limitpoint.papers.measured import Check
from limitpoint.plot.style import COLOURS, new_figure

__all__ = ["Figure11"]


COLUMNS = ("distance", "distance_half_step", "coef", "predicted_distance", "predicted_by_law")


@register
@dataclass(frozen=True)
class Figure11(Training):
    """GD and SGD on rank-one networks from starts that are off balance by Δ."""

    paper: ClassVar[str] = "lyu2023"
    figure: ClassVar[str] = "figure11"
    title: ClassVar[str] = "Without balance, too, SGD ends nearer to the minimum-norm solution"
    setup: ClassVar[str] = (
        "As printed: the rank-one network of Figure 5 with Δ = Σ(‖v_{k+1}‖² − ‖u_k‖²)/‖u_k‖² / "
        "(2L−1) not zero, a panel for each Δ, and a last one against Δ at one scale. Chosen: Δ of "
        "0.1, 0.5 and 2 (the last panel: six values up to 2) with the same θ(0) as balanced, five "
        "scales, ten seeds, and ‖θ(0)‖ = 0.8696 as that scale. Beyond the paper: the exact limit "
        "of unbalanced networks, which the paper leaves open, the exact law for every run, and "
        "the flow from vanishing unbalanced starts."
    )
    theorems: ClassVar[tuple[str, ...]] = (
        "limitpoint.rank_one",
        "limitpoint.rank_one_at_zero",
        "limitpoint.null_space_law",
    )

    norms: tuple[float, ...] = (0.1, 0.4, 0.8696, 1.8, 3.0)
    norm_shown: float = 0.8696
    imbalances: tuple[float, ...] = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0)
    imbalances_shown: tuple[float, ...] = (0.1, 0.5, 2.0)
    vanishing: tuple[float, ...] = (1e-8, 1e-16)

    def quick(self) -> Self:
        """Fewer scales, values of Δ, seeds and iterations."""
        return replace(
            self,
            norms=(0.4, 0.8696, 3.0),
            imbalances=(2.0,),
            imbalances_shown=(2.0,),
            seeds=3,
            steps=6000,
        )

    def run(self) -> xr.Dataset:
        """Train from every Δ and norm, and predict."""
        data = self.draw()
        found = [self._one(data, imbalance) for imbalance in self.imbalances]
        return xr.concat(found, dim="imbalance").assign_coords(imbalance=list(self.imbalances))

    def _one(self, data: setting.Data, imbalance: float) -> xr.Dataset:
        problem = self.rank_one(data, imbalance)
        network = problem.network
        assert isinstance(network, lp.RankOne)
        return (
            self.ends(problem, data, self.norms, COLUMNS)
            .assign(
                measured_imbalance=((), network.mean_imbalance(problem.init.direction)),
                **self._vanishing(problem, data),
            )
            .assign_coords(vanishing_norm=list(self.vanishing))
            .drop_vars("seed")
        )

    def _vanishing(self, problem: lp.Problem, data: setting.Data) -> dict[str, Any]:
        """The flow from vanishing starts, which do not need balance either."""
        sizes, distances, ratio = setting.vanishing(problem, data, self.vanishing)
        return {
            "vanishing_scale": ("vanishing_norm", sizes),
            "vanishing_ratio": ("vanishing_norm", distances / sizes),
            "predicted_vanishing_ratio": ((), ratio),
        }

    def checks(self, data: xr.Dataset) -> list[Check]:
        """SGD below GD everywhere; GD at the predicted limit; the exact law; vanishing starts."""
        distances = data["distance"].values
        gd, half = distances[:, 0, :, 0], data["distance_half_step"].values
        off = np.abs(setting.extrapolated(gd, half) - data["predicted_distance"].values)
        coefs, law = data["coef"].values, data["predicted_by_law"].values
        sizes, ratios = data["vanishing_scale"].values, data["vanishing_ratio"].values
        ratio = data["predicted_vanishing_ratio"].values[:, None]
        strain = np.abs(ratios / ratio - 1) / (setting.VANISHING * sizes**2)
        return [
            Check(
                "largest error of Δ at the start",
                float(np.abs(data["measured_imbalance"] - data["imbalance"]).max()),
                0,
                1e-12,
            ),
            Check(
                "starts from which SGD does not end nearer to minimum norm than GD",
                sum(setting.nearer(one) for one in distances),
                0,
                0,
            ),
            Check(
                "steps of the scale at which D does not rise (GD and SGD, all Δ)",
                int(np.sum(np.diff(distances.mean(axis=-1), axis=-1) <= 0)),
                0,
                0,
            ),
            Check(
                "D of GD as its step vanishes, off the predicted limit, in second-order errors",
                float((off / setting.second_order(gd, half)).max()),
                0,
                1,
            ),
            Check(
                "runs off the exact law, relative, largest over all",
                float(setting.relative(coefs, law).max()),
                0,
                setting.LAW,
            ),
            Check(
                "D/scale of vanishing starts, off ‖X⁺y‖^λ‖P_null v‖, in tolerances",
                float(strain.max()),
                0,
                1,
            ),
        ]

    def plot(self, data: xr.Dataset) -> Figure:
        """A panel for each Δ, balanced blue and unbalanced red, as printed; then against Δ."""
        shown = [value for value in self.imbalances_shown if value in data["imbalance"].values]
        figure = new_figure((3.7 * (len(shown) + 1), 4.6))
        panels = figure.subplots(1, len(shown) + 1, squeeze=False)[0]
        norms = data["norm"].values
        for axes, imbalance in zip(panels, shown, strict=False):
            for value, colour in ((0.0, COLOURS[0]), (imbalance, COLOURS[1])):
                if value not in data["imbalance"].values:
                    continue
                _draw(axes, norms, data.sel(imbalance=value), colour, f"Δ = {value:g}")
            axes.set_title(f"Δ = {imbalance:g}", loc="left", fontsize=10)
            axes.set_xlabel(r"$\|\theta(0)\|$")
            axes.set_ylabel(r"$D(\theta(\infty), \theta_{\ell_2}^*)$")
        last, place = panels[-1], int(np.argmin(np.abs(norms - self.norm_shown)))
        _draw(last, data["imbalance"].values, data.isel(norm=place), COLOURS[1], "")
        last.set_title(rf"$\|\theta(0)\|$ = {norms[place]:.4g}", loc="left", fontsize=10)
        last.set_xlabel("Δ")
        for axes in panels:
            axes.legend(
                loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False, fontsize=8
            )
        return figure


def _draw(axes: Any, places: Float, one: xr.Dataset, colour: str, label: str) -> None:
    """GD solid, SGD dashed, the predicted limit as crosses."""
    prefix = f"{label}: " if label else ""
    gd = one["distance"].sel(optimiser="GD").isel(seed=0).values
    sgd = one["distance"].sel(optimiser="SGD").mean("seed").values
    axes.plot(places, gd, "-o", color=colour, mfc="white", ms=5, label=f"{prefix}GD")
    axes.plot(places, sgd, "--s", color=colour, mfc="white", ms=5, label=f"{prefix}SGD")
    last = "predicted limit of GD" if colour == COLOURS[1] else None
    axes.plot(places, one["predicted_distance"].values, "k+", zorder=5, label=last)
