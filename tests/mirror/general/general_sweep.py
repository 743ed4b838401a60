"""Tables of general networks against series of thirty digits, for random formulas and starts.

`python -m tests.mirror.general.general_sweep 0 150` prints one line for each curve that is wrong or
ends early, and the count. A curve of either side is compared at one place of every step of the
oracle, until |k| is 1e7.
"""

import itertools
import sys
from decimal import Decimal

import numpy as np
from tests.oracles.general_cases import random_case
from tests.oracles.many_digits.general_series import samples

from limitpoint.errors import NetworkError
from limitpoint.mirror.general.block_model import BlockModel
from limitpoint.mirror.general.tabulated_map import TabulatedMap

DIGITS = 30
# Curves are followed until k is this large, at most so many steps.
LARGEST, PIECES = Decimal(10) ** 7, 150
# What a table claims, of k beside the change that a relative change of the block makes: what ends
# tables. And of ξ: next to a pole any rounding of ξ is all of k.
CLAIMED, CLAIMED_OF_MIRROR = 1e-9, 1e-12
EPS = np.finfo(np.float64).eps


def model_of(case):
    """The formula as a model, without JAX: derivatives by the rules of calculus, in NumPy."""
    matrix = np.array(case.matrix, dtype=float)
    size = len(matrix)
    known = {(): case.f}

    def derivative(axes):
        if axes not in known:
            known[axes] = derivative(axes[:-1]).derivative(axes[-1])
        return known[axes]

    def tensor(order):
        result = np.zeros((size,) * order)
        for axes in itertools.combinations_with_replacement(range(size), order):
            value = float(derivative(axes)([0.0] * size, np))
            for same in set(itertools.permutations(axes)):
                result[same] = value
        for _ in range(order):
            result = np.tensordot(result, matrix, axes=(0, 0))
        return result

    def at(axes, z):
        return np.broadcast_to(np.asarray(derivative(axes)(list(z.T), np), float), len(z))

    def gradient(blocks):
        return np.stack([at((i,), blocks @ matrix.T) for i in range(size)], axis=1) @ matrix

    def hessian(blocks):
        z = blocks @ matrix.T
        rows = [[at((min(i, j), max(i, j)), z) for j in range(size)] for i in range(size)]
        return np.einsum("ai,abn,bj->nij", matrix, np.array(rows), matrix)

    return BlockModel.of(
        tensor(2),
        [tensor(order) for order in (3, 4, 5)],
        lambda blocks: np.array(at((), blocks @ matrix.T)),
        gradient,
        hessian,
    )


def table_of(case):
    return TabulatedMap.from_blocks(
        [model_of(case)], np.array([case.direction]), float(np.log(case.scale))
    )


def curve_of(case, side, *, largest=LARGEST, pieces=PIECES):
    block = case.block
    start = block.start(case.direction, case.scale)
    return samples(block, start, side, DIGITS, largest=largest, pieces=pieces)


def errors(mirror, found):
    """`|Δk|/(|k| + ‖φ‖‖∇k‖)` at samples of the exact curve; NaN where the table says nothing.

    Less what the error of ξ that is claimed makes of it, and the rounding of log|k|.
    """
    xi = np.array([one_xi for one_xi, _, _, _ in found])
    signs, logs = mirror.signs_and_logs(xi[:, None])
    result = []
    for (one_xi, k, size, slope), sign, log in zip(found, signs[:, 0], logs[:, 0], strict=True):
        if not log < np.inf:
            result.append(np.nan if np.isnan(log) else np.inf)
            continue
        own = Decimal(float(sign)) * (Decimal(float(log)).exp() if log > -np.inf else 0)
        digits = 1 + (abs(Decimal(float(log))) if log > -np.inf else 0)
        shift = Decimal(CLAIMED_OF_MIRROR) * abs(Decimal(one_xi)) * slope**2
        rounding = Decimal(8 * EPS) * digits * abs(k)
        off = max(abs(own - k) - shift - rounding, Decimal(0))
        result.append(float(off / (abs(k) + size * slope)))
    return np.array(result)


def main(first, last):
    curves = wrong = early = refused = 0
    for number in range(first, last):
        case = random_case(number)
        for side in (1, -1):
            try:
                found = curve_of(case, side)
            except ArithmeticError as cause:  # the oracle's own limits
                print(case.name, side, "no oracle:", cause, flush=True)
                continue
            curves += 1
            try:
                off = errors(table_of(case), found)
            except NetworkError as cause:
                refused += 1
                print(case.name, side, cause, flush=True)
                continue
            known = ~np.isnan(off)
            worst = off[known].max(initial=0.0)
            wrong += bool(worst > CLAIMED)
            early += not known.all()
            if worst > CLAIMED or not known.all():
                part = f"known {known.mean():.0%} of the way to k = {float(found[-1][1]):.3g}"
                print(f"{case.name} {side} scale {case.scale:.0e}: {worst:.1e}, {part}", flush=True)
    print(f"{curves} curves: {wrong} wrong, {early} end early, {refused} refused")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
