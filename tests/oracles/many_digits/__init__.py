"""Oracles with none of our code: mpmath, to many digits."""
