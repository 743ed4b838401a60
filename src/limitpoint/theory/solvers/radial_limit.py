"""The limit under a radial map: exact, up to one scalar root.

At the limit `z = P_null z(0) + X⁺y/Ξ`, since z only ever moves in the row space of X and `β = Ξz`
fits the data. With `a = ‖P_null z(0)‖`, `b = ‖X⁺y‖` and `e = ρ − a²` this leaves
`e·Ξ(a² + e)² = b²` for one number e, increasing in e: one root.
"""

import math
from dataclasses import dataclass

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.mirror import RadialMap
from limitpoint.tasks import Regression
from limitpoint.theory.atlas import Theorem
from limitpoint.theory.certificates.certificate import status_of
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.certificates.radial_certificate import certify_radial_limit
from limitpoint.theory.limit import Limit
from limitpoint.theory.solvers.least_norm import LeastNorm

__all__ = ["NullSpace", "limit_at", "radial_limit"]

# Newton on a convex function with slopes between 1 and the degree: it doubles its digits at once.
MAX_ITERATIONS = 100
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class NullSpace:
    """What the data leave of a vector, and what they ask for.

    Attributes
    ----------
    norm
        The map to coefficients of least norm.
    kept
        `P_null z(0)`.
    least
        `X⁺y`, the minimum-norm solution (least squares if y is out of range).
    kept_dual, least_dual
        The ν with `Xᵀν = z(0) − kept` and `Xᵀν = least`.
    """

    constraint: Constraint
    norm: LeastNorm
    kept: Float
    least: Float
    kept_dual: Float
    least_dual: Float

    @classmethod
    def of(cls, task: Regression, start: Float) -> "NullSpace":
        """For a first layer (n,) or (n, d)."""
        constraint = Constraint.of(task.X, task.y)
        norm = LeastNorm(constraint, np.ones(task.n_features))
        kept, kept_dual = norm.without(start)
        least, least_dual = norm.solve(constraint.fit)
        return cls(constraint, norm, kept, least, kept_dual, least_dual)


def radial_limit(task: Regression, radial: RadialMap, theorem: Theorem) -> Limit:
    """`argmin Φ*(β) − βᵀz(0)` among the best fits of the data."""
    found = NullSpace.of(task, radial.start)
    square, wanted = _square(found.kept), math.sqrt(_square(found.least))
    if wanted == 0.0:
        multiplier, iterations = radial.multiplier(square), 0
    else:
        log_excess, iterations = _root(radial, square, 2 * math.log(wanted))
        # e Ξ² = b², and Ξ itself where that loses nothing.
        multiplier = wanted * math.exp(-0.5 * log_excess)
    coef = found.norm.fitted(multiplier * found.kept + found.least, found.constraint.fit)
    # With no multiplier left, z has followed β to zero.
    inverse = 1.0 / multiplier if multiplier > 0 else 0.0
    dual = inverse * found.least_dual - found.kept_dual
    xi = _mirror_coords(found, radial.start, inverse, dual)
    certificate = certify_radial_limit(found.constraint, radial, coef, xi)
    return limit_at(
        coef,
        theorem,
        mirror=xi,
        dual=dual,
        potential=radial.potential(coef),
        certificate=certificate,
        status=status_of(certificate, found.constraint, coef),
        iterations=iterations,
    )


def _mirror_coords(found: NullSpace, start: Float, inverse: float, dual: Float) -> Float:
    """`z − z(0) = Xᵀν`, of both forms the one that is added up from less."""
    by_layers = inverse * found.least - (start - found.kept)
    X = found.constraint.X
    smaller = np.abs(X).T @ np.abs(dual) < np.abs(inverse * found.least) + np.abs(start)
    return np.where(smaller & found.constraint.seen, X.T @ dual, by_layers)


def _square(vector: Float) -> float:
    return float(vector @ vector)


def limit_at(coef: Float, theorem: Theorem, **others: object) -> Limit:
    """A limit whose coefficients float64 holds."""
    with np.errstate(divide="ignore"):
        logs = np.log(np.abs(coef))
    return Limit(coef=coef, signs=np.sign(coef), log_abs_coef=logs, theorem=theorem, **others)  # type: ignore[arg-type]  # named by the callers


def _root(radial: RadialMap, square: float, goal: float) -> tuple[float, int]:
    """`t = log e` with `t + 2 log Ξ(a² + eᵗ) = goal`, by Newton; and the steps taken.

    Convex and increasing in t, so that Newton comes down monotonically after one step at most.
    """
    # As if Ξ stayed what it is at e = 1: never far, in logarithms.
    t = min(goal, 0.0)
    iterations = 0
    while iterations < MAX_ITERATIONS:
        iterations += 1
        excess = math.exp(t)
        value, slope = radial.log_multiplier(excess + (square - radial.lowest))
        step = (t + 2 * value - goal) / (1 + 2 * excess * slope)
        t -= step
        if abs(step) <= 2 * EPS * max(1.0, abs(t)):
            break
    return t, iterations
