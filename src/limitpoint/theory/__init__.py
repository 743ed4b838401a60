"""Predict the limit without training: theorems, their conditions, and certificates."""

from limitpoint.theory.atlas import Condition, Theorem, theorems
from limitpoint.theory.basis_pursuit import Saddle, SaddlePath, saddle_path
from limitpoint.theory.certificate import Certificate
from limitpoint.theory.diagonal_form import Reduction, reduction_of
from limitpoint.theory.limit import Limit, as_limit
from limitpoint.theory.margin.stationarity import stationarity
from limitpoint.theory.predict import Explanation, explain, predict
from limitpoint.theory.rates import convergence_bound, two_layer_bounds
from limitpoint.theory.riccati import JumpProcess
from limitpoint.theory.scale_path import LimitPath, predict_path
from limitpoint.theory.spectral_path import exact_spectrum, spectral_jumps
from limitpoint.theory.varre2023 import is_whitened
from limitpoint.theory.zhao2026 import saddles

__all__ = [
    "Certificate",
    "Condition",
    "Explanation",
    "JumpProcess",
    "Limit",
    "LimitPath",
    "Reduction",
    "Saddle",
    "SaddlePath",
    "Theorem",
    "as_limit",
    "convergence_bound",
    "exact_spectrum",
    "explain",
    "is_whitened",
    "predict",
    "predict_path",
    "reduction_of",
    "saddle_path",
    "saddles",
    "spectral_jumps",
    "stationarity",
    "theorems",
    "two_layer_bounds",
]
