"""The curves of blocks, integrated in panels that keep their interpolating polynomials.

With `φ = r_a y` on a panel that starts at radius r_a, and τ the position on the side d = ±1,

    dy/dτ = d |y| g,   d|ξ|/dτ = |φ|/‖∇k‖,   dk/dτ = d |φ| ‖∇k‖,   dΨ̂/dτ = d k |φ|/‖∇k‖,

g the unit vector along ∇k. On each panel these are collocated (see `tabulated_collocation`) by
Picard's iteration where that converges, else by Newton's method. Panels are common to all curves;
every quantity is its value at the panel's start plus `(1+u)Q(u)`, so that what starts at zero is
right relative to itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from limitpoint.arrays import Float
from limitpoint.mirror.tabulated_collocation import (
    POINTS,
    SMALLEST_COMPONENT,
    field_at,
    newton,
    picard,
    rule,
)
from limitpoint.mirror.tabulated_model import BlockModel
from limitpoint.mirror.tabulated_panels import Panels

__all__ = ["Entries", "tabulate", "tabulate_together"]

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
# Cuts in vain, in all, after which the components of a curve are no longer resolved one by one. A
# component that changes by e^{600} on the longest panel takes five cuts until shorter panels tell.
COARSE_CUTS = 5
# The table ends where |k| is beyond any data (their squares are at most 1e150, coefficients less),
# or the block is; from there on k follows a power law.
LARGEST_COEF, LARGEST_RADIUS = 1e30, 1e100
MOST_PANELS = 2000
# A curve that ends within this part of the block's norm of a zero of ∇k has met a critical point
# (rounding ends it at about 1e-7, where k is off its limit by the square of that); one that levels
# off on its way to infinity has the next zero of ∇k farther away.
CRITICAL_DISTANCE = 1e-3
# A table that ends early has ended for rounding only where that is a tenth of what ends tables, or
# more (slow manifolds); with less (kinks and singularities have a few eps) k itself ended it.
ROUNDING_ENDS_TABLES = 0.1 * WORST_ROUNDING


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
    as_a_whole: NDArray[np.bool_] = field(init=False)
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
        self.as_a_whole = np.zeros(count, dtype=bool)


@dataclass(frozen=True, eq=False)
class Entries:
    """Where the tables of N curves begin.

    Attributes
    ----------
    radius, directions
        Norms (N,) and unit vectors (N, p) of the blocks.
    sides
        1 for a curve along which k rises, −1 for one along which it falls.
    coefs, conjugates
        Values of k and of its conjugate.
    held
        Zero for components that stay zero, one elsewhere.
    present
        Whether there is such a curve.
    """

    radius: Float
    directions: Float
    sides: Float
    coefs: Float
    conjugates: Float
    held: Float
    present: NDArray[np.bool_]


def tabulate(model: BlockModel, entries: Entries) -> Panels:
    """Integrate the curves that are present."""
    state = _State(
        radius=entries.radius.copy(),
        y=entries.directions.copy(),
        side=entries.sides,
        k=entries.coefs.copy(),
        clock=np.zeros_like(entries.coefs),
        conjugate=entries.conjugates.copy(),
        held=entries.held,
        active=np.flatnonzero(entries.present),
    )
    radius = entries.radius
    largest = np.maximum(LARGEST_COEF, 1e10 * np.abs(entries.coefs))
    edges, rows = [0.0], list[NDArray[np.intp]]()
    starts: dict[str, list[Float]] = {}
    polynomials: dict[str, list[Float]] = {}
    length, placed, failed_tail = FIRST, 0, np.full(len(radius), np.inf)
    coarse_tail, in_vain = np.full(len(radius), np.inf), np.zeros(len(radius), dtype=np.intp)
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
        # A component that is small now may be all that is left later on: each is resolved relative
        # to itself where gradients are, unless shorter panels do not help.
        coarse = good & ~(panel.own_tails <= limit) & ~state.as_a_whole[now]
        in_vain[now] += coarse & ~(panel.own_tails < 0.5 * coarse_tail[now])
        state.as_a_whole[now] |= in_vain[now] > COARSE_CUTS
        coarse_tail[now] = np.where(coarse, panel.own_tails, np.inf)
        coarse &= ~state.as_a_whole[now]
        if good.all() and coarse.any() and length / 2 >= SHORTEST:
            length /= 2
            continue
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
        failed_tail[:], coarse_tail[:], fruitless[:] = np.inf, np.inf, 0
        row = np.full(len(radius), -1, dtype=np.intp)
        row[state.active] = placed + np.arange(len(state.active))
        placed += len(state.active)
        rows.append(row)
        edges.append(edges[-1] + length)
        for name, value in panel.starts.items():
            starts.setdefault(name, []).append(value)
        for name, value in panel.polynomials.items():
            polynomials.setdefault(name, []).append(value)
        _advance(state, panel, largest, model)
        tails = np.where(state.as_a_whole[now], tails, np.maximum(tails, panel.own_tails))
        if (tails <= np.maximum(1e-2 * limit, 2 * noise)).all():
            length = min(2 * length, LONGEST)
    state.cut_short[state.active] = True  # more panels than any smooth k has taken
    size = entries.directions.shape[1]
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


def tabulate_together(model: BlockModel, entries: Sequence[Entries]) -> list[Panels]:
    """Several tables of one k at once: most of the cost of one is that of the calls."""
    joined = (
        np.concatenate(parts) for parts in zip(*(vars(e).values() for e in entries), strict=True)
    )
    whole = tabulate(model, Entries(*joined))
    ends = np.cumsum([len(each.radius) for each in entries])
    return [whole.part(slice(a, b)) for a, b in zip([0, *ends[:-1]], ends, strict=True)]


@dataclass(frozen=True, eq=False)
class _Panel:
    """One panel of the active curves."""

    solved: NDArray[np.bool_]
    tails: Float
    own_tails: Float
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
    exact = model.is_exact_in_components(radius * np.exp(length)) & ~state.as_a_whole[now]
    settled = np.ones(len(now), dtype=bool)
    easy = np.flatnonzero(~state.stiff[now])
    if len(easy):
        at = (radius[easy], y[:, easy], side[easy], held[:, easy])
        values[..., easy], solved[easy], settled[easy] = picard(
            model, *at, weights, tolerance[easy], exact[easy]
        )
    rest = np.flatnonzero(~solved & (state.stiff[now] | (length <= STIFF_PANEL)))
    if len(rest):
        values[..., rest], solved[rest] = newton(
            model, radius[rest], y[:, rest], side[rest], held[:, rest], weights, tolerance[rest]
        )
        state.stiff[now[rest]] |= solved[rest]
        settled[rest] = True  # Newton's last step is far below its tolerance
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
    own_tails = _tails_of_components(fit @ velocity, values)
    return _Panel(
        solved=solved & good,
        tails=np.where(solved & good, tails, np.inf),
        own_tails=np.where(exact, np.where(settled, own_tails, np.inf), 0.0),
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


def _advance(state: _State, panel: _Panel, largest: Float, model: BlockModel) -> None:
    """Move to the end of the panel, and retire the curves whose table is complete."""
    now = state.active
    norm = np.linalg.norm(panel.end["y"], axis=1)
    shrinking = norm < 1
    state.radius[now] *= norm
    state.y[now] = panel.end["y"] / norm[:, None]
    state.clock[now] += panel.end["clock"]
    state.k[now] += panel.end["k"]
    # On the way past zero k falls by orders of magnitude: sums would keep what its start rounds to.
    fallen = now[shrinking]
    if len(fallen):
        state.k[fallen] = model.value_at(state.radius[fallen, None] * state.y[fallen])
    state.conjugate[now] += panel.end["conjugate"]
    state.smallest_gradient[now] = np.minimum(state.smallest_gradient[now], panel.end["steep"])
    state.k_rate[now] = np.abs(panel.end["k rate"])
    k, radius = np.abs(state.k[now]), state.radius[now]
    levelled = np.abs(panel.end["k rate"]) <= LEVEL * k
    at_zero = shrinking & (radius < model.linear_radius)
    # A curve ends at zero only if all that is left of it shrinks there. One that comes close to it
    # goes on along what grows, however small that has become.
    left = state.y[now] != 0
    at_zero &= ~(left & (state.side[now, None] * model.eigenvalues >= 0)).any(axis=1)
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


def _tails_of_components(series: Float, values: Float) -> Float:
    """The same of each component's velocity, relative to that or to the component; the largest."""
    size = np.abs(values).max(axis=(0, 1))
    each = np.maximum(np.abs(series).max(axis=1), np.abs(values).max(axis=1))
    last = np.abs(series[:, -2:]).max(axis=1)
    return np.asarray((last / np.maximum(each, SMALLEST_COMPONENT * size)).max(axis=0))


def _tail(series: Float) -> Float:
    """The last two Chebyshev coefficients relative to the largest, over all quantities."""
    size = np.abs(series).max(axis=(0, 1))
    return np.asarray(np.abs(series[:, -2:]).max(axis=(0, 1)) / size)
