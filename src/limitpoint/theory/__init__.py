"""Predict the limit without training: theorems, their conditions, and certificates."""

from limitpoint.theory.atlas import Condition, Theorem, theorems
from limitpoint.theory.certificate import Certificate
from limitpoint.theory.limit import Limit
from limitpoint.theory.predict import Explanation, explain, predict
from limitpoint.theory.rates import convergence_bound

__all__ = [
    "Certificate",
    "Condition",
    "Explanation",
    "Limit",
    "Theorem",
    "convergence_bound",
    "explain",
    "predict",
    "theorems",
]
