"""Networks that reduce to diagonal ones, exactly (yun, Theorem 5 and its corollaries).

Notation: on the layers that training can reach `f(x) = Σ_k w_k a_k(x) ρ_k`, `ρ_k = Π_l η_lk`, and
`η_lk' = Σ_j r_j a_k(x_j) Π_{m≠l} η_mk` with the residuals r: with `a = Sx` it is the diagonal
network of depth L on the data `XSᵀ`, each product counted w_k times, and `β = Sᵀ(w ⊙ ρ)`.

- Orthogonal tensors: `η_l = U_lᵀv_l`, w = 1.
- Convolutions of full length d, even data and filters: η_lk the discrete Fourier transform of the
  filter without a factor, `S_kj = cos(2πjk/d)`, `w_k = μ_k/d`, μ_k the number of frequencies ±k.
- Products of matrices, sensors and layers that are polynomials of one symmetric C: η_lk the
  eigenvalues of the layers, w_k the dimension μ_k of the eigenspace, `S_k` its projector over μ_k.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import Any

import numpy as np
from flint import arb, fmpq, fmpq_mat, fmpq_poly, fmpz_poly

from limitpoint.foundation.arrays import Float
from limitpoint.networks import Convolutional, MatrixProduct, OrthogonalTensor
from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.numbers import as_rationals, ball, entries, rational_matrix
from limitpoint.theory.prove.outcome import CannotProve
from limitpoint.theory.prove.reduced.commuting import Commuting, commuting_of, near_basis, off_basis
from limitpoint.theory.prove.reduced.exact_data import AlgebraicData, ExactData, Place

__all__ = ["DiagonalWithin", "diagonal_within"]

# Where polynomials are their constants: rational numbers are values there.
CONSTANT = Place(fmpq_poly([0, 1]), arb(0))


@dataclass(frozen=True)
class DiagonalWithin:
    """The diagonal network within another one.

    Attributes
    ----------
    data
        `XSᵀ`.
    places, layers
        Where each product lives, and its L layers as polynomials there, at scale 1.
    weights
        w.
    back
        S: for each product its part in all coefficients, balls or rationals.
    words
        What its products are, for a statement.
    assumed
        What holds to rounding only.
    witness
        What a checker needs to know of it.
    """

    data: ExactData | AlgebraicData
    places: Sequence[Place]
    layers: Sequence[Sequence[fmpq_poly]]
    weights: Sequence[fmpq]
    back: Sequence[Sequence[Any]]
    words: str
    assumed: tuple[str, ...] = ()
    witness: dict[str, Any] = field(default_factory=dict)

    def outer(self, products: Sequence[Any]) -> list[Any]:
        """`Sᵀρ`, of weighted products."""
        return [
            sum((s * r for s, r in zip(parts, products, strict=True) if s != 0), fmpq(0))
            for parts in zip(*self.back, strict=True)
        ]

    def inner(self, coefs: Float) -> Float:
        """About the weighted products of coefficients, by least squares."""
        near = np.array([[float(ball(one).mid()) for one in row] for row in self.back])
        found: Float = np.linalg.lstsq(near.T, coefs, rcond=None)[0]
        return found


def diagonal_within(problem: Problem) -> DiagonalWithin:
    """The diagonal network within a problem of this form."""
    network = problem.network
    if isinstance(network, OrthogonalTensor):
        return _orthogonal(problem, network)
    if isinstance(network, Convolutional) and network.is_full_length:
        return _even(problem, network)
    if isinstance(network, MatrixProduct):
        exact = commuting_of(problem)
        return _in_basis(problem) if exact is None else _commuting(problem, exact)
    raise CannotProve(f"{network} is not known to reduce to a diagonal network")


# ---------------------------------------------------------------- orthogonal tensors


def _orthogonal(problem: Problem, network: OrthogonalTensor) -> DiagonalWithin:
    S = rational_matrix(network.S)
    data = rational_matrix(problem.task.X) * S.transpose()
    turns = [rational_matrix(one) for one in network.U]
    etas = [
        entries(turn.transpose() * fmpq_mat(turn.nrows(), 1, as_rationals(layer.tolist())))
        for turn, layer in zip(turns, problem.init.direction, strict=True)
    ]
    off = max(_largest(turn.transpose() * turn - _identity(turn.ncols())) for turn in turns)
    assumed = f"the columns of every U_l are orthonormal, which they are to within {_short(off)}"
    return DiagonalWithin(
        data=_rational_data(data),
        **_constants(etas),
        back=S.tolist(),
        words="the diagonal network on the data XSᵀ from the layers U_lᵀv_l",
        assumed=(assumed,) if off else (),
    )


def _constants(etas: Sequence[Sequence[fmpq]]) -> dict[str, Any]:
    """Rational layers, each product counted once."""
    layers = [[fmpq_poly([one]) for one in row] for row in zip(*etas, strict=True)]
    count = len(layers)
    return {"places": [CONSTANT] * count, "layers": layers, "weights": [fmpq(1)] * count}


def _rational_data(data: fmpq_mat) -> ExactData:
    flat = [float(arb(one).mid()) for one in entries(data)]
    return ExactData(np.array(flat).reshape(data.nrows(), data.ncols()), data)


def _largest(matrix: fmpq_mat) -> fmpq:
    return max((abs(one) for one in entries(matrix)), default=fmpq(0))


def _identity(size: int) -> fmpq_mat:
    return fmpq_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])


def _short(value: fmpq) -> str:
    """Rounded up to two digits."""
    return f"{float(arb(value).upper()) * 1.05:.1e}"


# ---------------------------------------------------------------- convolutions


def _even(problem: Problem, network: Convolutional) -> DiagonalWithin:
    size = network.filter_sizes[-1]
    waves = _waves(size)
    samples = [as_rationals(row) for row in problem.task.X.tolist()]
    filters = [as_rationals(layer.tolist()) for layer in problem.init.direction]
    off = max(_odd(one) for one in samples + filters)
    places = [_frequency(k, size) for k in range(size // 2 + 1)]
    rows, layers = ([_transform(one, waves) for one in some] for some in (samples, filters))
    assumed = f"data and filters are even, which holds to within {_short(off)}, relative"
    return DiagonalWithin(
        data=_data(rows, places),
        places=places,
        layers=[layers] * len(places),
        weights=[fmpq(1 if 2 * k in (0, size) else 2, size) for k in range(len(places))],
        back=[[place.value(waves[min(j, size - j)]) for j in range(size)] for place in places],
        words="the diagonal network of the Fourier transforms of data and filters",
        assumed=(assumed,) if off else (),
    )


def _waves(size: int) -> list[fmpq_poly]:
    """`cos jθ` as polynomials in `2 cos θ`, j up to half the size."""
    found, t = [fmpq_poly([1]), fmpq_poly([0, fmpq(1, 2)])], fmpq_poly([0, 1])
    while len(found) <= size // 2:
        found.append(t * found[-1] - found[-2])
    return found


def _frequency(k: int, size: int) -> Place:
    """`2 cos(2πk/d)`."""
    factor = fmpq_poly(fmpz_poly.cos_minpoly(size // gcd(k, size)))
    return Place(factor, 2 * arb.cos_pi_fmpq(fmpq(2 * k, size)))


def _transform(vector: Sequence[fmpq], waves: Sequence[fmpq_poly]) -> fmpq_poly:
    """`Σ_j x_j cos jθ` of the even part, which is that of the vector itself."""
    size = len(vector)
    terms = (one * waves[min(j, size - j)] for j, one in enumerate(vector))
    return sum(terms, fmpq_poly([0]))


def _odd(vector: Sequence[fmpq]) -> fmpq:
    """The largest odd part, relative to the largest entry."""
    largest = max(abs(one) for one in vector)
    odd = max(abs(one - vector[-j]) for j, one in enumerate(vector))
    return odd / (2 * largest) if largest else largest


def _data(rows: Sequence[fmpq_poly], places: Sequence[Place]) -> ExactData | AlgebraicData:
    """As rationals where all of them are."""
    found = AlgebraicData(rows, places)
    values = [one for row in found.values for one in row]
    flat = [one for one in values if isinstance(one, fmpq)]
    if len(flat) == len(values):
        return _rational_data(fmpq_mat(len(rows), len(places), flat))
    return found


# ---------------------------------------------------------------- products of matrices


def _commuting(problem: Problem, found: Commuting) -> DiagonalWithin:
    places = found.places()
    count = len(problem.task.y)
    return DiagonalWithin(
        data=_data(found.polynomials[:count], places),
        places=places,
        layers=[found.polynomials[count:]] * len(places),
        weights=[found.dimension(place) for place in places],
        back=[
            [value / found.dimension(place) for value in map(place.value, found.projector)]
            for place in places
        ],
        words="the diagonal network of the eigenvalues of sensors and layers",
        witness={"combination": found.combination},
    )


def _in_basis(problem: Problem) -> DiagonalWithin:
    """In orthonormal vectors in which sensors and layers are diagonal to rounding."""
    basis = near_basis(problem)
    columns = [rational_matrix(basis[:, k : k + 1]) for k in range(len(basis))]
    parts = [column * column.transpose() for column in columns]
    back = [entries(part) for part in parts]
    rows = rational_matrix(problem.task.X)
    data = rows * fmpq_mat(back).transpose()
    etas = [
        [(column.transpose() * rational_matrix(layer) * column)[0, 0] for column in columns]
        for layer in problem.init.direction
    ]
    return DiagonalWithin(
        data=_rational_data(data),
        **_constants(etas),
        back=back,
        words="the diagonal network of the eigenvalues of sensors and layers in the basis given",
        assumed=(
            "sensors and layers are symmetric and commute, and the orthonormal basis given is one "
            f"of common eigenvectors, which holds to within {_short(off_basis(problem, basis))}",
        ),
        witness={"basis": basis.tolist()},
    )
