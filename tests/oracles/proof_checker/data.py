"""Data as fractions, and what all best fits of them have in common."""

from fractions import Fraction

from tests.oracles.proof_checker.arithmetic import Rejected, dot, solve

__all__ = ["best_fits", "data_of"]


def best_fits(X, y, kept):
    """What the best fits give in the kept rows, and the way from those to the dual.

    Every row is a combination `T` of the kept ones, found from `X_R X_Rᵀ t = X_R x` and checked.
    """
    rows = [X[j] for j in kept]
    gram = [[dot(a, b) for b in rows] for a in rows]
    T = [solve(gram, [dot(row, x) for row in rows]) for x in X]
    for t, x in zip(T, X, strict=True):
        if [dot(t, [row[i] for row in rows]) for i in range(len(x))] != x:
            raise Rejected("a row left out is not made of those kept")
    square = [[sum(t[a] * t[b] for t in T) for b in range(len(kept))] for a in range(len(kept))]
    right = [sum(t[a] * target for t, target in zip(T, y, strict=True)) for a in range(len(kept))]
    return rows, solve(square, right), T, square


def data_of(problem, moving):
    X = [[Fraction(row[i]) for i in moving] for row in problem["X"]]
    return X, [Fraction(one) for one in problem["y"]]
