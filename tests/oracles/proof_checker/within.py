"""The diagonal network within another one, `β = Sᵀ(w ⊙ ρ)` on the data `XSᵀ`, from the export.

Fractions where numbers are rational, else intervals: cosines, and eigenvalues found by sign changes
of the minimal polynomial of one matrix C of which all others are polynomials.
"""

import ast
import re
from dataclasses import dataclass
from fractions import Fraction

from mpmath import iv, mp
from tests.oracles.proof_checker.arithmetic import Rejected, dot, exact, interval
from tests.oracles.proof_checker.one_sample import combination

__all__ = ["Within", "within"]

# Denominators of `k/n` where `cos 2πk/n` is rational (Niven).
RATIONAL_COSINES = {1: 1, 2: -1, 3: Fraction(-1, 2), 4: 0, 6: Fraction(1, 2)}


@dataclass
class Within:
    """Data and rows with their relations, one per sample; layers, weights and S, per product."""

    data: list
    layers: list
    weights: list
    back: list
    relations: list

    @property
    def rational(self):
        return all(isinstance(one, Fraction) for row in self.data for one in row)


def within(problem, witness):
    name, given = re.fullmatch(r"(\w+)\((.*)\)", problem["network"]).groups()
    X = _fractions(problem["X"])
    if name == "OrthogonalTensor":
        return _orthogonal(problem, X)
    if name == "Convolutional":
        sizes = ast.literal_eval(given.partition("=")[2])
        if set(sizes) != {len(X[0])}:
            raise Rejected("filters that are not as long as the data")
        return _even(problem, X)
    if name == "MatrixProduct":
        return _matrices(problem, X, witness)
    raise Rejected("not a network with a diagonal one within")


def _fractions(nested):
    return [_fractions(one) for one in nested] if isinstance(nested, list) else Fraction(nested)


def _orthogonal(problem, X):
    S, U = _fractions(problem["S"]), _fractions(problem["U"])
    for turn in U:
        off = [
            abs(dot(a, b) - (i == j))
            for i, a in enumerate(zip(*turn, strict=True))
            for j, b in enumerate(zip(*turn, strict=True))
        ]
        if max(off) > Fraction(1, 10**12):
            raise Rejected("columns that are not orthonormal, nor nearly")
    etas = [
        [dot(column, layer) for column in zip(*turn, strict=True)]
        for turn, layer in zip(U, _fractions(problem["direction"]), strict=True)
    ]
    data = [[dot(x, s) for s in S] for x in X]
    return Within(data, list(zip(*etas, strict=True)), [Fraction(1)] * len(S), S, data)


