"""The saddle path: Algorithm 1 of zhao as an exact solver for weighted basis pursuit."""

from limitpoint.theory.basis_pursuit.certificate import certify
from limitpoint.theory.basis_pursuit.path import Saddle, SaddlePath
from limitpoint.theory.basis_pursuit.solver import saddle_path

__all__ = ["Saddle", "SaddlePath", "certify", "saddle_path"]
