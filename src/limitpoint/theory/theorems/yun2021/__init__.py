"""Yun, Krishnan, Mobahi: A Unifying View on Implicit Bias in Training Linear Neural Networks."""

from limitpoint.theory.theorems.yun2021 import (
    dense_directions,
    dense_limits,
    diagonal_directions,
    diagonal_limits,
    one_sample_directions,
    one_sample_limits,
)

# Importing a module of theorems registers them, in this order; together they are this paper's.
PARTS = (
    dense_limits,
    dense_directions,
    diagonal_directions,
    diagonal_limits,
    one_sample_limits,
    one_sample_directions,
)

__all__ = ["PARTS"]
