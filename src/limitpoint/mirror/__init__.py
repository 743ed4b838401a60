"""Mirror maps: how each coefficient moves along its own curve as its clock runs."""

from limitpoint.mirror.base import GrowthTimes, MirrorMap, MirrorPoint
from limitpoint.mirror.exponential import ExponentialMap

__all__ = ["ExponentialMap", "GrowthTimes", "MirrorMap", "MirrorPoint"]
