"""Simulate what happens: exact gradient flow, and what a practitioner runs. Never predicts."""

from limitpoint.dynamics.diffusion import Diffusion, Paths, simulate
from limitpoint.dynamics.flow import (
    LogCoordinates,
    NormalisedTime,
    ParameterSpace,
    SampleSpace,
    flow,
)
from limitpoint.dynamics.gauge import FitGauge
from limitpoint.dynamics.invariants import Drift, drift
from limitpoint.dynamics.label_noise import LabelNoise, LabelNoiseModel
from limitpoint.dynamics.noise_process import (
    NoiseProcess,
    alignments,
    commutator_norms,
    commutators,
)
from limitpoint.dynamics.null_space import null_space_drift
from limitpoint.dynamics.optimisers import GD, SGD, Optimiser
from limitpoint.dynamics.probes import Distance, NoiseTerm, Probe, StartTerm
from limitpoint.dynamics.settling import Settling, settle
from limitpoint.dynamics.sgd_model import SGDModel
from limitpoint.dynamics.spectrum import Spectrum, spectrum
from limitpoint.dynamics.sweep import Sweep
from limitpoint.dynamics.train import train
from limitpoint.dynamics.train_many import train_many
from limitpoint.dynamics.trajectory import Trajectory, as_trajectory

__all__ = [
    "GD",
    "SGD",
    "Diffusion",
    "Distance",
    "Drift",
    "FitGauge",
    "LabelNoise",
    "LabelNoiseModel",
    "LogCoordinates",
    "NoiseProcess",
    "NoiseTerm",
    "NormalisedTime",
    "Optimiser",
    "ParameterSpace",
    "Paths",
    "Probe",
    "SGDModel",
    "SampleSpace",
    "Settling",
    "Spectrum",
    "StartTerm",
    "Sweep",
    "Trajectory",
    "alignments",
    "as_trajectory",
    "commutator_norms",
    "commutators",
    "drift",
    "flow",
    "null_space_drift",
    "settle",
    "simulate",
    "spectrum",
    "train",
    "train_many",
]
