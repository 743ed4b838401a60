"""Max-margin problems: `min Σ_g w_g‖ρ_g‖` with all margins at least 1, solved and certified."""

from limitpoint.theory.solvers.margin.certify.accuracy import coef_errors
from limitpoint.theory.solvers.margin.certify.margin_certificate import certify_margins
from limitpoint.theory.solvers.margin.certify.stationarity import stationarity
from limitpoint.theory.solvers.margin.certify.unique_margins import is_unique
from limitpoint.theory.solvers.margin.margin_limit import margin_limit
from limitpoint.theory.solvers.margin.margin_problem import MarginProblem, MarginSolution
from limitpoint.theory.solvers.margin.margin_spaces import (
    Coordinates,
    Euclidean,
    Fourier,
    MarginSpace,
    Transformed,
)
from limitpoint.theory.solvers.margin.solve_margins import solve_margins

__all__ = [
    "Coordinates",
    "Euclidean",
    "Fourier",
    "MarginProblem",
    "MarginSolution",
    "MarginSpace",
    "Transformed",
    "certify_margins",
    "coef_errors",
    "is_unique",
    "margin_limit",
    "solve_margins",
    "stationarity",
]
