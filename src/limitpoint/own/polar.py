"""Models that are homogeneous in every block, as multilinear functions of copies of the blocks.

A function β of degree d in a block v is the multilinear one `M(v, …, v)` of d copies (with the
others fixed), M symmetric in them:

    M(v₁, …, v_d) = Σ_ε (Π ε_i) β(Σ ε_i v_i) / (2^d d!)  over  ε ∈ {−1, 1}^d.

Started with equal copies the flow of M keeps them equal, and is that of β once each copy is
`v/√d`: see `layer_map`.
"""

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from limitpoint.foundation.arrays import Float
from limitpoint.own.derivative import Probed
from limitpoint.own.model import Places

__all__ = ["MOST_EVALUATIONS", "Polar"]

# So many evaluations of the user's function at most for one question; of a tenth of a millisecond
# each they take some twenty seconds.
MOST_EVALUATIONS = 200_000


@dataclass(frozen=True)
class Polar:
    """The multilinear function.

    Attributes
    ----------
    probed
        The model.
    places
        Where the entries of each block stand among all that are trained.
    degrees
        The degree in each block, the number of its copies.
    """

    probed: Probed
    places: tuple[Places, ...]
    degrees: tuple[int, ...]

    @classmethod
    def of(cls, probed: Probed) -> "Polar | None":
        """By the degrees in the blocks, or None where these do not add up to that of all."""
        degrees = tuple(probed.degree_in(place) or 0 for place in probed.model.trained)
        if min(degrees) < 1 or sum(degrees) != probed.degree:
            return None
        return cls(probed, tuple(each.ravel() for each in probed.model.places()), degrees)

    @classmethod
    def of_all(cls, probed: Probed) -> "Polar":
        """All trained entries as one block."""
        assert probed.degree is not None, "what has a degree is a polynomial"
        return cls(probed, (np.arange(probed.model.size),), (probed.degree,))

    @property
    def sources(self) -> tuple[int, ...]:
        """For each argument of M the block that it is a copy of."""
        return tuple(block for block, degree in enumerate(self.degrees) for _ in range(degree))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the arguments."""
        return tuple(self.places[source].size for source in self.sources)

    @property
    def shares(self) -> tuple[float, ...]:
        """`1/√d` of a block in which the degree is d: what each of its copies has of it."""
        return tuple(1 / math.sqrt(self.degrees[source]) for source in self.sources)

    @property
    def growth(self) -> float:
        """`Π d^{d/2}`, by which M is multiplied then."""
        return math.prod(math.sqrt(float(degree**degree)) for degree in self.degrees)

    @property
    def cost(self) -> int:
        """Evaluations of the model for one of M."""
        return math.prod(2 ** (degree - 1) for degree in self.degrees)

    def at(self, *vectors: Float) -> Float:
        """`M(v₁, …, v_D)`."""
        model = self.probed.model
        groups = [
            [
                vector
                for vector, source in zip(vectors, self.sources, strict=True)
                if source == block
            ]
            for block in range(len(self.degrees))
        ]
        total = np.zeros(len(self.probed.coef))
        # Turning all signs of a block changes nothing: the first is 1, and the sum counts twice.
        choices = [product((1.0,), *[(1.0, -1.0)] * (len(group) - 1)) for group in groups]
        for signs in product(*(list(choice) for choice in choices)):
            flat = np.empty(model.size)
            sign = 1.0
            for where, group, chosen in zip(self.places, groups, signs, strict=True):
                flat[where] = sum(c * v for c, v in zip(chosen, group, strict=True))
                sign *= math.prod(chosen)
            total += sign * model.at(flat)
        terms = math.prod(2 ** (d - 1) * math.factorial(d) for d in self.degrees)
        return np.asarray(total / terms)

    def units(self) -> list[Float]:
        """Random arguments of norm about one entry each."""
        rng = np.random.default_rng(25)
        return [rng.standard_normal(size) for size in self.sizes]
