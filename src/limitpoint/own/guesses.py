"""Models with too many parameters to be probed one by one: networks as they are usually written.

Blocks that are layers as they stand, or matrices in one order or the other, all transposed or none,
up to a constant. Whether a guess is right is checked like everything else.
"""

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from limitpoint.networks import Diagonal, Network, Paired, Power, SignedPower
from limitpoint.own.chain import Factor, form_of_factors, networks_of
from limitpoint.own.derivative import Probed
from limitpoint.own.form import Form
from limitpoint.own.layer_map import LayerMap, gathered

__all__ = ["guesses"]


def guesses(probed: Probed) -> Iterator[Form]:
    """Entrywise networks where blocks have one entry per feature, and products of matrices."""
    model, degree = probed.model, probed.degree
    shape = np.shape(model.coef(model.start))
    places = model.places()
    if degree is None:
        return
    if len(shape) == 1 and all(each.size == shape[0] for each in places):
        kinds: dict[int, Network] = {1: Power(degree), 2: SignedPower(degree), 4: Paired()}
        tried = [Diagonal(degree), kinds.get(len(places))] if degree > 1 else []
        parts = [gathered(each.ravel(), model.size) for each in places]
        mapped = LayerMap.stacked(parts, (shape,) * len(parts))
        for network in tried:
            if network is not None:
                yield Form(network, mapped, f"{network} as it stands")
    yield from _matrices(probed, shape)


def _matrices(probed: Probed, shape: tuple[int, ...]) -> Iterator[Form]:
    """`W₁ ⋯ W_L`, each block a matrix or a vector."""
    model, several = probed.model, len(shape) == 2
    ends = (shape[0], shape[1] if several else 1)
    blocks = [each for each in model.places() if each.ndim in (1, 2)]
    if len(blocks) < len(model.places()) or len(blocks) < 2:
        return
    for ordered in (blocks, blocks[::-1]):
        for transposed in (False, True):
            matrices = [np.atleast_2d(each) for each in ordered]
            matrices = [each.T if transposed else each for each in matrices]
            # A vector is a column at the end of the product.
            if matrices[-1].shape[0] == 1 and ends[1] == 1:
                matrices[-1] = matrices[-1].T
            linked = all(a.shape[1] == b.shape[0] for a, b in pairwise(matrices))
            if not linked or (matrices[0].shape[0], matrices[-1].shape[1]) != ends:
                continue
            factors = [
                Factor((each.shape[0], each.shape[1]), gathered(each, model.size))
                for each in matrices
            ]
            product = np.linalg.multi_dot([probed.point[each] for each in matrices]).ravel()
            weight = float(product @ probed.coef / (product @ product))
            rounded = float(np.rint(weight))
            weight = rounded if rounded and math.isclose(weight, rounded, rel_tol=1e-14) else weight
            for network, name in networks_of(factors, several, probed.start):
                yield form_of_factors(network, name, factors, weight, several)
