"""Matplotlib figures for every result type."""

from limitpoint.plot.files import check_format, save
from limitpoint.plot.plane import plot_plane
from limitpoint.plot.results import plot_limit, plot_path, plot_saddles, plot_trajectory
from limitpoint.plot.settling import plot_settling
from limitpoint.plot.spectra import plot_spectrum
from limitpoint.plot.sweeps import plot_sweep

__all__ = [
    "check_format",
    "plot_limit",
    "plot_path",
    "plot_plane",
    "plot_saddles",
    "plot_settling",
    "plot_spectrum",
    "plot_sweep",
    "plot_trajectory",
    "save",
]
