"""Prediction and simulation, as `verify` calls them: the one place to put something else in."""

from limitpoint.dynamics import drift, flow, limit_direction, null_space_drift, train
from limitpoint.dynamics import flow as flow_at_times
from limitpoint.problem import Problem
from limitpoint.status import Status
from limitpoint.theory import (
    convergence_bound,
    limit_given_outer,
    penalised_limit,
    saddles,
    two_layer_bounds,
)
from limitpoint.theory import predict as predict_in_any_arithmetic
from limitpoint.theory.limit import Limit

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
    "saddles",
    "train",
    "two_layer_bounds",
]


def predict(problem: Problem) -> Limit:
    """The limit that flows in float64 can be compared with.

    Where rounding hides the rank of the data, exact arithmetic knows the limit of the data as
    given; flows in float64 see neither the rank nor, in any time, that limit. The prediction then
    stays the uncertified one, with which nothing is decided.
    """
    limit = predict_in_any_arithmetic(problem, escalate=False)
    if limit.status.ok or limit.status is Status.RANK_HIDDEN:
        return limit
    return predict_in_any_arithmetic(problem)
