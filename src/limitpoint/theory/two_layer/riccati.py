"""Two layers on whitened data: singular values in closed form, and their jumps (varre C.11, C.12).

Notation: `XᵀX = c·I` on the row space; σ a singular value of `β* = X⁺Y`; `W₁(0) = √(2γ)P`,
`PPᵀ = I`, `W₂(0) = 0`. The singular vectors of β stay those of β*. With `α = (W₁W₁ᵀ)⁻¹β`

    dσ_α/dt = c[σ(1 − σ_α²) − 2γσ_α],      σ_β = 2γσ_α/(1 − σ_α²)

and, with `E = exp(−2c·√(σ²+γ²)·t)`, `w = √(σ²+γ²) + γ`, `v = σ²/w`,

    σ_α = σ(1 − E)/(w + vE),
    σ_β = σ(1 − E)(w + vE) / (w − vE² + 2σ²E/γ).

This is the paper's form in h(t), with `1 − h` written out, so that nothing cancels: every
difference is an expm1, and `E/γ` is one exponential. As γ → 0 it is σ/(1 + 2σE/γ): a jump at
`t = log(1/γ)/(2cσ)`, where it passes through σ/(1 + 2σ).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from limitpoint.errors import DataError, InitError, LimitpointError
from limitpoint.foundation.arrays import Float, as_float_array, as_positive, read_only
from limitpoint.foundation.display import Page, counted, left_out, number, table
from limitpoint.foundation.extras import lazy_module
from limitpoint.foundation.result import Result
from limitpoint.theory.two_layer.spectral_potential import Gamma

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = lazy_module("xarray", "to_xarray")

__all__ = [
    "JumpProcess",
    "jumps",
    "layer_singular_values",
    "log_layer_singular_values",
    "riccati_alphas",
    "riccati_log_singular_values",
    "riccati_singular_values",
]

# A printed table shows this many jumps.
ROWS_SHOWN = 12


def riccati_singular_values(
    targets: ArrayLike,
    times: ArrayLike,
    *,
    gamma: float | None = None,
    log_gamma: float | None = None,
    curvature: float = 1.0,
) -> Float:
    """Singular values of β along the flow on whitened data, times × targets; exact.

    Relative accuracy is a few eps times the largest exponent, `|log γ|` or `log(1/σ_β)`: 1e-12 at
    γ = 1e-300.

    Parameters
    ----------
    targets
        Singular values of `X⁺Y`.
    times
        A number, or an array of them.
    gamma, log_gamma
        γ, or its natural logarithm where γ is below the smallest float.
    curvature
        c of `XᵀX = c·I` on the row space, times the loss factor: it rescales time.

    References
    ----------
    Varre et al. (2023), On the spectral bias of two-layer linear networks, Theorem C.12.

    Examples
    --------
    >>> late = riccati_singular_values([2.0, 0.5], 500.0, gamma=1e-12)
    >>> late.round(12).tolist()
    [2.0, 0.5]
    """
    logs = riccati_log_singular_values(
        targets, times, gamma=gamma, log_gamma=log_gamma, curvature=curvature
    )
    values: Float = np.exp(logs)
    return values


def riccati_log_singular_values(
    targets: ArrayLike,
    times: ArrayLike,
    *,
    gamma: float | None = None,
    log_gamma: float | None = None,
    curvature: float = 1.0,
) -> Float:
    """Natural logarithms of `riccati_singular_values`, −∞ where a value is zero."""
    scale = Gamma.read(gamma, log_gamma)
    sigma, scaled_time = _targets_and_time(targets, times, curvature)
    parts = _Parts.of(sigma, scaled_time, scale)
    with np.errstate(divide="ignore"):
        log_sigma = np.log(np.where(sigma > 0, sigma, 1.0))
        numerator = log_sigma + np.log(parts.grown) + np.log(parts.w + parts.v * parts.E)
        # w − vE² = 2γ + v(1 − E²), two terms that are not negative.
        still = np.log(2 * scale.value - parts.v * np.expm1(2 * parts.exponent))
        denominator = np.logaddexp(
            still, np.log(2.0) + 2 * log_sigma + (parts.exponent - scale.log)
        )
        logs: Float = np.where(sigma > 0, numerator - denominator, -np.inf)
    return logs


def riccati_alphas(
    targets: ArrayLike,
    times: ArrayLike,
    *,
    gamma: float | None = None,
    log_gamma: float | None = None,
    curvature: float = 1.0,
) -> Float:
    """Singular values of `α = (W₁W₁ᵀ)⁻¹β` (varre C.33), times × targets; all below 1."""
    scale = Gamma.read(gamma, log_gamma)
    sigma, scaled_time = _targets_and_time(targets, times, curvature)
    parts = _Parts.of(sigma, scaled_time, scale)
    alphas: Float = np.where(
        sigma > 0, sigma * parts.grown / (parts.w + parts.v * parts.E), np.zeros_like(scaled_time)
    )
    return alphas


def layer_singular_values(
    coefs: ArrayLike, *, gamma: float | None = None, log_gamma: float | None = None
) -> tuple[Float, Float]:
    """Singular values of W₁ and W₂ from those of β, at any time and for any data.

    `σ(W₁)² = √(σ_β² + γ²) + γ` and `σ(W₂)² = √(σ_β² + γ²) − γ` (varre Cor. 3.1, Lemma C.10). The
    singular values of W₁ beyond those of β are `√(2γ)`.

    Examples
    --------
    >>> [float(layer[0]) for layer in layer_singular_values([12.0], gamma=3.5)]
    [4.0, 3.0]
    """
    scale = Gamma.read(gamma, log_gamma)
    values = as_float_array(coefs, "coefs", LimitpointError, ndim=(0, 1, 2))
    if (values < 0).any():
        raise LimitpointError(f"coefs must be singular values, not negative; one is {values.min()}")
    if scale.value > 0:
        square = np.hypot(values, scale.value) + scale.value
        return np.sqrt(square), values / np.sqrt(square)
    with np.errstate(divide="ignore"):
        logs = log_layer_singular_values(np.log(values), log_gamma=scale.log)
    return np.exp(logs[0]), np.exp(logs[1])


def log_layer_singular_values(log_coefs: Float, *, log_gamma: float) -> tuple[Float, Float]:
    """The same in natural logarithms, for values that float64 cannot hold."""
    bend = 0.5 * np.logaddexp(2 * np.asarray(log_coefs), 2 * log_gamma)
    first: Float = 0.5 * np.logaddexp(bend, log_gamma)
    return first, np.asarray(log_coefs) - first


@dataclass(frozen=True, eq=False, repr=False)
class JumpProcess(Result):
    """The singular values that appear one after the other as γ → 0.

    In units of `log(1/γ)` the flow becomes a sum of steps: a singular value is zero before its
    jump time and at its target after it. Those whose target is zero never jump, and are left out.

    Attributes
    ----------
    indices
        Which of the targets jumps, in order of time.
    targets
        The singular values jumped to: falling.
    path_times
        Jump times `1/(2cσ)`, per unit.
    values
        Values that the flow passes through at the jump time, `σ/(1 + 2σ)`, as γ → 0.
    unit
        The unit of time: `log(1/γ)`, or 1 where no γ was given.
    """

    indices: NDArray[np.intp]
    targets: Float
    path_times: Float
    values: Float
    unit: float = 1.0

    def __post_init__(self) -> None:
        for array in (self.indices, self.targets, self.path_times, self.values):
            read_only(array)

    def __len__(self) -> int:
        return len(self.path_times)

    def coefs_at(self, times: ArrayLike) -> Float:
        """The step process at these times (per unit), times × jumps, in order of the jumps."""
        moments = as_float_array(times, "times", LimitpointError, ndim=(0, 1))[..., None]
        after = np.where(moments > self.path_times, self.targets, 0.0)
        steps: Float = np.where(moments == self.path_times, self.values, after)
        return steps

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values."""
        return {
            "indices": self.indices.tolist(),
            "targets": self.targets.tolist(),
            "path_times": self.path_times.tolist(),
            "values": self.values.tolist(),
            "unit": self.unit,
        }

    def to_xarray(self) -> "xr.Dataset":
        """As a labelled data set."""
        return xr.Dataset(
            {
                "target": ("jump", self.targets),
                "path_time": ("jump", self.path_times),
                "value": ("jump", self.values),
                "index": ("jump", self.indices),
            },
            coords={"jump": np.arange(len(self))},
            attrs={"unit": self.unit},
        )

    def _facts(self) -> tuple[str, ...]:
        last = [f"the last at {number(self.path_times[-1])}"] if len(self) else []
        return counted(len(self), "jump"), *last

    def _page(self) -> Page:
        rows = [
            (
                str(self.indices[i]),
                number(self.path_times[i]),
                number(self.path_times[i] * self.unit),
                number(self.values[i]),
                number(self.targets[i]),
            )
            for i in range(min(len(self), ROWS_SHOWN))
        ]
        some = left_out((len(rows), len(self), "jumps"), where=".path_times and .targets")
        unit = "log(1/γ)" if self.unit == 1.0 else f"log(1/γ) = {number(self.unit)}"
        columns = ("value", "time", "time × unit", "at the jump", "after it")
        return table(f"Jumps: {len(self)}, in units of {unit}", columns, rows, some)


