"""Models that are products of matrices: dense, two-layer and rank-one networks, matrix products.

Notation: the coefficients as a matrix (n × k) are `B = W₁ ⋯ W_L`, every block of the model being
one of the matrices up to an orthogonal map of its entries. The first factor is the block in which
row i of B depends on entries of its own, by the same map for all i: `∂B_i/∂(W₁)_ia = Z_a` with
`Z = W₂ ⋯ W_L`. It is taken off, and Z is a product of one matrix less. A rank-one network is such
a product too, of inner dimensions 1, d, 1, d, …
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from limitpoint.foundation.arrays import Float
from limitpoint.networks import FullyConnected, MatrixProduct, Network, RankOne, TwoLayer
from limitpoint.own.derivative import EQUAL, ROUNDING, Probed
from limitpoint.own.form import Form
from limitpoint.own.layer_map import LayerMap, gathered
from limitpoint.own.polar import MOST_EVALUATIONS

__all__ = ["Factor", "chain_forms", "chains", "form_of_factors", "networks_of"]

# Rotations are found from so many times as many draws as a factor has columns: enough for the
# condition of a random matrix of that shape to be a few units.
DRAWS = 3

# From all trained entries, and how many rows are needed, to so many rows of a matrix at least.
Product = Callable[[Float, int], Float]


@dataclass(frozen=True)
class Factor:
    """One matrix: its shape, and its entries, row by row, as `matrix @ θ`."""

    shape: tuple[int, int]
    matrix: Any


def chain_forms(probed: Probed) -> Iterator[Form]:
    """The networks of matrices that the model is, the strongest first."""
    if not probed.is_multilinear:
        return
    model = probed.model
    shape = np.shape(model.coef(model.start))
    side = math.isqrt(shape[0])
    if len(shape) == 1 and side * side == shape[0] and side > 1:
        for factors, weight in _products(probed, (side, side)):
            if all(each.shape == (side, side) for each in factors):
                name = f"product of {len(factors)} square matrices"
                yield form_of_factors(MatrixProduct(len(factors)), name, factors, weight, False)
    several = len(shape) == 2
    outputs = shape[1] if several else 1
    for factors, weight in _products(probed, (shape[0], outputs)):
        for network, name in networks_of(factors, several, probed.start):
            yield form_of_factors(network, name, factors, weight, several)


def chains(probed: Probed) -> Iterator[tuple[list[Factor], float]]:
    """All ways to read coefficients of several outputs as `weight · W₁ ⋯ W_L`."""
    shape = np.shape(probed.model.coef(probed.model.start))
    if probed.is_multilinear and len(shape) == 2:
        yield from _products(probed, (shape[0], shape[1]))


def networks_of(
    factors: list[Factor], several: bool, start: Float
) -> Iterator[tuple[Network, str]]:
    """The networks with these factors.

    With one output two layers are a dense network too. Theorems on `TwoLayer` are about starts with
    a zero second layer, those on dense ones about balanced starts.
    """
    inner = tuple(each.shape[1] for each in factors[:-1])
    if len(factors) == 2 and (several or not (factors[1].matrix @ start).any()):
        yield TwoLayer(inner[0]), f"two-layer dense network of width {inner[0]}"
    if several:
        return
    if len(factors) % 2 == 1 and set(inner[::2]) == {1} and len(set(inner[1::2])) == 1:
        depth, width = (len(factors) + 1) // 2, inner[1]
        yield RankOne(depth, width), f"rank-one network of depth {depth} and width {width}"
    yield FullyConnected(inner), f"dense network of widths {inner}"


def form_of_factors(
    network: Network, name: str, factors: list[Factor], weight: float, several: bool
) -> Form:
    """The factors as layers; the constant before them is spread over all, its sign in the last."""
    stretch = 1.0 if abs(weight) == 1.0 else abs(weight) ** (1 / len(factors))
    parts = [stretch * each.matrix for each in factors]
    parts[-1] = math.copysign(1.0, weight) * parts[-1]
    shapes: list[tuple[int, ...]] = [each.shape for each in factors]
    if isinstance(network, RankOne):
        shapes = [(math.prod(shape),) for shape in shapes]
    elif not several and not isinstance(network, MatrixProduct):
        shapes[-1] = shapes[-1][:1]
    return Form(network, LayerMap.stacked(parts, tuple(shapes)), name)


def _products(probed: Probed, shape: tuple[int, int]) -> Iterator[tuple[list[Factor], float]]:
    """All ways to read the coefficients as `weight · W₁ ⋯ W_L` of this shape."""
    model = probed.model

    def whole(flat: Float, _: int) -> Float:
        return model.at(flat).reshape(shape)

    yield from _taken_off(whole, probed, list(range(len(model.trained))), shape[0])


def _taken_off(
    product: Product, probed: Probed, left: list[int], rows: int
) -> Iterator[tuple[list[Factor], float]]:
    """Take the first factor off, and go on with the rest."""
    if not left:
        # What remains is a constant: a multiple of the identity, once the last is turned by it.
        constant = product(probed.point, rows)
        if constant.shape[0] == constant.shape[1]:
            yield [], float(constant[0, 0])
        return
    for place in left:
        others = [each for each in left if each != place]
        for factor in (_permuted, _rotated):
            first = factor(product, probed, place, rows)
            if first is None:
                continue
            if not others:
                first = _turned(first, product, probed, place)
            rest = _rest(product, probed, place, first)
            for factors, weight in _taken_off(rest, probed, others, first.shape[1]):
                yield [first, *factors], weight
            break


def _slopes(product: Product, probed: Probed, place: int, flat: Float, rows: int) -> Float:
    """`∂B/∂θ_e` for the entries of one block, n × k × entries."""
    where = probed.model.places()[place].ravel()
    here = flat.copy()
    found = []
    for entry in where:
        here[where] = 0.0
        here[entry] = 1.0
        found.append(product(here, rows))
    return np.stack(found, axis=-1)


def _permuted(product: Product, probed: Probed, place: int, rows: int) -> Factor | None:
    """The block as W₁, each of its entries an entry of W₁ up to sign."""
    where = probed.model.places()[place].ravel()
    columns = len(where) // rows
    if len(where) != rows * columns:
        return None
    slopes = _slopes(product, probed, place, probed.point, rows)
    sizes = np.linalg.norm(slopes, axis=1)
    largest = sizes.max(initial=0.0)
    hit = sizes > ROUNDING * largest
    if largest == 0.0 or (hit.sum(axis=0) != 1).any():
        return None
    if (hit.sum(axis=1) != columns).any():
        return None
    # Entries of different rows that belong to one column have the same Z_a, up to sign.
    mixing = np.random.default_rng(23).standard_normal(slopes.shape[1])
    values = np.einsum("ike,k->ie", slopes, mixing)
    entries = np.empty((rows, columns), dtype=np.intp)
    weights = np.empty((rows, columns))
    for row in range(rows):
        own = np.flatnonzero(hit[row])
        # In the order of the block's own entries in the first row.
        order = np.argsort(np.abs(values[row, own]), kind="stable")
        if row == 0:
            first, reference = np.argsort(order), values[0, own]
        chosen = own[order][first]
        off = np.abs(np.abs(values[row, chosen]) - np.abs(reference)).max()
        if off > EQUAL * np.abs(reference).max():
            return None
        entries[row] = where[chosen]
        weights[row] = np.sign(values[row, chosen]) * np.sign(reference)
    return Factor((rows, columns), gathered(entries, probed.model.size, weights))


def _rotated(product: Product, probed: Probed, place: int, rows: int) -> Factor | None:
    """The block as W₁, its entries turned: `⟨∂B_i, ∂B_j'⟩ = δ_ij ⟨Z, Z'⟩` at any two parameters.

    The Gram matrix of the Z of many draws gives Z, up to a rotation that the next factor undoes,
    and Z the orthogonal map of the block's entries.
    """
    model = probed.model
    where = model.places()[place].ravel()
    columns, outputs = len(where) // rows, product(probed.point, 1).shape[1]
    draws = -(-DRAWS * columns // outputs)
    if len(where) != rows * columns or draws * len(where) > MOST_EVALUATIONS:
        return None
    rng = np.random.default_rng(24)
    # n × (draws · k) × entries
    points = rng.standard_normal((draws, model.size))
    slopes = np.concatenate(
        [_slopes(product, probed, place, each, rows) for each in points], axis=1
    )
    gram = np.einsum("ite,jse->ijts", slopes, slopes) if rows * draws * outputs < 2000 else None
    if gram is None:
        return None
    mean = np.einsum("iits->ts", gram) / rows
    off = np.abs(gram - np.eye(rows)[:, :, None, None] * mean).max()
    values, vectors = np.linalg.eigh(mean)
    if off > EQUAL * np.abs(mean).max() or len(values) < columns:
        return None
    kept = slice(len(values) - columns, None)
    if values[kept][0] <= EQUAL * values[-1]:
        return None
    inverse = (vectors[:, kept] / np.sqrt(values[kept])).T
    turn = np.einsum("at,ite->iae", inverse, slopes).reshape(rows * columns, -1)
    left, _, right = np.linalg.svd(turn)
    parts = sparse.csr_array(
        (
            (left @ right).ravel(),
            (np.repeat(np.arange(len(where)), len(where)), np.tile(where, len(where))),
        ),
        shape=(len(where), model.size),
    )
    return Factor((rows, columns), parts)


def _rest(product: Product, probed: Probed, place: int, first: Factor) -> Product:
    """`Z = W₂ ⋯ W_L`, read off with W₁ set to rows of the identity, as many at a time as it has."""
    where = probed.model.places()[place].ravel()
    rows, columns = first.shape
    selections = []
    for begin in range(0, columns, rows):
        selection = np.zeros((rows, columns))
        count = min(rows, columns - begin)
        selection[np.arange(count), begin + np.arange(count)] = 1.0
        selections.append((first.matrix.T @ selection.ravel())[where])

    def rest(flat: Float, count: int) -> Float:
        found = []
        here = flat.copy()
        for begin, selection in zip(range(0, count, rows), selections, strict=False):
            here[where] = selection
            found.append(product(here, min(rows, count - begin)))
        return np.concatenate(found)[:count]

    return rest


def _turned(last: Factor, product: Product, probed: Probed, place: int) -> Factor:
    """The last factor turned by the orthogonal constant that is after it, a multiple of it."""
    constant = _rest(product, probed, place, last)(probed.point, last.shape[1])
    if constant.shape[0] != constant.shape[1]:
        return last
    size = float(np.linalg.norm(constant)) / math.sqrt(len(constant))
    unit = constant / size if size > 0 else np.eye(len(constant))
    rounded = np.rint(unit)
    unit = rounded if np.abs(unit - rounded).max() <= ROUNDING else unit
    rows = last.shape[0]
    turn = sparse.kron(sparse.eye_array(rows), sparse.csr_array(unit.T))
    return Factor(last.shape, sparse.csr_array(turn @ last.matrix))
