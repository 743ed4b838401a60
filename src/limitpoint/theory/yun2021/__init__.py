"""Yun, Krishnan, Mobahi: A Unifying View on Implicit Bias in Training Linear Neural Networks."""

from limitpoint.theory.yun2021 import (
    dense,
    dense_directions,
    directions,
    limits,
    one_sample,
    one_sample_direction,
)

# Importing a module of theorems registers them; this names the modules of this paper.
PARTS = (dense, dense_directions, directions, limits, one_sample, one_sample_direction)

__all__ = ["PARTS"]
