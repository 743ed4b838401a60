"""Classifications whose limit directions are proved in several tests."""

import json
from fractions import Fraction

import numpy as np
from mpmath import mp, mpf

import limitpoint as lp

TWO_POINTS = lp.Classification([[1, 2], [0, -3]], [1, -1])
HADAMARD = lp.OrthogonalTensor([[1, 1], [1, -1]], [np.eye(2), np.eye(2)])


def leading(network, task, seed=0, **scale):
    """A start whose last layer is the smaller one, and separates if the product is dense."""
    rng = np.random.default_rng(seed)
    layers = [rng.standard_normal(shape) for shape in network.layer_shapes(task)]
    if isinstance(network, lp.FullyConnected | lp.RankOne):
        layers[0] = layers[0] * 0
    else:
        layers[-1] = layers[-1] / 16
    return lp.Problem(network, lp.Init(layers, **(scale or {"scale": 0.5})), task)


def random_task(m, n, seed, loss="exponential"):
    rng = np.random.default_rng(seed)
    return lp.Classification(
        rng.standard_normal((m, n)), np.sign(rng.standard_normal(m)), loss=loss
    )


def contains(balls, numbers):
    """Whether every ball contains its number: fractions exactly, others as a barrier finds them.

    That of 140 digits ends at a gap of 1e-50, and at its square root where samples tie.
    """
    if all(isinstance(one, Fraction) for one in numbers):
        pairs = zip(balls.midpoint.ravel(), balls.radius.ravel(), strict=True)
        return all(
            abs(Fraction(m) - one) <= Fraction(r)
            for (m, r), one in zip(pairs, numbers, strict=True)
        )
    with mp.workdps(140):
        allowed = max(abs(one) for one in numbers) * mpf(10) ** -20
        triples = zip(balls.midpoint.ravel(), balls.radius.ravel(), numbers, strict=True)
        return all(abs(mpf(m) - x) <= mpf(r) + allowed for m, r, x in triples)


def exported(proof):
    return json.loads(json.dumps(proof.to_dict()))
