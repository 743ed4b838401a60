"""The set-up of Appendix A, which the figures share."""

from dataclasses import dataclass

from limitpoint.papers.experiment import Experiment
from limitpoint.papers.lyu2023.setting import Data

__all__ = ["Training"]


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
        """The data."""
        return Data.draw(self.samples, self.features, self.informative, self.data_seed)
