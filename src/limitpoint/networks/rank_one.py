"""Rank-one linear networks, `W_k = u_k v_kᵀ` (Lyu et al.)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limitpoint.errors import NetworkError
from limitpoint.foundation.arrays import Float, as_depth, as_whole_number
from limitpoint.init import Init
from limitpoint.mirror import PairRadius, PowerRadius, RadialMap
from limitpoint.networks.kinds.coupled import BALANCE_TOLERANCE, CoupledNetwork
from limitpoint.networks.kinds.layer_gradients import gradients_of_product
from limitpoint.networks.kinds.single_output import feature_shape
from limitpoint.tasks import Task

__all__ = ["RankOne"]


@dataclass(frozen=True)
class RankOne(CoupledNetwork):
    """A rank-one network: `β = v₁ · Π_k (v_{k+1}ᵀu_k)`, k = 1 … L−1.

    Parameters
    ----------
    depth
        L, at least 2.
    width
        Length of the inner vectors.

    Notes
    -----
    The layers are v₁ (n,), then u₁, v₂, u₂, …, u_{L−1}, v_L (width,): 2L − 1 in all, which is the
    degree. Each inner pair (u_k, v_{k+1}) moves as `u̇ = cv, v̇ = cu` with one number c, so that
    `u + v` only grows and `u − v` only decays.

    Examples
    --------
    >>> import numpy as np
    >>> layers = [np.array([1.0, -1.0]), np.array([1.0, 2.0]), np.array([3.0, 0.0])]
    >>> RankOne(depth=2, width=2).coef(layers).tolist()
    [3.0, -3.0]
    """

    depth: int = 2
    width: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", as_depth(self.depth, NetworkError))
        object.__setattr__(self, "width", as_whole_number(self.width, 1, "width", NetworkError))

    @property
    def degree(self) -> int:
        """`2L − 1`: one for each vector."""
        return 2 * self.depth - 1

    def layer_shapes(self, task: Task) -> tuple[tuple[int, ...], ...]:
        """v₁ with one entry per feature, and L − 1 pairs of inner vectors."""
        inner = ((self.width,),) * (2 * (self.depth - 1))
        return (feature_shape(task, "rank-one"), *inner)

    def coef(self, layers: Sequence[Any]) -> Any:
        """`v₁ · Π_k (v_{k+1}ᵀu_k)`; leading axes (of records, say) are kept."""
        return layers[0] * self.outer(layers)[..., None]

    def outer(self, layers: Sequence[Any]) -> Any:
        """`Π_k v_{k+1}ᵀu_k`, the number that multiplies v₁ (ξ of Lyu et al.)."""
        product: Any = 1.0
        for u, v in _pairs(layers):
            product = product * (u * v).sum(axis=-1)
        return product

    def layer_gradients(
        self, layers: Sequence[Float], direction: Float
    ) -> tuple[Float, ...] | None:
        """`outer · g` for v₁; `⟨v₁, g⟩` times the other pairs and the partner for the others."""
        along = (layers[0] * direction).sum(axis=-1)
        pairs = [*_pairs(layers)]
        others = gradients_of_product([(u * v).sum(axis=-1) for u, v in pairs], along)
        first = direction * np.asarray(self.outer(layers))[..., None]
        found = [first]
        for (u, v), weight in zip(pairs, others, strict=True):
            found += [weight[..., None] * v, weight[..., None] * u]
        return tuple(found)

    def invariants(self, layers: Sequence[Float]) -> Float:
        """`‖v₁‖² − ‖u_k‖²` and `u_{k,i}² − v_{k+1,i}²`, one after the other."""
        first = np.sum(layers[0] ** 2, axis=-1)
        kept = []
        for u, v in _pairs(layers):
            kept.append((first - np.sum(u**2, axis=-1))[None])
            kept.append(np.moveaxis((u - v) * (u + v), -1, 0))
        return np.concatenate(kept)

    def imbalance(self, layers: Sequence[Float]) -> float:
        """The largest of `|‖u‖ − ‖v₁‖|`, `|‖v‖ − ‖v₁‖|` and `‖u ∓ v‖`, relative to `‖v₁‖`.

        Zero in lyu's Definition 1: all norms equal, the vectors of a pair parallel.
        """
        norm = float(np.linalg.norm(layers[0]))
        if norm == 0.0:
            return np.inf if any(np.any(layer) for layer in layers[1:]) else 0.0
        off = 0.0
        for u, v in _pairs(layers):
            sizes = (abs(float(np.linalg.norm(w)) - norm) for w in (u, v))
            apart = min(float(np.linalg.norm(u - v)), float(np.linalg.norm(u + v)))
            off = max(off, apart, *sizes)
        return off / norm

    def mean_imbalance(self, layers: Sequence[Float]) -> float:
        """`Δ = Σ_k (‖v_{k+1}‖² − ‖u_k‖²)/‖u_k‖² / (2L − 1)` (lyu, Appendix A.4)."""
        squares = [(float(u @ u), float(v @ v)) for u, v in _pairs(layers)]
        return sum((v - u) / u for u, v in squares) / self.degree

    def balanced_layers(
        self, task: Task, direction: Float, rng: np.random.Generator
    ) -> tuple[Float, ...]:
        """`u_k = v_{k+1}`, unit vectors drawn at random; v₁ the direction."""
        layers = [direction]
        for _ in range(self.depth - 1):
            inner = rng.standard_normal(self.width)
            inner = inner / np.linalg.norm(inner)
            layers += [inner, inner]
        return tuple(layers)

    def radial_map(self, init: Init) -> RadialMap | None:
        """A power of ρ from a balanced start; from others a product over the pairs.

        None where a pair is orthogonal at the start: which sign it takes is not decided yet.
        """
        init.check_products(self.degree)
        sign = _sign(self, init.direction)
        if sign == 0:
            return None
        start = sign * init.scale * init.direction[0]
        if self.imbalance(init.direction) <= BALANCE_TOLERANCE:
            return PowerRadius(start, self.degree)
        first = init.direction[0]
        square = float(first @ first)
        sums = [float(u @ u + v @ v) - 2 * square for u, v in _pairs(init.direction)]
        crosses = [
            float(np.linalg.norm(u + v) * np.linalg.norm(u - v)) for u, v in _pairs(init.direction)
        ]
        unit = init.scale**2
        return PairRadius(start, unit * np.array(sums), unit * np.array(crosses))

    def layers_along(self, init: Init, inputs: Float) -> tuple[Float, ...]:
        """v₁ is z up to its sign; the pairs follow from `‖u‖² + ‖v‖² = 2ρ + δ`.

        Balanced ones keep their directions and have the norm of z.
        """
        layers = init.layers
        result = [_sign(self, init.direction) * inputs]
        if self.imbalance(init.direction) <= BALANCE_TOLERANCE:
            norms = np.linalg.norm(inputs, axis=-1)
            grown = norms / (init.scale * float(np.linalg.norm(init.direction[0])))
            return (*result, *(np.multiply.outer(grown, layer) for layer in layers[1:]))
        squares, start = np.sum(inputs**2, axis=-1), float(layers[0] @ layers[0])
        for u, v in _pairs(layers):
            result += _pair_at(u, v, 2 * squares + (float(u @ u + v @ v) - 2 * start))
        return tuple(result)


def _pairs(layers: Sequence[Any]) -> list[tuple[Any, Any]]:
    """`(u_k, v_{k+1})` for k = 1 … L − 1."""
    return list(zip(layers[1::2], layers[2::2], strict=True))


def _sign(network: RankOne, layers: Sequence[Float]) -> float:
    """The sign of `outer`; 0 where a pair is orthogonal."""
    return float(np.sign([u @ v for u, v in _pairs(layers)]).prod())


def _pair_at(u: Float, v: Float, totals: Float) -> list[Float]:
    """Both vectors where `‖u‖² + ‖v‖²` is so much: `(u + v)e^τ` and `(u − v)e^−τ`.

    With `A = ½‖u+v‖²`, `B = ½‖u−v‖²`: `Ae^{2τ} + Be^{−2τ}` is the total. The larger term is the
    root without cancellation, and the product AB is conserved.
    """
    plus, minus = u + v, u - v
    a, b = 0.5 * float(plus @ plus), 0.5 * float(minus @ minus)
    least = 2 * np.sqrt(a) * np.sqrt(b)
    totals = np.maximum(totals, least)
    larger = 0.5 * (totals + np.sqrt(totals - least) * np.sqrt(totals + least))
    # The larger of the two stays the larger as long as the sign of uᵀv is kept.
    growth = np.sqrt(larger / a) if a >= b else np.sqrt(b / larger)
    sums, differences = np.multiply.outer(growth, plus), np.multiply.outer(1 / growth, minus)
    return [0.5 * (sums + differences), 0.5 * (sums - differences)]
