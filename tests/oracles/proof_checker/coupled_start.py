"""Starts of rank-one and dense networks, and the split along the row space of X, in fractions."""

from fractions import Fraction
from itertools import pairwise

from mpmath import iv
from tests.oracles.proof_checker.arithmetic import Rejected, dot, interval, solve
from tests.oracles.proof_checker.data import best_fits

__all__ = ["Split", "Start", "assumes", "scale_of"]

# What may be called rounding.
ROUNDING = Fraction(1, 10**10)


def scale_of(problem):
    if problem.get("log_scale") is not None:
        return iv.exp(interval(problem["log_scale"]))
    return interval(problem["scale"])


def assumes(exported, counts):
    """As many assumptions as expected, with these words in them."""
    said = exported["assumed"]
    if len(said) != len(counts) or any(w not in a for w, a in zip(counts, said, strict=True)):
        raise Rejected("not what has to be assumed")


class Split:
    """`X⁺Y` and its dual, and what X does not see of vectors."""

    def __init__(self, problem):
        self.X = [[Fraction(one) for one in row] for row in problem["X"]]
        y = problem["y"]
        self.y = [[Fraction(one) for one in (row if isinstance(row, list) else [row])] for row in y]
        self.kept = _independent(self.X)
        self.rows = [self.X[j] for j in self.kept]
        self.gram = [[dot(a, b) for b in self.rows] for a in self.rows]
        parts = [self._least(list(column)) for column in zip(*self.y, strict=True)]
        self.least = [list(row) for row in zip(*(least for least, _ in parts), strict=True)]
        self.dual = [list(row) for row in zip(*(dual for _, dual in parts), strict=True)]
        found = [[dot(row, column) for column in zip(*self.least, strict=True)] for row in self.X]
        self.fits = found == self.y

    def _least(self, y):
        n = len(self.X[0])
        if not self.kept:
            return [Fraction(0)] * n, [Fraction(0)] * len(y)
        _, targets, T, square = best_fits(self.X, y, self.kept)
        root = solve(self.gram, targets)
        return self._back(root), self._spread(T, square, root)

    def _back(self, root):
        columns = list(zip(*self.rows, strict=True))
        return [dot(list(column), root) for column in columns]

    def _spread(self, T, square, root):
        inverse = solve(square, root)
        return [dot(t, inverse) for t in T]

    def of(self, vector):
        """What X does not see of a vector, and the dual of the rest."""
        if not self.kept:
            return vector, [Fraction(0)] * len(self.y)
        root = solve(self.gram, [dot(row, vector) for row in self.rows])
        _, _, T, square = best_fits(self.X, [Fraction(0)] * len(self.y), self.kept)
        seen = self._back(root)
        return [a - b for a, b in zip(vector, seen, strict=True)], self._spread(T, square, root)

    def times_square(self, vector):
        """`XᵀX` times a vector."""
        shadows = [dot(row, vector) for row in self.X]
        return [dot(list(column), shadows) for column in zip(*self.X, strict=True)]


class Start:
    """The direction of z(0), the degree, the pairs of a rank-one network, and the balance."""

    def __init__(self, problem):
        layers = problem["direction"]
        if problem["network"].startswith("RankOne"):
            self._rank_one([[Fraction(one) for one in layer] for layer in layers])
        elif problem["network"].startswith("FullyConnected"):
            self._dense(layers)
        else:
            raise Rejected("no network of this kind")

    def _rank_one(self, layers):
        first, *inner = layers
        if not any(first):
            raise Rejected("coefficients of zero at the start")
        square, sign, self.pairs, self.off = dot(first, first), 1, [], Fraction(0)
        for u, v in zip(inner[::2], inner[1::2], strict=True):
            uu, vv, uv = dot(u, u), dot(v, v), dot(u, v)
            if uv == 0:
                raise Rejected("an orthogonal pair")
            sign = sign if uv > 0 else -sign
            self.pairs.append((uu + vv - 2 * square, (uu + vv) ** 2 - 4 * uv**2))
            apart = [uu * vv - uv**2, uu - square, vv - square]
            self.off = max(
                self.off, *(abs(one) / square for one in apart[1:]), apart[0] / square**2
            )
        self.along, self.degree = [sign * one for one in first], len(layers)

    def _dense(self, layers):
        matrices = [[[Fraction(one) for one in row] for row in layer] for layer in layers[:-1]]
        last = [Fraction(one) for one in layers[-1]]
        self.along, self.pairs, self.off = last, None, Fraction(0)
        for matrix in reversed(matrices):
            self.along = [dot(row, self.along) for row in matrix]
        if not any(self.along):
            raise Rejected("coefficients of zero at the start")
        columns = [*matrices, [[one] for one in last]]
        for W, V in pairwise(columns):
            turned = [list(column) for column in zip(*W, strict=True)]
            for i, a in enumerate(turned):
                for j, b in enumerate(turned):
                    self.off = max(self.off, abs(dot(a, b) - dot(V[i], V[j])) / dot(last, last))
        self.degree = len(layers)

    def kept_factors(self, floor):
        """`(e + p)² − h` of each pair where none can turn; else None."""
        if self.pairs is None:
            return None
        found = [(floor + delta / 2, square / 4) for delta, square in self.pairs]
        return found if all(p > 0 and p * p > h for p, h in found) else None

    def balance(self):
        """As the witness has to call it."""
        if self.off > ROUNDING:
            raise Rejected("not balanced")
        return "assumed" if self.off else "exact"


def _independent(X):
    """Rows that are no combination of earlier ones."""
    reduced, kept = [], []
    for j, row in enumerate(X):
        row = list(row)
        for pivot, line in reduced:
            row = [a - row[pivot] * b for a, b in zip(row, line, strict=True)]
        pivot = next((i for i, one in enumerate(row) if one), None)
        if pivot is not None:
            reduced.append((pivot, [one / row[pivot] for one in row]))
            kept.append(j)
    return kept
