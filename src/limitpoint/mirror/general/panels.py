"""The table of the curves of blocks: panels with their interpolating polynomials.

Panels are common to all curves; every quantity is its value at the panel's start plus `(1+u)Q(u)`,
so that what starts at zero is right relative to itself. How they are made: `tabulate`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.general.collocation import POINTS, components

__all__ = ["Panels"]

# k that follows a power law beyond its table grows by its exponent per unit of the curve parameter,
# one that runs into a singularity by any number: exponents beyond this are not believed.
LARGEST_EXPONENT = 100.0
# Up to so many places a series is summed at once.
FEW_PLACES = 4000


@dataclass(frozen=True, eq=False)
class Panels:
    """The table of N curves.

    `rows[j, i]` is the place of curve i's panel j in the flat arrays, −1 where it has none. `limit`
    is the value of k at the critical point where a curve ends, NaN elsewhere.
    """

    edges: Float
    rows: NDArray[np.intp]
    start: dict[str, Float]
    polynomials: dict[str, Float]
    levelled: NDArray[np.bool_]
    reached_zero: NDArray[np.bool_]
    smallest_gradient: Float
    cut_short: NDArray[np.bool_]
    blurred: NDArray[np.bool_]
    limit: Float

    def part(self, curves: slice) -> "Panels":
        """The table of some of the curves; they share what is in it."""
        counts = self.counts[curves]
        most = int(counts.max(initial=0))
        return Panels(
            edges=self.edges[: most + 1],
            rows=self.rows[:most, curves],
            start=self.start,
            polynomials=self.polynomials,
            levelled=self.levelled[curves],
            reached_zero=self.reached_zero[curves],
            smallest_gradient=self.smallest_gradient[curves],
            cut_short=self.cut_short[curves],
            blurred=self.blurred[curves],
            limit=self.limit[curves],
        )

    @cached_property
    def lost(self) -> NDArray[np.bool_]:
        """Curves of which nothing is known beyond their table: k is no power law from there on."""
        with np.errstate(invalid="ignore"):
            steep = ~(np.abs(self.end_slopes("k")[1]) <= LARGEST_EXPONENT)
        unfinished = ~self.levelled & ~self.reached_zero & (self.counts > 0)
        return np.asarray(unfinished & (self.cut_short | steep))

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """Number of panels of each curve."""
        return np.asarray((self.rows >= 0).sum(axis=0))

    @cached_property
    def ends(self) -> Float:
        """τ at which each curve's table ends."""
        return np.asarray(self.edges[self.counts])

    def edge_values(self, name: str) -> Float:
        """A quantity at the panels' edges, (panels + 1, N); NaN beyond the end of a curve."""
        if name not in self._edge_values:
            self._edge_values[name] = self._compute_edge_values(name)
        return self._edge_values[name]

    def end_slopes(self, name: str) -> tuple[Float, Float]:
        """Rate, and logarithmic slope of the rate, at the end of each curve's table."""
        if name not in self._end_slopes:
            self._end_slopes[name] = self._compute_end_slopes(name)
        return self._end_slopes[name]

    @cached_property
    def _edge_values(self) -> dict[str, Float]:
        return {}

    @cached_property
    def _end_slopes(self) -> dict[str, tuple[Float, Float]]:
        return {}

    def _compute_edge_values(self, name: str) -> Float:
        values = np.full((len(self.edges), self.rows.shape[1]), np.nan)
        present = self.rows >= 0
        values[:-1][present] = self.start[name][self.rows[present]]
        last = self.rows[np.maximum(self.counts - 1, 0), np.arange(self.rows.shape[1])]
        column = np.arange(self.rows.shape[1])
        there = self.counts > 0
        right = np.full(int(there.sum()), 2.0)
        values[self.counts[there], column[there]] = self.at(name, last[there], right)
        return values

    def locate(self, curves: NDArray[np.intp], taus: Float) -> tuple[NDArray[np.intp], Float]:
        """Rows and u ∈ [−1, 1] of curve parameters within the table."""
        panel = np.searchsorted(self.edges, taus, side="right") - 1
        panel = np.clip(panel, 0, np.maximum(self.counts[curves] - 1, 0))
        left, right = self.edges[panel], self.edges[panel + 1]
        # (τ − left) first: at the start τ is right relative to itself.
        plus_one = 2 * (taus - left) / (right - left)
        return self.rows[panel, curves], plus_one

    def at(self, name: str, rows: NDArray[np.intp], plus_one: Float) -> Float:
        """The quantity at `u = plus_one − 1` of these panels."""
        change = plus_one[..., None] * _clenshaw(self.polynomials[name], rows, plus_one)
        return np.asarray(self.start[name][rows] + change[..., 0])

    def change(self, name: str, rows: NDArray[np.intp], plus_one: Float) -> Float:
        """The quantity less its value at the panel's start."""
        return np.asarray(plus_one * _clenshaw(self.polynomials[name], rows, plus_one)[..., 0])

    def rate(self, name: str, rows: NDArray[np.intp], plus_one: Float) -> Float:
        """Its derivative in τ."""
        return np.asarray(_clenshaw(self.polynomials[name + " rate"], rows, plus_one)[..., 0])

    def blocks(self, rows: NDArray[np.intp], plus_one: Float) -> Float:
        """φ in the eigenbasis."""
        change = plus_one[..., None] * _clenshaw(self.polynomials["y"], rows, plus_one)
        values, signs = self.start["y"][rows] + change, self.start["signs"][rows]
        with np.errstate(under="ignore"):
            return np.asarray(self.start["radius"][rows][..., None] * components(values, signs))

    def _compute_end_slopes(self, name: str) -> tuple[Float, Float]:
        curves = np.arange(self.rows.shape[1])
        last = self.rows[np.maximum(self.counts - 1, 0), curves]
        coefs = self.polynomials[name + " rate"][last][..., 0]
        length = self.edges[np.maximum(self.counts, 1)] - self.edges[np.maximum(self.counts - 1, 0)]
        rate = coefs.sum(axis=1)
        slope = coefs @ np.arange(POINTS) ** 2.0 * 2 / length
        # Where k has levelled off its rate is all but rounding: the change over the whole panel
        # tells how it falls, the derivative at the end would tell the rounding's.
        first = coefs @ (-1.0) ** np.arange(POINTS)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(rate == 0, 0.0, slope / rate)
            fall = np.log(rate / first) / length
            slope = np.where(self.levelled & np.isfinite(fall), fall, slope)
            if name == "k":  # and one that does not fall is rounding alone
                rate = np.where(self.levelled & ~(slope < 0), 0.0, rate)
                slope = np.where(self.levelled & ~(slope < 0), -1.0, slope)
                # Where the value at the end is known, it falls so fast that it gets there.
                left = self.limit - self.edge_values("k")[self.counts, curves]
                toward = -rate / left
                slope = np.where(self.levelled & (toward < 0), toward, slope)
            return rate, slope


def _clenshaw(table: Float, rows: NDArray[np.intp], plus_one: Float) -> Float:
    """Chebyshev series (rows, coefficients, quantities) at u, with the quantities last.

    By cosines where there are few places, which spares a loop; else by Clenshaw's recurrence,
    which spares memory.
    """
    if rows.ndim == 1 and rows.size <= FEW_PLACES:
        angle = np.arccos(np.clip(plus_one - 1, -1.0, 1.0))
        cosines = np.cos(np.multiply.outer(angle, np.arange(table.shape[1])))
        return np.asarray(np.einsum("ij,ijk->ik", cosines, table[rows]))
    twice = 2 * (plus_one - 1)[..., None]
    ahead = behind = np.zeros((*rows.shape, table.shape[2]))
    for order in range(table.shape[1] - 1, 0, -1):
        ahead, behind = table[rows, order] + twice * ahead - behind, ahead
    return np.asarray(table[rows, 0] + twice / 2 * ahead - behind)
