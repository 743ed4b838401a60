"""Matplotlib figures for every result type."""

from limitpoint.foundation.extras import load_extra

load_extra("matplotlib", "limitpoint.plot")

from limitpoint.plot.figure_files import check_format, save
from limitpoint.plot.limit_directions import plot_limit_direction
from limitpoint.plot.limits_and_paths import plot_limit, plot_path
from limitpoint.plot.networks import plot_network
from limitpoint.plot.saddle_paths import plot_saddles
from limitpoint.plot.spectra import plot_spectrum
from limitpoint.plot.sweeps import plot_sweep
from limitpoint.plot.trajectories import plot_trajectory

__all__ = [
    "check_format",
    "plot_limit",
    "plot_limit_direction",
    "plot_network",
    "plot_path",
    "plot_saddles",
    "plot_spectrum",
    "plot_sweep",
    "plot_trajectory",
    "save",
]
