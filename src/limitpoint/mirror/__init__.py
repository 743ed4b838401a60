"""Mirror maps: how each coefficient moves along its own curve as its mirror coordinate changes."""

from limitpoint.mirror.activation_times import ActivationTimes, diagonal_activation_times
from limitpoint.mirror.curve_map import CurveMap, CurvePoint
from limitpoint.mirror.deep_diagonal.deep_diagonal_map import DeepMap
from limitpoint.mirror.exponential_map import ExponentialMap
from limitpoint.mirror.mirror_map import MirrorMap, MirrorPoint
from limitpoint.mirror.radial_map import PairRadius, PowerRadius, RadialMap
from limitpoint.mirror.units import as_curve, in_units

__all__ = [
    "ActivationTimes",
    "CurveMap",
    "CurvePoint",
    "DeepMap",
    "ExponentialMap",
    "MirrorMap",
    "MirrorPoint",
    "PairRadius",
    "PowerRadius",
    "RadialMap",
    "as_curve",
    "diagonal_activation_times",
    "in_units",
]
