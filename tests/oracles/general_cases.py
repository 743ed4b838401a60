"""Random formulas of general networks and starts for them, each a number in a fixed sequence."""

from dataclasses import dataclass

import numpy as np
from tests.oracles.many_digits.general_series import (
    Block,
    Expression,
    exp_minus_1,
    expm1,
    sin,
    tanh,
    variables,
)

KINDS = ("axes", "turned", "sparse", "space", "curved", "mixed")
# Orthogonal rows of whole numbers: f(Mθ) has the rows as eigenvectors, exactly.
TURNED = {
    2: (((1, 1), (1, -1)), ((3, 1), (-1, 3)), ((1, 2), (-2, 1))),
    3: (((1, 1, 1), (1, -1, 0), (1, 1, -2)), ((1, 2, 2), (2, 1, -2), (2, -2, 1))),
}


@dataclass(frozen=True)
class Case:
    """One formula and one start."""

    name: str
    f: Expression
    matrix: tuple[tuple[int, ...], ...]
    direction: tuple[float, ...]
    scale: float

    @property
    def block(self):
        """For the oracle."""
        return Block(self.f, self.matrix)

    def k(self, library):
        """For the network: `f(Mθ)`, as a user would write it."""
        rows = [[float(x) for x in row] for row in self.matrix]
        if rows == np.eye(len(rows)).tolist():
            return lambda z: self.f(z, library)
        return lambda z: self.f([sum(c * z[j] for j, c in enumerate(row)) for row in rows], library)


def random_case(number):
    """Kinds of k, starts and scales in turn."""
    rng = np.random.default_rng([20, number])
    kind = KINDS[number % len(KINDS)]
    size = 3 if kind == "space" else 2
    z = variables(size)
    matrix = np.eye(size, dtype=int)
    if kind == "turned" or (kind == "space" and number % 4 < 2):
        matrix = np.array(TURNED[size][int(rng.integers(len(TURNED[size])))])
    norms = (matrix**2).sum(axis=1)
    eigenvalues = _numbers(rng, size, 0.3, 2.0) * np.where(rng.random(size) < 0.5, 1, -1)
    eigenvalues[:2] = np.abs(eigenvalues[:2]) * [1, -1]
    if kind == "curved":
        f = _curved(rng, z)
    else:
        f = 0 * z[0]
        for value, x, norm in zip(eigenvalues, z, norms, strict=True):
            f = f + float(value / 2 / norm) * x * x
        if kind == "mixed":
            f = f + float(_numbers(rng, 1, 0.2, 1.0)[0]) * _bump(rng, z)
        for _ in range(int(rng.integers(1, 3 if kind == "sparse" else 4))):
            f = f + _monomial(rng, z)
    scale = float(10.0 ** -rng.choice([0, 0.5, 1, 2, 4, 8, 16, 24, 40]))
    direction = _direction(rng, matrix / np.sqrt(norms)[:, None])
    return Case(f"{number} {kind}", f, tuple(map(tuple, matrix.tolist())), direction, scale)


def _numbers(rng, count, low, high):
    """Multiples of 1/64, so that sums and products of a few are exact."""
    return np.round(rng.uniform(low, high, count) * 64) / 64


def _monomial(rng, z):
    """Cubic to quintic."""
    term = float(_numbers(rng, 1, 0.1, 1.0)[0] * rng.choice([-1, 1])) + 0 * z[0]
    for j in rng.integers(0, len(z), int(rng.choice([3, 3, 3, 4, 5]))):
        term = term * z[j]
    return term


def _bump(rng, z):
    """Terms from the third order on."""
    a, b = (z[j] for j in rng.permutation(len(z))[:2])
    return [
        lambda: a * a * sin(b),
        lambda: b * b * tanh(a),
        lambda: a * b * expm1(a),
        lambda: tanh(a) ** 3,
        lambda: sin(a) * sin(b) * a,
        lambda: a * a * exp_minus_1(b),
        lambda: b * b * sin(0.5 * a) ** 2,
    ][int(rng.integers(7))]()


def _curved(rng, z):
    """Functions whose quadratic part is nondegenerate, and that are no polynomials."""
    a, b = z
    c = float(_numbers(rng, 1, 0.3, 2.0)[0])
    return [
        lambda: a * tanh(a) - c * exp_minus_1(b) ** 2,
        lambda: sin(a) * b + c * a**3,
        lambda: tanh(c * a * b),
        lambda: expm1(a * b) + c * a * a * b,
        lambda: c * expm1(a) ** 2 - sin(b) ** 2,
        lambda: a * expm1(b) - c * b * tanh(a) * a,
        lambda: c * a * sin(a) - b * b + a * b * b,
        lambda: 2 * c * sin(0.5 * a) ** 2 - b * tanh(b) + a * a * b,
    ][int(rng.integers(8))]()


def _direction(rng, rows):
    """Generic, on an eigenvector, or near one."""
    how = rng.random()
    if how < 0.5:
        return tuple(rng.uniform(-1, 1, len(rows)).tolist())
    small = 0.0 if how < 0.6 else 10.0 ** -rng.uniform(1, 14)
    weights = small * rng.uniform(-1, 1, len(rows))
    weights[rng.integers(len(rows))] = 1.0
    return tuple((weights @ rows).tolist())