def _even(problem, X):
    size = len(X[0])
    even = [[(one + row[-j]) / 2 for j, one in enumerate(row)] for row in X]
    filters = [
        [(one + row[-j]) / 2 for j, one in enumerate(row)]
        for row in _fractions(problem["direction"])
    ]
    frequencies = range(size // 2 + 1)
    waves = [[_cosine(j * k, size) for j in range(size)] for k in frequencies]
    return Within(
        [[_product(row, wave) for wave in waves] for row in even],
        [[_product(row, wave) for row in filters] for wave in waves],
        [Fraction(1 if 2 * k in (0, size) else 2, size) for k in frequencies],
        waves,
        even,
    )


def _cosine(k, size):
    turn = Fraction(k, size) % 1
    if turn.denominator in RATIONAL_COSINES:
        return Fraction(RATIONAL_COSINES[turn.denominator])
    return iv.cos(2 * iv.pi * interval(turn))


def _product(rational, numbers):
    """A fraction where all that count are."""
    terms = [(a, b) for a, b in zip(rational, numbers, strict=True) if a]
    if all(isinstance(b, Fraction) for _, b in terms):
        return sum((a * b for a, b in terms), Fraction(0))
    return sum((interval(a) * (interval(b) if isinstance(b, Fraction) else b) for a, b in terms))


def _matrices(problem, X, witness):
    layers = _fractions(problem["direction"])
    side = range(len(layers[0]))
    flat = X + [[one for row in layer for one in row] for layer in layers]
    if "basis" in witness:
        back = _near_basis(_fractions(witness["basis"]), flat)
        weights = [Fraction(1)] * len(back)
    else:
        for one in flat:
            if any(one[len(side) * i + j] != one[len(side) * j + i] for i in side for j in side):
                raise Rejected("a matrix is not symmetric")
        weights, back = _eigenspaces(flat, witness["combination"], len(side))
    values = [[_product(one, part) for part in back] for one in flat]
    data, etas = values[: len(X)], values[len(X) :]
    relations = data if "basis" in witness else X
    return Within(data, list(zip(*etas, strict=True)), weights, back, relations)


def _near_basis(basis, flat):
    """The matrices `v_kv_kᵀ`, if the vectors are nearly orthonormal and common eigenvectors."""
    columns, side = list(zip(*basis, strict=True)), len(basis)
    limit = Fraction(1, 10**9)
    for i, a in enumerate(columns):
        for j, b in enumerate(columns):
            if abs(dot(a, b) - (i == j)) > limit:
                raise Rejected("vectors that are not orthonormal, nor nearly")
            for one in flat:
                turned = sum(a[k // side] * v * b[k % side] for k, v in enumerate(one))
                if i != j and abs(turned) > limit * max(map(abs, one)):
                    raise Rejected("matrices that are not diagonal there, nor nearly")
    return [[p * q for p in column for q in column] for column in columns]


def _eigenspaces(flat, combined, side):
    """Dimensions, and projectors over them, of `C = Σ c_i A_i/max|A_i|`."""
    sizes = [max(map(abs, one)) or 1 for one in flat]
    C = [
        sum(Fraction(c) * one[k] / size for c, one, size in zip(combined, flat, sizes, strict=True))
        for k in range(side * side)
    ]
    powers = [[Fraction(int(i == j)) for i in range(side) for j in range(side)]]
    while True:
        following = _times(powers[-1], C, side)
        relation = combination(powers, following)
        if relation is not None:
            break
        powers.append(following)
    if any(combination(powers, one) is None for one in flat):
        raise Rejected("a matrix is no polynomial of the combination")
    roots = _roots([-one for one in relation] + [Fraction(1)])
    weights, back = [], []
    for root in roots:
        part = [interval(one) for one in powers[0]]
        if all(isinstance(one, Fraction) for one in roots):
            part = powers[0]
        for other in roots:
            if other is not root:
                factor = [_minus(c, other, k % (side + 1) == 0) for k, c in enumerate(C)]
                gap = root - other
                part = [one / gap for one in _times(part, factor, side)]
        trace = sum(part[:: side + 1])
        dimension = round(float(trace if isinstance(trace, Fraction) else mp.mpf(trace.mid)))
        weights.append(Fraction(dimension))
        back.append([one / dimension for one in part])
    if sum(weights) != side:
        raise Rejected("the dimensions do not add up")
    return weights, back


def _minus(entry, root, diagonal):
    entry = entry if isinstance(root, Fraction) else interval(entry)
    return entry - root if diagonal else entry


def _times(a, b, side):
    lines = range(side)
    return [dot(a[i * side : (i + 1) * side], b[j::side]) for i in lines for j in lines]


def _roots(polynomial):
    """All of them, each by a change of sign: real and simple, as many as the degree."""
    degree = len(polynomial) - 1

    def at(x):
        found = Fraction(0)
        for one in reversed(polynomial):
            found = found * x + one
        return found

    with mp.workprec(4 * mp.prec):
        near = mp.polyroots(
            [mp.mpf(c.numerator) / c.denominator for c in polynomial],
            asc=True,
            maxsteps=400,
            extraprec=4 * mp.prec,
        )
    found = []
    for one in sorted(exact(mp.mpf(r.real)) for r in near):
        reach = Fraction(2) ** -mp.prec * max(abs(one), 1)
        simple = one.limit_denominator(2**100)
        if at(simple) == 0:
            found.append(simple)
        elif at(one - reach) * at(one + reach) < 0:
            found.append(iv.mpf([interval(one - reach).a, interval(one + reach).b]))
        else:
            raise Rejected("an eigenvalue is not found")
    if len(set(map(str, found))) != degree:
        raise Rejected("eigenvalues cannot be told apart")
    if not all(isinstance(one, Fraction) for one in found):
        found = [interval(one) if isinstance(one, Fraction) else one for one in found]
    return found
