"""The initialisation: a direction, and how far along it the layers start.

One file, although long: the named starts are constructors of one class.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from limitpoint.errors import InitError, ScaleNotRepresentable
from limitpoint.foundation.arrays import Float, as_float_array, as_number, as_seed, read_only
from limitpoint.foundation.values import Value
from limitpoint.init.init_checks import (
    LARGEST_ENTRY,
    LARGEST_LOG,
    both_scales,
    cancels,
    checked_layers,
    coef_at,
    common,
    coupled,
    orthonormal_rows,
    scale_of_gamma,
    scale_of_norm,
    shapes_of,
    starts,
    stream_of,
    unit_vector,
)

if TYPE_CHECKING:
    from limitpoint.networks import Network
    from limitpoint.tasks import Task

__all__ = ["Init"]


@dataclass(frozen=True, eq=False)
class Init(Value):
    """Initial layers `scale · direction`.

    Parameters
    ----------
    direction
        One array per layer, in the order of the network's layers.
    scale
        A number in [0, ∞]. Zero means the limit of vanishing initialisation (taken after t → ∞),
        infinity the lazy limit.
    log_scale
        The natural logarithm of the scale, instead of `scale`, for scales that float64 cannot
        hold: `log_scale=-2302.6` is 10^-1000.

    Examples
    --------
    >>> init = Init([[1.0, 2.0], [0.0, 0.5]], scale=0.1)
    >>> [layer.tolist() for layer in init.layers]
    [[0.1, 0.2], [0.0, 0.05]]
    >>> Init([[1.0], [0.0]], log_scale=-2302.6).scale
    0.0
    """

    direction: tuple[Float, ...]
    scale: float
    log_scale: float
    # Which of the two was given, and is exact; the other is rounded.
    log_scale_given: bool = field(default=False, repr=False)

    def __init__(
        self,
        direction: Iterable[ArrayLike],
        scale: float | None = None,
        *,
        log_scale: float | None = None,
    ) -> None:
        layers = checked_layers(direction, "direction")
        given = log_scale is not None
        scale, log_scale = both_scales(scale, log_scale)
        object.__setattr__(self, "direction", layers)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "log_scale", log_scale)
        object.__setattr__(self, "log_scale_given", given)

    def _facts(self) -> tuple[str, ...]:
        shapes = ", ".join(str(layer.shape) for layer in self.direction)
        return f"layers of shapes {shapes}", self.scale_in_words

    @property
    def scale_in_words(self) -> str:
        """The scale; one that float64 cannot hold by its logarithm."""
        held = self.scale not in (0.0, math.inf) or not self.is_finite
        return f"scale={self.scale:g}" if held else f"log_scale={self.log_scale:g}"

    @classmethod
    def from_layers(cls, layers: Iterable[ArrayLike]) -> "Init":
        """Start from exactly these layers (scale 1)."""
        return cls(checked_layers(layers, "layers"), scale=1.0)

    @classmethod
    def random(
        cls,
        network: "Network",
        task: "Task",
        scale: float | None = None,
        *,
        seed: int,
        log_scale: float | None = None,
    ) -> "Init":
        """Draw every entry of the direction from the standard normal distribution."""
        shapes = shapes_of(network, task)
        rng = np.random.default_rng(as_seed(seed, "seed", InitError))
        return cls([rng.standard_normal(shape) for shape in shapes], scale, log_scale=log_scale)

    @classmethod
    def zero_last(
        cls,
        network: "Network",
        task: "Task",
        scale: float | None = None,
        *,
        direction: ArrayLike | None = None,
        log_scale: float | None = None,
    ) -> "Init":
        """Give every layer but the last the same `direction` (ones by default), the last zeros.

        The initialisation of Yun et al. (2021), Corollary 5: the coefficients start at zero. Some
        networks have a unit of their own: impulses for convolutions (Corollary 6; ones have a zero
        Fourier transform), the identity for matrix products (Corollary 7) and dense networks (Wu
        et al. 2019; these take no direction), `U_lη̄` for an orthogonally decomposable tensor
        (Theorem 5; η̄ is the direction, a number for every row of S).

        Raises
        ------
        InitError
            If the network's coefficients do not vanish with its last layer.

        Examples
        --------
        >>> from limitpoint import MatrixProduct, MatrixSensing
        >>> task = MatrixSensing([[[1.0, 0.0], [0.0, 2.0]]], [1.0])
        >>> init = Init.zero_last(MatrixProduct(depth=2), task, scale=0.5)
        >>> [layer.tolist() for layer in init.layers]
        [[[0.5, 0.0], [0.0, 0.5]], [[0.0, 0.0], [0.0, 0.0]]]
        """
        shapes = shapes_of(network, task)
        given = (
            None
            if direction is None
            else as_float_array(direction, "direction", InitError, ndim=(1, 2))
        )
        others = network.unit_layers(task, given)
        if others is None:
            shared = common(shapes, given, "zero_last", network)
            others = (shared,) * (len(shapes) - 1)
        # Ones tell: a product with a zero is zero, a difference of powers or products is not.
        if len(shapes) < 2 or coef_at(network, shapes, [1.0] * (len(shapes) - 1) + [0.0]).any():
            raise InitError(
                f"zero_last does not make the coefficients of {network} start at zero and then "
                f"move; use {starts(network, shapes)}"
            )
        return cls([*others, np.zeros(shapes[-1])], scale, log_scale=log_scale)

    @classmethod
    def unbiased(
        cls,
        network: "Network",
        task: "Task",
        scale: float | None = None,
        *,
        direction: ArrayLike | None = None,
        log_scale: float | None = None,
    ) -> "Init":
        """Give every layer the same `direction` (ones by default), so that coefficients are zero.

        The start `u = w` of `SignedPower` (Woodworth et al. 2020, section 4), and
        `u₊ = v₊ = u₋ = v₋` of `Paired`.

        Raises
        ------
        InitError
            If the coefficients of the network do not vanish where all layers are equal.

        Examples
        --------
        >>> from limitpoint import Regression, SignedPower
        >>> task = Regression([[1.0, 2.0]], [1.0])
        >>> init = Init.unbiased(SignedPower(depth=3), task, scale=0.5, direction=[1.0, 2.0])
        >>> [layer.tolist() for layer in init.layers]
        [[0.5, 1.0], [0.5, 1.0]]
        """
        shapes = shapes_of(network, task)
        if not cancels(network, shapes):
            raise InitError(
                f"unbiased does not make the coefficients of {network} start at zero; "
                f"use {starts(network, shapes)}"
            )
        shared = common(shapes, direction, "unbiased", network)
        return cls([shared] * len(shapes), scale, log_scale=log_scale)

    @classmethod
    def shaped(
        cls,
        network: "Network",
        task: "Task",
        scale: float | None = None,
        *,
        shape: ArrayLike,
        log_scale: float | None = None,
    ) -> "Init":
        """Start a `Paired` network from equal pairs of a given scale and shape.

        `u₊ = u₋ = u` and `v₊ = v₋ = v` with `uv = scale²` and `(u − v)/(u + v) = shape`, so the
        direction is `u = √((1 + shape)/(1 − shape))` and `v = 1/u`. The coefficients start at zero.

        Parameters
        ----------
        scale, log_scale
            As for every `Init`. The scale α of Azulay et al. is the product uv: our `scale²`.
        shape
            A number in (−1, 1), or one for each feature. At 0 all layers are equal (see
            `unbiased`); towards ±1 one of the two outweighs the other.

        References
        ----------
        Azulay et al. 2021, *On the implicit bias of initialization shape*.

        Examples
        --------
        >>> from limitpoint import Paired, Regression
        >>> task = Regression([[1.0, 2.0]], [1.0])
        >>> u, v, _, _ = Init.shaped(Paired(), task, scale=0.1, shape=[0.0, 0.6]).layers
        >>> ((u - v) / (u + v)).round(12).tolist(), (u * v).round(12).tolist()
        ([0.0, 0.6], [0.01, 0.01])
        """
        shapes = shapes_of(network, task)
        # Four layers of which the first two and the last two are multiplied, then subtracted.
        if len(shapes) != 4 or (coef_at(network, shapes, [2.0, 3.0, 1.0, 4.0]) != 2.0).any():
            raise InitError(
                f"shaped needs a network of pairs, like Paired(); for {network} "
                f"use {starts(network, shapes)}"
            )
        values = as_float_array(shape, "shape", InitError, ndim=(0, 1))
        if values.ndim and values.shape != shapes[0]:
            raise InitError(
                f"shape must be a number or have one entry per feature, {shapes[0]}; "
                f"it has shape {values.shape}"
            )
        if not (np.abs(values) < 1).all():
            outside = float(values[np.abs(values) >= 1][0]) if values.ndim else float(values)
            raise InitError(f"shape must be in (-1, 1); it is {outside:g}")
        u = np.broadcast_to(np.sqrt((1 + values) / (1 - values)), shapes[0])
        return cls([u, 1 / u, u, 1 / u], scale, log_scale=log_scale)

    @classmethod
    def balanced(
        cls,
        network: "Network",
        task: "Task",
        scale: float | None = None,
        *,
        norm: float | None = None,
        direction: ArrayLike | None = None,
        seed: int = 0,
        log_scale: float | None = None,
    ) -> "Init":
        """Start a rank-one or dense network balanced: every layer as large as every other.

        Definitions 1 and 2 of Lyu et al.: inner vectors of a pair are equal, `‖u_k‖ = ‖v_k‖ =
        ‖v₁‖`, or `W_kᵀW_k = W_{k+1}W_{k+1}ᵀ`. All layers of the direction have norm 1.

        Parameters
        ----------
        norm
            `‖β(0)‖`, instead of the scale: `norm = scale^degree`.
        direction
            The direction of β(0), n numbers; by default drawn from the seed.
        seed
            Of the inner vectors, which the coefficients do not depend on, and of the direction.

        Examples
        --------
        >>> from limitpoint import RankOne, Regression
        >>> task, network = Regression([[1.0, 2.0]], [1.0]), RankOne(depth=3, width=4)
        >>> init = Init.balanced(network, task, norm=0.5, direction=[3.0, 4.0])
        >>> network.coef(init.layers).round(12).tolist()
        [0.3, 0.4]
        """
        shapes_of(network, task)
        balanced = coupled(network, "balanced")
        scale, log_scale = scale_of_norm(network, norm, scale, log_scale)
        rng = stream_of(seed)
        unit = unit_vector(direction, task.n_features, rng)
        return cls(balanced.balanced_layers(task, unit, rng), scale, log_scale=log_scale)

    @classmethod
    def perturbed(
        cls,
        network: "Network",
        task: "Task",
        scale: float | None = None,
        *,
        imbalance: float,
        norm: float | None = None,
        direction: ArrayLike | None = None,
        seed: int = 0,
        log_scale: float | None = None,
    ) -> "Init":
        """Start a rank-one network off balance, with the same coefficients as balanced.

        In every pair `‖v_{k+1}‖²/‖u_k‖²` is the same and `v_{k+1}ᵀu_k` is that of the balanced
        start, so that `Δ = Σ_k (‖v_{k+1}‖² − ‖u_k‖²)/‖u_k‖² / (2L − 1)` of Lyu et al., Appendix
        A.4, is `imbalance`.

        Parameters
        ----------
        imbalance
            Δ, above `−(L − 1)/(2L − 1)`; 0 is balanced.
        norm, direction, seed
            As in `balanced`.

        Examples
        --------
        >>> from limitpoint import RankOne, Regression
        >>> task, network = Regression([[1.0, 2.0]], [1.0]), RankOne(depth=3, width=4)
        >>> init = Init.perturbed(network, task, norm=0.5, imbalance=0.1)
        >>> round(network.mean_imbalance(init.layers), 12)
        0.1
        """
        shapes_of(network, task)
        rank_one = coupled(network, "perturbed")
        if not hasattr(rank_one, "mean_imbalance"):
            raise InitError(
                f"perturbed needs a network of pairs of inner vectors, like RankOne(); for "
                f"{network} give unbalanced layers as Init(direction, scale)"
            )
        init = cls.balanced(
            network, task, scale, norm=norm, direction=direction, seed=seed, log_scale=log_scale
        )
        pairs = (len(init.direction) - 1) // 2
        lowest = -pairs / len(init.direction)
        rule = f"imbalance must be a finite number above {lowest:.4g}"
        delta = as_number(imbalance, rule, InitError)
        if not (lowest < delta < math.inf):
            raise InitError(f"{rule}; it is {delta}")
        # u by r^(−1/4) and v by r^(1/4), r the ratio of the squared norms.
        ratio = 1 + delta * len(init.direction) / pairs
        factors = [1.0, *[ratio**-0.25, ratio**0.25] * pairs]
        layers = [f * layer for f, layer in zip(factors, init.direction, strict=True)]
        scale, log_scale = scale_of_norm(network, norm, scale, log_scale)
        return cls(layers, scale, log_scale=log_scale)

    @classmethod
    def one_neuron(
        cls,
        network: "Network",
        task: "Task",
        scale: float | None = None,
        *,
        seed: int = 0,
        log_scale: float | None = None,
    ) -> "Init":
        """Start a dense network of odd depth with every other hidden layer one neuron wide.

        The pattern of Lyu et al., Proposition 1: of `W₁, W₃, …` only the first column is not zero,
        of `W₂, W₄, …` only the first row. Training keeps it, and the network is a rank-one network
        whose vectors are those columns and rows. Their entries are drawn from the standard normal
        distribution.

        Examples
        --------
        >>> from limitpoint import FullyConnected, Regression
        >>> task = Regression([[1.0, 2.0]], [1.0])
        >>> init = Init.one_neuron(FullyConnected(widths=(2, 3)), task)
        >>> [(layer != 0).astype(int).tolist() for layer in init.direction]
        [[[1, 0], [1, 0]], [[1, 1, 1], [0, 0, 0]], [1, 1, 1]]
        """
        shapes = shapes_of(network, task)
        matrices = [shape for shape in shapes if len(shape) == 2]
        if not matrices or len(matrices) != len(shapes) - 1 or len(shapes) % 2 == 0:
            raise InitError(
                "one_neuron needs a dense network of odd depth, like "
                f"FullyConnected(widths=(10, 10)); it is {network}"
            )
        drawn = cls.random(network, task, seed=seed)
        layers = [np.zeros(shape) for shape in matrices]
        for k, (layer, full) in enumerate(zip(layers, drawn.direction, strict=False)):
            kept = np.s_[:, :1] if k % 2 == 0 else np.s_[:1]
            layer[kept] = full[kept]
        return cls([*layers, drawn.direction[-1]], scale, log_scale=log_scale)

    @classmethod
    def orthogonal(
        cls,
        network: "Network",
        task: "Task",
        scale: float | None = None,
        *,
        gamma: float | None = None,
        seed: int = 0,
        perturbation: float = 0.0,
        log_scale: float | None = None,
    ) -> "Init":
        """Start a two-layer network from orthonormal rows, `W₁ = √(2γ)P`, `PPᵀ = I`, `W₂ = 0`.

        The initialisation of Varre et al. (2023); γ = scale²/2.

        Parameters
        ----------
        gamma
            γ, instead of the scale; may be 0, the limit of vanishing initialisation.
        seed
            Of P, drawn uniformly, and of the perturbation.
        perturbation
            Adds normal numbers of this size to every entry of P and of the zero second layer.

        Examples
        --------
        >>> from limitpoint import Regression, TwoLayer
        >>> task = Regression([[1.0, 2.0]], [[1.0, 0.0]])
        >>> first, second = Init.orthogonal(TwoLayer(width=4), task, gamma=0.5).layers
        >>> bool(np.allclose(first @ first.T, np.eye(2))), bool(second.any())
        (True, False)
        """
        shapes = shapes_of(network, task)
        if len(shapes) != 2 or shapes[0] != (task.n_features, shapes[1][0]):
            raise InitError(f"orthogonal needs a two-layer network, TwoLayer(); it is {network}")
        features, width = shapes[0]
        if width < features:
            raise InitError(
                f"orthogonal needs at least as many neurons as features, {features}; "
                f"the width is {width}"
            )
        rule = f"perturbation must be a number, at most {LARGEST_ENTRY:g} in modulus"
        size = as_number(perturbation, rule, InitError)
        if not abs(size) <= LARGEST_ENTRY:
            raise InitError(f"{rule}; it is {size}")
        rng = stream_of(seed)
        rows = orthonormal_rows(features, width, rng)
        layers = [rows + size * rng.standard_normal(rows.shape)]
        layers.append(size * rng.standard_normal(shapes[1]))
        return cls(layers, scale_of_gamma(gamma, scale, log_scale), log_scale=log_scale)

    def at_scale(self, scale: float | None = None, *, log_scale: float | None = None) -> "Init":
        """The same direction at another scale."""
        return Init(self.direction, scale, log_scale=log_scale)

    @property
    def is_finite(self) -> bool:
        """Whether the scale is neither 0 nor infinity, the two limits."""
        return math.isfinite(self.log_scale)

    @property
    def layers(self) -> tuple[Float, ...]:
        """The initial layers as float64 arrays.

        Raises
        ------
        ScaleNotRepresentable
            If an entry would vanish or overflow in float64, since training from there would be
            training from somewhere else.
        """
        tiny = float(np.finfo(np.float64).tiny)
        sizes = np.concatenate([np.abs(layer[layer != 0]) for layer in self.direction])
        if not 0 < self.scale < math.inf or (self.scale * sizes < tiny).any():
            raise ScaleNotRepresentable(
                "the initial layers cannot be held in float64 at "
                f"log_scale={self.log_scale:.6g} (scale {self.scale:g}); "
                "use a scale between 1e-300 and 1e70, or where the network has a mirror map the "
                "flow in its coordinates, which is the default"
            )
        return tuple(read_only(self.scale * layer) for layer in self.direction)

    def check_products(self, degree: int) -> None:
        """Raise `ScaleNotRepresentable` if squares of products of `degree` layers overflow."""
        largest = max(float(np.abs(layer).max(initial=0.0)) for layer in self.direction)
        if largest > 0 and 2 * degree * (self.log_scale + math.log(2 * largest)) > LARGEST_LOG:
            raise ScaleNotRepresentable(
                f"at scale {self.scale:g} (log_scale={self.log_scale:.6g}) the initial loss "
                f"overflows float64; use a scale below 1e{math.floor(150 / degree)}"
            )

    def check_mirror(self, degree: int) -> None:
        """Raise `ScaleNotRepresentable` if `scale^(2 − degree)`, the unit of ξ, overflows."""
        if abs((degree - 2) * self.log_scale) > LARGEST_LOG or abs(self.log_scale) > LARGEST_LOG:
            raise ScaleNotRepresentable(
                f"at log_scale={self.log_scale:.6g} the times of a network of degree {degree} "
                f"overflow float64; use a scale above 1e-{math.floor(300 / max(degree - 2, 1))}, "
                "or 0: at this scale the limit is that of vanishing initialisation to all digits"
            )
