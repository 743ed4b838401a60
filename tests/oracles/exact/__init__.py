"""Limits of regression to 60 digits, the floats of a problem taken as exact numbers.

Nothing of the package is used. Linear algebra that decides something (ranks, projections, signs) is
in rational arithmetic; equations are solved in mpmath with as many digits as they need, and solved
once more with twice as many before an answer is given.
"""
