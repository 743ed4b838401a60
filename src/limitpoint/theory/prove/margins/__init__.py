"""Directions of classification."""
