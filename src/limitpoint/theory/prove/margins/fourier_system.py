"""The optimality conditions of the Fourier ℓ1 margin problem as a system of equations.

Notation as in `fourier_margin`: `½(νᵀK_kν − c_k) = 0` of the frequencies that are used, and
`Σ_k τ_kK_kν = 1` of the samples that decide.
"""

from collections.abc import Sequence

from flint import arb, arb_mat

from limitpoint.theory.prove.exact.interval_newton import solved
from limitpoint.theory.prove.exact.numbers import ball_column, midpoints
from limitpoint.theory.prove.outcome import MorePrecision

__all__ = ["FourierSystem"]

# Newton steps on midpoints, which double the digits.
STEPS = 40


class FourierSystem:
    """The system, of the unknowns τ and ν.

    Its Jacobian is symmetric: `K_kν` in the blocks beside the diagonal, `Σ_k τ_kK_k` for ν.
    """

    def __init__(
        self,
        program: tuple[Sequence[arb_mat], Sequence[int]],
        used: Sequence[int],
        bound: Sequence[int],
        free: dict[int, arb],
    ) -> None:
        forms, counts = program
        self.forms, self.counts = [forms[k] for k in used], [counts[k] for k in used]
        self.bound, self.free, self.samples = bound, free, forms[0].nrows()
        if len(bound) < len(used):
            raise MorePrecision("more frequencies are used than samples decide")

    def multipliers(self, parts: Sequence[arb]) -> list[arb]:
        """Those of all samples."""
        found = dict(zip(self.bound, parts, strict=True)) | self.free
        return [found.get(i, arb(0)) for i in range(self.samples)]

    def __call__(self, unknowns: list[arb]) -> tuple[arb_mat, arb_mat]:
        """Values and Jacobian."""
        count, size = len(self.forms), len(unknowns)
        tau, nu = unknowns[:count], self.multipliers(unknowns[count:])
        dual = ball_column(nu)
        images = [form * dual for form in self.forms]
        values = [
            ((dual.transpose() * image)[0, 0] - alike) / 2
            for alike, image in zip(self.counts, images, strict=True)
        ]
        values += [
            sum((t * image[i, 0] for t, image in zip(tau, images, strict=True)), arb(-1))
            for i in self.bound
        ]
        slopes = arb_mat(size, size)
        for r, image in enumerate(images):
            for c, i in enumerate(self.bound):
                slopes[r, count + c] = slopes[count + c, r] = image[i, 0]
        for r, i in enumerate(self.bound):
            for c, other in enumerate(self.bound):
                slopes[count + r, count + c] = sum(
                    (t * form[i, other] for t, form in zip(tau, self.forms, strict=True)), arb(0)
                )
        return ball_column(values), slopes

    def near(self, unknowns: Sequence[arb]) -> list[arb]:
        """Newton's method on midpoints, until the steps no longer shrink."""
        current, smallest = midpoints(unknowns), None
        for _ in range(STEPS):
            values, slopes = self(current)
            step = midpoints(solved(slopes.mid(), values.mid()))
            sizes = [
                abs(s) / (abs(c) + arb(2) ** -999999) for s, c in zip(step, current, strict=True)
            ]
            size = max(one.mid() for one in sizes)
            if smallest is not None and not size < smallest / 2:
                break
            current = [(c - s).mid() for c, s in zip(current, step, strict=True)]
            smallest = size
        return current
