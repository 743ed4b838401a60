"""Limits of one sample, and of networks that reduce to diagonal ones."""
