"""Margin problems of the ℓ2 and the ℓ1 norm, by fractions; and why some are refused.

A solution is proved by multipliers. Nothing is used of the proof but these, and where β is not
zero.
"""

import re
from fractions import Fraction

from mpmath import iv
from tests.oracles.proof_checker.arithmetic import Rejected, contain, dot, flat, interval, solve
from tests.oracles.proof_checker.starts import check_loss

__all__ = ["euclidean_margin", "not_separable", "not_unique", "signed", "sparse_margin", "unit"]

CONVERGES = "the negative gradient Xᵀr converges in direction, which the theorem supposes"


def signed(problem):
    """The rows `y_i x_i`, of a classification."""
    if problem["task"] != "Classification" or not set(problem["y"]) <= {-1.0, 1.0}:
        raise Rejected("no classification")
    return [
        [Fraction(label) * Fraction(one) for one in row]
        for label, row in zip(problem["y"], problem["X"], strict=True)
    ]


def unit(coef):
    """`β/‖β‖`."""
    balls = [interval(one) if isinstance(one, Fraction) else one for one in coef]
    norm = iv.sqrt(sum((one**2 for one in balls), iv.mpf(0)))
    return [one / norm for one in balls], norm


def euclidean_margin(problem, exported):
    """`β = Aᵀμ`, `μ ≥ 0`, margins at least 1, and 1 where `μ_i > 0`."""
    rows, multipliers = signed(problem), _multipliers(exported, problem)
    if not re.match(r"FullyConnected|RankOne", problem["network"]):
        raise Rejected("not a network of this norm")
    coef = [dot(multipliers, column) for column in zip(*rows, strict=True)]
    _check_margins(rows, coef, multipliers)
    _compare_coef(exported, coef)
    direction, norm = unit(coef)
    contain(exported["more"]["direction"], direction)
    contain(exported["mirror"], direction)
    dual = [Fraction(y) * m for y, m in zip(problem["y"], multipliers, strict=True)]
    contain(exported["dual"], [interval(one) / norm for one in dual])
    check_loss(problem, exported, rows)


def sparse_margin(problem, exported):
    """β is zero but where `|ξ_j| = 1`; there its columns are independent where `μ_i > 0`."""
    rows, multipliers = signed(problem), _multipliers(exported, problem)
    S, layers, assumed = _transform(problem)
    if exported["assumed"] != [CONVERGES, *assumed]:
        raise Rejected("not what must be assumed")
    if S is not None:
        # Full column rank: else the Gram matrix is singular.
        columns = list(zip(*S, strict=True))
        solve([[dot(a, b) for b in columns] for a in columns], [Fraction(0)] * len(columns))
    inside = rows if S is None else [[dot(row, line) for line in S] for row in rows]
    for j, (a, b) in enumerate(zip(*layers, strict=True)):
        if abs(a) == abs(b) and any(row[j] for row in inside):
            raise Rejected("the layers start alike in some coordinate")
    rho = _least(inside, multipliers, exported["witness"])
    coef = rho if S is None else [dot(rho, column) for column in zip(*S, strict=True)]
    _compare_coef(exported, coef)
    contain(exported["more"]["direction"], unit(coef)[0])
    if S is not None:
        contain(exported["more"]["coordinates"], rho)
    dual = [Fraction(y) * m for y, m in zip(problem["y"], multipliers, strict=True)]
    contain(exported["dual"], dual)
    contain(exported["mirror"], [dot(multipliers, column) for column in zip(*rows, strict=True)])


def _least(rows, multipliers, witness):
    """The solution from where it is not zero, if it is one and the only one."""
    support, tight = witness["support"], [i for i, one in enumerate(multipliers) if one > 0]
    if sorted(set(support)) != support or not support or len(tight) < len(support):
        raise Rejected("no vertex")
    columns = [[rows[i][j] for i in tight] for j in support]
    gram = [[dot(a, b) for b in columns] for a in columns]
    values = solve(gram, [sum(column) for column in columns])
    rho = [Fraction(0)] * len(rows[0])
    for j, value, sign in zip(support, values, witness["signs"], strict=True):
        if value * sign <= 0:
            raise Rejected("a coefficient has another sign")
        rho[j] = value
    _check_margins(rows, rho, multipliers)
    for j, column in enumerate(zip(*rows, strict=True)):
        along = dot(multipliers, column)
        if j in support:
            if along != (1 if rho[j] > 0 else -1):
                raise Rejected("a dual image is not 1")
        elif not abs(along) < 1:
            raise Rejected("another coefficient could be used")
    return rho


def _multipliers(exported, problem):
    found = [Fraction(one) for one in exported["witness"]["multipliers"]]
    if len(found) != len(problem["y"]) or any(one < 0 for one in found):
        raise Rejected("no multipliers")
    return found


def _check_margins(rows, coef, multipliers):
    for row, one in zip(rows, multipliers, strict=True):
        margin = dot(row, coef)
        if margin < 1 or (one and margin != 1):
            raise Rejected("a margin is not what it must be")


def _compare_coef(exported, coef):
    contain(exported["coef"], coef)
    said = flat(exported["coef"].get("exact", []))
    if said and [Fraction(one) for one in said] != coef:
        raise Rejected("not the fractions")


def _transform(problem):
    """S, the layers in its coordinates, and what of the network holds to rounding only."""
    diagonal = problem["network"] == "Diagonal(depth=2)"
    if not diagonal and not problem["network"].startswith("OrthogonalTensor"):
        raise Rejected("not a network of this norm")
    layers = [[Fraction(one) for one in layer] for layer in problem["direction"]]
    if len(layers) != 2:
        raise Rejected("not two layers")
    if diagonal:
        return None, layers, []
    bases = [[[Fraction(one) for one in row] for row in U] for U in problem["U"]]
    columns = [list(zip(*U, strict=True)) for U in bases]
    alike = all(
        dot(a, b) == (i == j)
        for part in columns
        for i, a in enumerate(part)
        for j, b in enumerate(part)
    )
    etas = [[dot(c, v) for c in part] for part, v in zip(columns, layers, strict=True)]
    assumed = "the columns of the U_l are orthonormal, which they are to rounding"
    return [[Fraction(one) for one in row] for row in problem["S"]], etas, [assumed] * (not alike)


def not_unique(problem, exported):
    """Two solutions of one ℓ1 norm, both with margins of at least 1; and no less is enough."""
    rows = signed(problem)
    S, _, _ = _transform(problem)
    inside = rows if S is None else [[dot(row, line) for line in S] for row in rows]
    one, other = ([Fraction(v) for v in exported["witness"][name]] for name in ("one", "other"))
    multipliers = _multipliers(exported, problem)
    value = sum(multipliers)
    if one == other or any(abs(dot(multipliers, c)) > 1 for c in zip(*inside, strict=True)):
        raise Rejected("no proof of the least norm")
    for rho in (one, other):
        if min(dot(row, rho) for row in inside) < 1 or sum(map(abs, rho)) != value:
            raise Rejected("not a solution")


def not_separable(rows, weights):
    """`Σ d_i y_i x_i = 0`, `d ≥ 0`, not zero."""
    d = [Fraction(one) for one in weights]
    if min(d) < 0 or not any(d) or any(dot(d, column) for column in zip(*rows, strict=True)):
        raise Rejected("no proof that the classes are not separable")
