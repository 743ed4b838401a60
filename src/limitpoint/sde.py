"""Stochastic differential equations: many paths at once, and models of SGD and of label noise."""

from limitpoint.dynamics import LabelNoiseModel
from limitpoint.dynamics.diffusion import Diffusion, Paths, simulate
from limitpoint.dynamics.training.sgd_model import SGDModel

__all__ = [
    "Diffusion",
    "LabelNoiseModel",
    "Paths",
    "SGDModel",
    "simulate",
]
