"""Every figure and worked example of the papers, as code with checks that can fail."""

from limitpoint.foundation.extras import load_extra

for library in ("jax", "matplotlib", "xarray"):
    load_extra(library, "limitpoint.papers")

from limitpoint.papers import even2023, labarriere2024, lyu2023, varre2023, yun2021, zhao2026
from limitpoint.papers.experiment import Experiment, experiment, experiments
from limitpoint.papers.measured import Check
from limitpoint.papers.plane_figure import plot_plane
from limitpoint.papers.reports.atlas_page import atlas_page
from limitpoint.papers.reports.html_report import report
from limitpoint.papers.reproduction import Outcome, Reproduction, reproduce
from limitpoint.papers.varre2023.noise_process import (
    NoiseProcess,
    alignments,
    commutator_norms,
    commutators,
)

# Importing a paper registers its experiments; these are all, in order.
PAPERS = (zhao2026, labarriere2024, yun2021, varre2023, lyu2023, even2023)

__all__ = [
    "PAPERS",
    "Check",
    "Experiment",
    "NoiseProcess",
    "Outcome",
    "Reproduction",
    "alignments",
    "atlas_page",
    "commutator_norms",
    "commutators",
    "experiment",
    "experiments",
    "plot_plane",
    "report",
    "reproduce",
]
