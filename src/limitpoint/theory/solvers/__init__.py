"""Solvers of the problems that theorems say limits solve. None of them trains."""
