"""Scale zero and scale infinity."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
from mpmath import mp, mpf
from tests.campaign.coupled import case
from tests.campaign.data import draw_data
from tests.campaign.family import FAMILIES, family
from tests.oracles.exact import curves, ends_of_scale
from tests.oracles.exact.one_sample import vanishing_one_sample_limit
from tests.oracles.exact.rational import exact

import limitpoint as lp

SEPARABLE = {
    "Diagonal 2": curves.diagonal,
    "Diagonal 3": curves.diagonal,
    "Diagonal 2 tied": curves.diagonal,
    "Diagonal 3 tied": curves.diagonal,
    "Power 2": lambda u: curves.power(u, 2),
    "Power 3": lambda u: curves.power(u, 3),
    "SignedPower 2": lambda u, w: curves.signed_power(u, w, 2),
    "SignedPower 3": lambda u, w: curves.signed_power(u, w, 3),
    "Paired": curves.paired,
}
COUPLED = ("RankOne 2", "RankOne 3", "FullyConnected 2", "FullyConnected 3", "TwoLayer")


def _at_scale(made, scale, oracle):
    problem = made["problem"]
    return made | {
        "problem": replace(problem, init=problem.init.at_scale(scale)),
        "oracle": oracle,
    }


@family("scale 0")
def vanishing(rng, scale, decades):
    """Networks with mirror coordinates of their own, the sign-constrained ones among them."""
    name = str(rng.choice(list(SEPARABLE)))
    made = FAMILIES[name](rng, 1.0, decades)
    task, direction = made["problem"].task, made["problem"].init.direction

    def oracle():
        with mp.workdps(ends_of_scale.DIGITS):
            entries = zip(*([mpf(float(a)) for a in layer] for layer in direction), strict=True)
            weights = [activation(SEPARABLE[name](*entry)) for entry in entries]
        return ends_of_scale.vanishing_limit(weights, task.X, task.y)

    return _at_scale(made, 0.0, oracle)


def activation(curve):
    """The weights t⁺ and t⁻: of ξ in units of `log(1/s)` where it has no pole."""
    if curve.side is None:
        return mp.inf, mp.inf
    if isinstance(curve, curves.Exponentials):
        one = Fraction(2) / int(curve.rate)
        return (one if curve.plus else mp.inf), (one if curve.minus else mp.inf)
    return curve.high, -curve.low


@family("scale 0 coupled")
def vanishing_coupled(rng, scale, decades):
    """Rank-one, balanced dense and two-layer networks: the solution of least norm."""
    made = FAMILIES[str(rng.choice(COUPLED))](rng, 1.0, decades)
    task = made["problem"].task
    return _at_scale(made, 0.0, lambda: ends_of_scale.least_norm_limit(task.X, task.y))


@family("scale 0 one-s.")
def vanishing_one_sample(rng, scale, decades):
    """One sample and two layers: the top singular vectors."""
    made = FAMILIES["one-s. Tensor"](rng, 1.0, decades)
    problem = made["problem"]

    def oracle():
        x, y = exact(problem.task.X)[0], exact(problem.task.y)[0]
        return vanishing_one_sample_limit(exact(problem.network.M), x, y)

    return _at_scale(made, 0.0, oracle)


@family("scale inf")
def lazy(rng, scale, decades):
    """Networks whose coefficients start at zero: a weighted ℓ2 norm."""
    data = draw_data(rng, decades=decades)
    n = data.X.shape[1]
    depth = int(rng.integers(2, 5))
    u, v = rng.standard_normal(n), rng.standard_normal(n)
    which = int(rng.integers(3))
    squares = exact(u), exact(v)
    if which == 0:
        network, direction = lp.Diagonal(depth), [u] * (depth - 1) + [np.zeros(n)]
        slopes = [a ** (2 * depth - 2) for a in squares[0]]
    elif which == 1:
        network, direction = lp.SignedPower(depth), [u, u]
        slopes = [2 * depth**2 * a ** (2 * depth - 2) for a in squares[0]]
    else:
        network, direction = lp.Paired(), [u, v, u, v]
        slopes = [2 * (a * a + b * b) for a, b in zip(*squares, strict=True)]

    def oracle():
        return ends_of_scale.lazy_limit(slopes, data.X, data.y)

    return case(data, network, f"lp.{network!r}", lp.Init(direction, np.inf), oracle)
