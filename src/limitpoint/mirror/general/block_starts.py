"""Where the curves of blocks begin: the linear stage, and the entries of the table behind it.

A block has two curves, one per sign of its mirror coordinate; arrays of 2n have those of the
positive side first.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from limitpoint.errors import NetworkError, ScaleNotRepresentable
from limitpoint.foundation.arrays import Float
from limitpoint.mirror.general.block_model import BlockModel
from limitpoint.mirror.general.linear_reach import linear_radii
from limitpoint.mirror.general.linear_stage import ZERO_COMPONENT, LinearStage
from limitpoint.mirror.general.panels import Panels
from limitpoint.mirror.general.tabulate import WORST_ROUNDING, Entries

__all__ = ["BlockStarts"]

Index = NDArray[np.intp]

# Points at which a component of ∇k is tried when deciding that it stays zero for ever.
TRIALS = 4
# Relative error of a component, from rounding of the Hessian, with which k is off by as much: what
# ends tables (`WORST_ROUNDING` of `tabulate`) is not allowed before they begin.
UNKNOWN_COMPONENT = WORST_ROUNDING
# log of the smallest radius from which a k can be followed in float64 without a linear stage: the
# coefficient is its third power at most.
SMALLEST_LOG_RADIUS = -230.0
# log of the largest radius at which ∇k of a quadratic k can still be squared.
LARGEST_LOG_RADIUS = 230.0


@dataclass(frozen=True, eq=False)
class BlockStarts:
    """Blocks θ* (n, p) of one k, started at `e^log_scale` times that."""

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
    def checked_linear(self) -> LinearStage:
        """The same, if the components that are large at its ends are known; else an error.

        An error of those is a shift of the mirror coordinate, by its relative size over the rate of
        growth.
        """
        n = len(self.blocks)
        columns, sides = np.tile(np.arange(n), 2), np.repeat([1.0, -1.0], n)
        rows = np.flatnonzero(self.linear.active[columns] & np.isfinite(self.exits))
        xi = sides[rows] * self.exits[rows]
        logs = self.linear.log_directions_at(columns[rows], xi)
        off = np.linalg.norm(self._relative_errors[columns[rows]] * np.exp(logs), axis=1)
        self._check_blur(rows[off > UNKNOWN_COMPONENT])
        return self.linear

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
    def coefs(self) -> tuple[Float, Float]:
        """Sign and log-modulus of the coefficients at the start."""
        n = len(self.blocks)
        signs, logs = self.linear.signs_and_logs(np.arange(n), np.zeros(n))
        outside = ~self.linear.active & ~self.frozen
        if outside.any():
            values = self.model.start_value(self.blocks[outside], np.exp(self.log_scale))
            with np.errstate(divide="ignore"):
                signs[outside], logs[outside] = np.sign(values), np.log(np.abs(values))
        return np.where(self.frozen, 0.0, signs), np.where(self.frozen, -np.inf, logs)

    @property
    def entries(self) -> Entries:
        """Where the table begins: at the end of the linear stage, or at the start outside it."""
        n = len(self.blocks)
        columns, sides = np.tile(np.arange(n), 2), np.repeat([1.0, -1.0], n)
        inside = self.checked_linear.active[columns]
        present = ~self.endless & ~self.frozen[columns]
        self._check_scale(present & ~inside)
        xi = sides * np.where(self.endless, 0.0, self.exits)
        directions = np.zeros((2 * n, self.model.size))
        logs = np.full(directions.shape, -np.inf)
        for side in (1, -1):
            rows = np.flatnonzero((sides == side) & present)
            directions[rows] = self.linear.directions_at(columns[rows], xi[rows], side)
            rows = rows[np.isfinite(xi[rows])]
            logs[rows] = self.linear.log_directions_at(columns[rows], xi[rows])
        with np.errstate(divide="ignore"):
            logs = np.maximum(logs, np.log(np.abs(directions)))
        with np.errstate(under="ignore", over="ignore"):
            size = np.linalg.norm(self.linear.components, axis=1)[columns]
            radius = np.where(inside, self.linear.radius[columns], np.exp(self.log_scale) * size)
            coefs = self._entry_coefs(columns, xi, directions, inside)
            finite = np.where(np.isfinite(xi), xi, 0.0)
            conjugates = np.where(inside, self.linear.conjugates(columns, finite), 0.0)
        conjugates = np.where(np.isfinite(xi), conjugates, 0.0)
        # A component that underflows is not zero.
        tiny = np.copysign(np.finfo(np.float64).tiny, self.linear.components[columns])
        there = np.where(np.isfinite(logs) & (directions == 0), tiny, directions)
        held = self._held(np.where(present[:, None], there, 0.0), radius, present)
        keeps = self.model.invariant_planes((held != 0) & present[:, None]) & np.isfinite(logs)
        signs = np.where(keeps, np.sign(self.linear.components[columns]), 0.0)
        values = np.where(keeps, logs, directions)
        errors = self._relative_errors[columns] * np.where(keeps, 1.0, np.abs(directions))
        return Entries(radius, values, signs, sides, coefs, conjugates, held, present, errors)

    def checked(self, panels: Panels) -> Panels:
        """A table with something in it for every curve that moves; else an error says why not."""
        present = ~self.endless & ~np.tile(self.frozen, 2)
        empty = np.flatnonzero(present & (panels.counts == 0))
        self._check_critical(empty)
        self._check_blur(empty[panels.blurred[empty]])
        self._check_beginnings(empty)
        return panels

    @cached_property
    def far(self) -> float:
        """A mirror coordinate at which what shrinks in the linear stage is far below any float."""
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

    def _check_critical(self, curves: Index) -> None:
        """Refuse starts at which nothing moves."""
        blocks = np.exp(self.log_scale) * self.blocks[curves % len(self.blocks)]
        for block in blocks:
            slope = self.model.gradient((block @ self.model.basis)[None])[0]
            if not slope.any():
                raise NetworkError(
                    f"a block starts at {block.tolist()}, a critical point of k: its coefficient "
                    "never moves; start it elsewhere"
                )

    def _check_beginnings(self, curves: Index) -> None:
        """Refuse starts from which not one panel could be followed."""
        if len(curves) == 0:
            return
        block = np.exp(self.log_scale) * self.blocks[curves[0] % len(self.blocks)]
        raise NetworkError(
            f"k cannot be followed from the block {block.tolist()}: it is not smooth there, or not "
            "finite. A general network needs a k that is analytic wherever training leads; use "
            "smooth functions, or another start"
        )

    def _entry_coefs(
        self, columns: Index, xi: Float, directions: Float, inside: NDArray[np.bool_]
    ) -> Float:
        """The coefficient where the panels begin: its start, or the end of the linear stage."""
        signs, logs = self.coefs
        outside = signs * np.exp(np.where(self.linear.active, -np.inf, logs))
        radii = self.linear.radius[columns]
        quadratic = 0.5 * radii**2 * (directions**2 @ self.model.eigenvalues)
        return np.where(inside, quadratic, outside[columns])

    @cached_property
    def _relative_errors(self) -> Float:
        """Of the components, which are as wrong at the end of the linear stage as at the start."""
        z, errors = self.model.components(self.blocks)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.linear.components != 0, errors / np.abs(z), 0.0)

    def _held(self, directions: Float, radius: Float, present: NDArray[np.bool_]) -> Float:
        """Zero for components that are zero and are not driven away from it, by symmetry.

        Decided by ∇k at a few points of the same plane: rounding must not lead a curve out of a
        plane that it never leaves.
        """
        held = np.ones_like(directions)
        zero = (directions == 0) & present[:, None]
        rows = np.flatnonzero(zero.any(axis=1))
        if len(rows) == 0:
            return held
        rng = np.random.default_rng(0)
        driven = np.zeros((len(rows), directions.shape[1]), dtype=bool)
        for _ in range(TRIALS):
            factors = 1 + 0.5 * rng.random((len(rows), directions.shape[1]))
            radii = np.maximum(radius[rows], self.model.nonlinear_length / 8)
            gradient = self.model.scaled_gradient(radii, (directions[rows] * factors).T).T
            size = np.linalg.norm(gradient, axis=1, keepdims=True)
            rounding = max(ZERO_COMPONENT, 4 * self.model.disagreement)
            driven |= ~(np.abs(gradient) <= rounding * size)
        held[rows] = np.where(zero[rows] & ~driven, 0.0, 1.0)
        return held