def jumps(
    targets: ArrayLike,
    *,
    gamma: float | None = None,
    log_gamma: float | None = None,
    curvature: float = 1.0,
) -> JumpProcess:
    """The jump process of whitened data as γ → 0 (varre C.12); asymptotic.

    At a finite γ half of σ is reached at `[log(1/γ) + log 2σ]/(2cσ)`: the jump time is right to
    `log(2σ)/(2cσ)`, a part of order `1/log(1/γ)`. The paper's statement gives the value at the jump
    as σ; its proof, and the flow, σ/(1 + 2σ).

    Parameters
    ----------
    targets
        Singular values of `X⁺Y`.
    gamma, log_gamma
        γ, below 1, where the unit of time is wanted.
    curvature
        c of `XᵀX = c·I` on the row space, times the loss factor.

    Examples
    --------
    >>> process = jumps([0.5, 2.0, 0.0])
    >>> process.indices.tolist(), process.path_times.tolist(), process.values.tolist()
    ([1, 0], [0.25, 1.0], [0.4, 0.25])
    """
    sigma, _ = _targets_and_time(targets, 0.0, curvature)
    unit = 1.0
    if gamma is not None or log_gamma is not None:
        unit = -Gamma.read(gamma, log_gamma).log
        if unit <= 0:
            raise InitError("gamma must be below 1: jumps are what remains as it vanishes")
    order = np.argsort(-sigma, kind="stable")
    order = order[sigma[order] > 0]
    found = sigma[order]
    return JumpProcess(
        indices=order,
        targets=found,
        path_times=1 / (2 * as_positive(curvature, "curvature", DataError) * found),
        values=found / (1 + 2 * found),
        unit=unit,
    )


