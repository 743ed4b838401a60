"""Predict the limit without training: theorems, their conditions, and certificates."""

from limitpoint.theory.atlas import Theorem
from limitpoint.theory.certificates.certificate import Certificate
from limitpoint.theory.convergence import convergence_bound, two_layer_bounds
from limitpoint.theory.explanation import Explanation
from limitpoint.theory.limit import Limit, as_limit
from limitpoint.theory.predict import explain, predict
from limitpoint.theory.prove.proof import Balls, Proof
from limitpoint.theory.proving import prove
from limitpoint.theory.scale_path import LimitPath, predict_path
from limitpoint.theory.solvers.basis_pursuit import Saddle, SaddlePath, saddle_path
from limitpoint.theory.solvers.margin.certify.stationarity import stationarity
from limitpoint.theory.theorems.diagonalisable import Reduction, reduction_of
from limitpoint.theory.theorems.null_space_law import limit_given_outer
from limitpoint.theory.theorems.varre2023 import is_whitened
from limitpoint.theory.theorems.weight_decay import penalised_limit
from limitpoint.theory.theorems.zhao2026 import saddles
from limitpoint.theory.two_layer.riccati import JumpProcess
from limitpoint.theory.two_layer.spectral_path import exact_spectrum, spectral_jumps

__all__ = [
    "Balls",
    "Certificate",
    "Explanation",
    "JumpProcess",
    "Limit",
    "LimitPath",
    "Proof",
    "Reduction",
    "Saddle",
    "SaddlePath",
    "Theorem",
    "as_limit",
    "convergence_bound",
    "exact_spectrum",
    "explain",
    "is_whitened",
    "limit_given_outer",
    "penalised_limit",
    "predict",
    "predict_path",
    "prove",
    "reduction_of",
    "saddle_path",
    "saddles",
    "spectral_jumps",
    "stationarity",
    "two_layer_bounds",
]
