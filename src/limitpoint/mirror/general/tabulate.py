"""The curves of blocks, integrated in panels that keep their interpolating polynomials.

With `φ = r_a y` on a panel that starts at radius r_a, and τ the curve parameter on the side d = ±1,

    dy/dτ = d |y| g,   d|ξ|/dτ = |φ|/‖∇k‖,   dk/dτ = d |φ| ‖∇k‖,   dΨ̂/dτ = d k |φ|/‖∇k‖,

g the unit vector along ∇k. On each panel these are collocated (see `collocation`) by
Picard's iteration where that converges, else by Newton's method. Panels are common to all curves;
every quantity is its value at the panel's start plus `(1+u)Q(u)`, so that what starts at zero is
right relative to itself.

One file, although long: the state that all curves share, and the rules that advance and end them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.general.block_model import BlockModel
from limitpoint.mirror.general.collocation import (
    POINTS,
    SMALLEST_COMPONENT,
    component_sizes,
    components,
    field_at,
    newton,
    picard,
    rule,
)
from limitpoint.mirror.general.error_propagation import propagate
from limitpoint.mirror.general.panels import Panels
from limitpoint.mirror.general.sign_planes import OWN_ROUNDING

__all__ = ["WORST_ROUNDING", "Entries", "tabulate", "tabulate_together"]

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
# k has levelled off when it changes by less than this part of itself per unit of the curve
# parameter: its bound is then known to about as much, and to more with the tail that is added.
LEVEL = 1e-9
# A curve that cannot be continued and on which k changes by less than this part of itself per unit
# of the curve parameter is on its way to a bound: k that grows like any power of the norm, or even
# its logarithm, changes by more.
STEADY = 1e-3
# Errors grow over panels; where they do so on a panel this short, k itself has a kink or a
# singularity within the step of the differences.
SINGULAR_PANEL = 1e-3
# Longer panels that Picard's iteration cannot solve are cut; shorter ones are stiff.
STIFF_PANEL = 0.25
# A curve whose panel has been cut this often in vain has met the rounding of its own gradient
# (a slow manifold far out, say): its table ends there.
FRUITLESS_CUTS = 12
# Cuts of one panel in vain after which the components of a curve are no longer resolved one by one.
# One that changes by e^{600} on the longest panel takes five cuts until shorter panels tell.
COARSE_CUTS = 5
# The same where they converge: what twenty points leave out falls by 2^20 with each cut, else it is
# rounding.
ROUNDED_CUTS = 1
# After a cut so many panels keep their length: what made it short is seldom gone at once.
PATIENCE = 3
# The table ends where |k| is beyond any data (their squares are at most 1e150, coefficients less),
# or the block is; from there on k follows a power law.
LARGEST_COEF, LARGEST_RADIUS = 1e30, 1e100
MOST_PANELS = 2000
# A curve that ends within this part of the block's norm of a zero of ∇k has met a critical point
# (rounding ends it at about 1e-7, where k is off its limit by the square of that); one that levels
# off on its way to infinity has the next zero of ∇k farther away.
CRITICAL_DISTANCE = 1e-3
# Growth rates at a critical point below this part of the largest are zero up to rounding.
UNSTABLE = 1e-6
# A table that ends early has ended for rounding only where that is a tenth of what ends tables, or
# more (slow manifolds); with less (kinks and singularities have a few eps) k itself ended it.
ROUNDING_ENDS_TABLES = 0.1 * WORST_ROUNDING


@dataclass(eq=False)
class _State:
    """The curves at the start of the next panel."""

    radius: Float
    values: Float
    signs: Float
    side: Float
    k: Float
    mirror: Float
    conjugate: Float
    held: Float
    active: NDArray[np.intp]
    errors: "_Errors"
    levelled: NDArray[np.bool_] = field(init=False)
    reached_zero: NDArray[np.bool_] = field(init=False)
    smallest_gradient: Float = field(init=False)
    cut_short: NDArray[np.bool_] = field(init=False)
    stiff: NDArray[np.bool_] = field(init=False)
    as_a_whole: NDArray[np.bool_] = field(init=False)
    blurred: NDArray[np.bool_] = field(init=False)
    own_limit: Float = field(init=False)
    limit: Float = field(init=False)
    k_rate: Float = field(init=False)

    def blocks(self, curves: NDArray[np.intp]) -> Float:
        """The blocks themselves, in the eigenbasis."""
        y = components(self.values[curves], self.signs[curves])
        return np.asarray(self.radius[curves, None] * y)

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
        self.blurred = np.zeros(count, dtype=bool)
        self.own_limit = np.zeros(count)
        self.limit = np.full(count, np.nan)


@dataclass(frozen=True, eq=False)
class _Errors:
    """Of the curves at the start of the next panel: of their values, and of ξ at a given k."""

    covariance: Float
    mirror: Float
    slowest: Float

    def updated(
        self, curves: NDArray[np.intp], covariance: Float, xi: Float, slowest: Float
    ) -> "_Errors":
        """The errors with those of some curves replaced."""
        new = _Errors(self.covariance.copy(), self.mirror.copy(), self.slowest.copy())
        new.covariance[curves], new.mirror[curves] = covariance, xi
        new.slowest[curves] = slowest
        return new


@dataclass(frozen=True, eq=False)
class Entries:
    """Where the tables of N curves begin.

    Attributes
    ----------
    radius, values, signs
        Norms (N,) of the blocks, and their unit vectors (N, p): components with a sign by their
        logarithms, the others, whose sign is zero here, by themselves.
    sides
        1 for a curve along which k rises, −1 for one along which it falls.
    coefs, conjugates
        Values of k and of its conjugate.
    held
        Zero for components that stay zero, one elsewhere.
    present
        Whether there is such a curve.
    errors
        Of the values (N, p).
    """

    radius: Float
    values: Float
    signs: Float
    sides: Float
    coefs: Float
    conjugates: Float
    held: Float
    present: NDArray[np.bool_]
    errors: Float


def tabulate(model: BlockModel, entries: Entries) -> Panels:
    """Integrate the curves that are present."""
    state = _State(
        radius=entries.radius.copy(),
        values=entries.values.copy(),
        signs=entries.signs,
        side=entries.sides,
        k=entries.coefs.copy(),
        mirror=np.zeros_like(entries.coefs),
        conjugate=entries.conjugates.copy(),
        held=entries.held,
        active=np.flatnonzero(entries.present),
        errors=_Errors(
            covariance=(entries.errors**2)[:, :, None] * np.eye(entries.errors.shape[1]),
            mirror=np.zeros(len(entries.radius)),
            slowest=np.zeros(len(entries.radius)),
        ),
    )
    largest = np.maximum(LARGEST_COEF, 1e10 * np.abs(entries.coefs))
    table, cuts, length, patience = _Table(len(entries.radius)), _Cuts.of(state), FIRST, 0
    while len(state.active) and len(table.rows) < MOST_PANELS:
        now = state.active
        with np.errstate(all="ignore"):
            rounding = model.rounding(state.blocks(now))
            allowed = state.allowed_rounding(now)
            if not (rounding < allowed).all():
                _retire(model, state, now[~(rounding < allowed)])
                continue
            # Errors of the rates count for less where k hardly changes any more.
            rounding = np.maximum(rounding, EPS * allowed / WORST_ROUNDING)
            panel = _solve(model, state, length, rounding)
        limit = np.maximum(RESOLUTION * allowed / WORST_ROUNDING, 8 * rounding)
        good = panel.solved & (panel.tails <= limit)
        if good.all() and cuts.coarse(now, panel, limit).any() and length / 2 >= SHORTEST:
            length, patience = length / 2, PATIENCE
            continue
        if not good.all():
            lost = cuts.lost(now, panel, good)
            if lost.any() or length / 2 < SHORTEST:
                _retire(model, state, now[lost if lost.any() else ~good])
                length, patience = max(length, FIRST), 0
            else:
                length, patience = length / 2, PATIENCE
            continue
        with np.errstate(all="ignore"):
            errors, off = _propagate(model, state, panel, length)
        if not (off <= allowed).all():
            _retire(model, state, now[~(off <= allowed)], blurred=length > SINGULAR_PANEL)
            continue
        state.errors = errors
        cuts.forget()
        table.add(now, panel, length)
        _advance(state, panel, largest, model)
        if patience > 0:
            patience -= 1
        elif cuts.may_grow(now, panel, limit, rounding):
            length = min(2 * length, LONGEST)
    state.cut_short[state.active] = True  # more panels than any smooth k has taken
    return table.panels(state)


class _Table:
    """The panels that are finished."""

    def __init__(self, count: int) -> None:
        self.count, self.placed = count, 0
        self.edges, self.rows = [0.0], list[NDArray[np.intp]]()
        self.starts: dict[str, list[Float]] = {}
        self.polynomials: dict[str, list[Float]] = {}

    def add(self, curves: NDArray[np.intp], panel: "_Panel", length: float) -> None:
        """Put a panel of these curves at the end."""
        row = np.full(self.count, -1, dtype=np.intp)
        row[curves] = self.placed + np.arange(len(curves))
        self.placed += len(curves)
        self.rows.append(row)
        self.edges.append(self.edges[-1] + length)
        for name, value in panel.starts.items():
            self.starts.setdefault(name, []).append(value)
        for name, value in panel.polynomials.items():
            self.polynomials.setdefault(name, []).append(value)

    def panels(self, state: _State) -> Panels:
        """All of them, and how the curves have ended."""
        size = state.values.shape[1]
        widths = {
            "y": size,
            "mirror": 1,
            "k": 1,
            "conjugate": 1,
            "mirror rate": 1,
            "k rate": 1,
        }
        empty = {name: np.zeros((1, POINTS, width)) for name, width in widths.items()}
        joined = {name: np.concatenate(parts) for name, parts in self.polynomials.items()}
        return Panels(
            edges=np.array(self.edges),
            rows=np.array(self.rows, dtype=np.intp).reshape(len(self.rows), self.count),
            start={name: np.concatenate(parts) for name, parts in self.starts.items()},
            polynomials=joined or empty,
            levelled=state.levelled,
            reached_zero=state.reached_zero,
            smallest_gradient=state.smallest_gradient,
            cut_short=state.cut_short,
            blurred=state.blurred,
            limit=state.limit,
        )


@dataclass(frozen=True, eq=False)
class _Cuts:
    """Whether shorter panels help: what the cuts of the present one have brought to each curve."""

    state: _State
    failed_tail: Float
    coarse_tail: Float
    fruitless: NDArray[np.intp]
    in_vain: NDArray[np.intp]

    @classmethod
    def of(cls, state: _State) -> "_Cuts":
        count = len(state.radius)
        none = np.full(count, np.inf), np.zeros(count, dtype=np.intp)
        return cls(state, none[0], none[0].copy(), none[1], none[1].copy())

    def forget(self) -> None:
        """A panel is finished."""
        self.failed_tail[:], self.coarse_tail[:] = np.inf, np.inf
        self.fruitless[:], self.in_vain[:] = 0, 0

    def coarse(self, now: NDArray[np.intp], panel: "_Panel", limit: Float) -> NDArray[np.bool_]:
        """Curves of which some component is not resolved relative to itself.

        One that is small now may be all that is left later on: each is resolved where gradients
        are. Where shorter panels do not help, rounding is all that is left, and is allowed (it is
        counted among the errors), or components do not converge.
        """
        state, tails = self.state, panel.own_tails
        wanted = np.maximum(limit, state.own_limit[now])
        coarse = ~(tails <= wanted) & ~state.as_a_whole[now]
        self.in_vain[now] += coarse & ~(tails < 0.5 * self.coarse_tail[now])
        noisy = coarse & np.isfinite(tails) & (self.in_vain[now] > ROUNDED_CUTS)
        state.own_limit[now[noisy]] = 4 * tails[noisy]
        state.as_a_whole[now] |= self.in_vain[now] > COARSE_CUTS
        self.coarse_tail[now] = np.where(coarse, tails, np.inf)
        return np.asarray(coarse & ~state.as_a_whole[now] & ~noisy)

    def lost(
        self, now: NDArray[np.intp], panel: "_Panel", good: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Curves whose panels have been cut too often."""
        before = self.failed_tail[now]
        self.fruitless[now] += ~good & ~(panel.tails < 0.5 * before)
        self.failed_tail[now] = np.where(good, before, panel.tails)
        return np.asarray(~good & (self.fruitless[now] > FRUITLESS_CUTS))

    def may_grow(
        self, now: NDArray[np.intp], panel: "_Panel", limit: Float, rounding: Float
    ) -> bool:
        """Whether a panel was so well resolved that the next one may be longer."""
        state = self.state
        fine = np.maximum(np.maximum(1e-2 * limit, OWN_ROUNDING), 0.5 * state.own_limit[now])
        own = state.as_a_whole[now] | (panel.own_tails <= fine)
        return bool((own & (panel.tails <= np.maximum(1e-2 * limit, 2 * rounding))).all())


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
    values: Float
    local: Float
    starts: dict[str, Float]
    polynomials: dict[str, Float]
    end: dict[str, Float]


