"""What can be asked of a problem or a run beside its limit."""

from limitpoint.dynamics import (
    Distance,
    NoiseTerm,
    Probe,
    StartTerm,
    drift,
    limit_direction,
    null_space_drift,
)
from limitpoint.networks import activation_times, design, singular_vector_residual
from limitpoint.theory import limit_given_outer, penalised_limit, saddles, stationarity

__all__ = [
    "Distance",
    "NoiseTerm",
    "Probe",
    "StartTerm",
    "activation_times",
    "design",
    "drift",
    "limit_direction",
    "limit_given_outer",
    "null_space_drift",
    "penalised_limit",
    "saddles",
    "singular_vector_residual",
    "stationarity",
]
