"""Networks whose coefficients move on curves of their own."""

from functools import partial

import numpy as np
from mpmath import mp, mpf
from tests.campaign.data import draw_data
from tests.campaign.family import family
from tests.oracles.exact import curves
from tests.oracles.exact.separable import separable_limit

import limitpoint as lp

MOST_FEATURES = 9
# Of a network with ties: the share of coordinates that tie, and of those that never move.
TIED = 0.6
STILL = 0.05


def scaled(init):
    """The layers as exact numbers, direction × scale, one tuple per coefficient."""
    scale = mp.exp(mpf(init.log_scale)) if init.log_scale_given else mpf(init.scale)
    layers = [[scale * mpf(float(a)) for a in layer] for layer in init.direction]
    return list(zip(*layers, strict=True))


def separable(network, name, curve, direction, scale, data):
    """A case of a network whose coefficients move on curves of their own."""
    task = lp.Regression(data.X, data.y)
    init = lp.Init(direction, scale)

    def oracle_at(start):
        def curves_of():
            return [curve(*entries) for entries in scaled(start)]

        return separable_limit(curves_of, task.X, task.y)

    return {
        "kind": data.kind,
        "problem": lp.Problem(network, init, task),
        "network": name,
        "oracle": lambda: oracle_at(init),
        "oracle_at": oracle_at,
        "design": task.X,
    }


def _diagonal(rng, scale, decades, depth):
    data = draw_data(rng, decades=decades)
    direction = start_of_diagonal(rng, depth, data.X.shape[1])
    name = f"lp.Diagonal({depth})"
    return separable(lp.Diagonal(depth), name, curves.diagonal, direction, scale, data)


def start_of_diagonal(rng, depth, n):
    """Random layers, or equal ones (all ones half of the time) and a last one of zero."""
    if rng.random() < 0.5:
        return [rng.standard_normal(n) for _ in range(depth)]
    shared = np.ones(n) if rng.random() < 0.5 else rng.standard_normal(n)
    return [shared] * (depth - 1) + [np.zeros(n)]


def _power(rng, scale, decades, depth):
    odd = depth % 2 == 1
    size = MOST_FEATURES
    turns = np.where(rng.random(size) < 0.5, -1.0, 1.0) if odd else np.ones(size)
    data = draw_data(rng, decades=decades, signs=lambda rng, n: turns[:n])
    n = data.X.shape[1]
    moduli = np.ones(n) if rng.random() < 0.5 else np.abs(rng.standard_normal(n))
    curve = partial(curves.power, depth=depth)
    name = f"lp.Power({depth})"
    return separable(lp.Power(depth), name, curve, [turns[:n] * moduli], scale, data)


def _signed_power(rng, scale, decades, depth):
    data = draw_data(rng, decades=decades)
    n = data.X.shape[1]
    u = np.ones(n) if rng.random() < 0.3 else rng.standard_normal(n)
    w = u if rng.random() < 0.5 else rng.standard_normal(n)
    if depth % 2 == 1:  # opposite signs would be a sign constraint
        w = np.copysign(w, u)
    curve = partial(curves.signed_power, depth=depth)
    name = f"lp.SignedPower({depth})"
    return separable(lp.SignedPower(depth), name, curve, [u, w], scale, data)


for _depth in (2, 3, 5):
    family(f"Diagonal {_depth}")(partial(_diagonal, depth=_depth))
for _depth in (2, 3, 4):
    family(f"Power {_depth}")(partial(_power, depth=_depth))
for _depth in (2, 3, 4):
    family(f"SignedPower {_depth}")(partial(_signed_power, depth=_depth))


@family("Paired")
def paired(rng, scale, decades):
    data = draw_data(rng, decades=decades)
    n = data.X.shape[1]
    direction = [rng.standard_normal(n) for _ in range(4)]
    if rng.random() < 0.5:
        direction[2:] = direction[:2]
    return separable(lp.Paired(), "lp.Paired()", curves.paired, direction, scale, data)


def _tied(rng, scale, decades, depth):
    """Most coordinates with their two smallest layers equal in modulus: a sign constraint."""
    layers = rng.standard_normal((depth, MOST_FEATURES))
    order = np.argsort(np.abs(layers), axis=0)
    low, next_low = (np.take_along_axis(layers, order[k : k + 1], axis=0)[0] for k in (0, 1))
    tied = rng.random(MOST_FEATURES) < TIED
    low = np.where(tied, np.copysign(next_low, low), low)
    np.put_along_axis(layers, order[:1], low[None], axis=0)
    still = rng.random(MOST_FEATURES) < STILL
    layers[:2, still] = 0.0
    signs = np.where(tied, np.sign(layers.prod(axis=0)), 0.0)
    data = draw_data(rng, decades=decades, signs=lambda rng, n: signs[:n])
    n = data.X.shape[1]
    direction = [layer[:n] for layer in layers]
    name = f"lp.Diagonal({depth})"
    return separable(lp.Diagonal(depth), name, curves.diagonal, direction, scale, data)


for _depth in (2, 3):
    family(f"Diagonal {_depth} tied")(partial(_tied, depth=_depth))


@family("SignedPower 3 opp.")
def opposite(rng, scale, decades):
    """`u³ − w³` from opposite signs, which keeps the sign of u."""
    signs = np.where(rng.random(MOST_FEATURES) < 0.5, -1.0, 1.0)
    data = draw_data(rng, decades=decades, signs=lambda rng, n: signs[:n])
    n = data.X.shape[1]
    u, w = (turn * signs[:n] * np.abs(rng.standard_normal(n)) for turn in (1, -1))
    if rng.random() < 0.3:
        w = np.zeros(n)
    curve = partial(curves.signed_power, depth=3)
    return separable(lp.SignedPower(3), "lp.SignedPower(3)", curve, [u, w], scale, data)
