"""Mirror maps: how each coefficient moves along its own curve as its clock runs."""

from limitpoint.mirror.activation import GrowthTimes, diagonal_growth_times
from limitpoint.mirror.base import MirrorMap, MirrorPoint
from limitpoint.mirror.curve import CurveMap, CurvePoint
from limitpoint.mirror.deep_diagonal.deep_diagonal_map import DeepMap
from limitpoint.mirror.exponential import ExponentialMap
from limitpoint.mirror.radial import PairRadius, PowerRadius, RadialMap
from limitpoint.mirror.units import as_curve, in_units

__all__ = [
    "CurveMap",
    "CurvePoint",
    "DeepMap",
    "ExponentialMap",
    "GrowthTimes",
    "MirrorMap",
    "MirrorPoint",
    "PairRadius",
    "PowerRadius",
    "RadialMap",
    "as_curve",
    "diagonal_growth_times",
    "in_units",
]
