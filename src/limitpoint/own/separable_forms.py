"""The networks of sums of monomials: diagonal ones, powers and pairs.

Notation: `β = Σ_j S_j ρ_j`, `ρ_j = Π_e φ_e^{k_e}` in coordinates `φ = Vθ`, V with orthonormal rows,
each of one monomial only; all are of degree D.

With `k_e` copies of `φ_e/√k_e` in the place of `φ_e`, which keeps lengths, every monomial is a
product of D entries, one of each of D layers, times `Π k_e^{k_e/2}`: with S a diagonal network.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.networks import Diagonal, OrthogonalTensor, Paired, Power, SignedPower
from limitpoint.own.derivative import ROUNDING
from limitpoint.own.form import Form
from limitpoint.own.layer_map import LayerMap, gathered
from limitpoint.own.model import Places

__all__ = ["Monomial", "forms_of"]


@dataclass(frozen=True)
class Monomial:
    """The entries, each with its power, and `S_j`."""

    entries: Places
    powers: Places
    weights: Float

    @property
    def is_product(self) -> bool:
        """Whether all powers are one."""
        return bool((self.powers == 1).all())

    @property
    def is_power(self) -> bool:
        """Whether it is the power of one entry."""
        return len(self.entries) == 1


def forms_of(found: list[Monomial], degree: int, basis: Any) -> list[Form]:
    """The networks of these monomials in the coordinates of V, the strongest first."""
    count = len(found[0].weights)
    own = [int(np.flatnonzero(each.weights)[0]) for each in found if _is_single(each)]
    sizes = [float(np.abs(each.weights).max()) for each in found]
    uniform = max(sizes) - min(sizes) <= ROUNDING * max(sizes)
    forms = [_orthogonal(found, degree, basis.shape[0])]
    if len(own) == len(found) and uniform and len(set(own)) == count:
        forms = [*_separate(found, own, degree, basis.shape[0]), *forms]
    turned = [LayerMap(each.map.matrix @ basis, each.map.shapes) for each in forms]
    return [
        Form(each.network, mapped, each.family) for each, mapped in zip(forms, turned, strict=True)
    ]


def _is_single(monomial: Monomial) -> bool:
    return int(np.count_nonzero(monomial.weights)) == 1


def _separate(found: list[Monomial], own: list[int], degree: int, size: int) -> list[Form]:
    """Every coefficient has monomials of its own, all with weights of one modulus."""
    signs = [float(np.sign(each.weights[i])) for each, i in zip(found, own, strict=True)]
    weight = max(float(np.abs(each.weights).max()) for each in found)
    stretch = 1.0 if weight == 1.0 else weight ** (1 / degree)
    count = max(own) + 1
    most = max(own.count(i) for i in range(count))
    if all(each.is_product for each in found) and most == 1:
        return [_diagonal(found, own, signs, stretch, degree, size)]
    if all(each.is_product for each in found) and most == 2 and degree == 2:
        return [_paired(found, own, signs, stretch, size)]
    if all(each.is_power for each in found):
        return _powers(found, own, signs, stretch, degree, size)
    return []


def _diagonal(
    found: list[Monomial],
    own: list[int],
    signs: list[float],
    stretch: float,
    degree: int,
    size: int,
) -> Form:
    """Entry l of the monomial of each coefficient in layer l; signs in the last."""
    entries = np.zeros((degree, len(found)), dtype=np.intp)
    turned = np.ones(len(found))
    for each, i, sign in zip(found, own, signs, strict=True):
        entries[:, i] = each.entries
        turned[i] = sign
    parts = [gathered(row, size, stretch) for row in entries[:-1]]
    parts.append(gathered(entries[-1], size, stretch * turned))
    mapped = LayerMap.stacked(parts, ((len(found),),) * degree)
    return Form(Diagonal(degree), mapped, f"diagonal network of depth {degree}")


def _paired(
    found: list[Monomial], own: list[int], signs: list[float], stretch: float, size: int
) -> Form:
    """Two products for each coefficient, the second counted negative; missing ones are zero."""
    count = max(own) + 1
    entries = np.zeros((4, count), dtype=np.intp)
    weights = np.zeros((4, count))
    taken = {i: [k for k, j in enumerate(own) if j == i] for i in range(count)}
    for i, ones in taken.items():
        # A positive product first.
        for place, k in enumerate(sorted(ones, key=lambda k: -signs[k])):
            entries[2 * place : 2 * place + 2, i] = found[k].entries
            wanted = 1.0 if place == 0 else -1.0
            weights[2 * place : 2 * place + 2, i] = stretch, stretch * wanted * signs[k]
    parts = [gathered(row, size, weight) for row, weight in zip(entries, weights, strict=True)]
    return Form(Paired(), LayerMap.stacked(parts, ((count,),) * 4), "paired network")


def _powers(
    found: list[Monomial],
    own: list[int],
    signs: list[float],
    stretch: float,
    degree: int,
    size: int,
) -> list[Form]:
    """`±u^L` for every coefficient, or two of them of opposite sign; odd powers take any sign."""
    count = max(own) + 1
    entries = np.zeros((2, count), dtype=np.intp)
    weights = np.zeros((2, count))
    for each, i, sign in zip(found, own, signs, strict=True):
        place = 0 if sign > 0 else 1
        turn = 1.0
        if weights[place, i] != 0.0:
            if degree % 2 == 0:
                return []
            place, turn = 1 - place, -1.0
            if weights[place, i] != 0.0:
                return []
        entries[place, i], weights[place, i] = each.entries[0], stretch * turn
    if degree % 2 == 1 and len(found) == count:
        entries, weights = entries.sum(axis=0)[None], (weights[0] - weights[1])[None]
    elif not weights[1].any():
        entries, weights = entries[:1], weights[:1]
    parts = [gathered(row, size, weight) for row, weight in zip(entries, weights, strict=True)]
    mapped = LayerMap.stacked(parts, ((count,),) * len(parts))
    if len(parts) == 1:
        return [Form(Power(degree), mapped, f"power network of depth {degree}")]
    return [Form(SignedPower(degree), mapped, f"signed power network of depth {degree}")]


def _orthogonal(found: list[Monomial], degree: int, size: int) -> Form:
    """A diagonal network of the monomials, and `S` from these to the coefficients."""
    repeated = [np.repeat(each.entries, each.powers) for each in found]
    scales = [np.repeat(1 / np.sqrt(each.powers), each.powers) for each in found]
    columns = zip(np.array(repeated).T, np.array(scales).T, strict=True)
    parts = [gathered(row, size, scale) for row, scale in columns]
    grown = np.array([np.prod(each.powers ** (each.powers / 2)) for each in found])
    transform = np.stack([each.weights for each in found]) * grown[:, None]
    rank = len(found)
    network = OrthogonalTensor(transform, [np.eye(rank)] * degree)
    mapped = LayerMap.stacked(parts, ((rank,),) * degree)
    return Form(network, mapped, "diagonal network under a linear map of the data")
