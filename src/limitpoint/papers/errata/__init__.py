"""Errata of the papers, each with a calculation in which the printed form fails."""

from limitpoint.papers.errata import labarriere2024, lyu2023, varre2023, yun2021, zhao2026
from limitpoint.papers.errata.erratum import Demonstration, Erratum, errata, erratum
from limitpoint.papers.errata.listing import ErrataList, demonstrate_all

# Importing a paper registers its errata; these are all, in order.
PAPERS = (zhao2026, labarriere2024, yun2021, varre2023, lyu2023)

__all__ = [
    "PAPERS",
    "Demonstration",
    "ErrataList",
    "Erratum",
    "demonstrate_all",
    "errata",
    "erratum",
]
