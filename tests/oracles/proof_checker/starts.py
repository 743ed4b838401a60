"""Why the loss of a product of matrices vanishes, checked anew."""

from fractions import Fraction
from itertools import pairwise

from mpmath import iv
from tests.oracles.proof_checker.arithmetic import Rejected, dot, interval

__all__ = ["check_loss"]


def check_loss(problem, exported, rows):
    """By what the witness says."""
    matrices, kind = _matrices(problem), exported["witness"]["start"]
    if kind == "assumed":
        if len(exported["assumed"]) != 1 or "loss falls" not in exported["assumed"][0]:
            raise Rejected("what must be assumed is not said")
        return
    if exported["assumed"]:
        raise Rejected("more is assumed than needed")
    dense = problem["network"].startswith("FullyConnected")
    holds = {
        "descends": lambda: _descends(problem, matrices, rows),
        "kept": lambda: dense and _kept(matrices, exported["witness"]["vector"]),
        "ordered": lambda: dense and _ordered(matrices),
    }[kind]
    if not holds():
        raise Rejected("the loss is not shown to vanish")


def _matrices(problem):
    """Layers whose product is β."""
    layers = [
        [[Fraction(v) for v in row] for row in layer]
        if isinstance(layer[0], list)
        else [Fraction(v) for v in layer]
        for layer in problem["direction"]
    ]
    if problem["network"].startswith("RankOne"):
        turned = [_column(layers[0])]
        for k, layer in enumerate(layers[1:]):
            turned.append(_column(layer) if k % 2 else [layer])
        return turned
    return [*layers[:-1], _column(layers[-1])]


def _column(vector):
    return [[one] for one in vector]


def _times(a, b):
    return [[dot(row, column) for column in zip(*b, strict=True)] for row in a]


def _transposed(a):
    return [list(row) for row in zip(*a, strict=True)]


def _descends(problem, matrices, rows):
    product = matrices[-1]
    for one in matrices[-2::-1]:
        product = _times(one, product)
    margins = [dot(row, [v[0] for v in product]) for row in rows]
    if not any(margins):
        return _moves(rows, matrices)
    log_scale, scale = problem.get("log_scale"), problem.get("scale")
    if float("inf") in (log_scale, scale):
        return min(margins) >= 0
    if log_scale == float("-inf") or scale == 0:
        return sum(margins) > 0
    s = interval(scale) if log_scale is None else iv.exp(interval(log_scale))
    # e^x − 1 by its series where x is small, or digits are lost.
    total = iv.mpf(0)
    for one in margins:
        power = -(s ** len(matrices)) * interval(one)
        risen = _expm1(power)
        total += iv.log(1 + risen / 2) if problem["loss"] == "logistic" else risen
    return total.b < 0


def _expm1(x):
    if not (x.a > -1e-3 and x.b < 1e-3):
        return iv.exp(x) - 1
    # The rest of the series is below twice its next term.
    term, total = x, iv.mpf(0)
    for k in range(2, 400):
        total += term
        term = term * x / k
    return total + iv.mpf([-1, 1]) * 2 * abs(term)


def _moves(rows, matrices):
    """Some gradient of a layer is not zero, where all samples weigh alike."""
    for place in range(len(matrices)):
        head = [[sum(column)] for column in zip(*rows, strict=True)]
        for one in matrices[:place]:
            head = _times(_transposed(one), head)
        tail = [[Fraction(1)]]
        for one in matrices[:place:-1]:
            tail = _times(one, tail)
        if any(v[0] for v in head) and any(v[0] for v in tail):
            return True
    return False


def _kept(matrices, vector):
    if len(matrices) != 2:
        return False
    v = _column([Fraction(one) for one in vector])
    square = sum(one[0] ** 2 for one in _times(matrices[0], v))
    return square < _times(_transposed(matrices[1]), v)[0][0] ** 2


def _ordered(matrices):
    if len(matrices[-1]) != len(matrices[0]):
        return False
    signs = []
    for a, b in pairwise(matrices):
        first, second = _times(_transposed(a), a), _times(b, _transposed(b))
        apart = [
            [p - q for p, q in zip(*two, strict=True)] for two in zip(first, second, strict=True)
        ]
        signs.append(_smallest(apart))
    return min(signs[:-1], default=0) >= 0 and signs[-1] > 0


def _smallest(matrix):
    """The sign of the smallest eigenvalue, by elimination."""
    sign, left = 1, [list(row) for row in matrix]
    for k, pivots in enumerate(left):
        if pivots[k] < 0 or (pivots[k] == 0 and any(pivots[k + 1 :])):
            return -1
        if pivots[k] == 0:
            sign = 0
            continue
        for i in range(k + 1, len(left)):
            factor = left[i][k] / pivots[k]
            left[i] = [a - factor * b for a, b in zip(left[i], pivots, strict=True)]
    return sign
