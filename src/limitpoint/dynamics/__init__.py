"""Simulate what happens: exact gradient flow, and what a practitioner runs. Never predicts."""

from limitpoint.dynamics.flow import ParameterSpace, SampleSpace, flow
from limitpoint.dynamics.gauge import FitGauge
from limitpoint.dynamics.invariants import Drift, drift
from limitpoint.dynamics.optimisers import GD, Optimiser
from limitpoint.dynamics.train import train
from limitpoint.dynamics.trajectory import Trajectory

__all__ = [
    "GD",
    "Drift",
    "FitGauge",
    "Optimiser",
    "ParameterSpace",
    "SampleSpace",
    "Trajectory",
    "drift",
    "flow",
    "train",
]
