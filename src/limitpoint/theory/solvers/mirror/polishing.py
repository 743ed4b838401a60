"""Last steps of Newton's method in the coefficients rather than in the curve parameters.

From a start far larger than the data, curve parameters hold a coefficient to rounding of the start
only. The coefficients themselves hold all digits, and mirror coordinates are functions of them as
they are of the curve parameters: the same equations with β and ν as unknowns,

    rows β = target,        Q'(β) = rowsᵀν.

A coefficient that is itself small changes by much of itself when the rounding of the others is
taken out, so that the mirror coordinates follow to first order only: both equations are iterated.
And where one mirror coordinate is larger than the others by many orders of magnitude, its rounding
is taken out of the others by changing to graded coordinates of the dual.
"""

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.theory.certificates.contribution_errors import contributions
from limitpoint.theory.solvers.mirror.curve_equations import Point

__all__ = ["error_of", "polished"]

# Steps by which the coefficients are polished: the cheap solve first, then the stable one in graded
# coordinates. Newton's method doubles the digits in each: from one digit to all takes four.
POLISHING = (False, True, True, True, True, True)
# They are taken while the errors are above this, relative: far below what a certificate asks for.
POLISHED = 1e-12
# Mirror coordinates that agree to rounding of their own are off by no more than `POLISHED`, in
# these units.
ROUNDED = 1e3
TINY = float(np.finfo(np.float64).tiny)


def polished(point: Point) -> Point:
    """The best of a few steps from a solution in curve parameters, or that point itself."""
    here, error = point, error_of(point)
    best, least = here, error
    for stable in POLISHING:
        if least <= POLISHED:
            break
        here, error = _stepped(here.graded() if stable else here, error, stable)
        if error < least:
            best, least = here, error
    return best


def error_of(point: Point) -> float:
    """The larger relative error of the two equations.

    Of the fit row by row in what is added up there; of the mirror coordinates as they enter the
    duality gap, `Σ |β_i l_i|`, in the sum of its terms, and one by one by what they make of their
    coefficient's contribution to the rows or, next to a pole, by their own size.
    """
    coefs, data = point.coefs, point.problem.data
    with np.errstate(all="ignore"):
        # What float64 holds as zero has no mirror coordinate to speak of.
        held = data.seen & (coefs != 0.0)
        dual_residual = np.where(held, np.abs(point.mirror - point.at.mirror), 0.0)
        lost = float(np.abs(coefs * dual_residual).sum())
        terms = float(np.abs(coefs * np.where(held, point.mirror, 0.0)).sum())
        parts = contributions(data.X, data.fit, coefs * data.units) * data.units
        off = np.fmin(
            parts * point.slopes * dual_residual, ROUNDED * dual_residual / np.abs(point.at.mirror)
        )
        off = np.where(dual_residual > 0.0, off, 0.0)
        error = max(data.missed(coefs), float(np.nan_to_num(off, nan=np.inf).max(initial=0.0)))
    if lost > 0.0:
        error = max(error, lost / terms) if terms > 0.0 else error + lost
    return error if np.isfinite(error) else np.inf


def _stepped(point: Point, error: float, stable: bool) -> tuple[Point, float]:
    """One step for coefficients and dual, and its error; the dual stays if that is better."""
    problem, coefs = point.problem, point.coefs
    mirror = problem.mirror
    with np.errstate(all="ignore"):
        primal_residual = problem.data.primal_residual(coefs * problem.data.units)
        dual_residual = point.mirror - point.at.mirror
        if stable:
            toward, step = point.solve_stably(primal_residual, dual_residual)
        else:
            toward = point.solve(primal_residual - problem.rows @ (point.slopes * dual_residual))
            step = point.slopes * (toward @ point.coordinates.rows + dual_residual)
        better = coefs + step
        # Under a sign constraint a coefficient stays where it is rather than break it.
        two_sided = np.isneginf(mirror.lower) & np.isposinf(mirror.upper)
        inside = two_sided | (np.sign(better) == np.sign(coefs))
        better = np.where(inside & np.isfinite(step), better, coefs)
        curve_params = _curve_params_of(point, better)
    place, coordinates = point.place, point.coordinates
    ahead = Point(problem, curve_params, point.dual + toward, place, coordinates, better)
    error_ahead = error_of(ahead)
    if error_ahead <= error:
        return ahead, error_ahead
    # A long step of the dual comes from directions that nothing fixes.
    behind = Point(problem, curve_params, point.dual, place, coordinates, better)
    error_behind = error_of(behind)
    return (ahead, error_ahead) if error_ahead <= error_behind else (behind, error_behind)


def _curve_params_of(point: Point, coefs: Float) -> Float:
    """Of the coefficients that have changed and that float64 holds."""
    changed = (coefs != point.coefs) & (np.abs(coefs) >= TINY)
    curve_params = point.problem.mirror.curve_params_of(coefs)
    return np.where(changed & np.isfinite(curve_params), curve_params, point.curve_params)
