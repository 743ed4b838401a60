"""Errata of Varre et al. (2023), On the spectral bias of two-layer linear networks.

Notation: `Z₁ = W₁Pᵀ`, `Z₂ = PW₂`, `α = Z₁^{−⊤}Z₂`, `R = Xᵀ(Y − Xβ)`, D the singular values of β.
"""

from limitpoint.papers.errata.varre2023 import lemmas, main_text, steps_and_noise, whitened

__all__ = ["lemmas", "main_text", "steps_and_noise", "whitened"]
