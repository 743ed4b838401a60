"""Networks that reduce to diagonal ones: orthogonal tensors, even convolutions, commuting sensors.

Transforms are exact in float64 (signed permutations, Hadamard matrices), but for the cosines of a
convolution, which the oracle has to all digits.
"""

from fractions import Fraction
from functools import partial

import numpy as np
from mpmath import mp, mpf
from tests.campaign.coupled import layers_of
from tests.campaign.data import draw_data
from tests.campaign.family import family
from tests.campaign.separable import start_of_diagonal
from tests.oracles.exact import curves
from tests.oracles.exact.rational import dot, exact, times, transposed
from tests.oracles.exact.separable import ExactLimit, number, separable_limit

import limitpoint as lp

HADAMARD = np.kron(*[np.array([[1.0, 1.0], [1.0, -1.0]])] * 2) / 2


def _orthonormal(rng, rows, columns):
    """Orthonormal columns: a signed permutation, four of them mixed where there are four."""
    matrix = np.zeros((rows, columns))
    matrix[rng.permutation(rows)[:columns], np.arange(columns)] = rng.choice([-1.0, 1.0], columns)
    if columns >= 4 and rng.random() < 0.5:
        matrix[:, :4] = matrix[:, :4] @ HADAMARD
    return matrix


def _few_places(values):
    return np.round(values * 64) / 64


def _orthogonal_tensor(rng, scale, decades, depth):
    """S of the units of the columns, or dense; then only rows of X have units."""
    dense = rng.random() < 0.5
    data = draw_data(rng, decades=decades, columns=not dense)
    n = data.X.shape[1]
    S = rng.standard_normal((n, n)) if dense else _orthonormal(rng, n, n)
    if (np.abs(S) == 0.5).any():
        S = np.eye(n)  # a Hadamard matrix would mix the units of columns
    U = [_orthonormal(rng, n + int(rng.integers(0, 3)), n) for _ in range(depth)]
    etas = [_few_places(eta) for eta in start_of_diagonal(rng, depth, n)]
    direction = [matrix @ eta for matrix, eta in zip(U, etas, strict=True)]
    network, init = lp.OrthogonalTensor(S, U), lp.Init(direction, scale)
    task = lp.Regression(data.X, data.y)
    rows = [[dot(x, s) for s in exact(S)] for x in exact(data.X)]

    def oracle():
        layers = [
            times(transposed(exact(matrix)), v)
            for matrix, v in zip(U, layers_of(init), strict=True)
        ]

        def curves_of():
            return [curves.diagonal(*map(number, entry)) for entry in zip(*layers, strict=True)]

        inner = separable_limit(curves_of, rows, data.y)
        with mp.workdps(100):
            back = [[number(a) for a in column] for column in transposed(exact(S))]
            coef = [mp.fdot(column, inner.coef) for column in back]
        return ExactLimit(coef, inner.fits)

    names = ", ".join(repr(matrix.tolist()) for matrix in U)
    return {
        "kind": data.kind,
        "problem": lp.Problem(network, init, task),
        "network": f"lp.OrthogonalTensor({S.tolist()!r}, [{names}])",
        "oracle": oracle,
        "design": np.array([[float(a) for a in row] for row in rows]),
    }


for _depth in (2, 3):
    family(f"OrthTensor {_depth}")(partial(_orthogonal_tensor, depth=_depth))


class Even:
    """Even vectors of a length, folded to their entries at 0 to half of it.

    In the orthonormal basis of cosines a convolution of L even filters with coordinates η_l is the
    even vector with the coordinates `(length/μ)^{(L−1)/2} Π η_l`, μ the entries of a pair.
    """

    def __init__(self, length, depth):
        self.length, self.depth, self.count = length, depth, length // 2 + 1
        places = np.arange(self.count)
        self.pairs = [int(k) for k in np.where((places == 0) | (2 * places == length), 1, 2)]

    def unfolded(self, folded):
        """Of arrays, along the last axis."""
        indices = np.arange(self.length)
        return folded[..., np.minimum(indices, self.length - indices)]

    def cosine(self, k, j):
        """Entry j of the k-th vector of the basis."""
        return mp.sqrt(mpf(self.pairs[k]) / self.length) * mp.cos(2 * mp.pi * j * k / self.length)

    def coordinates(self, vector):
        """Of an even vector of fractions."""
        return [
            mp.fsum(number(a) * self.cosine(k, j) for j, a in enumerate(vector))
            for k in range(self.count)
        ]

    def back(self):
        """The folded coefficients of each product of coordinates, a row for each."""
        stretch = [(self.length / mpf(mu)) ** (mpf(self.depth - 1) / 2) for mu in self.pairs]
        return [
            [stretch[k] * self.cosine(k, j) for j in range(self.count)] for k in range(self.count)
        ]


