"""Limits of vanishing initialisation, and saddle paths."""