def _solve(model: BlockModel, state: _State, length: float, rounding: Float) -> _Panel:
    """Collocate on a panel of this length and integrate ξ, k and Ψ̂ along it."""
    points, integrals, fit = rule()
    weights = length / 2 * integrals
    now = state.active
    radius, y, side = state.radius[now], state.values[now].T, state.side[now]
    held, signs = state.held[now].T, state.signs[now].T
    tolerance = np.maximum(CONVERGENCE, 2 * rounding)
    values, solved = np.empty((y.shape[0], POINTS, len(now))), np.zeros(len(now), dtype=bool)
    exact = model.is_exact_in_components(radius * np.exp(length)) | (signs != 0)
    exact &= ~state.as_a_whole[now]
    converged = np.ones(len(now), dtype=bool)
    easy = np.flatnonzero(~state.stiff[now])
    if len(easy):
        at = (radius[easy], y[:, easy], side[easy], held[:, easy], signs[:, easy])
        values[..., easy], solved[easy], converged[easy] = picard(
            model, *at, weights, tolerance[easy], exact[:, easy]
        )
    rest = np.flatnonzero(~solved & (state.stiff[now] | (length <= STIFF_PANEL)))
    if len(rest):
        at = (radius[rest], y[:, rest], side[rest], held[:, rest], signs[:, rest])
        values[..., rest], solved[rest] = newton(model, *at, weights, tolerance[rest])
        state.stiff[now[rest]] |= solved[rest]
        converged[rest] = True  # Newton's last step is far below its tolerance
    velocity, norm, steep = field_at(model, radius, values, side, held, signs)
    mirror_rate = norm / steep
    k_rate = side * radius**2 * norm * steep
    k_change = weights @ k_rate
    conjugate_rate = side * (state.k[now] + k_change) * mirror_rate
    changes = {
        "y": weights @ velocity,
        "mirror": (weights @ mirror_rate)[None],
        "k": k_change[None],
        "conjugate": (weights @ conjugate_rate)[None],
    }
    polynomials = {name: fit @ (change / (1 + points)[:, None]) for name, change in changes.items()}
    polynomials |= {
        "mirror rate": (fit @ mirror_rate)[None],
        "k rate": (fit @ k_rate)[None],
    }
    by_itself = signs[:, None] != 0
    speeds = np.where(by_itself, velocity * components(values, signs[:, None]), velocity)
    tails = np.max(
        [
            _tail(fit @ speeds),
            _tail(polynomials["mirror rate"]),
            _tail(polynomials["k rate"]),
        ],
        axis=0,
    )
    good = np.isfinite(tails)
    own_tails = _tails_of_components(fit @ velocity, values, signs, exact)
    local = _local_errors(length, fit @ velocity, values, signs, exact & converged, rounding)
    return _Panel(
        solved=solved & good,
        tails=np.where(solved & good, tails, np.inf),
        values=values,
        local=(held * local).T,
        own_tails=np.where(converged, own_tails, np.where(exact.any(axis=0), np.inf, 0.0)),
        starts={
            "radius": radius,
            "y": state.values[now],
            "signs": state.signs[now],
            "mirror": state.mirror[now],
            "k": state.k[now],
            "conjugate": state.conjugate[now],
        },
        polynomials={name: np.transpose(value, (2, 1, 0)) for name, value in polynomials.items()},
        end={
            "y": values[:, -1].T,
            "mirror": changes["mirror"][0, -1],
            "k": changes["k"][0, -1],
            "conjugate": changes["conjugate"][0, -1],
            "k rate": k_rate[-1],
            "mirror rate": mirror_rate[-1],
            "steep": steep.min(axis=0),
        },
    )


