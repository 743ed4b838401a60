"""Models whose coefficients are sums of monomials in entries of their own.

Notation: `β = Σ_j S_j ρ_j`, `ρ_j = Π_e θ_e^{k_e}` over entries that no other monomial has, all of
degree D; S_j is a vector of N coefficients. Diagonal networks are of this form, powers and pairs,
behind any permutation of entries, and with any linear map of the data.
"""

import numpy as np
from scipy import sparse

from limitpoint.foundation.arrays import Float
from limitpoint.own.derivative import EQUAL, ROUNDING, Probed
from limitpoint.own.form import Form
from limitpoint.own.model import Places
from limitpoint.own.separable_forms import Monomial, forms_of

__all__ = ["monomial_forms"]


def monomial_forms(probed: Probed) -> list[Form]:
    """The networks that the model is, the strongest first; none where it is no sum of these."""
    if probed.degree is None or probed.degree < 2 or probed.outputs > 1:
        return []
    found = _monomials(probed, probed.degree)
    return forms_of(found, probed.degree, sparse.eye_array(probed.model.size)) if found else []


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
        for part, powers in parts:
            value = values[part].sum() / degree
            weight = value / np.prod(probed.point[entries[part]] ** powers)
            found.append(Monomial(entries[part], powers, weight * along))
    if not _holds(found, probed):
        return []
    return [_weighed(each, probed) for each in found]


def _holds(found: list[Monomial], probed: Probed) -> bool:
    """Whether the coefficients are the sum of the monomials at other parameters too."""
    point = np.random.default_rng(27).standard_normal(len(probed.point))
    total = sum(np.prod(point[each.entries] ** each.powers) * each.weights for each in found)
    wanted = probed.model.at(point)
    return bool(np.abs(total - wanted).max() <= EQUAL * np.abs(wanted).max())


def _clusters(values: Float) -> list[Places]:
    """The places of values that are equal, group by group, in the order of the first of each."""
    order = np.argsort(values, kind="stable")
    ends = np.flatnonzero(np.diff(values[order]) > EQUAL * np.abs(values).max(initial=0.0)) + 1
    return sorted((np.sort(part) for part in np.split(order, ends)), key=lambda part: int(part[0]))


def _parts(values: Float, degree: int) -> list[tuple[Places, Places]] | None:
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
