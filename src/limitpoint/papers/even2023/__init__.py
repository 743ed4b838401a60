"""Even, Pesme, Gunasekar and Flammarion (2023), (S)GD over diagonal linear networks."""

from limitpoint.papers.even2023.recovery import Recovery
from limitpoint.papers.even2023.weight_decay import WeightDecay

__all__ = ["Recovery", "WeightDecay"]