def _local_errors(
    length: float,
    series: Float,
    values: Float,
    signs: Float,
    exact: NDArray[np.bool_],
    rounding_of_values: Float,
) -> Float:
    """What a panel adds to the errors of the values, (p, N).

    What the Chebyshev series of the velocities leave out, and the rounding of the gradient: of each
    component where it is exact, else of the whole block.
    """
    sizes = component_sizes(values, signs)
    own = np.where(signs != 0, 1.0, sizes)
    moved = length * np.abs(series).max(axis=1)
    rounding = EPS * (own + moved)
    whole = (rounding_of_values * (1 + length) + EPS) * sizes.max(axis=0)
    whole = np.where(signs != 0, whole / np.maximum(sizes, np.finfo(np.float64).tiny), whole)
    left_out = length * np.abs(series[:, -2:]).max(axis=1)
    return np.asarray(left_out + np.where(exact, rounding, np.maximum(rounding, whole)))


def _propagate(
    model: BlockModel, state: _State, panel: _Panel, length: float
) -> tuple[_Errors, Float]:
    """The errors at the end of the panel, and how far the active curves are off there, relative."""
    now = state.active
    at = (state.radius[now], state.side[now], state.held[now].T, state.signs[now].T)
    known = state.errors
    covariance, off, shift = propagate(
        model, at, panel.values, length, known.covariance[now], panel.local
    )
    # ξ is off by what shifts and rates add up to. That is compared with how long it takes k to
    # change by a factor, where that takes longest: next to a pole any rounding of ξ is all of k.
    rate = panel.end["mirror rate"]
    xi = known.mirror[now] + shift * rate + off * panel.end["mirror"]
    slowest = np.maximum(known.slowest[now], rate)
    errors = known.updated(now, covariance, xi, slowest)
    return errors, np.asarray(np.maximum(off, xi / slowest))


