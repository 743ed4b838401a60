"""Simulate what happens: exact gradient flow, and what a practitioner runs. Never predicts."""

from limitpoint.dynamics.analysis.invariants import Drift, drift
from limitpoint.dynamics.analysis.null_space import null_space_drift
from limitpoint.dynamics.analysis.spectrum import Spectrum, spectrum
from limitpoint.dynamics.classification.limit_direction import LimitDirection, limit_direction
from limitpoint.dynamics.coordinates import (
    LogCoordinates,
    ParameterSpace,
    SampleSpace,
)
from limitpoint.dynamics.diffusion import Diffusion, Paths, simulate
from limitpoint.dynamics.flow import flow
from limitpoint.dynamics.relative_residual import RelativeResidual
from limitpoint.dynamics.training.label_noise import LabelNoise, LabelNoiseModel
from limitpoint.dynamics.training.optimisers import GD, SGD, Optimiser
from limitpoint.dynamics.training.optimisers_by_name import (
    OPTIMISERS,
    PROBES,
    made_optimiser,
    made_probe,
    register_optimiser,
    register_probe,
)
from limitpoint.dynamics.training.probes import Distance, NoiseTerm, Probe, StartTerm
from limitpoint.dynamics.training.sweep import Sweep
from limitpoint.dynamics.training.train import train
from limitpoint.dynamics.training.train_many import train_many
from limitpoint.dynamics.trajectory import Trajectory, as_trajectory

__all__ = [
    "GD",
    "OPTIMISERS",
    "PROBES",
    "SGD",
    "Diffusion",
    "Distance",
    "Drift",
    "LabelNoise",
    "LabelNoiseModel",
    "LimitDirection",
    "LogCoordinates",
    "NoiseTerm",
    "Optimiser",
    "ParameterSpace",
    "Paths",
    "Probe",
    "RelativeResidual",
    "SampleSpace",
    "Spectrum",
    "StartTerm",
    "Sweep",
    "Trajectory",
    "as_trajectory",
    "drift",
    "flow",
    "limit_direction",
    "made_optimiser",
    "made_probe",
    "null_space_drift",
    "register_optimiser",
    "register_probe",
    "simulate",
    "spectrum",
    "train",
    "train_many",
]