def _convolutional(rng, scale, decades, depth):
    """Even data and even full filters; rows in units."""
    even = Even(int(rng.integers(2, 9)), depth)
    data = draw_data(rng, decades=decades, columns=False, features=even.count)
    X, sizes = even.unfolded(data.X), (even.length,) * depth
    impulse = np.eye(1, even.count)[0]
    if rng.random() < 0.5:
        folded = [impulse] * (depth - 1) + [np.zeros(even.count)]
    else:
        folded = [rng.standard_normal(even.count) for _ in range(depth)]
    init = lp.Init([even.unfolded(layer) for layer in folded], scale)
    # xᵀβ of even vectors: entries of a pair count twice.
    rows = [[a * k for a, k in zip(row, even.pairs, strict=True)] for row in exact(data.X)]

    def curves_of():
        layers = [even.coordinates(layer) for layer in layers_of(init)]
        return [curves.diagonal(*entries) for entries in zip(*layers, strict=True)]

    def turned(some):
        matrix = even.back()
        return [[mp.fdot(row, column) for column in matrix] for row in some]

    def oracle():
        inner = separable_limit(curves_of, rows, data.y, turned)
        with mp.workdps(100):
            half = [mp.fdot(column, inner.coef) for column in zip(*even.back(), strict=True)]
        coef = [half[min(j, even.length - j)] for j in range(even.length)]
        return ExactLimit(coef, inner.fits)

    return {
        "kind": data.kind,
        "problem": lp.Problem(lp.Convolutional(sizes), init, lp.Regression(X, data.y)),
        "network": f"lp.Convolutional({sizes})",
        "oracle": oracle,
        "design": X,
    }


for _depth in (2, 3):
    family(f"Convolutional {_depth}")(partial(_convolutional, depth=_depth))


def _matrix_product(rng, scale, decades, depth):
    """Sensors diagonal in the standard basis, rows and columns in units, or in another, rows in."""
    side = int(rng.integers(2, 5))
    mixed = side == 4 and rng.random() < 0.5
    data = draw_data(rng, decades=0 if mixed else decades, features=side)
    values = _few_places(data.X) if mixed else data.X
    basis = HADAMARD if mixed else np.eye(side)
    units = np.ones(len(values))
    if mixed:
        units = 2.0 ** rng.integers(-int(3 * decades), int(3 * decades) + 1, len(values))
    sensors = np.stack([(basis * row) @ basis.T for row in units[:, None] * values])
    y = units * data.y
    etas = [_few_places(eta) for eta in start_of_diagonal(rng, depth, side)]
    init = lp.Init([(basis * eta) @ basis.T for eta in etas], scale)
    rows = exact(units[:, None] * values)
    (factor,) = exact([scale])

    def curves_of():
        layers = [[number(factor * a) for a in exact(eta)] for eta in etas]
        return [curves.diagonal(*entries) for entries in zip(*layers, strict=True)]

    def oracle():
        inner = separable_limit(curves_of, rows, y)
        with mp.workdps(100):
            V = [[number(Fraction(float(a))) for a in row] for row in basis]
            coef = [
                mp.fsum(a * r * b for a, r, b in zip(p, inner.coef, q, strict=True))
                for p in V
                for q in V
            ]
        return ExactLimit(coef, inner.fits)

    return {
        "kind": data.kind,
        "problem": lp.Problem(lp.MatrixProduct(depth), init, lp.MatrixSensing(sensors, y)),
        "network": f"lp.MatrixProduct({depth})",
        "oracle": oracle,
        "design": units[:, None] * values,
    }


for _depth in (2, 3):
    family(f"MatrixProduct {_depth}")(partial(_matrix_product, depth=_depth))
