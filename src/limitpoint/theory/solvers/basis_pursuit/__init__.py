"""The saddle path: Algorithm 1 of zhao as an exact solver for weighted basis pursuit."""

from limitpoint.theory.solvers.basis_pursuit.certify.examination import certify
from limitpoint.theory.solvers.basis_pursuit.saddle_path import Saddle, SaddlePath
from limitpoint.theory.solvers.basis_pursuit.solver import saddle_path

__all__ = ["Saddle", "SaddlePath", "certify", "saddle_path"]
