"""Two-layer networks with several outputs (varre): potentials, singular values, rates."""
