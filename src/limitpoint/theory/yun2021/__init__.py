"""Yun, Krishnan, Mobahi: A Unifying View on Implicit Bias in Training Linear Neural Networks."""

from limitpoint.theory.yun2021 import limits

# Importing a module of theorems registers them; this names the modules of this paper.
PARTS = (limits,)

__all__ = ["PARTS"]
