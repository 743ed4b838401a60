"""Oracles with none of our code: flows of layers by other integrators."""
