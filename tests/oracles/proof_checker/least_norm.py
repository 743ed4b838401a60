"""The limit of infinite initialisation: a least weighted norm, in fractions."""

from fractions import Fraction
from math import prod

from tests.oracles.proof_checker.arithmetic import Rejected, contain, dot, solve
from tests.oracles.proof_checker.data import best_fits, data_of
from tests.oracles.proof_checker.mirror_maps import network_of

__all__ = ["least_norm"]


def least_norm(problem, exported):
    """`β = DXᵀν` fits the data as well as anything: all in fractions."""
    name, depth = network_of(problem)
    rows = [[Fraction(one) for one in row] for row in zip(*problem["direction"], strict=True)]
    if name == "Paired":
        weights = [sum(one**2 for one in row) for row in rows]
        starts = [row[0] * row[1] - row[2] * row[3] for row in rows]
    elif name == "Diagonal":
        weights = [sum(prod(row[:k] + row[k + 1 :]) ** 2 for k in range(depth)) for row in rows]
        starts = [prod(row) for row in rows]
    else:
        weights = [sum((depth * one ** (depth - 1)) ** 2 for one in row) for row in rows]
        starts = [row[0] ** depth - (row[1] ** depth if len(row) > 1 else 0) for row in rows]
    if problem.get("scale") != float("inf") or any(starts):
        raise Rejected("no least norm")
    moving = [i for i, weight in enumerate(weights) if weight]
    X, y = data_of(problem, moving)
    kept, targets, _, _ = best_fits(X, y, exported["witness"]["rows"])
    weighted = [[weights[i] * one for i, one in zip(moving, row, strict=True)] for row in kept]
    dual = solve([[dot(a, b) for b in weighted] for a in kept], targets)
    coef = [Fraction(0)] * len(weights)
    for k, i in enumerate(moving):
        coef[i] = sum(nu * row[k] for nu, row in zip(dual, weighted, strict=True))
    contain(exported["coef"], coef)
