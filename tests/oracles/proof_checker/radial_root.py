"""Networks whose coefficients move together: one increasing scalar equation, enclosed anew."""

from fractions import Fraction
from itertools import pairwise

from mpmath import iv, mp
from tests.oracles.proof_checker.arithmetic import (
    Rejected,
    claimed,
    contain,
    dot,
    exact,
    flat,
    interval,
)
from tests.oracles.proof_checker.coupled_start import Split, Start, assumes, scale_of

__all__ = ["least_of_all", "radial_root", "saddle"]


def radial_root(problem, exported):
    """`e Π(e + s_k) = ‖X⁺y‖²`: below the goal on one side of the root, above it on the other."""
    start, split = Start(problem), Split(problem)
    least = flat(split.least)
    hidden, seen_dual = split.of(start.along)
    floor, goal = dot(hidden, hidden), dot(least, least)
    shifts = _shifts(start, floor)
    _check_hypotheses(start, split, floor, goal, exported)
    unit = scale_of(problem)
    if start.pairs is None:
        norm = iv.exp(iv.log(interval(dot(start.along, start.along))) / (2 * start.degree))
        unit = unit / norm ** (start.degree - 1)
    shifts = [unit**2 * one for one in shifts]
    multiplier = _multiplier(shifts, goal, exported)
    inverse = 1 / multiplier if goal else iv.mpf(0)
    contain(exported["more"]["multiplier"], [multiplier])
    pairs = list(zip(least, hidden, strict=True))
    coef = [a if b == 0 else interval(a) + multiplier * unit * interval(b) for a, b in pairs]
    contain(exported["coef"], coef)
    seen = [b - c for b, c in zip(hidden, start.along, strict=True)]
    contain(
        exported["mirror"],
        [interval(a) * inverse + unit * interval(b) for a, b in zip(least, seen, strict=True)],
    )
    pairs = zip(flat(split.dual), seen_dual, strict=True)
    contain(exported["dual"], [interval(a) * inverse - unit * interval(b) for a, b in pairs])


def saddle(problem, exported):
    """Exactly balanced, `z(0) = −cXᵀy`, and `Xᵀy` an eigenvector of XᵀX."""
    start, split = Start(problem), Split(problem)
    hidden, seen_dual = split.of(start.along)
    if start.balance() != "exact" or exported["theorem"] != "lyu2023.proposition2" or any(hidden):
        raise Rejected("not on the stable manifold")
    _told(exported, "balance", "exact")
    if exported["fits"] is not False or not any(flat(split.least)):
        raise Rejected("zero is no saddle, or is said to fit")
    assumes(exported, [])
    applied = split.times_square(start.along)
    if not _multiple(start.along, split) < 0 or not _ratio(applied, start.along) > 0:
        raise Rejected("not on a straight line to the saddle")
    if set(flat(exported["coef"]["midpoint"])) != {"0"}:
        raise Rejected("coefficients that do not vanish")
    contain(exported["coef"], [Fraction(0)] * len(start.along))
    unit = scale_of(problem)
    if start.pairs is None:
        norm = iv.exp(iv.log(interval(dot(start.along, start.along))) / (2 * start.degree))
        unit = unit / norm ** (start.degree - 1)
    contain(exported["mirror"], [-unit * interval(one) for one in start.along])
    contain(exported["dual"], [-unit * interval(one) for one in seen_dual])


def least_of_all(problem, exported):
    """`X⁺y` as the scale vanishes, by one of three theorems whose hypotheses are checked."""
    if problem.get("scale") != 0 or exported["bits"] != 0:
        raise Rejected("not at scale 0, or not in rationals")
    split = Split(problem)
    if exported["fits"] != split.fits:
        raise Rejected("not whether the data are fitted")
    if exported["theorem"] == "yun2021.theorem7":
        _check_order(problem, exported)
    else:
        start = Start(problem)
        hidden, _ = split.of(start.along)
        if start.kept_factors(dot(hidden, hidden)) is not None:
            expected, theorem = "not needed", "limitpoint.rank_one_at_zero"
        elif _multiple(start.along, split) < 0:
            raise Rejected("the start points along −Xᵀy")
        else:
            expected, theorem = start.balance(), exported["theorem"]
        if theorem not in ("lyu2023.corollary1.1", "limitpoint.rank_one_at_zero"):
            raise Rejected("no theorem of this")
        if exported["theorem"] != theorem:
            raise Rejected("another theorem")
        _told(exported, "balance", expected)
        assumes(exported, ["balanced"] if expected == "assumed" else [])
    contain(exported["coef"], flat(split.least))
    contain(exported["mirror"], flat(split.least))
    contain(exported["dual"], flat(split.dual))


def _check_hypotheses(start, split, floor, goal, exported):
    if exported["fits"] != split.fits:
        raise Rejected("not whether the data are fitted")
    rank_one = start.pairs is not None
    if start.kept_factors(floor) is not None:
        _told(exported, "balance", "not needed" if start.off else "exact")
        expected = "limitpoint.rank_one" if start.off else "lyu2023.theorem1"
        needed = []
    else:
        balance = start.balance()
        _told(exported, "balance", balance)
        expected = "lyu2023.theorem1" if rank_one else "lyu2023.theorem2"
        needed = ["balanced"] if balance == "assumed" else []
        if floor == 0 and goal != 0:
            needed += _leaves(start, split, exported["witness"]["leaves zero"])
    if exported["theorem"] != expected:
        raise Rejected("another theorem")
    assumes(exported, needed)