def _advance(state: _State, panel: _Panel, largest: Float, model: BlockModel) -> None:
    """Move to the end of the panel, and retire the curves whose table is complete."""
    now = state.active
    signs = state.signs[now]
    norm = np.linalg.norm(components(panel.end["y"], signs), axis=1)
    shrinking = norm < 1
    state.radius[now] *= norm
    unit = norm[:, None]
    state.values[now] = np.where(signs != 0, panel.end["y"] - np.log(unit), panel.end["y"] / unit)
    state.mirror[now] += panel.end["mirror"]
    state.k[now] += panel.end["k"]
    # On the way past zero k falls by orders of magnitude: sums would keep what its start rounds to.
    fallen = now[shrinking]
    if len(fallen):
        state.k[fallen] = model.value_at(state.blocks(fallen))
    state.conjugate[now] += panel.end["conjugate"]
    state.smallest_gradient[now] = np.minimum(state.smallest_gradient[now], panel.end["steep"])
    state.k_rate[now] = np.abs(panel.end["k rate"])
    k, radius = np.abs(state.k[now]), state.radius[now]
    levelled = np.abs(panel.end["k rate"]) <= LEVEL * k
    at_zero = shrinking & (radius < model.linear_radius)
    # A curve ends at zero only if all that is left of it shrinks there. One that comes close to it
    # goes on along what grows, however small that has become.
    left = (signs != 0) | (state.values[now] != 0)
    at_zero &= ~(left & (state.side[now, None] * model.eigenvalues >= 0)).any(axis=1)
    leaving = np.zeros(len(now), dtype=bool)
    ends = np.flatnonzero(levelled & ~at_zero)
    leaving[ends], state.limit[now[ends]] = _at_critical_points(model, state, now[ends])
    state.blurred[now], state.cut_short[now] = leaving, leaving
    state.levelled[now] = levelled & ~at_zero & ~leaving
    state.reached_zero[now] = at_zero
    done = levelled | at_zero | (k >= largest[now]) | (radius >= LARGEST_RADIUS)
    state.active = now[~done]


