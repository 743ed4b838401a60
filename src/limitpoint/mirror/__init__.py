"""Mirror maps: how each coefficient moves along its own curve as its clock runs."""

from limitpoint.mirror.base import MirrorMap, MirrorPoint
from limitpoint.mirror.curve import CurveMap, CurvePoint
from limitpoint.mirror.deep import DeepMap
from limitpoint.mirror.exponential import ExponentialMap
from limitpoint.mirror.growth import GrowthTimes, diagonal_growth_times

__all__ = [
    "CurveMap",
    "CurvePoint",
    "DeepMap",
    "ExponentialMap",
    "GrowthTimes",
    "MirrorMap",
    "MirrorPoint",
    "diagonal_growth_times",
]
