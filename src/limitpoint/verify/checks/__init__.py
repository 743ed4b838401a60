"""The checks that verdicts are made of, one module for each kind."""