def _retire(
    model: BlockModel, state: _State, curves: NDArray[np.intp], blurred: bool = False
) -> None:
    """End the table of curves that cannot be continued; at a critical point k has levelled off."""
    z = state.blocks(curves)
    with np.errstate(all="ignore"):
        near = model.critical_distances(z, state.side[curves])
        state.cut_short[curves] = blurred | ~(model.rounding(z) >= ROUNDING_ENDS_TABLES)
        state.blurred[curves] = blurred
        leaving, state.limit[curves] = _at_critical_points(model, state, curves)
    state.blurred[curves] |= leaving
    state.cut_short[curves] |= leaving
    steady = state.k_rate[curves] <= STEADY * np.abs(state.k[curves])
    state.levelled[curves] = ((near < CRITICAL_DISTANCE) | steady) & ~leaving
    state.active = np.setdiff1d(state.active, curves)


def _at_critical_points(
    model: BlockModel, state: _State, curves: NDArray[np.intp]
) -> tuple[NDArray[np.bool_], Float]:
    """Whether curves have come to a saddle of k, and the value of k at the critical point.

    At a bound nothing grows: no eigenvalue of `d∇²k`, among the components that are not zero for
    ever, is positive. In a valley of critical points one is zero, and as far from that as the
    curve is from the valley. Else the curve leaves the point along what is left of the block. The
    value is `k − ½ gᵀH⁺g`, a step of Newton's method from here; NaN far from critical points.
    """
    if len(curves) == 0:
        return np.zeros(0, dtype=bool), np.zeros(0)
    z, side, held = state.blocks(curves), state.side[curves], state.held[curves]
    with np.errstate(all="ignore"):
        near = model.critical_distances(z, side)
        bend = side[:, None, None] * model.hessian(z) * held[:, :, None] * held[:, None, :]
        slope = side[:, None] * model.gradient(z) * held
    usable = np.isfinite(bend).all(axis=(1, 2)) & (near < CRITICAL_DISTANCE)
    values, basis = np.linalg.eigh(np.where(usable[:, None, None], bend, 0.0))
    flat = (UNSTABLE + 10 * np.where(usable, near, 0.0)) * np.abs(values).max(axis=1)
    leaving = usable & (values[:, -1] > flat)
    with np.errstate(all="ignore"):
        parts = np.einsum("nij,ni->nj", basis, slope)
        rest = np.where(np.abs(values) > flat[:, None], parts**2 / values, 0.0).sum(axis=1)
        return leaving, np.where(usable, state.k[curves] - side * rest / 2, np.nan)


def _tails_of_components(
    series: Float, values: Float, signs: Float, exact: NDArray[np.bool_]
) -> Float:
    """The same of each exact component's velocity, relative to that or to the component.

    Of a logarithm, relative to itself, or to one: a component's change by a factor.
    """
    own = np.maximum(np.where(signs != 0, 1.0, 0.0), np.abs(values).max(axis=1))
    size = component_sizes(values, signs).max(axis=0)
    each = np.maximum(np.abs(series).max(axis=1), own)
    last = np.abs(series[:, -2:]).max(axis=1) / np.maximum(each, SMALLEST_COMPONENT * size)
    return np.asarray(np.where(exact, last, 0.0).max(axis=0))


def _tail(series: Float) -> Float:
    """The last two Chebyshev coefficients relative to the largest, over all quantities."""
    size = np.abs(series).max(axis=(0, 1))
    return np.asarray(np.abs(series[:, -2:]).max(axis=(0, 1)) / size)
