"""Models whose coefficients are sums of monomials in entries of their own.

Notation: `β = Σ_j S_j ρ_j`, `ρ_j = Π_e θ_e^{k_e}` over entries that no other monomial has, all of
degree D; S_j is a vector of N coefficients. Diagonal networks are of this form, powers and pairs,
behind any permutation of entries, and with any linear map of the data.

With `k_e` copies of `θ_e/√k_e` in the place of `θ_e`, which keeps lengths, every monomial is a
product of D entries, one of each of D layers, times `Π k_e^{k_e/2}`.
"""

from dataclasses import dataclass

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.networks import Diagonal, OrthogonalTensor, Paired, Power, SignedPower
from limitpoint.own.derivative import ROUNDING, Probed
from limitpoint.own.form import Form
from limitpoint.own.layer_map import LayerMap, gathered

__all__ = ["monomial_forms"]

# Directions and values of random numbers count as equal up to so much; others differ by more, but
# for a chance of about this times the square of their number.
EQUAL = 1e-9


@dataclass(frozen=True)
class Monomial:
    """The entries, each with its power, and `S_j`."""

    entries: np.ndarray
    powers: np.ndarray
    weights: Float

    @property
    def is_product(self) -> bool:
        """Whether all powers are one."""
        return bool((self.powers == 1).all())

    @property
    def is_power(self) -> bool:
        """Whether it is the power of one entry."""
        return len(self.entries) == 1


def monomial_forms(probed: Probed) -> list[Form]:
    """The networks that the model is, the strongest first; none where it is no sum of these."""
    model, degree = probed.model, probed.degree
    if degree is None or degree < 2 or model.coef(model.start).ndim != 1:
        return []
    found = _monomials(probed, degree)
    if not found:
        return []
    forms = []
    own = [int(np.flatnonzero(each.weights)[0]) for each in found if _is_single(each)]
    sizes = {float(np.abs(each.weights).max()) for each in found}
    uniform = max(sizes) - min(sizes) <= ROUNDING * max(sizes)
    if len(own) == len(found) and uniform and len(set(own)) == len(probed.coef):
        forms = _separate(found, own, degree, model.size)
    return [*forms, _orthogonal(found, degree, model.size)]


def _is_single(monomial: Monomial) -> bool:
    return int(np.count_nonzero(monomial.weights)) == 1


def _monomials(probed: Probed, degree: int) -> list[Monomial]:
    """All monomials, by the columns of the Jacobian: those of one monomial are parallel."""
    jacobian = probed.jacobian
    sizes = np.linalg.norm(jacobian, axis=0)
    moving = np.flatnonzero(sizes > ROUNDING * sizes.max(initial=0.0))
    units = jacobian[:, moving] / sizes[moving]
    mixed = np.random.default_rng(22).standard_normal(len(units)) @ units
    found: list[Monomial] = []
    for group in _clusters(np.abs(mixed)):
        # `θ_e ∂ρ/∂θ_e = k_e ρ`: by Euler these sum to D times the sum of the monomials.
        along = units[:, group[0]]
        entries = moving[group]
        values = probed.point[entries] * (along @ jacobian[:, entries])
        parts = _parts(values, degree)
        if parts is None:
            return []
        found += [Monomial(entries[part], powers, along) for part, powers in parts]
    return [_weighed(each, probed) for each in found]


def _clusters(values: Float) -> list[np.ndarray]:
    """The places of values that are equal, group by group, in the order of the first of each."""
    order = np.argsort(values, kind="stable")
    ends = np.flatnonzero(np.diff(values[order]) > EQUAL * np.abs(values).max(initial=0.0)) + 1
    return sorted((np.sort(part) for part in np.split(order, ends)), key=lambda part: int(part[0]))


def _parts(values: Float, degree: int) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """The monomials of one direction: places and powers, by `k_e ρ`."""
    whole = degree * values / values.sum()
    powers = np.rint(whole)
    if np.abs(whole - powers).max() <= EQUAL * degree and (powers >= 1).all():
        return [(np.arange(len(values)), powers.astype(int))]
    parts = []
    for cluster in _clusters(values):
        if degree % len(cluster) != 0:
            return None
        powers = np.full(len(cluster), degree // len(cluster))
        parts.append((cluster, powers))
    return parts


def _weighed(monomial: Monomial, probed: Probed) -> Monomial:
    """With S_j as the coefficients where its entries are one and all others zero."""
    flat = np.zeros(probed.model.size)
    flat[monomial.entries] = 1.0
    weights = probed.model.at(flat)
    return Monomial(monomial.entries, monomial.powers, weights)


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
