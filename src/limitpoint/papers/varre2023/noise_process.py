"""What the noise of label noise does by itself: the process (4.1) of Varre et al., and its moments.

Notation: W (d × l) with columns w_i and rows z_r, a (l), B a Brownian motion of d numbers,
`u = ‖W‖²` (Frobenius), `v = ‖a‖²`, `b = ‖Wa‖²`, `s = ‖WᵀW‖²`, `[z, a] = zaᵀ − azᵀ`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm
from scipy.special import gamma, gammaincc

from limitpoint.dynamics.diffusion import Diffusion
from limitpoint.errors import LimitpointError
from limitpoint.foundation.arrays import (
    MOST_AXES,
    Float,
    as_float_array,
    as_number,
    as_real_array,
    as_whole_number,
    check_numbers,
    read_only,
    shown,
)

__all__ = ["NoiseProcess", "alignments", "commutator_norms", "commutators"]

# Euler's second moments fall behind by `d·step·t/2`, relative: at this step times d, by 2e-3·t.
STEP_TIMES_DIMENSION = 4e-3
# e^710 overflows; the norm of the rates is at most so many times as large as the fastest of them.
FARTHEST = 1e5


@dataclass(frozen=True, eq=False)
class NoiseProcess(Diffusion):
    """`dW = dB aᵀ`, `da = Wᵀ dB` (Itô): label noise on a two-layer network without its drift.

    The state is W, row by row, and then a. With it come moments in closed form: second moments all
    close, and fourth moments of norms do.

    Parameters
    ----------
    dimension
        d, the number of Brownian motions and of rows of W.
    start
        W(0), d × l, and a(0), l numbers; by default the identity and 0.

    Notes
    -----
    Of Proposition 4.1(c), `E‖[z_r, a]‖ → 0`, only this is true: the signed mean of the commutator
    decays as `e^{−t}` (`mean_commutators`); its mean square grows as `e^{(√(2d−1) − 1)t}`
    (`mean_square_commutators`); at d = 2 its mean modulus tends to `0.4819·|det W(0)|`
    (`mean_modulus_limit`), although the modulus itself tends to 0 on almost every path. What decays
    for d ≥ 4 is `alignments`, its size relative to the vectors. (The proof differentiates a
    modulus by Itô's formula as if it had no kink at 0.)

    References
    ----------
    Varre et al. (2023), Proposition 4.1 and Appendix D.

    Examples
    --------
    >>> import limitpoint as lp
    >>> process = NoiseProcess(2)
    >>> round(process.mean_squares(1.0)[0], 6)  # 2cosh(√2)
    4.356367
    >>> paths = lp.sde.simulate(process, t_end=0.1, paths=8, records=1)
    >>> first, second = process.split(paths.states)
    >>> first.shape, second.shape, commutators(first, second).shape
    ((8, 2, 2, 2), (8, 2, 2), (8, 2, 2, 2, 2))
    """

    dimension: int
    initial: tuple[Float, Float]

    def __init__(self, dimension: int, start: tuple[ArrayLike, ArrayLike] | None = None) -> None:
        d = as_whole_number(dimension, 1, "dimension", LimitpointError)
        check_numbers(d * d, "dimension", "W(0)", LimitpointError)
        if start is None:
            first, second = read_only(np.eye(d)), read_only(np.zeros(d))
        else:
            if not isinstance(start, (tuple, list)) or len(start) != 2:
                raise LimitpointError(
                    f"start must be W(0) and a(0), two arrays; it is {shown(start)}"
                )
            first = as_float_array(start[0], "start[0]", LimitpointError, ndim=(2,))
            second = as_float_array(start[1], "start[1]", LimitpointError, ndim=(1,))
            if first.shape != (d, len(second)) or not len(second):
                raise LimitpointError(
                    f"start must be W(0) with {d} rows and a(0) with one number per column of it; "
                    f"they have shapes {first.shape} and {second.shape}"
                )
        object.__setattr__(self, "dimension", d)
        object.__setattr__(self, "initial", (first, second))

    @property
    def start(self) -> Float:
        """W(0) and a(0), one after the other."""
        first, second = self.initial
        return np.concatenate([first.ravel(), second])

    @property
    def noise_dimension(self) -> int:
        """As many as W has rows."""
        return self.dimension

    @property
    def time_step(self) -> float:
        """0.004/d: second moments are then too small by two thousandths per unit of time.

        A step h of Euler's method takes `(E‖W‖², E‖a‖²)` to `(E‖W‖² + hd·E‖a‖², E‖a‖² + h·E‖W‖²)`,
        so that `e^{√d·t}` becomes `(1 + h√d)^{t/h}`, smaller by the factor `1 − hdt/2`.
        """
        return STEP_TIMES_DIMENSION / self.dimension

    def split(self, states: Any) -> tuple[Any, Any]:
        """W (…, d, l) and a (…, l) from states."""
        shape = self.initial[0].shape
        first = states[..., : shape[0] * shape[1]]
        return first.reshape(*states.shape[:-1], *shape), states[..., first.shape[-1] :]

    def drift(self, state: Any) -> Any:
        """Zero: there is noise and nothing else."""
        return jnp.zeros_like(state)

    def kick(self, state: Any, increment: Any) -> Any:
        """`ΔB aᵀ` and `WᵀΔB`."""
        first, second = self.split(state)
        return jnp.concatenate([jnp.outer(increment, second).ravel(), first.T @ increment])

    def diffusion(self, state: Any) -> Any:
        """The matrix of `kick`, (d·l + l) × d."""
        first, second = self.split(state)
        return jnp.concatenate([jnp.kron(jnp.eye(self.dimension), second[:, None]), first.T])

    def mean_gram(self, time: float) -> tuple[Float, Float]:
        """`E WᵀW` and `E aaᵀ`: `(E WᵀW)' = d·E aaᵀ` and `(E aaᵀ)' = E WᵀW`.

        The diagonals are `E‖w_i‖²` and `E a_i²`, which grow as `e^{√d·t}` (Proposition 4.1(a)).
        """
        first, second = self.initial
        gram, outer = first.T @ first, np.outer(second, second)
        time, root = _as_time(time), np.sqrt(self.dimension)
        with np.errstate(over="ignore", invalid="ignore"):
            even, odd = np.cosh(root * time), np.sinh(root * time)
            means = even * gram + root * odd * outer, even * outer + odd / root * gram
        _check_held(means, time)
        return means

    def mean_squares(self, time: float) -> tuple[float, float]:
        """`E‖W‖²` and `E‖a‖²`; from W = I and a = 0 at d = 2 they are `2cosh(√2t)`, `√2sinh(√2t)`.

        All paths keep to `d(‖W‖² − ‖a‖²) = (d‖a‖² − ‖W‖²)dt`.
        """
        gram, outer = self.mean_gram(time)
        return float(np.trace(gram)), float(np.trace(outer))

    def mean_products(self, time: float) -> Float:
        """`E W_ri a_j`, d × l × l: `(E W_ri a_j)' = E W_rj a_i`."""
        first, second = self.initial
        time, products = _as_time(time), first[:, :, None] * second
        with np.errstate(over="ignore", invalid="ignore"):
            result: Float = np.cosh(time) * products + np.sinh(time) * products.swapaxes(1, 2)
        _check_held(result, time)
        return result

    def mean_commutators(self, time: float) -> Float:
        """`E[z_r, a] = e^{−t}[z_r, a](0)`, d × l × l."""
        result: Float = np.exp(-_as_time(time)) * commutators(*self.initial)
        return result

    def fourth_moments(self, time: float) -> dict[str, float]:
        """`E u²`, `E s`, `E uv`, `E b` and `E v²` at this time, by their names.

        The invariants of degree four of rotations on either side; by Itô's formula
        `(u²)' = 2d·uv + 4b`, `s' = 2uv + (2d + 2)b`, `(uv)' = u² + 4b + d·v²`,
        `b' = s + 2uv + 2b + d·v²` and `(v²)' = 2uv + 4b` in the mean. They grow faster than squares
        of second moments: a mean over paths is soon worth nothing, and its standard error is
        to be taken from here (`standard_errors`), not from the paths.
        """
        first, second = self.initial
        u, v, gram = np.sum(first**2), np.sum(second**2), first.T @ first
        begin = np.array([u * u, np.sum(gram**2), u * v, np.sum((first @ second) ** 2), v * v])
        values = _grown(self._fourth_generator, time) @ begin
        return dict(zip(("uu", "s", "uv", "b", "vv"), values.tolist(), strict=True))

    def standard_errors(self, time: float, paths: int) -> tuple[float, float]:
        """Exact standard errors of the means of `‖W‖²` and `‖a‖²` over so many paths."""
        count = as_whole_number(paths, 1, "paths", LimitpointError)
        moments, (first, second) = self.fourth_moments(time), self.mean_squares(time)
        variances = np.array([moments["uu"] - first**2, moments["vv"] - second**2])
        # At time 0 there is none, up to rounding.
        errors = np.sqrt(np.maximum(variances, 0.0) / count)
        return float(errors[0]), float(errors[1])

    def mean_square_commutators(self, time: float) -> float:
        """`E Σ_r ‖[z_r, a]‖²/2 = E(uv − b)`, with `commutator_norms` squared and summed over r.

        `(uv − b)' = (u² − s) − 2(uv − b)` and `(u² − s)' = 2(d − 1)(uv − b)` in the mean: it grows
        as `e^{(√(2d−1) − 1)t}` for every d ≥ 2, not only for the d ≥ 4 where typical paths do.
        """
        moments = self.fourth_moments(0.0)
        begin = np.array([moments["uv"] - moments["b"], moments["uu"] - moments["s"]])
        rates = np.array([[-2.0, 1.0], [2.0 * self.dimension - 2.0, 0.0]])
        return float((_grown(rates, time) @ begin)[0])

    @property
    def mean_modulus_limit(self) -> float:
        """`lim E|[z_r, a]₁₂| = (2/π) e^{−½} Γ(3/2)/Γ(3/2, ½) · |det W(0)|` at d = l = 2, a(0) = 0.

        With `D = det W` and `e_r = [z_r, a]₁₂`: `dD = e₁dB₂ − e₂dB₁`, `de₁ = −e₁dt + D dB₂`,
        `de₂ = −e₂dt − D dB₁`. D is a positive martingale. In its measure `ρ = |e|/D`
        follows `dρ = (1/(2ρ) − ρ)dt + (1 − ρ²)dβ` and the direction of e is uniform, so that
        `E|e_r| → D(0)·(2/π)·Eρ`; the stationary density of ρ on (0, 1) is proportional to
        `ρ(1 − ρ²)^{−5/2} e^{−1/(2(1 − ρ²))}`.
        """
        first, second = self.initial
        if first.shape != (2, 2) or second.any():
            raise LimitpointError(
                "the limit of the mean modulus is known for W of shape (2, 2) and a(0) = 0; "
                f"W has shape {first.shape} and a(0) is {second.tolist()}"
            )
        upper = gamma(1.5) * gammaincc(1.5, 0.5)
        ratio = np.exp(-0.5) * gamma(1.5) / upper
        return float(2 / np.pi * ratio * abs(np.linalg.det(first)))

    @cached_property
    def _fourth_generator(self) -> Float:
        d = float(self.dimension)
        # In the order u², s, uv, b, v².
        return np.array(
            [
                [0.0, 0.0, 2 * d, 4.0, 0.0],
                [0.0, 0.0, 2.0, 2 * d + 2, 0.0],
                [1.0, 0.0, 0.0, 4.0, d],
                [0.0, 1.0, 2.0, 2.0, d],
                [0.0, 0.0, 2.0, 4.0, 0.0],
            ]
        )


def commutators(first: Any, second: Any) -> Any:
    """`[z_r, a] = z_r aᵀ − a z_rᵀ` for every row of W, (…, d, l, l); leading axes are kept.

    Examples
    --------
    >>> commutators(np.array([[1.0, 2.0]]), np.array([3.0, 4.0])).tolist()
    [[[0.0, -2.0], [2.0, 0.0]]]
    """
    first, second = _as_layers(first, second)
    with np.errstate(over="ignore", invalid="ignore"):
        products = first[..., :, :, None] * second[..., None, None, :]
        return products - np.swapaxes(products, -1, -2)


def commutator_norms(first: Any, second: Any) -> Float:
    """`‖[z_r, a]‖/√2 = √(‖z_r‖²‖a‖² − (z_r·a)²)`, (…, d): the area that z_r and a span.

    At l = 2 it is the modulus of the commutator's one entry. Computed as the length of a times
    that of the part of z_r across it, which is right to roundings of `‖z_r‖‖a‖`.

    Examples
    --------
    >>> commutator_norms(np.array([[1.0, 2.0]]), np.array([3.0, 4.0])).round(12).tolist()
    [2.0]
    """
    first, second = _as_layers(first, second)
    with np.errstate(over="ignore", invalid="ignore"):
        length = np.linalg.norm(second, axis=-1)
        direction = second / np.where(length > 0, length, 1.0)[..., None]
        along = (first @ direction[..., None])[..., 0]
        across = first - along[..., None] * direction[..., None, :]
        norms: Float = np.linalg.norm(across, axis=-1) * length[..., None]
    return norms


def alignments(first: Any, second: Any) -> Float:
    """`‖[z_r, a]‖/(√2‖z_r‖‖a‖)`, (…, d): the sine of the angle between z_r and a, 0 when aligned.

    0 where one of the two is 0.

    Examples
    --------
    >>> alignments(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([2.0, 2.0])).round(6).tolist()
    [0.707107, 0.0]
    """
    first, second = _as_layers(first, second)
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.linalg.norm(first, axis=-1) * np.linalg.norm(second, axis=-1)[..., None]
        sines: Float = commutator_norms(first, second) / np.where(sizes > 0, sizes, 1.0)
    return sines


def _as_layers(first: Any, second: Any) -> tuple[Float, Float]:
    """Arrays W (…, d, l) and a (…, l) that belong together; paths may have overflowed."""
    W = as_real_array(first, "first", LimitpointError, range(2, MOST_AXES))
    a = as_real_array(second, "second", LimitpointError, range(1, MOST_AXES))
    if a.shape != (*W.shape[:-2], W.shape[-1]):
        raise LimitpointError(
            "second must have one number for each column of first, and the same leading axes; "
            f"they have shapes {a.shape} and {W.shape}"
        )
    return W, a


def _grown(rates: Float, time: float) -> Float:
    """`e^{rates·time}`, where a float holds it."""
    time = _as_time(time)
    # It is at most e to the norm of the rates; what is far beyond is not tried.
    if float(np.abs(rates).sum()) * time > FARTHEST:
        _check_held(np.inf, time)
    with np.errstate(over="ignore", invalid="ignore"):
        grown: Float = expm(rates * time)
    _check_held(grown, time)
    return grown


def _check_held(values: Any, time: float) -> None:
    """Raise `LimitpointError` where moments are beyond what a float holds."""
    if not np.isfinite(values).all():
        raise LimitpointError(f"time must be earlier: at {time:g} the moments overflow a float")


def _as_time(value: float) -> float:
    rule = "time must be a finite number, 0 or later"
    found = as_number(value, rule, LimitpointError)
    if not 0.0 <= found < np.inf:
        raise LimitpointError(f"{rule}; it is {found}")
    return found
