"""Prediction and simulation, as `verify` calls them: the one place to put something else in."""

from limitpoint.dynamics import drift, flow, null_space_drift, settle, train
from limitpoint.dynamics import flow as flow_at_times
from limitpoint.theory import convergence_bound, predict, saddles, two_layer_bounds

__all__ = [
    "convergence_bound",
    "drift",
    "flow",
    "flow_at_times",
    "null_space_drift",
    "predict",
    "saddles",
    "settle",
    "train",
    "two_layer_bounds",
]
