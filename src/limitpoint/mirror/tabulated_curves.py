"""The curves of all blocks that share one k: linear stage, panels, and what lies beyond them.

A block has two curves, one per sign of its clock. On each the position runs through the linear
stage (`‖H‖ξ`, as far as `tabulated_pull` lets it), then through the panels of the table
(`tabulated_build` makes them, `tabulated_panels` holds them). Beyond the table rates go on as the
exponentials of the position that they are at its end: exact for powers of the parameters. A curve
that ends at zero goes on as the linear motion that it is there.

The file is long because one curve has these stretches, and every quantity is read on each of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from limitpoint.arrays import Float
from limitpoint.errors import NetworkError, ScaleNotRepresentable
from limitpoint.mirror.tabulated_build import Entries, tabulate, tabulate_together
from limitpoint.mirror.tabulated_linear import ZERO_COMPONENT, LinearStage
from limitpoint.mirror.tabulated_model import BlockModel
from limitpoint.mirror.tabulated_panels import Panels
from limitpoint.mirror.tabulated_pull import linear_radii

__all__ = ["BlockCurves", "CurveValues"]

Index = NDArray[np.intp]

# Newton's method for a place within a panel: quadratic from the linear guess, then at rounding.
NEWTON_STEPS = 40
# Factors at which a component's pull is tried when deciding that it stays zero for ever.
TRIALS = 4
# Within this distance of the place where k vanishes, its conjugate is integrated from there: k and
# the clock's rate change by e^{2·0.25} at most, which eight Gauss points integrate to rounding.
NEAR_ZERO, GAUSS_POINTS = 0.25, 8
# log of the smallest radius from which a k can be followed in float64 without a linear stage: the
# coefficient is its third power at most.
SMALLEST_LOG_RADIUS = -230.0
# log of the largest radius at which ∇k of a quadratic k can still be squared.
LARGEST_LOG_RADIUS = 230.0


@dataclass(frozen=True, eq=False)
class CurveValues:
    """Coefficients as sign and log-modulus and as floats, and the rates, at given positions."""

    signs: Float
    logs: Float
    log_rates: Float
    clocks: Float
    clock_rates: Float


@dataclass(frozen=True, eq=False)
class BlockCurves:
    """Blocks θ* (n, p) of one k, started at `e^log_scale` times that.

    Positions, clocks and coefficients are arrays (..., n).
    """

    model: BlockModel
    blocks: Float
    log_scale: float

    @cached_property
    def frozen(self) -> NDArray[np.bool_]:
        """Blocks that start at zero, which is a critical point: they never move."""
        return np.asarray((self.blocks == 0).all(axis=1))

    @cached_property
    def linear(self) -> LinearStage:
        """The start of the curves."""
        z, _ = self.model.components(self.blocks)
        size = np.linalg.norm(self.blocks, axis=1, keepdims=True)
        components = np.where(np.abs(z) <= ZERO_COMPONENT * size, 0.0, z)
        stage = LinearStage(
            eigenvalues=self.model.eigenvalues,
            components=components,
            quadratic=0.5
            * np.einsum("na,ab,nb->n", self.blocks, self.model.hessian_at_zero, self.blocks),
            log_scale=self.log_scale,
            radius=np.full(len(z), self.model.linear_radius),
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            units = np.where(size > 0, components / size, 0.0)
        held = self._held(units, np.zeros(len(z)), stage.active)
        return stage.with_radius(linear_radii(self.model, stage, held))

    @cached_property
    def exits(self) -> Float:
        """`|ξ|` at the end of the linear stage: curves of the positive side, then the others."""
        return np.concatenate([self.linear.exits(1), self.linear.exits(-1)])

    @cached_property
    def endless(self) -> NDArray[np.bool_]:
        """Curves that stay in the linear stage: nothing grows on them."""
        grows = [
            ((self.linear.components != 0) & (side * self.model.eigenvalues > 0)).any(axis=1)
            for side in (1, -1)
        ]
        return np.asarray(np.tile(self.linear.active, 2) & ~np.concatenate(grows))

    @cached_property
    def start(self) -> tuple[Float, Float]:
        """Sign and log-modulus of the coefficients at the start."""
        n = len(self.blocks)
        signs, logs = self.linear.signs_and_logs(np.arange(n), np.zeros(n))
        outside = ~self.linear.active & ~self.frozen
        if outside.any():
            values = self.model.start_value(self.blocks[outside], np.exp(self.log_scale))
            with np.errstate(divide="ignore"):
                signs[outside], logs[outside] = np.sign(values), np.log(np.abs(values))
        return np.where(self.frozen, 0.0, signs), np.where(self.frozen, -np.inf, logs)

    @cached_property
    def panels(self) -> Panels:
        """The table of the 2n curves."""
        return self.checked(tabulate(self.model, self.entries))

    @staticmethod
    def prepare(curves: "Sequence[BlockCurves]") -> None:
        """Make the tables of several sets of blocks of one k together."""
        tables = tabulate_together(curves[0].model, [each.entries for each in curves])
        for each, panels in zip(curves, tables, strict=True):
            each.__dict__["panels"] = each.checked(panels)  # where `cached_property` looks

    @property
    def entries(self) -> Entries:
        """Where the table begins: at the end of the linear stage, or at the start outside it."""
        n = len(self.blocks)
        columns, sides = np.tile(np.arange(n), 2), np.repeat([1.0, -1.0], n)
        inside = self.linear.active[columns]
        present = ~self.endless & ~self.frozen[columns]
        self._check_scale(present & ~inside)
        clocks = sides * np.where(self.endless, 0.0, self.exits)
        directions = np.zeros((2 * n, self.model.size))
        logs = np.full(directions.shape, -np.inf)
        for side in (1, -1):
            rows = np.flatnonzero((sides == side) & present)
            directions[rows] = self.linear.directions_at(columns[rows], clocks[rows], side)
            rows = rows[np.isfinite(clocks[rows])]
            logs[rows] = self.linear.log_directions_at(columns[rows], clocks[rows])
        with np.errstate(divide="ignore"):
            logs = np.maximum(logs, np.log(np.abs(directions)))
        with np.errstate(under="ignore", over="ignore"):
            size = np.linalg.norm(self.linear.components, axis=1)[columns]
            radius = np.where(inside, self.linear.radius[columns], np.exp(self.log_scale) * size)
            coefs = self._entry_coefs(columns, clocks, directions, inside)
            finite = np.where(np.isfinite(clocks), clocks, 0.0)
            conjugates = np.where(inside, self.linear.conjugates(columns, finite), 0.0)
        conjugates = np.where(np.isfinite(clocks), conjugates, 0.0)
        # A component that underflows is not zero.
        tiny = np.copysign(np.finfo(np.float64).tiny, self.linear.components[columns])
        there = np.where(np.isfinite(logs) & (directions == 0), tiny, directions)
        held = self._held(np.where(present[:, None], there, 0.0), radius, present)
        keeps = self.model.invariant_planes((held != 0) & present[:, None]) & np.isfinite(logs)
        signs = np.where(keeps, np.sign(self.linear.components[columns]), 0.0)
        values = np.where(keeps, logs, directions)
        errors = self._entry_errors(columns, np.where(keeps, 1.0, np.abs(directions)))
        return Entries(radius, values, signs, sides, coefs, conjugates, held, present, errors)

    def checked(self, panels: Panels) -> Panels:
        """A table with something in it for every curve that moves; else an error says why not."""
        present = ~self.endless & ~np.tile(self.frozen, 2)
        empty = np.flatnonzero(present & (panels.counts == 0))
        self._check_blur(empty[panels.blurred[empty]])
        self._check_beginnings(empty)
        return panels

    @cached_property
    def known(self) -> tuple[Float, Float]:
        """The coefficients up to which the curves are known, below and above; else infinite."""
        n = len(self.blocks)
        ends = np.concatenate([np.full(n, np.inf), np.full(n, -np.inf)])
        panels = self.panels
        if len(panels.rows):
            last = panels.edge_values("k")[panels.counts, np.arange(2 * n)]
            ends = np.where(panels.lost, last, ends)
        return ends[n:], ends[:n]

    @cached_property
    def bounds(self) -> tuple[Float, Float]:
        """Infimum and supremum of each coefficient."""
        n = len(self.blocks)
        ends = np.concatenate([np.full(n, np.inf), np.full(n, -np.inf)])
        ends[self.endless | np.tile(self.frozen, 2)] = 0.0
        panels = self.panels
        if len(panels.rows):
            rate, slope = panels.end_slopes("k")
            last = panels.edge_values("k")[panels.counts, np.arange(2 * n)]
            with np.errstate(divide="ignore", invalid="ignore"):
                tail = np.where(slope < 0, -rate / slope, 0.0)
            ends = np.where(panels.levelled, last + tail, ends)
            ends = np.where(panels.reached_zero, 0.0, ends)
        return ends[n:], ends[:n]

    @cached_property
    def critical_distances(self) -> Float:
        """Newton's step along ∇k to where it vanishes, from the end of a curve that levels off.

        Relative to the block's norm, and the smaller one of the two curves: zero at a critical
        point, infinite where k grows for ever.
        """
        n = len(self.blocks)
        distances = np.full(2 * n, np.inf)
        rows = np.flatnonzero(self.panels.levelled)
        if len(rows):
            panels = self.panels
            ends, u = panels.locate(rows, panels.ends[rows])
            z = panels.blocks(ends, u)
            distances[rows] = self.model.critical_distances(z, np.where(rows < n, 1.0, -1.0))
        return np.asarray(np.minimum(distances[:n], distances[n:]))

    def values(self, positions: Float) -> CurveValues:
        """Everything at given positions but the conjugates."""
        result = CurveValues(*(np.zeros(positions.shape) for _ in range(5)))

        def fill(where: NDArray[np.bool_], parts: tuple[Float, ...]) -> None:
            for target, part in zip(vars(result).values(), parts, strict=True):
                target[where] = part

        for where, parts in self._parts(
            positions, self._frozen_values, self._linear_values, self._table_values
        ):
            fill(where, parts)
        return result

    def conjugates(self, positions: Float) -> Float:
        """`Ψ̂`, zero where the coefficient is.

        Near that place it is integrated from there, so that it is right relative to itself.
        """
        result = self._raw_conjugates(positions) - self._conjugate_at_zero
        near = np.abs(positions - self._zero) < NEAR_ZERO
        if near.any():
            zero = np.where(np.isfinite(self._zero), self._zero, 0.0)
            width = np.where(near, positions - zero, 0.0)
            nodes, weights = np.polynomial.legendre.leggauss(GAUSS_POINTS)
            integral = np.zeros(positions.shape)
            for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
                at = self.values(zero + node * width)
                with np.errstate(under="ignore", over="ignore"):
                    integral += weight * at.signs * np.exp(at.logs) * at.clock_rates
            result = np.where(near, width * integral, result)
        return np.where(self.frozen, 0.0, result)

    def layers(self, positions: Float) -> Float:
        """The blocks themselves, (..., n, p), as far as float64 holds them."""
        result = np.zeros((*positions.shape, self.model.size))

        def linear(columns: Index, places: Float) -> tuple[Float, ...]:
            return (self.linear.components_at(columns, places / self.model.rate),)

        def table(curves: Index, taus: Float) -> tuple[Float, ...]:
            rows, u = self.panels.locate(curves, np.minimum(taus, self.panels.ends[curves]))
            blocks = self.panels.blocks(rows, u)
            past, clocks = self._past_the_table(curves, taus)
            blocks[past] = self._ending.components_at(curves[past], clocks)
            return (blocks,)

        for where, (part,) in self._parts(
            positions, lambda c, s: (np.zeros((len(c), self.model.size)),), linear, table
        ):
            result[where] = part
        return np.asarray(result @ self.model.basis.T)

    def positions(self, clocks: Float) -> Float:
        """Positions at given clocks; ±∞ at and beyond a pole."""
        columns = np.broadcast_to(np.arange(len(self.blocks)), clocks.shape)
        curves = columns + len(self.blocks) * (clocks < 0)
        after = np.abs(clocks) - self.exits[curves]
        result = np.where(self.frozen, clocks, self.model.rate * clocks)
        table = (after > 0) & ~self.frozen[columns]
        if self.model.rate == 0:
            table = ~self.frozen[columns]
        if table.any():
            found = self._invert("clock", curves[table], after[table])
            found = found + self.model.rate * self.exits[curves[table]]
            result[table] = np.where(clocks[table] < 0, -found, found)
        return result

    def positions_of(self, coefs: Float) -> Float:
        """Positions of given coefficients; NaN for what the coefficient cannot be."""
        n = len(self.blocks)
        columns = np.broadcast_to(np.arange(n), coefs.shape)
        signs = np.sign(coefs)
        with np.errstate(divide="ignore"):
            logs = np.log(np.abs(coefs))
        order = _compare(signs, logs, self.start[0][columns], self.start[1][columns])
        side = np.where(order < 0, -1.0, 1.0)
        curves = columns + n * (side < 0)
        result = np.where(order == 0, 0.0, np.nan)
        clocks = side * np.where(self.endless, self._far, self.exits)[curves]
        inside = self.linear.active[columns]
        at_exit = self.linear.signs_and_logs(columns, np.where(inside, clocks, 0.0))
        passed = side * _compare(signs, logs, *at_exit) >= 0
        linear = inside & ~passed & (order != 0)
        if linear.any():
            zero = np.zeros(int(linear.sum()))
            low, high = np.minimum(zero, clocks[linear]), np.maximum(zero, clocks[linear])
            found = self.linear.clocks_of(columns[linear], coefs[linear], low, high)
            result[linear] = self.model.rate * found
        ended = inside & passed & self.endless[curves]
        result[ended & (signs == 0)] = (np.inf * side)[ended & (signs == 0)]
        table = (order != 0) & ~linear & ~ended & ~self.frozen[columns]
        if table.any():
            found = self._invert("k", curves[table], coefs[table])
            found = found + self.model.rate * self.exits[curves[table]]
            result[table] = side[table] * found
        return np.where(self.frozen[columns] & (coefs != 0), np.nan, result)

    # -- parts of a curve -----------------------------------------------------------------------

    def _parts(
        self,
        positions: Float,
        frozen: Callable[[Index, Float], tuple[Float, ...]],
        linear: Callable[[Index, Float], tuple[Float, ...]],
        table: Callable[[Index, Float], tuple[Float, ...]],
    ) -> list[tuple[NDArray[np.bool_], tuple[Float, ...]]]:
        """Hand each position to the part of its curve on which it lies."""
        n = len(self.blocks)
        columns = np.broadcast_to(np.arange(n), positions.shape)
        curves = columns + n * (positions < 0)
        still = self.frozen[columns]
        lengths = np.where(self.endless, np.inf, self.model.rate * self.exits)[curves]
        inside = ~still & (
            (np.abs(positions) < lengths) | self.endless[curves] | np.isnan(positions)
        )
        parts = []
        if still.any():
            parts.append((still, frozen(columns[still], positions[still])))
        if inside.any():
            # An endless curve has its limit at an infinite position: far enough to be it.
            far = self.model.rate * self._far
            places = np.clip(positions[inside], -far, far)
            parts.append((inside, linear(columns[inside], places)))
        outside = ~still & ~inside
        if outside.any():
            taus = np.abs(positions[outside]) - lengths[outside]
            parts.append((outside, table(curves[outside], taus)))
        return parts

    def _frozen_values(self, columns: Index, positions: Float) -> tuple[Float, ...]:
        zero = np.zeros(len(columns))
        never = np.full(len(columns), -np.inf)
        return zero, never, never, positions, zero + 1

    def _linear_values(self, columns: Index, positions: Float) -> tuple[Float, ...]:
        rate = self.model.rate
        clocks = positions / rate
        signs, logs = self.linear.signs_and_logs(columns, clocks)
        log_rates = self.linear.log_slopes(columns, clocks) - np.log(rate)
        return signs, logs, log_rates, clocks, np.full(len(columns), 1 / rate)

    def _table_values(self, curves: Index, taus: Float) -> tuple[Float, ...]:
        panels, side = self.panels, np.where(curves < len(self.blocks), 1.0, -1.0)
        ends = panels.ends[curves]
        beyond = taus - ends
        rows, u = panels.locate(curves, np.minimum(taus, ends))
        k, k_rate = panels.at("k", rows, u), panels.rate("k", rows, u)
        clock, clock_rate = panels.at("clock", rows, u), panels.rate("clock", rows, u)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
            log_rate = np.log(np.abs(k_rate))
            extra = beyond > 0
            if extra.any():
                rate, slope = (part[curves[extra]] for part in panels.end_slopes("k"))
                k[extra] += rate * _grown(beyond[extra], slope)
                log_rate[extra] = np.log(np.abs(rate)) + beyond[extra] * slope
                slope = panels.end_slopes("clock")[1][curves[extra]]
                clock[extra] += clock_rate[extra] * _grown(beyond[extra], slope)
                clock_rate[extra] *= np.exp(beyond[extra] * slope)
                lost = extra & panels.lost[curves]
                for part in (k, log_rate, clock, clock_rate):
                    part[lost] = np.nan
            signs, logs = np.sign(k), np.log(np.abs(k))
        past, clocks = self._past_the_table(curves, taus)
        if past.any():
            signs[past], logs[past] = self._ending.signs_and_logs(curves[past], clocks)
            slopes = self._ending.log_slopes(curves[past], clocks)
            log_rate[past] = slopes - np.log(self.model.rate)
            clock[past] = self._ending_clocks[curves[past]] + np.abs(clocks)
            clock_rate[past] = 1 / self.model.rate
        clock = side * (clock + self.exits[curves])
        return signs, logs, log_rate, clock, clock_rate

    def _past_the_table(self, curves: Index, taus: Float) -> tuple[NDArray[np.bool_], Float]:
        """Which places lie beyond the table of a curve that ends at zero, and their clocks there.

        Clocks count from the end of the table.
        """
        beyond = taus - self.panels.ends[curves]
        past = self.panels.reached_zero[curves] & (beyond > 0)
        side = np.where(curves[past] < len(self.blocks), 1.0, -1.0)
        return past, side * np.minimum(beyond[past] / self.model.rate, self._far)

    @cached_property
    def _ending(self) -> LinearStage:
        """The linear motion of the 2n curves from the end of their tables: for those at zero."""
        panels, curves = self.panels, np.arange(2 * len(self.blocks))
        z = np.zeros((len(curves), self.model.size))
        ended = np.flatnonzero(panels.reached_zero)
        z[ended] = panels.blocks(*panels.locate(ended, panels.ends[ended]))
        return LinearStage(
            eigenvalues=self.model.eigenvalues,
            components=z,
            quadratic=0.5 * (z * z) @ self.model.eigenvalues,
            log_scale=0.0,
            radius=np.zeros(len(z)),
        )

    @cached_property
    def _ending_clocks(self) -> Float:
        """`|ξ|` at the end of the tables, from their beginning."""
        panels = self.panels
        return panels.edge_values("clock")[panels.counts, np.arange(2 * len(self.blocks))]

    def _raw_conjugates(self, positions: Float) -> Float:
        """`Ψ̂`, zero at the start."""

        def linear(columns: Index, places: Float) -> tuple[Float, ...]:
            return (self.linear.conjugates(columns, places / self.model.rate),)

        def table(curves: Index, taus: Float) -> tuple[Float, ...]:
            panels, ends = self.panels, self.panels.ends[curves]
            side = np.where(curves < len(self.blocks), 1.0, -1.0)
            rows, u = panels.locate(curves, np.minimum(taus, ends))
            values = panels.at("conjugate", rows, u)
            beyond = np.maximum(taus - ends, 0.0)
            with np.errstate(all="ignore"):
                k, k_rate = panels.at("k", rows, u), panels.rate("k", rows, u)
                slope = k_rate / k * side + panels.end_slopes("clock")[1][curves]
                rate = side * k * panels.rate("clock", rows, u)
                further = np.where(panels.lost[curves], np.nan, rate * _grown(beyond, slope))
                past, clocks = self._past_the_table(curves, taus)
                further[past] = self._ending.conjugates(curves[past], clocks)
                return (np.where(beyond > 0, values + further, values),)

        result = np.zeros(positions.shape)
        for where, (part,) in self._parts(
            positions, lambda columns, places: (np.zeros(len(columns)),), linear, table
        ):
            result[where] = part
        return result

    @cached_property
    def _zero(self) -> Float:
        """Positions at which the coefficients vanish; infinite or NaN where they never do."""
        return self.positions_of(np.zeros(len(self.blocks)))

    @cached_property
    def _conjugate_at_zero(self) -> Float:
        """The same where the coefficient vanishes, or at the end of a curve on which it never does.

        There it has its smallest value.
        """
        zero = self._zero
        towards = np.where(self.start[0] > 0, -np.inf, np.inf)
        lengths = self.model.rate * np.where(self.endless, 0.0, self.exits)
        ends = lengths + (self.panels.ends if len(self.panels.rows) else 0.0)
        n = len(self.blocks)
        last = np.where(towards < 0, -ends[n:], ends[:n])
        at = np.where(np.isnan(zero), last, np.where(np.isinf(zero), towards, zero))
        return self._raw_conjugates(np.where(self.frozen, 0.0, at))

    # -- helpers --------------------------------------------------------------------------------

    @cached_property
    def _far(self) -> float:
        """A clock at which whatever shrinks in the linear stage is far below any float."""
        slow = np.abs(self.model.eigenvalues[self.model.eigenvalues != 0]).min(initial=1.0)
        depth = abs(self.log_scale) if np.isfinite(self.log_scale) else 0.0
        return float((2000.0 + depth) / slow)

    def _check_scale(self, outside: NDArray[np.bool_]) -> None:
        """Refuse starts that neither the linear stage nor float64 can hold."""
        columns = np.flatnonzero(outside) % len(self.blocks)
        if len(columns) == 0:
            return
        sizes = self.log_scale + np.log(np.linalg.norm(self.blocks[columns], axis=1))
        with np.errstate(over="ignore"):
            values = self.model.start_value(self.blocks[columns], np.exp(self.log_scale))
        small = sizes.min() < SMALLEST_LOG_RADIUS
        extreme = small or sizes.max() > LARGEST_LOG_RADIUS
        if not extreme and np.isnan(values).any():
            block = np.exp(self.log_scale) * self.blocks[columns[np.isnan(values)][0]]
            raise NetworkError(
                f"k is not a number at the block {block.tolist()}, where training starts; start "
                "where it is finite, or write k so that it is"
            )
        if extreme or not np.isfinite(values).all():
            raise ScaleNotRepresentable(
                f"k cannot be evaluated in float64 at log_scale={self.log_scale:.6g}; "
                "use a scale nearer to 1"
            )

    def _check_blur(self, curves: Index) -> None:
        """Refuse starts whose components rounding of the Hessian makes."""
        if len(curves) == 0:
            return
        column = int(curves[0]) % len(self.blocks)
        parts = np.abs(self.linear.components[column]) / np.linalg.norm(self.blocks[column])
        raise NetworkError(
            f"the block {self.blocks[column].tolist()} lies so near an eigenvector of ∇²k(0) (its "
            f"smallest component is {parts[parts > 0].min():.2g} of it) that rounding of ∇²k(0) "
            "decides where it goes; start it on the eigenvector, or farther from it"
        )

    def _check_beginnings(self, curves: Index) -> None:
        """Refuse starts from which not one panel could be followed."""
        if len(curves) == 0:
            return
        block = np.exp(self.log_scale) * self.blocks[curves[0] % len(self.blocks)]
        slope = self.model.gradient((block @ self.model.basis)[None])[0]
        if np.isfinite(slope).all() and not slope.any():
            raise NetworkError(
                f"a block starts at {block.tolist()}, a critical point of k: its coefficient never "
                "moves; start it elsewhere"
            )
        raise NetworkError(
            f"k cannot be followed from the block {block.tolist()}: it is not smooth there, or not "
            "finite. A general network needs a k that is analytic wherever training leads; use "
            "smooth functions, or another start"
        )

    def _entry_coefs(
        self, columns: Index, clocks: Float, directions: Float, inside: NDArray[np.bool_]
    ) -> Float:
        """The coefficient where the panels begin: its start, or the end of the linear stage."""
        signs, logs = self.start
        outside = signs * np.exp(np.where(self.linear.active, -np.inf, logs))
        radii = self.linear.radius[columns]
        quadratic = 0.5 * radii**2 * (directions**2 @ self.model.eigenvalues)
        return np.where(inside, quadratic, outside[columns])

    def _entry_errors(self, columns: Index, sizes: Float) -> Float:
        """Of the values where the panels begin: components are as wrong there as at the start."""
        z, errors = self.model.components(self.blocks)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(self.linear.components != 0, errors / np.abs(z), 0.0)
        return np.asarray(relative[columns] * sizes)

    def _held(self, directions: Float, radius: Float, present: NDArray[np.bool_]) -> Float:
        """Zero for components that are zero and are not pulled away from it, by symmetry.

        Decided by the pull at a few points of the same plane: rounding must not lead a curve out
        of a plane that it never leaves.
        """
        held = np.ones_like(directions)
        zero = (directions == 0) & present[:, None]
        rows = np.flatnonzero(zero.any(axis=1))
        if len(rows) == 0:
            return held
        rng = np.random.default_rng(0)
        pulled = np.zeros((len(rows), directions.shape[1]), dtype=bool)
        for _ in range(TRIALS):
            factors = 1 + 0.5 * rng.random((len(rows), directions.shape[1]))
            radii = np.maximum(radius[rows], self.model.nonlinear_length / 8)
            gradient = self.model.scaled_gradient(radii, (directions[rows] * factors).T).T
            size = np.linalg.norm(gradient, axis=1, keepdims=True)
            noise = max(ZERO_COMPONENT, 4 * self.model.noise)
            pulled |= ~(np.abs(gradient) <= noise * size)
        held[rows] = np.where(zero[rows] & ~pulled, 0.0, 1.0)
        return held

    def _invert(self, name: str, curves: Index, targets: Float) -> Float:
        """τ ≥ 0 at which the clock (from the table's start) or k has these values."""
        panels = self.panels
        rising = (
            np.ones(len(curves))
            if name == "clock"
            else np.where(curves < len(self.blocks), 1.0, -1.0)
        )
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
        # At a pole of the clock the position is infinite; a coefficient has no position beyond
        # its bound.
        if name == "clock":
            beyond = np.where(np.isnan(beyond), np.inf, beyond)
        beyond = np.where(panels.lost[curves], np.nan, beyond)
        past = panels.reached_zero[curves] & (over > 0)
        if past.any():
            beyond[past] = self._invert_past(name, curves[past], targets[past], over[past])
        return np.where(over > 0, panels.ends[curves] + beyond, found)

    def _invert_past(self, name: str, curves: Index, targets: Float, over: Float) -> Float:
        """The same beyond the tables of curves that end at zero, from their end."""
        if name == "clock":
            return np.asarray(self.model.rate * over)
        side = np.where(curves < len(self.blocks), 1.0, -1.0)
        end = side * self._far
        low, high = np.minimum(0.0, end), np.maximum(0.0, end)
        clocks = self._ending.clocks_of(curves, targets, low, high)
        rest = side * targets  # below zero: the curve comes from there
        found = np.where(rest < 0, self.model.rate * np.abs(clocks), np.nan)
        return np.where(rest == 0, np.inf, found)


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


def _grown(distance: Float, slope: Float) -> Float:
    """`∫₀^x e^{μt} dt`."""
    safe = np.where(slope == 0, 1.0, slope)
    return np.where(slope == 0, distance, np.expm1(safe * distance) / safe)


def _grown_inverse(value: Float, slope: Float) -> Float:
    """The x with `∫₀^x e^{μt} dt = value`; infinite at the supremum, NaN beyond it."""
    product = slope * value
    safe = np.where(product == 0, 1.0, product)
    return np.where(
        product == 0, value, np.where(product == -1, np.inf, value * np.log1p(safe) / safe)
    )


def _compare(sign: Float, log: Float, other_sign: Float, other_log: Float) -> Float:
    """−1, 0 or 1 as the first number is less than, equal to or greater than the second."""
    with np.errstate(invalid="ignore"):
        logs = np.where(log == other_log, 0.0, np.sign(log - other_log))
    same = np.where(sign == 0, 0.0, sign * logs)
    return np.where(sign == other_sign, same, np.sign(sign - other_sign))
