"""Max-margin problems: `min Σ_g w_g‖ρ_g‖` with all margins at least 1, solved and certified."""

from limitpoint.theory.margin.accuracy import coef_errors
from limitpoint.theory.margin.certificate import certify_margins
from limitpoint.theory.margin.limit import margin_limit
from limitpoint.theory.margin.problem import MarginProblem, MarginSolution
from limitpoint.theory.margin.solve import solve_margins
from limitpoint.theory.margin.spaces import (
    Coordinates,
    Euclidean,
    Fourier,
    MarginSpace,
    Transformed,
)
from limitpoint.theory.margin.stationarity import stationarity
from limitpoint.theory.margin.uniqueness import is_unique

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
