"""Coefficients that their signs force to zero, by fractions; the root of the others, enclosed anew.

All that is used of the proof is which coefficients are forced, one vector, and where the root is.
"""

from fractions import Fraction

from tests.oracles.proof_checker.arithmetic import Rejected, contain, dot, interval
from tests.oracles.proof_checker.data import best_fits
from tests.oracles.proof_checker.mirror_maps import maps_of, network_of, starts_of
from tests.oracles.proof_checker.mirror_root import enclosed, poles_of

__all__ = ["face_root", "on_face"]


def face_root(problem, exported):
    maps, sides = maps_of(problem), sides_of(problem)
    rows = [[Fraction(one) for one in row] for row in problem["X"]]
    found = on_face(maps, sides, rows, [Fraction(one) for one in problem["y"]], exported)
    forced = exported["witness"]["forced"]
    still = {
        i: (one, Fraction(0))
        for i, one in enumerate(starts_of(problem))
        if i not in forced and i not in found
    }
    _compare(exported, {**found, **still}, forced, sides)


def on_face(maps, sides, rows, y, exported):
    """Coefficients and mirror coordinates of all that move and are not forced."""
    witness, columns = exported["witness"], list(zip(*rows, strict=True))
    forced = witness["forced"]
    if not forced or len(set(forced)) != len(forced):
        raise Rejected("no coefficients that are forced")
    if any(not 0 <= i < len(maps) or maps[i] is None or not sides[i] for i in forced):
        raise Rejected("a coefficient is forced that has no side")
    # Those that are no part of any fit stay where they start.
    alive = [
        i for i, one in enumerate(maps) if one is not None and any(columns[i]) and i not in forced
    ]
    fits = _fits(([[row[i] for i in alive] for row in rows], y), witness, alive)
    _check_face(columns, sides, y, fits[0], witness, alive)
    _check_interior(columns, sides, fits[0], witness, alive)
    found = {}
    if alive:
        A = [[interval(one) for one in row] for row in fits[1][0]]
        moved = [maps[i] for i in alive]
        pairs = enclosed(moved, A, fits[1], exported, poles_of(exported, alive, moved))
        found = dict(zip(alive, pairs, strict=True))
    return found


def sides_of(problem):
    """1 or −1 for a coefficient that cannot change to the other sign, 0 for one that can."""
    name, depth = network_of(problem)
    found = []
    for row in zip(*problem["direction"], strict=True):
        row = [Fraction(one) for one in row]
        if name in ("Diagonal", "Paired"):
            a, b, c, d = (*row, 0, 0)[:4]
            up, down = a + b or c - d, a - b or c + d
        elif depth % 2:
            terms = [sign * one for sign, one in zip((1, -1), row, strict=False)]
            up, down = any(one > 0 for one in terms), any(one < 0 for one in terms)
        else:
            up, down = (*row, 0)[:2]
        found.append(bool(up) - bool(down))
    return found


def _fits(data, witness, alive):
    """`Xβ` of all best fits by the columns alive, and these in independent rows."""
    X, y = data
    if not alive:
        return [Fraction(0)] * len(y), None
    rows, kept, T, square = best_fits(X, y, witness.get("rows", list(range(len(y)))))
    return [dot(t, kept) for t in T], (rows, kept, T, square)


def _check_face(columns, sides, y, targets, witness, alive):
    """The residual points out of no constraint, and one vector tells the two kinds apart."""
    if [Fraction(one) for one in witness["targets"]] != targets:
        raise Rejected("not what the best fits by those alive give")
    residual = [a - b for a, b in zip(y, targets, strict=True)]
    said = witness.get("residual", ["0"] * len(y))
    if [Fraction(one) for one in said] != residual:
        raise Rejected("not the residual")
    vector = [Fraction(one) for one in witness["farkas"]]
    if any(dot(columns[i], vector) != 0 for i in alive):
        raise Rejected("the vector is not orthogonal to what is alive")
    for i in witness["forced"]:
        if not sides[i] * dot(columns[i], vector) > 0 or sides[i] * dot(columns[i], residual) > 0:
            raise Rejected("a coefficient is not forced")


def _check_interior(columns, sides, targets, witness, alive):
    point = [Fraction(one) for one in witness["interior"]]
    if len(point) != len(columns) or any(point[i] for i in witness["forced"]):
        raise Rejected("not a point of the face")
    if [dot(row, point) for row in zip(*columns, strict=True)] != targets:
        raise Rejected("the point inside does not fit")
    if any(sides[i] and not sides[i] * point[i] > 0 for i in alive):
        raise Rejected("the point is not inside")


def _compare(exported, found, forced, sides):
    """Balls of those that are not forced; exact zeros and infinities of those that are."""
    for i in forced:
        coef, mirror = (
            [exported[k][p][i] for p in ("midpoint", "radius")] for k in ("coef", "mirror")
        )
        if coef != ["0", "0"] or mirror != ["-inf" if sides[i] > 0 else "inf", "0"]:
            raise Rejected("a coefficient that is forced is not zero")
    rest = sorted(found)
    if len(rest) + len(forced) != len(exported["coef"]["midpoint"]):
        raise Rejected("of another length")
    for place, name in enumerate(("coef", "mirror")):
        balls = {part: [exported[name][part][i] for i in rest] for part in ("midpoint", "radius")}
        contain(balls, [found[i][place] for i in rest])
