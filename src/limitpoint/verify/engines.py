"""Prediction and simulation, as `verify` calls them: the one place to put something else in."""

from limitpoint.dynamics import drift, flow, limit_direction, null_space_drift, train
from limitpoint.dynamics import flow as flow_at_times
from limitpoint.theory import (
    convergence_bound,
    limit_given_outer,
    penalised_limit,
    predict,
    prove,
    saddles,
    two_layer_bounds,
)

__all__ = [
    "convergence_bound",
    "drift",
    "flow",
    "flow_at_times",
    "limit_direction",
    "limit_given_outer",
    "null_space_drift",
    "penalised_limit",
    "predict",
    "prove",
    "saddles",
    "train",
    "two_layer_bounds",
]
