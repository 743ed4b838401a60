"""Simulate what happens: exact gradient flow, and what a practitioner runs. Never predicts."""

from limitpoint.dynamics.diffusion import Diffusion, Paths, simulate
from limitpoint.dynamics.flow import ParameterSpace, SampleSpace, flow
from limitpoint.dynamics.gauge import FitGauge
from limitpoint.dynamics.invariants import Drift, drift
from limitpoint.dynamics.null_space import null_space_drift
from limitpoint.dynamics.optimisers import GD, SGD, Optimiser
from limitpoint.dynamics.probes import Distance, NoiseTerm, Probe, StartTerm
from limitpoint.dynamics.sgd_model import SGDModel
from limitpoint.dynamics.sweep import Sweep
from limitpoint.dynamics.train import train
from limitpoint.dynamics.train_many import train_many
from limitpoint.dynamics.trajectory import Trajectory

__all__ = [
    "GD",
    "SGD",
    "Diffusion",
    "Distance",
    "Drift",
    "FitGauge",
    "NoiseTerm",
    "Optimiser",
    "ParameterSpace",
    "Paths",
    "Probe",
    "SGDModel",
    "SampleSpace",
    "StartTerm",
    "Sweep",
    "Trajectory",
    "drift",
    "flow",
    "null_space_drift",
    "simulate",
    "train",
    "train_many",
]
