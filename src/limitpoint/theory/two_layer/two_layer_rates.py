"""How fast two layers learn that start from orthonormal rows: two bounds on the loss (varre C.8).

Both hold at any time, for any data: `W₁(0) = √(2γ)P`, `PPᵀ = I`, `W₂(0) = 0`, loss
`loss_factor · ½‖Xβ − Y‖²`, loss* its least value, reached at `β* = X⁺Y`.
"""

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import DataError, LimitpointError
from limitpoint.foundation.arrays import Float, as_float_array, as_positive
from limitpoint.theory.two_layer.orthonormal_rows import orthonormal_rows
from limitpoint.theory.two_layer.spectral_potential import Gamma, coef_divergence

__all__ = ["two_layer_exponential_bound", "two_layer_mirror_bound"]


def two_layer_mirror_bound(
    X: ArrayLike,
    y: ArrayLike,
    times: ArrayLike,
    *,
    gamma: float | None = None,
    log_gamma: float | None = None,
    loss_factor: float = 1.0,
) -> Float:
    """`loss* + D_ψ(β*, 0)/(√(2γ)·t)` for one output (varre Lemma C.8), at most the initial loss.

    D_ψ is `coef_divergence`. It falls as `1/(√γ t)` whatever the condition number of X (the paper's
    summary says `1/(γt)`). The loss only falls, so that the initial one bounds it too: that is what
    is returned as long as it is the smaller.

    Examples
    --------
    >>> two_layer_mirror_bound([[1.0]], [1.0], [0.0, 100.0], gamma=0.5).round(6).tolist()
    [0.5, 0.004334]
    """
    scale = Gamma.read(gamma, log_gamma)
    data, targets, moments, factor = _read(X, y, times, loss_factor)
    if targets.shape[1] != 1:
        raise DataError(
            f"y must have one output: the mirror flow of β exists for k = 1; "
            f"it has {targets.shape[1]}"
        )
    start, floor, best, _ = _ends(data, targets, factor)
    divergence = coef_divergence(best, np.zeros_like(best), gamma=gamma, log_gamma=log_gamma)
    with np.errstate(divide="ignore", over="ignore"):
        # Times in logarithms: √(2γ) may be too small for float64.
        log_scaled_time = 0.5 * (np.log(2.0) + scale.log) + np.log(moments)
        ratio = np.exp(-log_scaled_time) if divergence > 0 else np.zeros_like(moments)
        bound: Float = np.minimum(start, floor + divergence * ratio)
    return bound


def two_layer_exponential_bound(
    X: ArrayLike,
    y: ArrayLike,
    times: ArrayLike,
    *,
    gamma: float | None = None,
    log_gamma: float | None = None,
    loss_factor: float = 1.0,
) -> Float:
    """`loss* + (loss(0) − loss*)·e^{−4γλt}`, any number of outputs.

    λ is loss_factor times the smallest non-zero eigenvalue of `XXᵀ`. It replaces the paper's
    (C.13), an inequality for `‖Xᵀ(Y − Xβ)‖²` that is false: `XᵀX` and `W₁W₁ᵀ` need not commute, and
    that norm can grow. The loss itself falls at the rate
    `‖∇_{W₁}loss‖² + ‖W₁ᵀ∇_β loss‖² ≥ 2γ‖∇_β loss‖² ≥ 4γλ(loss − loss*)`.

    Examples
    --------
    >>> two_layer_exponential_bound([[1.0]], [2.0], [0.0, 1.0], gamma=0.25).round(6).tolist()
    [2.0, 0.735759]
    """
    scale = Gamma.read(gamma, log_gamma)
    data, targets, moments, factor = _read(X, y, times, loss_factor)
    start, floor, _, smallest = _ends(data, targets, factor)
    with np.errstate(over="ignore"):
        bound: Float = floor + (start - floor) * np.exp(-4 * scale.value * smallest * moments)
    return bound


def _read(
    X: ArrayLike, y: ArrayLike, times: ArrayLike, loss_factor: float
) -> tuple[Float, Float, Float, float]:
    data = as_float_array(X, "X", DataError, ndim=(2,))
    targets = as_float_array(y, "y", DataError, ndim=(1, 2))
    if targets.shape[0] != data.shape[0]:
        raise DataError(
            f"X and y must have the same number of samples; X has {data.shape[0]} rows "
            f"and y has {targets.shape[0]}"
        )
    moments = as_float_array(times, "times", LimitpointError, ndim=(0, 1))
    if (moments < 0).any():
        raise LimitpointError(f"times must not be negative; one is {moments.min()}")
    factor = as_positive(loss_factor, "loss_factor", DataError)
    return data, targets.reshape(len(data), -1), moments, factor


def _ends(data: Float, targets: Float, factor: float) -> tuple[float, float, Float, float]:
    """First and least loss, β*, and loss_factor times the smallest eigenvalue of XXᵀ that is not 0.

    Where nothing can be fitted the two losses are the same.
    """
    start = 0.5 * factor * float((targets * targets).sum())
    reduced = orthonormal_rows(data, targets)
    if reduced.singular_values.size == 0:
        return start, start, np.zeros((data.shape[1], targets.shape[1])), 0.0
    outside = targets - reduced.left @ (reduced.left.T @ targets)
    floor = 0.5 * factor * float((outside * outside).sum())
    best: Float = reduced.rows.T @ reduced.target
    return start, floor, best, factor * float(reduced.singular_values[-1]) ** 2
