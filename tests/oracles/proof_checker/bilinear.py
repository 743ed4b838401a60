"""Networks of two layers as `β_i = Σ_b V₁[:, b]ᵀ A_i V₂[:, b]`, from the export alone."""

import ast
import re
from fractions import Fraction

from tests.oracles.proof_checker.arithmetic import Rejected

__all__ = ["forms_of"]


def forms_of(problem):
    """The entries of each A_i that are not zero, and the columns of V₁ and V₂, as fractions."""
    name, given = re.fullmatch(r"(\w+)\((.*)\)", problem["network"]).groups()
    first, second = (_fractions(layer) for layer in problem["direction"])
    features = range(len(problem["X"][0]))
    if name == "FullyConnected":
        return (
            [{(i, 0): 1} for i in features],
            list(zip(*first, strict=True)),
            [[w] for w in second],
        )
    if name == "MatrixProduct":
        side = range(len(first))
        return [{(a, b): 1} for a in side for b in side], list(zip(*first, strict=True)), second
    if name == "Convolutional":
        short, size = ast.literal_eval(given.partition("=")[2])
        forms = [{(a, (i - a) % size): 1 for a in range(short)} for i in features]
    elif name == "Tensor":
        forms = [_sparse(one) for one in _fractions(problem["M"])]
    elif name == "OrthogonalTensor":
        S, (left, right) = _fractions(problem["S"]), _fractions(problem["U"])
        forms = [_sparse(_weighted(left, weights, right)) for weights in zip(*S, strict=True)]
    elif name == "Diagonal":
        forms = [{(i, i): 1} for i in features]
    else:
        raise Rejected("not a network of two layers")
    return forms, [first], [second]


def _weighted(left, weights, right):
    return [
        [sum(a * w * b for a, w, b in zip(p, weights, q, strict=True)) for q in right] for p in left
    ]


def _fractions(nested):
    return [_fractions(one) for one in nested] if isinstance(nested, list) else Fraction(nested)


def _sparse(matrix):
    return {(a, b): v for a, row in enumerate(matrix) for b, v in enumerate(row) if v}
