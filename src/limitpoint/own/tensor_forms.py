"""Models that are multilinear in their blocks: circular convolutions, and any tensor."""

import math
from collections.abc import Iterator

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.networks import Convolutional, Tensor
from limitpoint.networks.kinds.multilinear import LARGEST_TENSOR
from limitpoint.own.derivative import EQUAL, ROUNDING, Probed
from limitpoint.own.form import Form
from limitpoint.own.layer_map import LayerMap, gathered
from limitpoint.own.model import Places
from limitpoint.own.polar import MOST_EVALUATIONS, Polar

__all__ = ["convolutional_forms", "tensor_forms"]


def convolutional_forms(probed: Probed) -> list[Form]:
    """Circular convolutions, in any order, with filters reversed, shifted or permuted.

    Unit filters give a unit vector, at the sum of their places modulo n. Where the first entries of
    all give `t₀`, entry j of one and the first of the others give `t₀ + o(j)`: o is the place of
    the entry in its filter; of short filters it is so up to the least, by which the last filter,
    which is as long as the data, is turned instead.
    """
    polar = Polar.of(probed) if probed.outputs == 1 else None
    if polar is None or len(polar.sizes) < 2:
        return []
    count, sizes = len(probed.coef), polar.sizes
    if max(sizes) != count:
        return []
    firsts = [np.eye(1, size)[0] for size in sizes]
    here = _single(polar.at(*firsts))
    if here is None:
        return []
    start, weight = here
    offsets, signs = [], []
    for place, size in enumerate(sizes):
        ones = [
            _single(polar.at(*firsts[:place], unit, *firsts[place + 1 :])) for unit in np.eye(size)
        ]
        if any(one is None or abs(abs(one[1] / weight) - 1) > EQUAL for one in ones):
            return []
        offsets.append(np.array([(one[0] - start) % count for one in ones if one]))
        signs.append(np.array([np.sign(one[1] / weight) for one in ones if one]))
    return _convolutional(probed, polar, offsets, signs, start, weight)


def _single(coef: Float) -> tuple[int, float] | None:
    """The place and value of the only coefficient that is not zero."""
    place = int(np.abs(coef).argmax())
    others = np.delete(np.abs(coef), place)
    if coef[place] == 0.0 or others.max(initial=0.0) > EQUAL * abs(coef[place]):
        return None
    return place, float(coef[place])


def _convolutional(
    probed: Probed,
    polar: Polar,
    offsets: list[Places],
    signs: list[Float],
    start: int,
    weight: float,
) -> list[Form]:
    count = len(probed.coef)
    last = max(place for place, size in enumerate(polar.sizes) if size == count)
    order = [*(place for place in range(len(offsets)) if place != last), last]
    weight *= polar.growth
    stretch = 1.0 if abs(weight) == 1.0 else abs(weight) ** (1 / len(order))
    parts, turn = [], start
    for place in order:
        size, offset = polar.sizes[place], offsets[place]
        if place == last:
            offset = (offset + turn) % count
        else:
            filter_ = signs[place] * probed.start[polar.places[polar.sources[place]]]
            least = _window(offset, count) if size < count else _centre(offset, filter_)
            if least is None:
                return []
            offset, turn = (offset - least) % count, turn + least
        if len(set(offset.tolist())) != size:
            return []
        entries, weights = np.empty(size, dtype=np.intp), np.empty(size)
        entries[offset] = polar.places[polar.sources[place]]
        weights[offset] = stretch * polar.shares[place] * signs[place]
        if place == last:
            weights *= math.copysign(1.0, weight)
        parts.append(gathered(entries, probed.model.size, weights))
    network = Convolutional(tuple(polar.sizes[place] for place in order))
    shapes = tuple((polar.sizes[place],) for place in order)
    kind = "full-length" if network.is_full_length else "short"
    name = f"circular convolutions with {kind} filters, of depth {network.depth}"
    return [Form(network, LayerMap.stacked(parts, shapes), name)]


def _window(offsets: Places, count: int) -> int | None:
    """The place from which these are places in a row, modulo n."""
    taken = {int(each) for each in offsets}
    for least in sorted(taken):
        if taken == {(least + step) % count for step in range(len(offsets))}:
            return least
    return None


def _centre(offsets: Places, filter_: Float) -> int:
    """The place about which a full-length filter is even, if there is one: theorems ask for it."""
    placed = np.zeros(len(filter_))
    placed[offsets] = filter_
    mirrored = -np.arange(len(filter_))
    for centre in range(len(filter_)):
        turned = np.roll(placed, -centre)
        if np.abs(turned - turned[mirrored]).max() <= ROUNDING * np.abs(turned).max():
            return centre
    return 0


def tensor_forms(probed: Probed) -> Iterator[Form]:
    """The tensor of the multilinear function, entry by entry; of all entries where blocks mix."""
    for polar in (Polar.of(probed), Polar.of_all(probed)):
        if probed.outputs == 1 and polar is not None and can_form(probed, polar):
            yield _tensor(probed, polar)


def _tensor(probed: Probed, polar: Polar) -> Form:
    sizes = polar.sizes
    tensor = np.empty((len(probed.coef), *sizes))
    units = [np.eye(size) for size in sizes]
    for index in np.ndindex(*sizes):
        tensor[(slice(None), *index)] = polar.at(
            *(unit[place] for unit, place in zip(units, index, strict=True))
        )
    parts = [
        gathered(polar.places[source], probed.model.size, share)
        for source, share in zip(polar.sources, polar.shares, strict=True)
    ]
    network = Tensor(polar.growth * tensor)
    mapped = LayerMap.stacked(parts, tuple((k,) for k in sizes))
    return Form(network, mapped, f"tensor network of sizes {sizes}")


def can_form(probed: Probed, polar: Polar) -> bool:
    """Whether the tensor fits into memory, and is not too costly to be read off."""
    entries = math.prod(polar.sizes)
    fits = entries * len(probed.coef) <= LARGEST_TENSOR
    return len(polar.sizes) >= 2 and fits and entries * polar.cost <= MOST_EVALUATIONS
