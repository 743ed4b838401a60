"""The curves of blocks, integrated in panels that keep their interpolating polynomials.

With `φ = r_a y` on a panel that starts at radius r_a, and τ the position on the side d = ±1,

    dy/dτ = d |y| g,   d|ξ|/dτ = |φ|/‖∇k‖,   dk/dτ = d |φ| ‖∇k‖,   dΨ̂/dτ = d k |φ|/‖∇k‖,

g the unit vector along ∇k. On each panel these are collocated (see `tabulated_collocation`) by
Picard's iteration where that converges, else by Newton's method. Panels are common to all curves;
every quantity is its value at the panel's start plus `(1+u)Q(u)`, so that what starts at zero is
right relative to itself.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from limitpoint.arrays import Float
from limitpoint.mirror.tabulated_collocation import POINTS, field_at, newton, picard, rule
from limitpoint.mirror.tabulated_model import BlockModel

__all__ = ["Panels", "tabulate"]

EPS = float(np.finfo(np.float64).eps)
LONGEST, FIRST = 3.0, 0.5
# A panel this short means that the curve cannot be continued (a critical point was reached).
SHORTEST = 1e-10
# Chebyshev coefficients of the velocities that a panel may neglect, relative to the largest.
RESOLUTION = 1e-13
# Error of the collocation equations, relative to the panel's largest value.
CONVERGENCE = 1e-14
# Rounding of the gradient itself is no reason to cut panels; where it exceeds this, relative to
# the gradient, the table ends.
WORST_ROUNDING = 1e-9
# Where k hardly changes any more, more is allowed; but some digits must be left.
NO_DIGITS = 1e-2
# k has levelled off when it changes by less than this part of itself per unit of the position: its
# bound is then known to about as much, and to more with the tail that is added.
LEVEL = 1e-9
# A curve that cannot be continued and on which k changes by less than this part of itself per unit
# of the position is on its way to a bound: k that grows like any power of the norm, or even its
# logarithm, changes by more.
STEADY = 1e-3
# Longer panels that Picard's iteration cannot solve are cut; shorter ones are stiff.
STIFF_PANEL = 0.25
# A curve whose panel has been cut this often in vain has met the rounding of its own gradient
# (a slow manifold far out, say): its table ends there.
FRUITLESS_CUTS = 12
# The table ends where |k| is beyond any data (their squares are at most 1e150, coefficients less),
# or the block is; from there on k follows a power law.
LARGEST_COEF, LARGEST_RADIUS = 1e30, 1e100
MOST_PANELS = 2000
# A curve that ends within this part of the block's norm of a zero of ∇k has met a critical point
# (rounding ends it at about 1e-7, where k is off its limit by the square of that); one that levels
# off on its way to infinity has the next zero of ∇k farther away.
CRITICAL_DISTANCE = 1e-3
# A table that ends early has ended for rounding only where that is a tenth of what ends tables, or
# more (slow manifolds); with less (kinks and singularities have a few eps) k itself ended it. And
# k that follows a power law from there on grows by its exponent per unit of the position, one that
# runs into a singularity by any number: exponents beyond this are not believed.
ROUNDING_ENDS_TABLES = 0.1 * WORST_ROUNDING
LARGEST_EXPONENT = 100.0
# Up to so many places a series is summed at once.
FEW_PLACES = 4000


@dataclass(frozen=True, eq=False)
class Panels:
    """The table of N curves.

    `rows[j, i]` is the place of curve i's panel j in the flat arrays, −1 where it has none.
    """

    edges: Float
    rows: NDArray[np.intp]
    start: dict[str, Float]
    polynomials: dict[str, Float]
    levelled: NDArray[np.bool_]
    reached_zero: NDArray[np.bool_]
    smallest_gradient: Float
    cut_short: NDArray[np.bool_]

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
        """Rows and u ∈ [−1, 1] of positions within the table."""
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
        return np.asarray(self.start["radius"][rows][..., None] * (self.start["y"][rows] + change))

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


@dataclass(eq=False)
class _State:
    """The curves at the start of the next panel."""

    radius: Float
    y: Float
    side: Float
    k: Float
    clock: Float
    conjugate: Float
    held: Float
    active: NDArray[np.intp]
    levelled: NDArray[np.bool_] = field(init=False)
    reached_zero: NDArray[np.bool_] = field(init=False)
    smallest_gradient: Float = field(init=False)
    cut_short: NDArray[np.bool_] = field(init=False)
    stiff: NDArray[np.bool_] = field(init=False)
    k_rate: Float = field(init=False)

    def allowed_rounding(self, curves: NDArray[np.intp]) -> Float:
        """What ∇k may lose to rounding: the more, the less k still changes along the curve."""
        with np.errstate(divide="ignore", invalid="ignore"):
            steadiness = np.abs(self.k[curves]) / self.k_rate[curves]
        allowed = WORST_ROUNDING * np.maximum(np.nan_to_num(steadiness, nan=1.0), 1.0)
        return np.asarray(np.minimum(allowed, NO_DIGITS))

    def __post_init__(self) -> None:
        count = len(self.radius)
        self.k_rate = np.full(count, np.inf)
        self.levelled = np.zeros(count, dtype=bool)
        self.reached_zero = np.zeros(count, dtype=bool)
        self.cut_short = np.zeros(count, dtype=bool)
        self.smallest_gradient = np.full(count, np.inf)
        self.stiff = np.zeros(count, dtype=bool)


def tabulate(
    model: BlockModel,
    radius: Float,
    directions: Float,
    sides: Float,
    coefs: Float,
    conjugates: Float,
    held: Float,
    present: NDArray[np.bool_],
) -> Panels:
    """Integrate the curves that are present, from these radii, directions (N, p) and values of k.

    `held` is zero for components that stay zero, one elsewhere.
    """
    state = _State(
        radius=radius.copy(),
        y=directions.copy(),
        side=sides,
        k=coefs.copy(),
        clock=np.zeros_like(coefs),
        conjugate=conjugates.copy(),
        held=held,
        active=np.flatnonzero(present),
    )
    largest = np.maximum(LARGEST_COEF, 1e10 * np.abs(coefs))
    edges, rows = [0.0], list[NDArray[np.intp]]()
    starts: dict[str, list[Float]] = {}
    polynomials: dict[str, list[Float]] = {}
    length, placed, failed_tail = FIRST, 0, np.full(len(radius), np.inf)
    fruitless = np.zeros(len(radius), dtype=np.intp)
    while len(state.active) and len(rows) < MOST_PANELS:
        now = state.active
        with np.errstate(all="ignore"):
            noise = model.rounding(state.radius[now, None] * state.y[now])
            allowed = state.allowed_rounding(now)
            if not (noise < allowed).all():
                _retire(model, state, now[~(noise < allowed)])
                continue
            # Errors of the rates count for less where k hardly changes any more.
            noise = np.maximum(noise, EPS * allowed / WORST_ROUNDING)
            panel = _solve(model, state, length, noise)
        tails, limit = panel.tails, np.maximum(RESOLUTION, 8 * noise)
        limit = np.maximum(limit, RESOLUTION * allowed / WORST_ROUNDING)
        good = panel.solved & (tails <= limit)
        if not good.all():
            before = failed_tail[state.active]
            fruitless[state.active] += ~good & ~(tails < 0.5 * before)
            failed_tail[state.active] = np.where(good, before, tails)
            lost = ~good & (fruitless[state.active] > FRUITLESS_CUTS)
            if lost.any() or length / 2 < SHORTEST:
                _retire(model, state, now[lost if lost.any() else ~good])
                length = max(length, FIRST)
            else:
                length /= 2
            continue
        failed_tail[:], fruitless[:] = np.inf, 0
        row = np.full(len(radius), -1, dtype=np.intp)
        row[state.active] = placed + np.arange(len(state.active))
        placed += len(state.active)
        rows.append(row)
        edges.append(edges[-1] + length)
        for name, value in panel.starts.items():
            starts.setdefault(name, []).append(value)
        for name, value in panel.polynomials.items():
            polynomials.setdefault(name, []).append(value)
        _advance(state, panel, largest, model.linear_radius)
        if (tails <= np.maximum(1e-2 * limit, 2 * noise)).all():
            length = min(2 * length, LONGEST)
    state.cut_short[state.active] = True  # more panels than any smooth k has taken
    size = directions.shape[1]
    widths = {"y": size, "clock": 1, "k": 1, "conjugate": 1, "clock rate": 1, "k rate": 1}
    empty = {name: np.zeros((1, POINTS, width)) for name, width in widths.items()}
    return Panels(
        edges=np.array(edges),
        rows=np.array(rows, dtype=np.intp).reshape(len(rows), len(radius)),
        start={name: np.concatenate(parts) for name, parts in starts.items()},
        polynomials={name: np.concatenate(parts) for name, parts in polynomials.items()} or empty,
        levelled=state.levelled,
        reached_zero=state.reached_zero,
        smallest_gradient=state.smallest_gradient,
        cut_short=state.cut_short,
    )


@dataclass(frozen=True, eq=False)
class _Panel:
    """One panel of the active curves."""

    solved: NDArray[np.bool_]
    tails: Float
    starts: dict[str, Float]
    polynomials: dict[str, Float]
    end: dict[str, Float]


def _solve(model: BlockModel, state: _State, length: float, noise: Float) -> _Panel:
    """Collocate on a panel of this length and integrate clock, k and conjugate along it."""
    points, integrals, fit = rule()
    weights = length / 2 * integrals
    now = state.active
    radius, y, side, held = state.radius[now], state.y[now].T, state.side[now], state.held[now].T
    tolerance = np.maximum(CONVERGENCE, 2 * noise)
    values, solved = np.empty((y.shape[0], POINTS, len(now))), np.zeros(len(now), dtype=bool)
    easy = np.flatnonzero(~state.stiff[now])
    if len(easy):
        values[..., easy], solved[easy] = picard(
            model, radius[easy], y[:, easy], side[easy], held[:, easy], weights, tolerance[easy]
        )
    rest = np.flatnonzero(~solved & (state.stiff[now] | (length <= STIFF_PANEL)))
    if len(rest):
        values[..., rest], solved[rest] = newton(
            model, radius[rest], y[:, rest], side[rest], held[:, rest], weights, tolerance[rest]
        )
        state.stiff[now[rest]] |= solved[rest]
    velocity, norm, steep = field_at(model, radius, values, side, held)
    clock_rate = norm / steep
    k_rate = side * radius**2 * norm * steep
    k_change = weights @ k_rate
    conjugate_rate = side * (state.k[now] + k_change) * clock_rate
    changes = {
        "y": weights @ velocity,
        "clock": (weights @ clock_rate)[None],
        "k": k_change[None],
        "conjugate": (weights @ conjugate_rate)[None],
    }
    polynomials = {name: fit @ (change / (1 + points)[:, None]) for name, change in changes.items()}
    polynomials |= {"clock rate": (fit @ clock_rate)[None], "k rate": (fit @ k_rate)[None]}
    tails = np.max(
        [_tail(fit @ velocity), _tail(polynomials["clock rate"]), _tail(polynomials["k rate"])],
        axis=0,
    )
    good = np.isfinite(tails)
    return _Panel(
        solved=solved & good,
        tails=np.where(solved & good, tails, np.inf),
        starts={
            "radius": radius,
            "y": state.y[now],
            "clock": state.clock[now],
            "k": state.k[now],
            "conjugate": state.conjugate[now],
        },
        polynomials={name: np.transpose(value, (2, 1, 0)) for name, value in polynomials.items()},
        end={
            "y": values[:, -1].T,
            "clock": changes["clock"][0, -1],
            "k": changes["k"][0, -1],
            "conjugate": changes["conjugate"][0, -1],
            "k rate": k_rate[-1],
            "steep": steep.min(axis=0),
        },
    )


def _advance(state: _State, panel: _Panel, largest: Float, linear_radius: float) -> None:
    """Move to the end of the panel, and retire the curves whose table is complete."""
    now = state.active
    norm = np.linalg.norm(panel.end["y"], axis=1)
    shrinking = norm < 1
    state.radius[now] *= norm
    state.y[now] = panel.end["y"] / norm[:, None]
    state.clock[now] += panel.end["clock"]
    state.k[now] += panel.end["k"]
    state.conjugate[now] += panel.end["conjugate"]
    state.smallest_gradient[now] = np.minimum(state.smallest_gradient[now], panel.end["steep"])
    state.k_rate[now] = np.abs(panel.end["k rate"])
    k, radius = np.abs(state.k[now]), state.radius[now]
    levelled = np.abs(panel.end["k rate"]) <= LEVEL * k
    at_zero = shrinking & (radius < linear_radius)
    state.levelled[now] = levelled & ~at_zero
    state.reached_zero[now] = at_zero
    done = levelled | at_zero | (k >= largest[now]) | (radius >= LARGEST_RADIUS)
    state.active = now[~done]


def _retire(model: BlockModel, state: _State, curves: NDArray[np.intp]) -> None:
    """End the table of curves that cannot be continued; at a critical point k has levelled off."""
    z = state.radius[curves, None] * state.y[curves]
    with np.errstate(all="ignore"):
        near = model.critical_distances(z, state.side[curves])
        state.cut_short[curves] = ~(model.rounding(z) >= ROUNDING_ENDS_TABLES)
    steady = state.k_rate[curves] <= STEADY * np.abs(state.k[curves])
    state.levelled[curves] = (near < CRITICAL_DISTANCE) | steady
    state.active = np.setdiff1d(state.active, curves)


def _tail(series: Float) -> Float:
    """The last two Chebyshev coefficients relative to the largest, over all quantities."""
    size = np.abs(series).max(axis=(0, 1))
    return np.asarray(np.abs(series[:, -2:]).max(axis=(0, 1)) / size)
