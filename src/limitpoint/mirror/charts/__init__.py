"""Logarithmic charts: coordinates of the parameters in which float64 holds a flow at any scale."""
