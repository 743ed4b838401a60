"""Models that reduce to diagonal networks once their blocks are turned.

Two ways to find the rotations: the singular vectors of the multilinear function, where it is an
orthogonally decomposable tensor, `M = Σ_j S_j ⊗ [U₁]_j ⊗ ⋯ ⊗ [U_D]_j` (Yun et al. 2021, Assumption
1); the eigenvectors of all `H_i`, where the coefficients are quadratic forms `θᵀH_iθ` that commute.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from limitpoint.foundation.arrays import Float
from limitpoint.networks import joint_eigenbasis
from limitpoint.own.derivative import EQUAL, ROUNDING, Probed
from limitpoint.own.form import Form
from limitpoint.own.polar import MOST_EVALUATIONS, Polar
from limitpoint.own.separable_forms import Monomial, forms_of

__all__ = ["orthogonal_forms", "quadratic_forms"]

# Singular values are zero below so much of the largest. What is not, and is that small, spoils the
# agreement that is checked in the end.
RANK = 1e-10
# Newton's steps from singular vectors of one random combination to those of all: errors of some
# roundings over the least difference of singular values are squared each time.
STEPS = 3


def orthogonal_forms(probed: Probed) -> Iterator[Form]:
    """Diagonal networks, powers and orthogonal tensors behind rotations of blocks, or of all."""
    # Of all blocks together those of degree two are found as quadratic forms.
    whole = [Polar.of_all(probed)] if probed.degree != 2 else []
    for polar in (Polar.of(probed), *whole):
        if probed.outputs == 1 and polar is not None and len(polar.sizes) >= 2:
            yield from _orthogonal_forms(probed, polar)


def _orthogonal_forms(probed: Probed, polar: Polar) -> list[Form]:
    bases = _singular_vectors(polar)
    if bases is None:
        return []
    rank = bases[0].shape[1]
    # One coordinate for each block and j: copies of a block have the same vectors, up to sign.
    firsts = [polar.sources.index(block) for block in range(len(polar.degrees))]
    rows, found = [], []
    for block, first in enumerate(firsts):
        part = np.zeros((rank, probed.model.size))
        part[:, polar.places[block]] = bases[first].T
        rows.append(part)
    for j in range(rank):
        weights = polar.at(*(bases[firsts[source]][:, j] for source in polar.sources))
        entries = j + rank * np.arange(len(firsts))
        found.append(Monomial(entries, np.array(polar.degrees), _rounded(weights)))
    return forms_of(found, len(polar.sizes), sparse.csr_array(np.concatenate(rows)))


def _singular_vectors(polar: Polar) -> list[Float] | None:
    """`U_l`, each k_l × r, or None where there are none or they are too costly.

    From random vectors for all arguments but two; where there are such, once more from
    `Σ_j [U_l]_j` instead of these, to which all terms contribute alike.
    """
    bases = _contracted(polar, polar.units())
    if bases is None or len(bases) == 2:
        return bases
    return _contracted(polar, [basis.sum(axis=1) for basis in bases])


def _contracted(polar: Polar, points: list[Float]) -> list[Float] | None:
    """The same with these vectors: the first two from M of the others, each other from these."""
    sizes = polar.sizes
    if polar.cost * sizes[0] * sizes[1] > MOST_EVALUATIONS:
        return None
    slices = np.stack(
        [[polar.at(a, b, *points[2:]) for b in np.eye(sizes[1])] for a in np.eye(sizes[0])], axis=-2
    ).transpose(2, 1, 0)  # N × k₁ × k₂
    mixed = np.tensordot(np.random.default_rng(26).standard_normal(len(slices)), slices, axes=1)
    left, values, right = np.linalg.svd(mixed)
    rank = int((values > RANK * values[0]).sum())
    if values[0] == 0.0 or polar.cost * rank * sum(sizes[2:]) > MOST_EVALUATIONS:
        return None
    bases: list[Float] = list(_refined(slices, left[:, :rank], right[:rank].T))
    for place in range(2, len(sizes)):
        columns = []
        for one, two in zip(bases[0].T, bases[1].T, strict=True):
            others = [one, two, *points[2:]]
            before, after = others[:place], others[place + 1 :]
            found = np.stack([polar.at(*before, unit, *after) for unit in np.eye(sizes[place])])
            columns.append(np.linalg.svd(found, full_matrices=False)[0][:, 0])
        bases.append(np.stack(columns, axis=1))
    return bases


def _refined(slices: Float, left: Float, right: Float) -> tuple[Float, Float]:
    """Rotate both so that all `leftᵀ M_i right` are diagonal, in first order, a few times.

    Rotations by Ω and Ω' turn the entries (j, k) and (k, j) of E into `E_jk − Ω_jk s_k + s_j Ω'_jk`
    and `E_kj + Ω_jk s_j − s_k Ω'_jk`: least squares over all i, for `Ω ± Ω'` apart.
    """
    for _ in range(STEPS):
        turned = left.T @ slices @ right
        s = np.einsum("ijj->ij", turned)
        squares = (s**2).sum(axis=0)
        total, cross = squares[:, None] + squares, 2 * s.T @ s
        # Σ_i s_k E_jk and Σ_i s_j E_jk
        by_column, by_row = np.einsum("ik,ijk->jk", s, turned), np.einsum("ij,ijk->jk", s, turned)
        first = by_column - by_column.T
        second = by_row.T - by_row
        plus = _ratio(first + second, total - cross)
        minus = _ratio(first - second, total + cross)
        left = left @ _rotation((plus + minus) / 2)
        right = right @ _rotation((plus - minus) / 2)
    return left, right


def _ratio(numerator: Float, denominator: Float) -> Float:
    """Their ratio; zero where S has two rows that are equal or opposite, and any turn is right."""
    least = RANK * denominator.max()
    return np.divide(
        numerator, denominator, out=np.zeros_like(numerator), where=denominator > least
    )


def _rotation(generator: Float) -> Float:
    """Orthogonal, and `I + Ω` in first order (Cayley)."""
    half, one = generator / 2, np.eye(len(generator))
    return np.asarray(np.linalg.solve(one - half, one + half), dtype=np.float64)


def quadratic_forms(probed: Probed) -> list[Form]:
    """Signed powers of degree two, and sums of squares, behind rotations of all parameters."""
    model, size = probed.model, probed.model.size
    if probed.degree != 2 or probed.outputs > 1 or size * (size + 1) // 2 > MOST_EVALUATIONS:
        return []
    if not _commute(probed):
        return []
    units = np.eye(size)
    singles = [model.at(unit) for unit in units]
    forms = np.zeros((len(probed.coef), size, size))
    for a in range(size):
        forms[:, a, a] = singles[a]
        for b in range(a):
            forms[:, a, b] = (model.at(units[a] + units[b]) - singles[a] - singles[b]) / 2
            forms[:, b, a] = forms[:, a, b]
    basis = joint_eigenbasis(forms)
    weights = np.stack([_rounded(model.at(vector)) for vector in basis.T])
    kept = np.abs(weights).max(axis=1) > RANK * np.abs(weights).max()
    found = [Monomial(np.array([j]), np.array([2]), each) for j, each in enumerate(weights[kept])]
    return forms_of(found, 2, _sparse(basis[:, kept].T)) if found else []


def _commute(probed: Probed) -> bool:
    """Whether two random combinations of the H_i commute, on a random vector: `∂β/∂θ = 2Hθ`."""
    one, two = np.random.default_rng(28).standard_normal((2, len(probed.coef)))
    first = probed.jacobian_at(one @ probed.jacobian)
    second = probed.jacobian_at(two @ probed.jacobian)
    left, right = two @ first, one @ second
    return bool(np.abs(left - right).max() <= EQUAL * np.abs(left).max())


def _sparse(matrix: Float) -> Any:
    return sparse.csr_array(matrix)


def _rounded(weights: Float) -> Float:
    """Without what is rounding beside the largest."""
    return np.where(np.abs(weights) > ROUNDING * np.abs(weights).max(initial=0.0), weights, 0.0)
