"""The curves of all blocks that share one k: linear stage, panels, and what lies beyond them.

A block has two curves, one per sign of its mirror coordinate. On each the curve parameter runs
through the linear stage (`‖H‖ξ`, as far as `linear_reach` lets it: `block_starts`), then through
the panels of the table (`tabulate` makes them, `panels` holds them). Beyond the table rates go on
as the exponentials of the curve parameter that they are at its end: exact for powers of the
parameters. A curve that ends at zero goes on as the linear motion that it is there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.general.block_model import BlockModel
from limitpoint.mirror.general.block_starts import BlockStarts
from limitpoint.mirror.general.linear_stage import LinearStage
from limitpoint.mirror.general.panel_inverse import invert
from limitpoint.mirror.general.panels import Panels
from limitpoint.mirror.general.tabulate import tabulate, tabulate_together

__all__ = ["BlockCurves", "CurveValues"]

Index = NDArray[np.intp]

# Within this distance of the place where k vanishes, its conjugate is integrated from there: k and
# the mirror coordinate's rate change by e^{2·0.25} at most, which eight Gauss points integrate to
# rounding.
NEAR_ZERO, GAUSS_POINTS = 0.25, 8


@dataclass(frozen=True, eq=False)
class CurveValues:
    """Coefficients (sign and log-modulus, and as floats) and rates at given curve parameters."""

    signs: Float
    logs: Float
    log_rates: Float
    mirror: Float
    mirror_rates: Float


@dataclass(frozen=True, eq=False)
class BlockCurves:
    """Blocks θ* (n, p) of one k, started at `e^log_scale` times that.

    Curve parameters, mirror coordinates and coefficients are arrays (..., n).
    """

    model: BlockModel
    blocks: Float
    log_scale: float

    @cached_property
    def starts(self) -> BlockStarts:
        """Where the curves begin: linear stages and entries of the tables."""
        return BlockStarts(self.model, self.blocks, self.log_scale)

    @cached_property
    def panels(self) -> Panels:
        """The table of the 2n curves."""
        return self.starts.checked(tabulate(self.model, self.starts.entries))

    @staticmethod
    def prepare(curves: "Sequence[BlockCurves]") -> None:
        """Make the tables of several sets of blocks of one k together."""
        tables = tabulate_together(curves[0].model, [each.starts.entries for each in curves])
        for each, panels in zip(curves, tables, strict=True):
            each.__dict__["panels"] = each.starts.checked(panels)  # where `cached_property` looks

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
        ends[self.starts.endless | np.tile(self.starts.frozen, 2)] = 0.0
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

    def values(self, curve_params: Float) -> CurveValues:
        """Everything at given curve parameters but the conjugates."""
        result = CurveValues(*(np.zeros(curve_params.shape) for _ in range(5)))

        def fill(where: NDArray[np.bool_], parts: tuple[Float, ...]) -> None:
            for target, part in zip(vars(result).values(), parts, strict=True):
                target[where] = part

        for where, parts in self._parts(
            curve_params, self._frozen_values, self._linear_values, self._table_values
        ):
            fill(where, parts)
        return result

    def conjugates(self, curve_params: Float) -> Float:
        """`Ψ̂`, zero where the coefficient is.

        Near that place it is integrated from there, so that it is right relative to itself.
        """
        result = self._raw_conjugates(curve_params) - self._conjugate_at_zero
        near = np.abs(curve_params - self._zero) < NEAR_ZERO
        if near.any():
            zero = np.where(np.isfinite(self._zero), self._zero, 0.0)
            width = np.where(near, curve_params - zero, 0.0)
            nodes, weights = np.polynomial.legendre.leggauss(GAUSS_POINTS)
            integral = np.zeros(curve_params.shape)
            for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
                at = self.values(zero + node * width)
                with np.errstate(under="ignore", over="ignore"):
                    integral += weight * at.signs * np.exp(at.logs) * at.mirror_rates
            result = np.where(near, width * integral, result)
        return np.where(self.starts.frozen, 0.0, result)

    def layers(self, curve_params: Float) -> Float:
        """The blocks themselves, (..., n, p), as far as float64 holds them."""
        result = np.zeros((*curve_params.shape, self.model.size))

        def linear(columns: Index, places: Float) -> tuple[Float, ...]:
            return (self.starts.linear.components_at(columns, places / self.model.rate),)

        def table(curves: Index, taus: Float) -> tuple[Float, ...]:
            rows, u = self.panels.locate(curves, np.minimum(taus, self.panels.ends[curves]))
            blocks = self.panels.blocks(rows, u)
            past, xi = self._past_the_table(curves, taus)
            blocks[past] = self._ending.components_at(curves[past], xi)
            return (blocks,)

        for where, (part,) in self._parts(
            curve_params, lambda c, s: (np.zeros((len(c), self.model.size)),), linear, table
        ):
            result[where] = part
        return np.asarray(result @ self.model.basis.T)

    def curve_params(self, xi: Float) -> Float:
        """Curve parameters at given mirror coordinates; ±∞ at and beyond a pole."""
        columns = np.broadcast_to(np.arange(len(self.blocks)), xi.shape)
        curves = columns + len(self.blocks) * (xi < 0)
        after = np.abs(xi) - self.starts.exits[curves]
        result = np.where(self.starts.frozen, xi, self.model.rate * xi)
        table = (after > 0) & ~self.starts.frozen[columns]
        if self.model.rate == 0:
            table = ~self.starts.frozen[columns]
        if table.any():
            found = self._invert("mirror", curves[table], after[table])
            found = found + self.model.rate * self.starts.exits[curves[table]]
            result[table] = np.where(xi[table] < 0, -found, found)
        return result

    def curve_params_of(self, coefs: Float) -> Float:
        """Curve parameters of given coefficients; NaN for what the coefficient cannot be."""
        n = len(self.blocks)
        columns = np.broadcast_to(np.arange(n), coefs.shape)
        signs = np.sign(coefs)
        with np.errstate(divide="ignore"):
            logs = np.log(np.abs(coefs))
        order = _compare(signs, logs, self.starts.coefs[0][columns], self.starts.coefs[1][columns])
        side = np.where(order < 0, -1.0, 1.0)
        curves = columns + n * (side < 0)
        result = np.where(order == 0, 0.0, np.nan)
        xi = side * np.where(self.starts.endless, self.starts.far, self.starts.exits)[curves]
        inside = self.starts.linear.active[columns]
        at_exit = self.starts.linear.signs_and_logs(columns, np.where(inside, xi, 0.0))
        passed = side * _compare(signs, logs, *at_exit) >= 0
        linear = inside & ~passed & (order != 0)
        if linear.any():
            zero = np.zeros(int(linear.sum()))
            low, high = np.minimum(zero, xi[linear]), np.maximum(zero, xi[linear])
            found = self.starts.linear.mirror_of(columns[linear], coefs[linear], low, high)
            result[linear] = self.model.rate * found
        ended = inside & passed & self.starts.endless[curves]
        result[ended & (signs == 0)] = (np.inf * side)[ended & (signs == 0)]
        table = (order != 0) & ~linear & ~ended & ~self.starts.frozen[columns]
        if table.any():
            found = self._invert("k", curves[table], coefs[table])
            found = found + self.model.rate * self.starts.exits[curves[table]]
            result[table] = side[table] * found
        return np.where(self.starts.frozen[columns] & (coefs != 0), np.nan, result)

    # -- parts of a curve -----------------------------------------------------------------------

    def _parts(
        self,
        curve_params: Float,
        frozen: Callable[[Index, Float], tuple[Float, ...]],
        linear: Callable[[Index, Float], tuple[Float, ...]],
        table: Callable[[Index, Float], tuple[Float, ...]],
    ) -> list[tuple[NDArray[np.bool_], tuple[Float, ...]]]:
        """Hand each curve parameter to the part of its curve on which it lies."""
        n = len(self.blocks)
        columns = np.broadcast_to(np.arange(n), curve_params.shape)
        curves = columns + n * (curve_params < 0)
        still = self.starts.frozen[columns]
        lengths = np.where(self.starts.endless, np.inf, self.model.rate * self.starts.exits)[curves]
        inside = ~still & (
            (np.abs(curve_params) < lengths) | self.starts.endless[curves] | np.isnan(curve_params)
        )
        parts = []
        if still.any():
            parts.append((still, frozen(columns[still], curve_params[still])))
        if inside.any():
            # An endless curve has its limit at an infinite curve parameter: far enough to be it.
            far = self.model.rate * self.starts.far
            places = np.clip(curve_params[inside], -far, far)
            parts.append((inside, linear(columns[inside], places)))
        outside = ~still & ~inside
        if outside.any():
            taus = np.abs(curve_params[outside]) - lengths[outside]
            parts.append((outside, table(curves[outside], taus)))
        return parts

    def _frozen_values(self, columns: Index, curve_params: Float) -> tuple[Float, ...]:
        zero = np.zeros(len(columns))
        never = np.full(len(columns), -np.inf)
        return zero, never, never, curve_params, zero + 1

    def _linear_values(self, columns: Index, curve_params: Float) -> tuple[Float, ...]:
        rate = self.model.rate
        xi = curve_params / rate
        signs, logs = self.starts.checked_linear.signs_and_logs(columns, xi)
        log_rates = self.starts.linear.log_slopes(columns, xi) - np.log(rate)
        return signs, logs, log_rates, xi, np.full(len(columns), 1 / rate)

    def _table_values(self, curves: Index, taus: Float) -> tuple[Float, ...]:
        panels, side = self.panels, np.where(curves < len(self.blocks), 1.0, -1.0)
        ends = panels.ends[curves]
        beyond = taus - ends
        rows, u = panels.locate(curves, np.minimum(taus, ends))
        k, k_rate = panels.at("k", rows, u), panels.rate("k", rows, u)
        table_xi, mirror_rate = panels.at("mirror", rows, u), panels.rate("mirror", rows, u)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
            log_rate = np.log(np.abs(k_rate))
            extra = beyond > 0
            if extra.any():
                rate, slope = (part[curves[extra]] for part in panels.end_slopes("k"))
                k[extra] += rate * _grown(beyond[extra], slope)
                log_rate[extra] = np.log(np.abs(rate)) + beyond[extra] * slope
                slope = panels.end_slopes("mirror")[1][curves[extra]]
                table_xi[extra] += mirror_rate[extra] * _grown(beyond[extra], slope)
                mirror_rate[extra] *= np.exp(beyond[extra] * slope)
                lost = extra & panels.lost[curves]
                for part in (k, log_rate, table_xi, mirror_rate):
                    part[lost] = np.nan
            signs, logs = np.sign(k), np.log(np.abs(k))
        past, xi = self._past_the_table(curves, taus)
        if past.any():
            signs[past], logs[past] = self._ending.signs_and_logs(curves[past], xi)
            slopes = self._ending.log_slopes(curves[past], xi)
            log_rate[past] = slopes - np.log(self.model.rate)
            table_xi[past] = self._ending_mirror[curves[past]] + np.abs(xi)
            mirror_rate[past] = 1 / self.model.rate
        table_xi = side * (table_xi + self.starts.exits[curves])
        return signs, logs, log_rate, table_xi, mirror_rate

    def _past_the_table(self, curves: Index, taus: Float) -> tuple[NDArray[np.bool_], Float]:
        """Which places lie beyond the table of a curve that ends at zero, and ξ there.

        ξ counts from the end of the table.
        """
        beyond = taus - self.panels.ends[curves]
        past = self.panels.reached_zero[curves] & (beyond > 0)
        side = np.where(curves[past] < len(self.blocks), 1.0, -1.0)
        return past, side * np.minimum(beyond[past] / self.model.rate, self.starts.far)

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
    def _ending_mirror(self) -> Float:
        """`|ξ|` at the end of the tables, from their beginning."""
        panels = self.panels
        return panels.edge_values("mirror")[panels.counts, np.arange(2 * len(self.blocks))]

    def _raw_conjugates(self, curve_params: Float) -> Float:
        """`Ψ̂`, zero at the start."""

        def linear(columns: Index, places: Float) -> tuple[Float, ...]:
            return (self.starts.linear.conjugates(columns, places / self.model.rate),)

        def table(curves: Index, taus: Float) -> tuple[Float, ...]:
            panels, ends = self.panels, self.panels.ends[curves]
            side = np.where(curves < len(self.blocks), 1.0, -1.0)
            rows, u = panels.locate(curves, np.minimum(taus, ends))
            values = panels.at("conjugate", rows, u)
            beyond = np.maximum(taus - ends, 0.0)
            with np.errstate(all="ignore"):
                k, k_rate = panels.at("k", rows, u), panels.rate("k", rows, u)
                slope = k_rate / k * side + panels.end_slopes("mirror")[1][curves]
                rate = side * k * panels.rate("mirror", rows, u)
                further = np.where(panels.lost[curves], np.nan, rate * _grown(beyond, slope))
                past, xi = self._past_the_table(curves, taus)
                further[past] = self._ending.conjugates(curves[past], xi)
                return (np.where(beyond > 0, values + further, values),)

        result = np.zeros(curve_params.shape)
        for where, (part,) in self._parts(
            curve_params, lambda columns, places: (np.zeros(len(columns)),), linear, table
        ):
            result[where] = part
        return result

    @cached_property
    def _zero(self) -> Float:
        """Curve parameters at which the coefficients vanish.

        Infinite or NaN where they never do.
        """
        return self.curve_params_of(np.zeros(len(self.blocks)))

    @cached_property
    def _conjugate_at_zero(self) -> Float:
        """The same where the coefficient vanishes, or at the end of a curve on which it never does.

        There it has its smallest value.
        """
        zero = self._zero
        towards = np.where(self.starts.coefs[0] > 0, -np.inf, np.inf)
        lengths = self.model.rate * np.where(self.starts.endless, 0.0, self.starts.exits)
        ends = lengths + (self.panels.ends if len(self.panels.rows) else 0.0)
        n = len(self.blocks)
        last = np.where(towards < 0, -ends[n:], ends[:n])
        at = np.where(np.isnan(zero), last, np.where(np.isinf(zero), towards, zero))
        return self._raw_conjugates(np.where(self.starts.frozen, 0.0, at))

    # -- helpers --------------------------------------------------------------------------------

    def _invert(self, name: str, curves: Index, targets: Float) -> Float:
        """τ ≥ 0 at which the mirror coordinate (from the table's start) or k has these values."""
        up = np.where(curves < len(self.blocks), 1.0, -1.0)
        rising = np.ones(len(curves)) if name == "mirror" else up
        found, over = invert(self.panels, name, curves, targets, rising)
        past = self.panels.reached_zero[curves] & (over > 0)
        if past.any():
            beyond = self._invert_past(name, curves[past], targets[past], over[past])
            found[past] = self.panels.ends[curves[past]] + beyond
        return found

    def _invert_past(self, name: str, curves: Index, targets: Float, over: Float) -> Float:
        """The same beyond the tables of curves that end at zero, from their end."""
        if name == "mirror":
            return np.asarray(self.model.rate * over)
        side = np.where(curves < len(self.blocks), 1.0, -1.0)
        end = side * self.starts.far
        low, high = np.minimum(0.0, end), np.maximum(0.0, end)
        xi = self._ending.mirror_of(curves, targets, low, high)
        rest = side * targets  # below zero: the curve comes from there
        found = np.where(rest < 0, self.model.rate * np.abs(xi), np.nan)
        return np.where(rest == 0, np.inf, found)


def _grown(distance: Float, slope: Float) -> Float:
    """`∫₀^x e^{μt} dt`."""
    safe = np.where(slope == 0, 1.0, slope)
    return np.where(slope == 0, distance, np.expm1(safe * distance) / safe)


def _compare(sign: Float, log: Float, other_sign: Float, other_log: Float) -> Float:
    """−1, 0 or 1 as the first number is less than, equal to or greater than the second."""
    with np.errstate(invalid="ignore"):
        logs = np.where(log == other_log, 0.0, np.sign(log - other_log))
    same = np.where(sign == 0, 0.0, sign * logs)
    return np.where(sign == other_sign, same, np.sign(sign - other_sign))
