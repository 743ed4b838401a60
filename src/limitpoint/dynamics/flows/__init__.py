"""The exact flow of a regression, one module for each choice of coordinates."""
