"""Rational and ball arithmetic that all proofs share."""