def _leaves(start, split, roots):
    """`(r(K)z)ᵀ(r(K)β*) > 0` for the polynomial with these roots."""
    if roots == "assumed":
        return ["saddle"]
    z, target = start.along, flat(split.least)
    for root in roots:
        z, target = (
            [a - Fraction(root) * b for a, b in zip(split.times_square(one), one, strict=True)]
            for one in (z, target)
        )
    if not dot(z, target) > 0:
        raise Rejected("the polynomial does not show that training leaves zero")
    return []


def _shifts(start, floor):
    """The `s_k` at scale 1, in intervals."""
    factors = start.kept_factors(floor)
    if factors is None:
        return [interval(floor)] * (start.degree - 1)
    found = []
    for middle, square in factors:
        larger = interval(middle) + iv.sqrt(interval(square))
        found += [larger, interval(middle**2 - square) / larger]
    return found


def _multiplier(shifts, goal, exported):
    """Ξ: Newton's method for `log e` from the claimed one, and then the two signs."""
    if goal == 0:
        return iv.sqrt(_product(shifts))
    middle, _ = claimed(exported["more"]["multiplier"])[0]
    b = mp.mpf(goal.numerator) / goal.denominator
    e = b / (mp.mpf(middle.numerator) / middle.denominator) ** 2
    for _ in range(200):
        middles = [mp.mpf(one.mid) for one in shifts]
        value = mp.log(e / b) + sum(mp.log(e + s) for s in middles)
        step = value / (1 + sum(e / (e + s) for s in middles))
        e = e * mp.exp(-step)
        if abs(step) < mp.mpf(2) ** (-mp.prec * 3 // 4):
            break
    wide = mp.mpf(2) ** (-mp.prec * 2 // 3)
    low, high = (iv.mpf(e) * (1 + iv.mpf(one)) for one in (-wide, wide))
    below, above = (one * _product([one + s for s in shifts]) for one in (low, high))
    if not (exact(below.b) < goal < exact(above.a)):
        raise Rejected("no root near the claimed multiplier")
    return iv.sqrt(interval(goal) / iv.mpf([low.a, high.b]))


def _check_order(problem, exported):
    """Theorem 7 where no neuron is idle, by the signs of characteristic polynomials."""
    matrices = _busy(problem["direction"])
    n, order = len(problem["X"][0]), "exact"
    if any(len(one) != n for one in matrices):
        raise Rejected("hidden layers of another width than the data")
    for place, (W, V) in enumerate(pairwise(matrices)):
        turned = [list(column) for column in zip(*W, strict=True)]
        D = [
            [dot(a, b) - dot(V[i], V[j]) for j, b in enumerate(turned)]
            for i, a in enumerate(turned)
        ]
        strictly = place == len(matrices) - 2
        coefs = characteristic(D)
        signs = [one * (-1) ** k >= 0 for k, one in enumerate(coefs)]
        if strictly and not (all(signs) and coefs[-1] != 0):
            raise Rejected("the last layer is not below the one before")
        order = order if all(signs) else "assumed"
    _told(exported, "order", order)
    if bool(exported["assumed"]) != (order == "assumed"):
        raise Rejected("not what has to be assumed")


def _busy(layers):
    """The layers as matrices of fractions, without neurons that nothing links to either end."""
    layers = [*layers[:-1], [[one] for one in layers[-1]]]
    matrices = [[[Fraction(one) for one in row] for row in layer] for layer in layers]
    links = {
        frozenset([(k, i), (k + 1, j)])
        for k, W in enumerate(matrices)
        for i, row in enumerate(W)
        for j, one in enumerate(row)
        if one
    }
    reached = {(0, i) for i in range(len(matrices[0]))} | {(len(matrices), 0)}
    while more := {end for link in links if link & reached for end in link} - reached:
        reached |= more
    kept = [sorted(i for k, i in reached if k == place) for place in range(len(matrices) + 1)]
    return [
        [[W[i][j] for j in to] for i in of]
        for W, of, to in zip(matrices, kept, kept[1:], strict=False)
    ]


def characteristic(matrix):
    """The coefficients of `det(x − A)`, highest power first (Faddeev and Le Verrier)."""
    n = len(matrix)
    coefs, current = [Fraction(1)], [[Fraction(0)] * n for _ in range(n)]
    for k in range(1, n + 1):
        raised = [
            [current[i][j] + (coefs[-1] if i == j else 0) for j in range(n)] for i in range(n)
        ]
        columns = [list(column) for column in zip(*raised, strict=True)]
        current = [[dot(row, column) for column in columns] for row in matrix]
        coefs.append(-sum(current[i][i] for i in range(n)) / k)
    return coefs


def _told(exported, name, value):
    if exported["witness"].get(name) != value:
        raise Rejected("the witness calls the start something else")


def _multiple(along, split):
    """The c with `along = c Xᵀy`; 0 where there is none."""
    y = [row[0] for row in split.y]
    return _ratio(along, [dot(list(column), y) for column in zip(*split.X, strict=True)])


def _ratio(one, other):
    if not any(other):
        return Fraction(0)
    share = dot(one, other) / dot(other, other)
    return share if one == [share * b for b in other] else Fraction(0)


def _product(values):
    found = iv.mpf(1)
    for one in values:
        found = found * one
    return found
