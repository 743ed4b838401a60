"""The set-up of Appendix A, which the figures share, and what they train and predict in it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

import limitpoint as lp
from limitpoint.papers.experiment import Experiment
from limitpoint.papers.lyu2023 import setting
from limitpoint.papers.lyu2023.setting import Data

__all__ = ["Training"]

# The linear networks of Figures 5 and 6, and their depths.
NETWORKS = {"rank-one": (setting.rank_one, 3), "standard": (setting.standard, 4)}
RUNS = ("optimiser", "norm", "seed")


@dataclass(frozen=True)
class Training(Experiment):
    """GD and SGD on the data of Appendix A; a figure overrides what it has otherwise.

    Printed but for the seeds, and for their number.
    """

    samples: int = 40
    features: int = 100
    informative: int = 20
    width: int = 100
    learning_rate: float = 1e-3
    batch_size: int = 4
    steps: int = 20_000
    seeds: int = 10
    data_seed: int = 0
    start_seed: int = 1

    def draw(self) -> Data:
        """Draw the data of Appendix A."""
        return Data.draw(self.samples, self.features, self.informative, self.data_seed)

    def problems(self, data: Data) -> dict[str, lp.Problem]:
        """Both linear networks, at ‖θ(0)‖ = 1."""
        return {
            name: make(data, depth, self.width, self.start_seed)
            for name, (make, depth) in NETWORKS.items()
        }

    def rank_one(self, data: Data, imbalance: float = 0.0) -> lp.Problem:
        """The rank-one network alone, off balance by Δ."""
        depth = NETWORKS["rank-one"][1]
        return setting.rank_one(data, depth, self.width, self.start_seed, imbalance)

    def sweep(
        self,
        problem: lp.Problem,
        data: Data,
        norms: Sequence[float],
        *,
        record: Sequence[int] = (),
        probes: Iterable[lp.analysis.Probe] | None = None,
    ) -> xr.Dataset:
        """GD, SGD and GD with half the step from every norm (see `setting.sweep`)."""
        return setting.sweep(
            problem,
            data,
            norms=norms,
            seeds=self.seeds,
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            steps=self.steps,
            record=record,
            probes=probes,
        )

    def ends(
        self, problem: lp.Problem, data: Data, norms: Sequence[float], columns: Sequence[str]
    ) -> xr.Dataset:
        """Where GD and SGD end from every norm, where the flow does, and where the law puts them.

        Of the columns that Figures 5, 8 and 11 have, those named.
        """
        runs = self.sweep(problem, data, norms)
        limits = setting.limits(problem, norms)
        whole, half = runs["coef"].values[0, :, 0], runs["coef_half_step"].values
        found = {
            "distance": (RUNS, runs["distance_l2"].values[..., -1]),
            "distance_truth": (RUNS, runs["distance_truth"].values[..., -1]),
            "loss": (RUNS, runs["loss"].values[..., -1]),
            "coef": ((*RUNS, "feature"), runs["coef"].values),
            **{
                f"{name}_half_step": ("norm", runs[f"{old}_half_step"].values[:, -1])
                for name, old in setting.DISTANCES.items()
            },
            "coef_half_step": (("norm", "feature"), half),
            "second_order": ("norm", setting.second_order_of(whole, half)),
            "predicted_limit": (("norm", "feature"), limits),
            "predicted_distance": ("norm", data.distance(limits)),
            "predicted_distance_truth": ("norm", data.distance_truth(limits)),
            "predicted_by_law": ((*RUNS, "feature"), setting.by_law(problem, runs)),
            "least": ("feature", data.least),
            "truth": ("feature", data.truth),
        }
        seeds = {"seed": runs["seed"].values.astype(np.int32)} if "coef" in columns else {}
        return xr.Dataset(
            {name: found[name] for name in columns},
            coords={"optimiser": setting.GD_AND_SGD, "norm": list(norms), **seeds},
        )
