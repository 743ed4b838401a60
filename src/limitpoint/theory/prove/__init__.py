"""Proofs in ball and rational arithmetic, by code that shares nothing with the solvers."""
