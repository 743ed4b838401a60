"""Labarrière et al. (2024): deep diagonal linear networks as mirror flows."""

from limitpoint.papers.labarriere2024 import appendix_a3, figure3, figure4, theorem1

__all__ = ["appendix_a3", "figure3", "figure4", "theorem1"]
