"""Oracles with none of our code: flows, integrated by brute force."""
