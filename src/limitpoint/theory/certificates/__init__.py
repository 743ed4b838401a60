"""Certificates: residuals of optimality conditions, and bounds on the error they leave."""
