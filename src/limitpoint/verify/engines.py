"""Prediction and simulation, as `verify` calls them: the one place to put something else in."""

from limitpoint.dynamics import drift, flow, null_space_drift, settle, train
from limitpoint.theory import convergence_bound, predict, two_layer_bounds

__all__ = [
    "convergence_bound",
    "drift",
    "flow",
    "null_space_drift",
    "predict",
    "settle",
    "train",
    "two_layer_bounds",
]
