"""The potentials of two-layer networks that start from orthonormal rows (varre Thm 3.1, 3.2).

Notation: `β = W₁W₂`, `W₁(0) = √(2γ)P` with `PPᵀ = I`, `W₂(0) = 0`; D the singular values of β. All
formulas are exact, at any time and for any data.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import DataError, InitError, LimitpointError
from limitpoint.foundation.arrays import Float, as_float_array, as_number, as_positive

__all__ = [
    "Gamma",
    "LayerResiduals",
    "coef_divergence",
    "coef_gradient",
    "coef_potential",
    "layer_potential",
    "layer_residuals",
    "spectral_gradient",
    "spectral_potential",
]

# exp of this is still finite.
LARGEST_LOG = 709.0


@dataclass(frozen=True)
class Gamma:
    """γ and its logarithm; the value is 0 where float64 cannot hold it."""

    value: float
    log: float

    @classmethod
    def read(cls, gamma: float | None, log_gamma: float | None) -> "Gamma":
        """Take whichever of the two was given."""
        if (gamma is None) == (log_gamma is None):
            raise InitError("give gamma or log_gamma, one of the two")
        if log_gamma is None:
            value = as_positive(gamma, "gamma", InitError)
            return cls(value, math.log(value))
        rule = f"log_gamma must be a finite number, at most {LARGEST_LOG:g}"
        log = as_number(log_gamma, rule, InitError)
        if not (math.isfinite(log) and log <= LARGEST_LOG):
            raise InitError(f"{rule}; it is {log_gamma}")
        return cls(math.exp(log), log)


def spectral_potential(
    values: ArrayLike,
    *,
    gamma: float | None = None,
    log_gamma: float | None = None,
    printed: bool = False,
) -> float:
    """The potential of the singular values, `½ Σ [D asinh(D/γ) − √(D² + γ²)]`.

    Its gradient follows the mirror flow `d∇Ψ(D)/dt = −∇_D loss` (varre Thm 3.2(a)). As printed the
    ½ stands before the first term alone, which gives another gradient and no mirror flow. As γ → 0
    it is `½ log(1/γ) ‖β‖_*` to leading order.

    Parameters
    ----------
    values
        Singular values of β.
    gamma, log_gamma
        γ, or its natural logarithm where γ is below the smallest float.
    printed
        Whether to return the formula as the paper prints it.

    Examples
    --------
    >>> round(spectral_potential([0.0, 3.0], gamma=4.0), 10)  # ½(3 asinh ¾ − 5 − 4)
    -3.4602792292
    """
    scale = Gamma.read(gamma, log_gamma)
    D = as_float_array(values, "values", LimitpointError, ndim=(1,))
    bend = np.hypot(D, scale.value)
    weight = 1.0 if printed else 0.5
    return float(np.sum(0.5 * D * _asinh_ratio(D, scale) - weight * bend))


def spectral_gradient(
    values: ArrayLike,
    *,
    gamma: float | None = None,
    log_gamma: float | None = None,
    printed: bool = False,
) -> Float:
    """The gradient of `spectral_potential`: `½ asinh(D/γ)`, any shape of D.

    With `printed=True` that of the printed potential, `½ asinh(D/γ) − ½ D/√(D² + γ²)`.
    """
    scale = Gamma.read(gamma, log_gamma)
    D = as_float_array(values, "values", LimitpointError, ndim=(0, 1, 2, 3))
    gradient: Float = 0.5 * _asinh_ratio(D, scale)
    if printed:
        size = np.hypot(D, scale.value)
        gradient = gradient - 0.5 * np.divide(D, size, out=np.zeros_like(D), where=size > 0)
    return gradient


def coef_potential(
    coef: ArrayLike, *, gamma: float | None = None, log_gamma: float | None = None
) -> float:
    """The potential of the coefficients of one output (varre Thm 3.2(b)).

    `ψ(β) = ⅔ w^{3/2} − 2γ w^{1/2}` with `w = √(‖β‖² + γ²) + γ`; the mirror flow is
    `d∇ψ(β)/dt = −√w ∇loss(β)`.
    """
    scale = Gamma.read(gamma, log_gamma)
    root = _root(_vector(coef, "coef"), scale)
    # ⅔u³ − 2γu with u² = w, as one product: w − 3γ = √(‖β‖² + γ²) − 2γ.
    return 2.0 / 3.0 * root * (root * root - 3.0 * scale.value)


def coef_gradient(
    coef: ArrayLike, *, gamma: float | None = None, log_gamma: float | None = None
) -> Float:
    """The gradient of `coef_potential`, `β/√w`."""
    scale = Gamma.read(gamma, log_gamma)
    beta = _vector(coef, "coef")
    root = _root(beta, scale)
    return beta / root if root > 0 else np.zeros_like(beta)


def coef_divergence(
    target: ArrayLike,
    coef: ArrayLike,
    *,
    gamma: float | None = None,
    log_gamma: float | None = None,
) -> float:
    """The Bregman divergence `ψ(a) − ψ(b) − ⟨∇ψ(b), a − b⟩` of `coef_potential`.

    From `b = 0` it keeps its digits however small a is beside γ; between two near vectors it is
    exact to rounding of ψ only.
    """
    scale = Gamma.read(gamma, log_gamma)
    a, b = _vector(target, "target"), _vector(coef, "coef")
    if a.shape != b.shape:
        raise LimitpointError(
            f"target and coef must have the same length; they have {a.size} and {b.size}"
        )
    far, near = _root(a, scale), _root(b, scale)
    if far + near == 0:
        return 0.0
    # ψ = ⅔u³ − 2γu, and u_a − u_b by ‖a‖² − ‖b‖² rather than by subtraction of the roots.
    norm_a, norm_b = np.linalg.norm(a), np.linalg.norm(b)
    bends = np.hypot(norm_a, scale.value) + np.hypot(norm_b, scale.value)
    rise = (norm_a - norm_b) * (norm_a + norm_b) / bends / (far + near)
    slope = 2.0 / 3.0 * (far * far + far * near + near * near) - 2.0 * scale.value
    linear = float(b @ (a - b)) / near if near > 0 else 0.0
    return float(rise * slope) - linear


def layer_potential(first: ArrayLike, second: ArrayLike, *, gamma: float) -> float:
    """The potential that the limiting layers minimise among interpolators (varre Thm 3.1(iii)).

    `½‖W₂‖² + ½‖W₁‖² − γ log det(W₁W₁ᵀ)`; infinite where W₁ has not full row rank.
    """
    scale = as_positive(gamma, "gamma", InitError)
    W1, W2 = _layers(first, second)
    values = np.linalg.svd(W1, compute_uv=False)
    if W1.shape[0] > W1.shape[1] or values[-1] == 0:
        return math.inf
    barrier = 2 * scale * float(np.log(values).sum())
    return 0.5 * float((W2 * W2).sum()) + 0.5 * float(values @ values) - barrier


@dataclass(frozen=True)
class LayerResiduals:
    """How far layers are from a stationary point of `layer_potential` with `XW₁W₂ = Y`.

    Attributes
    ----------
    feasibility
        `‖XW₁W₂ − Y‖`, relative to Y.
    second
        `‖W₂ − W₁ᵀXᵀΛ‖`, relative to W₂.
    first
        `‖W₁ − 2γ(W₁W₁ᵀ)⁻¹W₁ − XᵀΛW₂ᵀ‖`, relative to W₁.
    """

    feasibility: float
    second: float
    first: float

    @property
    def worst(self) -> float:
        """The largest of the three."""
        return max(self.feasibility, self.second, self.first)


def layer_residuals(
    first: ArrayLike, second: ArrayLike, X: ArrayLike, Y: ArrayLike, *, gamma: float
) -> LayerResiduals:
    """Residuals of the optimality conditions of varre Thm 3.1(iii), from the layers alone.

    The multipliers Λ are those of least squares in the condition of the second layer, which
    determines XᵀΛ when W₁ has full row rank.
    """
    scale = as_positive(gamma, "gamma", InitError)
    W1, W2 = _layers(first, second)
    data = as_float_array(X, "X", DataError, ndim=(2,))
    targets = as_float_array(Y, "Y", DataError, ndim=(1, 2)).reshape(data.shape[0], -1)
    columns = data @ W1
    multipliers = np.linalg.lstsq(columns.T, W2, rcond=None)[0]
    # (W₁W₁ᵀ)⁻¹W₁ is the transposed pseudo-inverse: no squared condition number.
    inverse = np.linalg.pinv(W1).T
    return LayerResiduals(
        feasibility=_relative(columns @ W2 - targets, targets),
        second=_relative(W2 - columns.T @ multipliers, W2),
        first=_relative(W1 - 2 * scale * inverse - data.T @ multipliers @ W2.T, W1),
    )


def _asinh_ratio(D: Float, scale: Gamma) -> Float:
    """`asinh(D/γ)` also where the quotient overflows."""
    size = np.abs(D)
    large = size > scale.value
    small = np.divide(size, scale.value, out=np.zeros_like(size), where=~large & (size > 0))
    logs = np.log(np.where(large, size + np.hypot(size, scale.value), 1.0)) - scale.log
    return np.sign(D) * np.where(large, logs, np.arcsinh(small))


def _root(beta: Float, scale: Gamma) -> float:
    """`√w`, `w = √(‖β‖² + γ²) + γ`."""
    return math.sqrt(math.hypot(float(np.linalg.norm(beta)), scale.value) + scale.value)


def _vector(value: ArrayLike, name: str) -> Float:
    """Coefficients of one output, (n,) or (n, 1), as a vector."""
    array = as_float_array(value, name, LimitpointError, ndim=(1, 2))
    if array.ndim == 2 and array.shape[1] != 1:
        raise LimitpointError(
            f"{name} must belong to one output: the potential exists for k = 1; "
            f"it has shape {array.shape}"
        )
    return array.reshape(-1)


def _layers(first: ArrayLike, second: ArrayLike) -> tuple[Float, Float]:
    W1 = as_float_array(first, "first", LimitpointError, ndim=(2,))
    W2 = as_float_array(second, "second", LimitpointError, ndim=(1, 2))
    if W2.shape[0] != W1.shape[1]:
        raise LimitpointError(
            "second must have as many rows as first has columns; "
            f"the shapes are {W2.shape} and {W1.shape}"
        )
    return W1, W2.reshape(W2.shape[0], -1)


def _relative(residual: Float, scale: Float) -> float:
    size = float(np.linalg.norm(scale))
    found = float(np.linalg.norm(residual))
    return found / size if size > 0 else found
