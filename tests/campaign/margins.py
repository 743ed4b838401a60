"""Limit directions against exact solutions, on ties and in all units: a campaign.

`python -m tests.campaign.margins ties 200` and `... units 100` print, for each family of networks
and each kind of data, how many directions are certified, how many of these are wrong, and how many
right ones are refused.
"""

import sys
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from tests.oracles.exact.exact_margin import solve_exactly
from tests.oracles.many_digits.margin_mp import (
    fourier_rows,
    is_unique_to_many_digits,
    solve_to_many_digits,
)

import limitpoint as lp
from limitpoint.theory.solvers.margin import (
    Coordinates,
    Euclidean,
    Fourier,
    Transformed,
    margin_limit,
)
from limitpoint.theory.solvers.margin.approach import approach
from limitpoint.theory.theorems.yun2021.dense_directions import COROLLARY_1
from limitpoint.theory.theorems.yun2021.diagonal_directions import (
    COROLLARY_2,
    COROLLARY_3,
    THEOREM_2,
)

FAMILIES = ("diagonal", "convolutional", "dense", "tensor")
# What a certified direction may be off, in what each coefficient contributes to each sample.
WRONG = 1e-6


@dataclass(frozen=True, eq=False)
class Case:
    """Data, classes, the transform of a tensor network, and what is exactly true of them."""

    family: str
    X: np.ndarray
    y: np.ndarray
    S: np.ndarray | None
    coef: np.ndarray
    unique: bool

    @property
    def signed(self):
        return self.y[:, None] * self.X

    def limit(self):
        """The direction by the theorem of the family, whose conditions on the start are not asked.

        Of one sample `predict` prefers another theorem.
        """
        task = lp.Classification(self.X, self.y)
        theorem, space = {
            "diagonal": (COROLLARY_2, Coordinates()),
            "convolutional": (COROLLARY_3, Fourier(self.X.shape[1])),
            "dense": (COROLLARY_1, Euclidean()),
            "tensor": (THEOREM_2, None if self.S is None else Transformed(self.S)),
        }[self.family]
        network = self.network()
        init = lp.Init([np.ones(shape) for shape in network.layer_shapes(task)], 1.0)
        return margin_limit(lp.Problem(network, init, task), theorem, space, approach)

    def network(self):
        n = self.X.shape[1]
        if self.family == "diagonal":
            return lp.Diagonal(2)
        if self.family == "convolutional":
            return lp.Convolutional((n, n))
        if self.family == "dense":
            return lp.FullyConnected((n,))
        r = len(self.S)
        return lp.OrthogonalTensor(self.S, [np.eye(r), np.eye(r)])

    def error(self, coef):
        """`max |x_ji Δβ_i| / (|x_j|ᵀ|β| + 1)`."""
        sizes = np.abs(self.X) @ np.abs(self.coef) + 1.0
        return float((np.abs(self.X) @ np.abs(coef - self.coef) / sizes).max())

    def hidden(self):
        """The sum of moduli in a margin, relative to it, where it is largest.

        Beyond 1e-9/EPS, some 1e6, the coefficients as floats cannot have the margins.
        """
        return float((np.abs(self.X) @ np.abs(self.coef) / (self.signed @ self.coef)).max())

    def condition(self):
        """The condition number of the rows in the coordinates of the norm, equilibrated."""
        rows, groups = self.signed, np.arange(self.X.shape[1])
        if self.family == "convolutional":
            spectrum = np.fft.rfft(rows, norm="ortho")
            rows = np.hstack([spectrum.real, spectrum.imag])
            groups = np.tile(np.arange(spectrum.shape[1]), 2)
        elif self.family == "dense":
            groups = np.zeros(self.X.shape[1], dtype=int)
        elif self.family == "tensor":
            rows = rows @ self.S.T
            groups = np.arange(len(self.S))
        for _ in range(20):
            rows = rows / _or_one(np.sqrt(np.abs(rows).max(axis=1, keepdims=True)))
            tops = np.array([np.abs(rows[:, groups == g]).max() for g in range(groups.max() + 1)])
            rows = rows / np.sqrt(_or_one(tops))[groups]
        values = np.linalg.svd(rows, compute_uv=False)
        return float(values[0] / values[-1]) if values[-1] > 0 else np.inf


def _or_one(sizes):
    return np.where(sizes == 0, 1.0, sizes)