@dataclass(frozen=True)
class _Parts:
    """What the closed forms share, times × targets; where the target is zero, of target 1."""

    w: Float
    v: Float
    exponent: Float
    E: Float
    grown: Float

    @classmethod
    def of(cls, sigma: Float, scaled_time: Float, scale: Gamma) -> "_Parts":
        sigma = np.where(sigma > 0, sigma, 1.0)
        root = np.hypot(sigma, scale.value)
        w = root + scale.value
        with np.errstate(over="ignore"):
            exponent = -2 * root * scaled_time
        return cls(
            w=w,
            v=sigma * (sigma / w),
            exponent=exponent,
            E=np.exp(exponent),
            grown=-np.expm1(exponent),
        )


def _targets_and_time(
    targets: ArrayLike, times: ArrayLike, curvature: float
) -> tuple[Float, Float]:
    """The targets, and `c·t` with an axis for them."""
    sigma = as_float_array(targets, "targets", DataError, ndim=(1,))
    moments = as_float_array(times, "times", LimitpointError, ndim=(0, 1))
    factor = as_positive(curvature, "curvature", DataError)
    if (sigma < 0).any():
        raise DataError(f"targets must be singular values, not negative; one is {sigma.min()}")
    if (moments < 0).any():
        raise LimitpointError(f"times must not be negative; one is {moments.min()}")
    with np.errstate(over="ignore"):
        scaled_time: Float = factor * moments[..., None]
    return sigma, scaled_time
