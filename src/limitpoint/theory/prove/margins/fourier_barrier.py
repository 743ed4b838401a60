"""Where the Fourier ℓ1 margin problem has its solution, about: a barrier method on midpoints.

Notation as in `fourier_margin`. The dual is `max Σν_i` with `ν ≥ 0` and `νᵀK_kν ≤ c_k`; with the
barrier `Σ log ν_i + Σ_k log(c_k − νᵀK_kν)` no unit slows Newton's method down. It ends in the
middle of the solutions, so that what is active in none of them shows. Nothing rests on it.
"""

from collections.abc import Sequence

from flint import arb, arb_mat, ctx

from limitpoint.theory.prove.exact.interval_newton import solved
from limitpoint.theory.prove.exact.numbers import ball_column, entries, midpoints
from limitpoint.theory.prove.outcome import MorePrecision

__all__ = ["centre"]

# The parameter grows by this factor from one centre to the next; each takes some ten steps.
GROWTH = 16
# Newton steps to a centre, damped ones included; and the decrement that is near enough on the way.
STEPS, NEAR = 400, 1e-6
# A step of this decrement or less is taken in full (Nesterov and Nemirovskii 1994).
FULL = 0.25


def centre(forms: Sequence[arb_mat], counts: Sequence[int]) -> tuple[list[arb], list[arb]]:
    """About ν and τ, to a duality gap of half of the digits, relative.

    Second derivatives are the inverse square of the gap across the solutions, and of order 1 along
    them: the digits that this takes are added.
    """
    with ctx.workprec(2 * ctx.prec):
        return _centre(forms, counts, arb(2) ** -(ctx.prec // 4))


def _centre(
    forms: Sequence[arb_mat], counts: Sequence[int], least: arb
) -> tuple[list[arb], list[arb]]:
    barrier = _Barrier(forms, counts)
    m = forms[0].nrows()
    sizes = [
        max((abs(form[i, i]) for form in forms), key=lambda one: one.mid()).sqrt() for i in range(m)
    ]
    if not all(one > 0 for one in sizes):
        raise MorePrecision("a sample cannot be told from zero")
    # Each alone reaches no further than 1 in any frequency, and all together half of it.
    nu = [(1 / (2 * m * one)).mid() for one in sizes]
    # From where the objective counts for nothing: a first parameter too large takes endless steps.
    nu = barrier.centred(nu, arb(0), arb(NEAR))
    t = 1 / barrier.length(nu)
    while True:
        nu = barrier.centred(nu, t, arb(NEAR))
        if (m + 2 * len(forms)) / t < least * sum(nu, arb(0)):
            # Margins are off by the square of the decrement: here by no more than the gap.
            nu = barrier.centred(nu, t, least.sqrt())
            return nu, [(2 / (t * room)).mid() for room in barrier.rooms(nu)[0]]
        t = (t * GROWTH).mid()


class _Barrier:
    """`−t Σν − Σ log ν_i − Σ_k log(c_k − νᵀK_kν)`."""

    def __init__(self, forms: Sequence[arb_mat], counts: Sequence[int]) -> None:
        self.forms, self.counts = list(forms), list(counts)

    def rooms(self, nu: Sequence[arb]) -> tuple[list[arb], list[arb_mat]]:
        """`c_k − νᵀK_kν`, and `K_kν`."""
        column = ball_column(nu)
        images = [form * column for form in self.forms]
        rooms = [
            (count - (column.transpose() * one)[0, 0]).mid()
            for count, one in zip(self.counts, images, strict=True)
        ]
        return rooms, images

    def hessian(self, nu: Sequence[arb], rooms: Sequence[arb], images: list[arb_mat]) -> arb_mat:
        """Second derivatives."""
        m = len(nu)
        total = arb_mat(
            m, m, [1 / nu[i] ** 2 if i == j else arb(0) for i in range(m) for j in range(m)]
        )
        for form, room, image in zip(self.forms, rooms, images, strict=True):
            total = total + form * (2 / room) + image * image.transpose() * (4 / room**2)
        return total.mid()

    def length(self, nu: Sequence[arb]) -> arb:
        """That of the objective there, whose inverse is a parameter to begin with."""
        rooms, images = self.rooms(nu)
        ones = solved(self.hessian(nu, rooms, images), ball_column([1] * len(nu)))
        return sum(ones, arb(0)).mid().sqrt()

    def centred(self, nu: list[arb], t: arb, near: arb) -> list[arb]:
        """Newton's method, damped while the decrement is large."""
        for _ in range(STEPS):
            rooms, images = self.rooms(nu)
            slopes = [-t - 1 / one for one in nu]
            for room, image in zip(rooms, images, strict=True):
                slopes = [a + 2 * b / room for a, b in zip(slopes, entries(image), strict=True)]
            step = midpoints(solved(self.hessian(nu, rooms, images), ball_column(slopes)))
            decrement = abs(sum((a * b for a, b in zip(step, slopes, strict=True)), arb(0)))
            size = decrement.mid().sqrt().mid()
            share = 1 / (1 + size) if size > FULL else arb(1)
            nu = [(a - share * b).mid() for a, b in zip(nu, step, strict=True)]
            if size < near:
                return nu
        raise MorePrecision("the barrier's centre is not reached at this precision")
