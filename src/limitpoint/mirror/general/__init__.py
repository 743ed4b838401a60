"""The mirror map of general networks, `β_i = k_i(θ_i)`: curves integrated and tabulated."""
