"""Limits of separable mirror flows."""
