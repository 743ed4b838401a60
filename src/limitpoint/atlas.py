"""The theorems as values: what each supposes and concludes, and bounds on how fast."""

from limitpoint.foundation.conditions import Condition
from limitpoint.theory import Theorem, convergence_bound
from limitpoint.theory.atlas import register, theorems

__all__ = [
    "Condition",
    "Theorem",
    "convergence_bound",
    "register",
    "theorems",
]
