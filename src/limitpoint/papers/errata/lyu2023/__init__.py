"""Errata of Lyu and Zhu (2023), Implicit bias of (stochastic) gradient descent for rank-1 networks.

Each printed form is quoted as it stands in the paper; θ, u_k, v_k, ξ, ρ_k, Φ_k, λ_L, Ω_L are its.
"""

from limitpoint.papers.errata.lyu2023 import noise, rank_one, standard, statements

__all__ = ["noise", "rank_one", "standard", "statements"]
