"""Limits of networks whose coefficients move together."""