def solved(family, X, y, S=None, ties=True):
    """The case with its exact solution; None if the data are not separable."""
    signed = y[:, None] * X
    first = solve_exactly(signed)
    if first is None:
        return None
    if family == "diagonal":
        return Case(family, X, y, S, np.array([float(c) for c in first.coef]), first.unique)
    if family == "tensor":
        found = solve_exactly(_times(signed, S.tolist()))
        if found is None:
            return None
        coef = [
            sum(rho * Fraction(entry) for rho, entry in zip(found.coef, column, strict=True))
            for column in S.T.tolist()
        ]
        return Case(family, X, y, S, np.array([float(c) for c in coef]), found.unique)
    if family == "dense":
        groups = [list(range(X.shape[1]))]
        rho, _ = solve_to_many_digits(signed.tolist(), groups, [1])
        return Case(family, X, y, S, np.array([float(r) for r in rho]), True)
    rows, groups, weights, lines = fourier_rows(signed.tolist())
    rho, mu = solve_to_many_digits(rows, groups, weights)
    coef = [
        float(sum(r * line[j] for r, line in zip(rho, lines, strict=True)))
        for j in range(X.shape[1])
    ]
    unique = not ties or is_unique_to_many_digits(rows, groups, weights, (rho, mu))
    return Case(family, X, y, S, np.array(coef), unique)


def _times(rows, S):
    """`rows Sᵀ` exactly."""
    return [
        [sum(Fraction(a) * Fraction(b) for a, b in zip(row, line, strict=True)) for line in S]
        for row in rows.tolist()
    ]


def tied(family, rng):
    """Small whole numbers with duplicates and symmetries; None if they are not separable."""
    m, n = int(rng.integers(1, 5)), int(rng.integers(2, 7))
    largest = int(rng.integers(1, 4))
    X = rng.integers(-largest, largest + 1, (m, n)).astype(float)
    kind = rng.integers(7)
    if kind == 0:  # columns twice, or with the other sign
        X[:, rng.integers(n)] = rng.choice([-1.0, 1.0]) * X[:, rng.integers(n)]
    elif kind == 1 and m > 1:  # a sample and its shift
        X[1] = np.roll(X[0], int(rng.integers(n)))
    elif kind == 2 and m > 1:  # a sample that is the sum or the multiple of others
        X[-1] = X[0] + X[rng.integers(m - 1)]
    elif kind == 3:  # even samples
        X = X + np.roll(X[:, ::-1], 1, axis=1)
    elif kind >= 4:  # impulses, whose frequencies are all alike, and few other entries
        X = X * (rng.random((m, n)) < 0.5)
        X[0] = np.eye(n)[rng.integers(n)]
    y = rng.choice([-1.0, 1.0], m)
    S = None
    if family == "tensor":
        r = n + int(rng.integers(0, 3))
        S = rng.integers(-2, 3, (r, n)).astype(float)
        if np.linalg.matrix_rank(S) < n:
            return None
    return solved(family, X, y, S)


def rescaled(family, rng, rows, columns):
    """Gaussian data, rows and columns times 10^U(−8, 8)."""
    m, n = int(rng.integers(2, 5)), int(rng.integers(3, 7))
    X = rng.standard_normal((m, n))
    if rows:
        X = X * 10.0 ** rng.uniform(-8, 8, (m, 1))
    if columns:
        X = X * 10.0 ** rng.uniform(-8, 8, n)
    S = rng.standard_normal((n, n)) if family == "tensor" else None
    return solved(family, X, rng.choice([-1.0, 1.0], m), S, ties=False)


def cases(what, family, count, seed):
    """The first separable cases of a seed: `ties`, or units of `rows`, `columns` or `both`."""
    rng = np.random.default_rng([seed, FAMILIES.index(family)])
    found = []
    while len(found) < count:
        if what == "ties":
            case = tied(family, rng)
        else:
            case = rescaled(family, rng, what in ("rows", "both"), what in ("columns", "both"))
        if case is not None:
            found.append(case)
    return found


def outcome(case):
    """Status and error of a case: right, wrong or refused."""
    limit = case.limit()
    status = limit.status
    if status is lp.Status.CONVERGED:
        if not case.unique:
            return "WRONG: not unique"
        error = case.error(limit.coef)
        return "right" if error <= WRONG else f"WRONG: off by {error:.0e}"
    if status is lp.Status.DEGENERATE:
        return "refused: DEGENERATE" if case.unique else "right, not unique"
    return f"refused: {status.name}"


def main(arguments):
    what, count = arguments[0], int(arguments[1])
    seed = int(arguments[2]) if len(arguments) > 2 else 0
    for kind in ("ties",) if what == "ties" else ("rows", "columns", "both"):
        for family in FAMILIES:
            tally = Counter(outcome(case) for case in cases(kind, family, count, seed))
            print(kind, family, dict(tally))


if __name__ == "__main__":
    main(sys.argv[1:])
