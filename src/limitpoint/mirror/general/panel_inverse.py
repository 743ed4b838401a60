"""Where on the panels of a table a quantity has a given value."""

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.general.panels import Panels

__all__ = ["invert"]

Index = NDArray[np.intp]

# Newton's method for a place within a panel: quadratic from the linear guess, then at rounding.
NEWTON_STEPS = 40


def invert(
    panels: Panels, name: str, curves: Index, targets: Float, rising: Float
) -> tuple[Float, Float]:
    """τ ≥ 0 at which ξ or k has these values, and how far those lie beyond the tables.

    `rising` is the sign of the quantity's change along the curves. Beyond a table rates go on as
    the exponentials that they are at its end; NaN where nothing is known of them.
    """
    edges = panels.edge_values(name)
    with np.errstate(invalid="ignore"):
        behind = rising * edges[:, curves] <= rising * targets  # NaN beyond a curve's end
    panel = np.clip(behind.sum(axis=0) - 1, 0, panels.counts[curves] - 1)
    rows = panels.rows[panel, curves]
    wanted = targets - panels.start[name][rows]
    length = panels.edges[panel + 1] - panels.edges[panel]
    u = _solve_within(panels, name, rows, wanted, length)
    found = panels.edges[panel] + length / 2 * u
    last = edges[panels.counts[curves], curves]
    over = rising * (targets - last)
    rate, slope = panels.end_slopes(name)
    with np.errstate(all="ignore"):
        excess = over / np.abs(rate[curves])
        beyond = _grown_inverse(excess, slope[curves])
    # At a pole of the mirror coordinate the curve parameter is infinite; a coefficient has no curve
    # parameter beyond its bound.
    if name == "mirror":
        beyond = np.where(np.isnan(beyond), np.inf, beyond)
    beyond = np.where(panels.lost[curves], np.nan, beyond)
    return np.where(over > 0, panels.ends[curves] + beyond, found), over


def _solve_within(panels: Panels, name: str, rows: Index, wanted: Float, length: Float) -> Float:
    """`u + 1` in [0, 2] at which the change from the panel's start is as wanted."""
    low, high = np.zeros(len(rows)), np.full(len(rows), 2.0)
    with np.errstate(all="ignore"):
        u = np.clip(2 * wanted / panels.change(name, rows, high), 0.0, 2.0)
    for _ in range(NEWTON_STEPS):
        error = panels.change(name, rows, u) - wanted
        slope = panels.rate(name, rows, u) * length / 2
        above = error * slope > 0
        low, high = np.where(above, low, u), np.where(above, u, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            new = u - error / slope
        new = np.where((new >= low) & (new <= high), new, (low + high) / 2)
        moved = np.abs(new - u)
        u = new
        if np.all(moved <= 4 * np.finfo(np.float64).eps * u):
            break
    return np.clip(u, 0.0, 2.0)


def _grown_inverse(value: Float, slope: Float) -> Float:
    """The x with `∫₀^x e^{μt} dt = value`; infinite at the supremum, NaN beyond it."""
    product = slope * value
    safe = np.where(product == 0, 1.0, product)
    return np.where(
        product == 0, value, np.where(product == -1, np.inf, value * np.log1p(safe) / safe)
    )
