"""Mirror map of networks whose coefficients are any functions of blocks of their own.

For `β_i = k_i(θ_i)` (Zhao, Definition 4.1) each block moves on the curve `dφ/dξ = ∇k_i(φ)`,
`φ(0) = sθ_i*`, whatever the data, so that `Ψ_i(ξ) = k_i(φ(ξ))` is tabulated once, from an ODE. The
table is built when it is first needed, and again at every other scale, for several scales together
where they are known beforehand.

Curve parameters grow like the logarithm of the block's norm. The table covers coefficients up to
1e30 (further if they start larger); beyond it, coefficients and mirror coordinates go on by the
power laws that they follow at its end. Where k is not smooth or not finite, or where rounding of
the block decides how its curve goes on (`error_propagation`), the table ends there, and everything
beyond is NaN: nothing is known of it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from limitpoint.foundation.arrays import Float
from limitpoint.mirror.activation_times import ActivationTimes
from limitpoint.mirror.curve_map import CurveMap, CurvePoint
from limitpoint.mirror.general.block_curves import BlockCurves
from limitpoint.mirror.general.block_model import BlockModel

__all__ = ["TabulatedMap", "block_activation_times"]

# Curves of several scales that are tabulated together: beyond this many the calls cost little
# beside the arithmetic, and panels as short as some curve needs them are too many for the others.
CURVES_TOGETHER = 500
# Why a curve ends before its coefficient does.
FORMULA_ENDS = "where k is not smooth or not finite"
ROUNDING_ENDS = (
    "where float64 no longer tells its curve: a part of the block that is lost in rounding decides "
    "how it goes on"
)
# So many times the panels of one scale are too many for several.
MANY_PANELS = 2


@dataclass(frozen=True, eq=False)
class TabulatedMap(CurveMap):
    """Mirror map of `β_i = k_i(θ_i)`, accurate to about 1e-12 relative to each value.

    Parameters
    ----------
    groups
        Curves of the coefficients that share one k.
    columns
        Which coefficients those are.
    """

    groups: tuple[BlockCurves, ...]
    columns: tuple[NDArray[np.intp], ...]

    @classmethod
    def from_blocks(
        cls, models: Sequence[BlockModel], blocks: Float, log_scale: float
    ) -> "TabulatedMap":
        """The map of blocks (n, p), one model for each; blocks with one model share a table."""
        ids = np.array([id(model) for model in models])
        distinct = list(dict.fromkeys(ids.tolist()))
        columns = tuple(np.flatnonzero(ids == one) for one in distinct)
        groups = tuple(
            BlockCurves(models[where[0]], blocks[where], float(log_scale)) for where in columns
        )
        return cls(groups=groups, columns=columns)

    @property
    def log_scale(self) -> float:
        """Logarithm of the initialisation's scale."""
        return self.groups[0].log_scale

    @property
    def degree(self) -> int:
        """Two: near zero k is a quadratic form."""
        return 2

    @property
    def log_mirror_unit(self) -> float:
        """Mirror coordinates are as they are."""
        return 0.0

    @property
    def is_scale_free(self) -> bool:
        """Only near zero."""
        return False

    @property
    def lower(self) -> Float:
        """−∞, or the bound to which the coefficient tends; 0 where it cannot become negative."""
        return self._gather(lambda group, _: group.bounds[0], np.zeros(self._size))

    @property
    def upper(self) -> Float:
        """∞, or the bound to which the coefficient tends; 0 where it cannot become positive."""
        return self._gather(lambda group, _: group.bounds[1], np.zeros(self._size))

    @property
    def unknown(self) -> tuple[str, ...]:
        """Which coefficients are known up to where, and what ends their curves."""
        return tuple(words for words, _ in self._ends())

    @property
    def not_smooth(self) -> tuple[str, ...]:
        """Those of them whose curves end because k does, and not because float64 loses them."""
        return tuple(words for words, is_lost in self._ends() if not is_lost)

    def _ends(self) -> Iterator[tuple[str, bool]]:
        """Each end in words, and whether rounding is what ends it."""
        blurred = np.zeros((2, self._size), dtype=bool)
        for group, where in zip(self.groups, self.columns, strict=True):
            blurred[:, where] = group.panels.blurred.reshape(2, -1)[::-1]
        for ends, causes, way in zip(self.known, blurred, ("down", "up"), strict=True):
            for i in np.flatnonzero(np.isfinite(ends)):
                cause = ROUNDING_ENDS if causes[i] else FORMULA_ENDS
                yield f"coefficient {i} is known {way} to {ends[i]:.6g}, {cause}", bool(causes[i])

    @property
    def known(self) -> tuple[Float, Float]:
        """Coefficients beyond which nothing is known, below and above.

        There k is not smooth or not finite, or float64 does not hold the curve.

        Infinite where k is known to all coefficients, by its table or by the power law at its end.
        """
        zeros = np.zeros(self._size)
        return (
            self._gather(lambda group, _: group.known[0], zeros),
            self._gather(lambda group, _: group.known[1], zeros),
        )

    def along(self, curve_params: Float, log_unit: float = 0.0) -> CurvePoint:
        """Coefficients, mirror coordinates and their derivatives, by linear stage or table."""
        curve_params = np.asarray(curve_params, dtype=np.float64)
        result = CurvePoint(*(np.empty(curve_params.shape) for _ in range(4)))
        for group, where in zip(self.groups, self.columns, strict=True):
            values = group.values(curve_params[..., where])
            with np.errstate(over="ignore", under="ignore"):
                result.coefs[..., where] = values.signs * np.exp(values.logs - log_unit)
                result.coef_rates[..., where] = np.exp(values.log_rates - log_unit)
            result.mirror[..., where] = values.mirror
            result.mirror_rates[..., where] = values.mirror_rates
        return result

    def curve_params(self, xi: Float) -> Float:
        """Curve parameters at given mirror coordinates; ±∞ at and beyond a pole."""
        return self._gather(lambda group, part: group.curve_params(part), xi)

    def curve_params_of(self, coefs: Float) -> Float:
        """Curve parameters of given coefficients; NaN for what the coefficient cannot be."""
        return self._gather(lambda group, part: group.curve_params_of(part), coefs)

    def signs_and_logs_at(self, curve_params: Float) -> tuple[Float, Float]:
        """Signs and log-moduli of the coefficients at given curve parameters."""
        return (
            self._gather(lambda group, part: group.values(part).signs, curve_params),
            self._gather(lambda group, part: group.values(part).logs, curve_params),
        )

    def conjugates_at(self, curve_params: Float) -> Float:
        """`Ψ̂ = ∫ k dξ`, zero where the coefficient is (or would be, at the end of its curve)."""
        return self._gather(lambda group, part: group.conjugates(part), curve_params)

    def layers_at(self, curve_params: Float) -> Float:
        """The blocks at given curve parameters, (..., n, p), as far as float64 holds them."""
        curve_params = np.asarray(curve_params, dtype=np.float64)
        result = np.empty((*curve_params.shape, self.groups[0].model.size))
        for group, where in zip(self.groups, self.columns, strict=True):
            result[..., where, :] = group.layers(curve_params[..., where])
        return result

    def activation_times(self) -> ActivationTimes:
        """`1/λ_max(H_i)` and `−1/λ_min(H_i)`; the unit is log(1/s)."""
        t_plus, t_minus = np.empty(self._size), np.empty(self._size)
        for group, where in zip(self.groups, self.columns, strict=True):
            t_plus[where], t_minus[where] = block_activation_times(group)
        return ActivationTimes(t_plus=t_plus, t_minus=t_minus, unit=-self.log_scale)

    def at_log_scale(self, log_scale: float) -> "TabulatedMap":
        """The same direction at another scale; its table is made when it is needed."""
        return replace(
            self, groups=tuple(replace(group, log_scale=float(log_scale)) for group in self.groups)
        )

    def at_log_scales(self, log_scales: Sequence[float]) -> Iterator["TabulatedMap"]:
        """One scale after the other, the tables of more and more made together.

        Panels are common to the curves of a table. Where each curve needs short ones at a place of
        its own, tables of many have too many, and every scale has its own again.
        """
        most, together, alone = max(1, CURVES_TOGETHER // (2 * self._size)), 1, 0
        left = list(log_scales)
        while left:
            maps = [self.at_log_scale(log_scale) for log_scale in left[:together]]
            for groups in zip(*(each.groups for each in maps), strict=True):
                BlockCurves.prepare(groups)
            yield from maps
            left = left[together:]
            panels = max(len(group.panels.edges) for each in maps for group in each.groups)
            alone = alone or panels
            most = most if panels <= MANY_PANELS * alone else 1
            together = min(2 * together, most)

    @property
    def _size(self) -> int:
        return sum(len(where) for where in self.columns)

    def _gather(self, function: Callable[[BlockCurves, Float], Float], values: Float) -> Float:
        values = np.asarray(values, dtype=np.float64)
        result = np.empty(values.shape)
        for group, where in zip(self.groups, self.columns, strict=True):
            result[..., where] = function(group, values[..., where])
        return result


def block_activation_times(group: BlockCurves) -> tuple[Float, Float]:
    """Activation times of blocks with one k: infinite where the eigenvector plays no part.

    That is where the extreme eigenvalue has not the sign of that side, or where θ* is orthogonal
    to its eigenvectors.
    """
    eigenvalues, components = group.model.eigenvalues, group.starts.linear.components
    times = []
    for side in (1.0, -1.0):
        speeds = side * eigenvalues
        top = float(speeds.max())
        near = speeds >= top * (1 - ZERO_GAP)
        moved = (components[:, near] != 0).any(axis=1) & (top > 0)
        times.append(np.where(moved, 1 / top if top > 0 else np.inf, np.inf))
    return times[0], times[1]


# Eigenvalues closer than this part of themselves are one multiple eigenvalue, up to rounding.
ZERO_GAP = 1e-12
