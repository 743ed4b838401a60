"""Singular values along training: measured, in closed form, and their jumps."""

from limitpoint.dynamics import Spectrum, spectrum
from limitpoint.theory import JumpProcess, exact_spectrum, spectral_jumps

__all__ = [
    "JumpProcess",
    "Spectrum",
    "exact_spectrum",
    "spectral_jumps",
    "spectrum",
]
