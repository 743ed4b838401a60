"""Limits of networks with a diagonal one within, from the limit of that one, enclosed anew."""

from fractions import Fraction

from mpmath import iv
from tests.oracles.proof_checker.arithmetic import Rejected, contain, dot, interval, solve
from tests.oracles.proof_checker.data import best_fits
from tests.oracles.proof_checker.face_root import on_face
from tests.oracles.proof_checker.mirror_maps import diagonal_map
from tests.oracles.proof_checker.mirror_root import enclosed
from tests.oracles.proof_checker.within import within

__all__ = ["least_products", "products", "products_on_face"]


def products(problem, exported):
    """The root of the dual problem, by Krawczyk's test."""
    found = within(problem, exported["witness"])
    maps = _maps(problem, found)
    still = [i for i, one in enumerate(maps) if one is None]
    moving = [i for i, one in enumerate(maps) if one is not None]
    fits = _fits(problem, exported, found, moving)
    A = [[_wide(found.data[j][i]) for i in moving] for j in _kept(problem, exported)]
    pairs = enclosed([maps[i] for i in moving], A, fits, exported)
    values = dict(zip(moving, (value for value, _ in pairs), strict=True))
    _compare(exported, found, {**values, **dict.fromkeys(still, iv.mpf(0))})


def products_on_face(problem, exported):
    """With products that their signs force to zero; data are then rational."""
    found = within(problem, exported["witness"])
    if not found.rational:
        raise Rejected("data that are not rational")
    y = [Fraction(one) for one in problem["y"]]
    maps = _maps(problem, found)
    rest = on_face(maps, _sides(found), found.data, y, exported)
    forced = dict.fromkeys(exported["witness"]["forced"], iv.mpf(0))
    # What is no part of any fit stays where it starts.
    still = {
        i: iv.mpf(0) if one is None else one(iv.mpf(0))[0]
        for i, one in enumerate(maps)
        if i not in rest and i not in forced
    }
    if len(rest) + len(forced) + len(still) != len(found.layers) or set(rest) & set(forced):
        raise Rejected("a product is missing")
    _compare(exported, found, {**still, **forced, **{i: v for i, (v, _) in rest.items()}})


def least_products(problem, exported):
    """At infinite scale: `w ⊙ ρ = DAᵀν` fits the data as well as anything."""
    found = within(problem, exported["witness"])
    starts = [_all(row) for row in found.layers]
    if problem.get("scale") != float("inf") or any(0 not in _wide(one) for one in starts):
        raise Rejected("no least norm")
    D = [
        weight * sum(_all([*row[:k], *row[k + 1 :]]) ** 2 for k in range(len(row)))
        if isinstance(_all(row), Fraction)
        else _wide(weight)
        * sum(_wide(_all([*row[:k], *row[k + 1 :]])) ** 2 for k in range(len(row)))
        for row, weight in zip(found.layers, found.weights, strict=True)
    ]
    moving = [i for i, one in enumerate(D) if one != 0]
    _, targets, _, _ = _fits(problem, exported, found, moving)
    rows = [[found.data[j][i] for i in moving] for j in _kept(problem, exported)]
    rational = all(isinstance(one, Fraction) for row in [*rows, D] for one in row)
    if not rational:
        rows, D = [[_wide(one) for one in row] for row in rows], [_wide(one) for one in D]
        targets = [interval(one) for one in targets]
    scaled = [[D[i] * one for i, one in zip(moving, row, strict=True)] for row in rows]
    gram = [[dot(a, b) for b in scaled] for a in rows]
    dual = solve(gram, targets) if rational else list(iv.lu_solve(iv.matrix(gram), targets))
    values = {
        i: _wide(sum(nu * row[k] for nu, row in zip(dual, scaled, strict=True)))
        for k, i in enumerate(moving)
    }
    still = set(range(len(D))) - set(moving)
    _compare(exported, found, {**values, **dict.fromkeys(still, iv.mpf(0))})


def _wide(one):
    return interval(one) if isinstance(one, Fraction) else one


def _all(numbers):
    found = Fraction(1)
    for one in numbers:
        pair = found, one
        if not all(isinstance(a, Fraction) for a in pair):
            pair = (_wide(a) for a in pair)
        first, second = pair
        found = first * second
    return found


def _maps(problem, found):
    log_scale = problem.get("log_scale")
    if problem.get("scale") in (0, float("inf")):
        raise Rejected("the scale is not finite")
    s = iv.exp(interval(log_scale)) if log_scale is not None else interval(problem["scale"])
    return [
        _weighted(diagonal_map(list(layers), s), interval(weight))
        for layers, weight in zip(found.layers, found.weights, strict=True)
    ]


def _weighted(one, weight):
    return None if one is None else lambda x: tuple(weight * value for value in one(x))


def _sides(found):
    """1 or −1 where the two smallest of the layers agree in modulus."""
    sides = []
    for layers in found.layers:
        smallest, second, *_ = sorted(abs(one) for one in layers)
        product = _all(layers)
        sides.append(0 if smallest != second else (product > 0) - (product < 0))
    return sides


def _kept(problem, exported):
    return exported["witness"].get("rows", list(range(len(problem["y"]))))


def _fits(problem, exported, found, moving):
    """Best fits by those that move: relations of rational data, or of all where all move."""
    y = [Fraction(one) for one in problem["y"]]
    relations = found.relations
    if found.rational:
        relations = [[row[i] for i in moving] for row in found.data]
    elif len(moving) < len(found.layers):
        raise Rejected("numbers that are not rational with products that never move")
    return best_fits(relations, y, _kept(problem, exported))


def _compare(exported, found, values):
    columns = zip(*found.back, strict=True)
    coef = [sum(_wide(s) * values[i] for i, s in enumerate(column)) for column in columns]
    contain(exported["coef"], coef)
