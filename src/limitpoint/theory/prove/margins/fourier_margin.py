"""`min ‖Fβ‖₁` with all margins at least 1, F the unitary discrete Fourier transform, in balls.

Notation: rows `a_i = y_i x_i`, `â_ik` their transforms without a factor, k from 0 to n/2, and c_k
of the n frequencies alike; `K_k = c_k Re(â_i,k* â_l,k)`. With `ν ≥ 0` and `ζ = Aᵀν`, β is a
solution if all margins are at least 1, and 1 where `ν_i > 0`, and at each frequency `|ζ̂_k| ≤ 1`
and `β̂_k = nτ_kζ̂_k`, `τ_k ≥ 0`, zero where `|ζ̂_k| < 1`; since `|ζ̂_k|² = νᵀK_kν/c_k` and
`⟨a_i, β⟩ = Σ_k τ_k(K_kν)_i`,

    νᵀK_kν = c_k  for the frequencies that are used,   Σ_k τ_kK_kν = 1  for the samples that decide.

If the interval Newton test finds one root of these, with `τ > 0`, `ν > 0`, `|ζ̂_k| < 1` at the other
frequencies and margins above 1 of the other samples, then β is the only solution: in every one
`β̂_k = nt_kζ̂_k` for some `t ≥ 0`, and the columns `K_kν` that its margins consist of are
independent, as the Jacobian is regular.

Where samples are alike in the frequencies that are used, some multipliers are free: those are set
to numbers, and the margin is 1 exactly by a rational combination of the samples that decide.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq, fmpq_mat

from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.interval_newton import Equations, enclosed_root
from limitpoint.theory.prove.exact.nonnegative import independent_columns
from limitpoint.theory.prove.exact.numbers import (
    ball,
    ball_column,
    column,
    entries,
)
from limitpoint.theory.prove.margins.direction_starts import CONVERGENCE, check_filters_start
from limitpoint.theory.prove.margins.fourier_barrier import centre
from limitpoint.theory.prove.margins.fourier_system import FourierSystem
from limitpoint.theory.prove.margins.frequencies import Transforms, coordinates, order
from limitpoint.theory.prove.margins.signed_rows import (
    check_separable,
    directions,
    in_data,
    signed_rows,
)
from limitpoint.theory.prove.outcome import CannotProve, Found, Hint, MorePrecision

__all__ = ["prove_fourier_margin"]

# What cannot be told apart at so many bits is taken for a tie.
TIE_BITS = 500
TIED = (
    "no solution is proved to be the only one: {why}, up to {bits} bits. There may be others, or "
    "samples or frequencies that tie without deciding anything"
)

Guess = tuple[list[arb], list[arb]]


def prove_fourier_margin(problem: Problem, hint: Hint | None) -> Found:
    """The direction of a full-length convolution of two layers."""
    rows = signed_rows(problem)
    check_filters_start(problem, rows)
    program = _Program(rows)
    why = ""
    for guess in program.guesses(hint):
        try:
            return _found(problem, program, program.proved(*guess()))
        except MorePrecision as error:
            why = str(error)
    if ctx.prec > TIE_BITS:
        check_separable(rows)
        raise CannotProve(TIED.format(why=why, bits=ctx.prec))
    raise MorePrecision(why)


@dataclass(frozen=True)
class _Solution:
    """Frequencies that are used with their τ, and the multipliers of all samples.

    `bound` are the samples whose multipliers were enclosed, `free` those whose were set.
    """

    used: list[int]
    bound: list[int]
    free: list[int]
    tau: list[arb]
    nu: list[arb]
    coef: list[Any]


class _Program:
    """The problem of some rows."""

    def __init__(self, rows: fmpq_mat) -> None:
        self.rows = rows
        self.transforms = Transforms(rows)
        self.counts = self.transforms.counts
        self.forms = [self.transforms.form(k) for k in range(len(self.counts))]

    def guesses(self, hint: Hint | None) -> list[Callable[[], Guess]]:
        """What float64 found, and the centre of the solutions."""
        found: list[Callable[[], Guess]] = [lambda: centre(self.forms, self.counts)]
        if hint is not None and np.isfinite(hint.coef).all() and np.isfinite(hint.dual).all():
            n = self.rows.ncols()
            nu = [arb(one) for one in (np.abs(hint.dual) / np.sqrt(n)).tolist()]
            tau = [arb(one) for one in (np.abs(np.fft.rfft(hint.coef)) / n).tolist()]
            found.insert(0, lambda: (nu, tau))
        return found

    def proved(self, nu: Sequence[arb], tau: Sequence[arb]) -> _Solution:
        """The solution that these are near, with all that makes it the only one."""
        used, active = self._active(nu, tau)
        bound = self._deciding(used, active)
        free = [i for i in active if i not in bound]
        system = FourierSystem(
            (self.forms, self.counts), used, bound, {i: nu[i].mid() for i in free}
        )
        near = system.near([*(tau[k] for k in used), *(nu[i] for i in bound)])
        root = enclosed_root(Equations(system), near)
        tau, parts = root[: len(used)], root[len(used) :]
        every = system.multipliers(parts)
        self._check(used, bound, free, (tau, every))
        coef = self._coef(used, tau, every)
        if all(self.counts[k] == 1 for k in used):
            coef = list(self._rational(used, bound, every))
        return _Solution(used, bound, free, tau, every, coef)

    def _active(self, nu: Sequence[arb], tau: Sequence[arb]) -> tuple[list[int], list[int]]:
        """Where the primal side is larger than the dual one: both are shares."""
        dual, total = ball_column(nu), sum((one.mid() for one in tau), arb(0))
        images = [form * dual for form in self.forms]
        used = []
        for k, image in enumerate(images):
            slack = 1 - (dual.transpose() * image)[0, 0] / self.counts[k]
            if (tau[k] / total).mid() > slack.mid():
                used.append(k)
        active = []
        for i, one in enumerate(nu):
            margin = sum((tau[k] * images[k][i, 0] for k in used), arb(0))
            # What a sample adds to the value, Σν_i, of which it is a share.
            share = one / sum(nu, arb(0))
            if share.mid() > (margin - 1).mid():
                active.append(i)
        return used, active

    def _deciding(self, used: Sequence[int], active: Sequence[int]) -> list[int]:
        """Samples that are independent in the frequencies that are used, as rationals tell."""
        lines = [self._coordinates(i, used) for i in active]
        if not lines or not lines[0]:
            raise MorePrecision("no frequency or no sample is told to be active")
        flat = [line[r] for r in range(len(lines[0])) for line in lines]
        matrix = fmpq_mat(len(lines[0]), len(active), flat)
        return [active[k] for k in independent_columns(matrix, range(len(active)))]

    def _coordinates(self, i: int, used: Sequence[int]) -> list[fmpq]:
        n = self.rows.ncols()
        return coordinates([self.rows[i, j] for j in range(n)], [order(k, n) for k in used])

    def _check(
        self,
        used: Sequence[int],
        bound: Sequence[int],
        free: Sequence[int],
        solution: tuple[Sequence[arb], Sequence[arb]],
    ) -> None:
        """Signs, moduli and margins, or `MorePrecision`."""
        tau, nu = solution
        if not all(one > 0 for one in tau):
            raise MorePrecision("a frequency cannot be told to be used")
        if not all(nu[i] > 0 for i in (*bound, *free)):
            raise MorePrecision("a multiplier cannot be told from zero")
        dual = ball_column(nu)
        images = [form * dual for form in self.forms]
        for k, image in enumerate(images):
            if k not in used and not (dual.transpose() * image)[0, 0] < self.counts[k]:
                raise MorePrecision(f"the dual modulus at frequency {k} cannot be told from 1")
        for i in range(self.rows.nrows()):
            margin = sum((t * images[k][i, 0] for k, t in zip(used, tau, strict=True)), arb(0))
            if i in bound or (i not in free and margin > 1):
                continue
            if not margin > 1 and self._combined(i, used, bound) < 1:
                raise MorePrecision(f"the margin of sample {i} cannot be told from 1")
            if i in free and self._combined(i, used, bound) != 1:
                raise MorePrecision(f"the margin of sample {i} cannot be told from 1")

    def _combined(self, i: int, used: Sequence[int], bound: Sequence[int]) -> fmpq:
        """The margin of a sample that is a combination of those bound, in these frequencies.

        Minus one if it is none.
        """
        lines = [self._coordinates(k, used) for k in (*bound, i)]
        matrix = fmpq_mat(len(lines), len(lines[0]), [one for line in lines for one in line])
        reduced, rank = matrix.transpose().rref()
        if rank > len(bound):
            return fmpq(-1)
        return sum((reduced[k, len(bound)] for k in range(rank)), fmpq(0))

    def _coef(self, used: Sequence[int], tau: Sequence[arb], nu: Sequence[arb]) -> list[Any]:
        """`β_j = Σ_k τ_kc_k Re(ζ̂_k ω^{−jk})`."""
        dual, waves = ball_column(nu).transpose(), self.transforms
        real, imaginary = dual * waves.real, dual * waves.imaginary
        return [
            sum(
                (
                    t
                    * self.counts[k]
                    * (real[0, k] * waves.cosines[j, k] + imaginary[0, k] * waves.sines[j, k])
                    for k, t in zip(used, tau, strict=True)
                ),
                arb(0),
            )
            for j in range(self.rows.ncols())
        ]

    def _rational(self, used: Sequence[int], bound: Sequence[int], nu: Sequence[arb]) -> list[fmpq]:
        """The same where only frequencies 0 and n/2 are used: the system is linear then."""
        n = self.rows.ncols()
        wave = {k: [fmpq((-1) ** j if k else 1) for j in range(n)] for k in used}
        dual = ball_column(nu).transpose() * self.transforms.real
        signs = [1 if dual[0, k] > 0 else -1 for k in used]
        matrix = fmpq_mat(
            len(bound),
            len(used),
            [
                sign * sum((self.rows[i, j] * wave[k][j] for j in range(n)), fmpq(0))
                for i in bound
                for k, sign in zip(used, signs, strict=True)
            ],
        )
        found = entries(matrix.solve(column([fmpq(1)] * len(bound))))
        return [
            sum((t * s * wave[k][j] for t, s, k in zip(found, signs, used, strict=True)), fmpq(0))
            for j in range(n)
        ]


def _found(problem: Problem, program: _Program, solution: _Solution) -> Found:
    n = program.rows.ncols()
    root = ball(n).sqrt()
    dual, mirror = in_data(problem, [one * root for one in solution.nu])
    return Found(
        coef=solution.coef,
        dual=dual,
        mirror=mirror,
        more={"direction": directions(solution.coef)},
        statement=(
            "of all coefficients with margins y_i⟨x_i, β⟩ of at least 1, these have the least "
            "ℓ1 norm of their discrete Fourier transform, and there are no others; the transforms "
            "of the filters differ in modulus at the start as the theorem needs it."
        ),
        method=(
            "the interval Newton test on the optimality conditions of the frequencies that are "
            "used and the samples that decide; dual moduli below 1 and margins above 1 elsewhere"
        ),
        kind="Fourier ℓ1 margin",
        assumed=(CONVERGENCE,),
        sizes=_sizes(program.rows, solution.coef),
        witness={
            "used": solution.used,
            "bound": solution.bound,
            "free": {str(i): str(solution.nu[i].fmpq()) for i in solution.free},
        },
    )


def _sizes(rows: fmpq_mat, coef: Sequence[Any]) -> list[Any]:
    """What a coefficient is measured by: `‖β‖`, since every frequency is made of all of them."""
    return [sum((ball(one) ** 2 for one in coef), arb(0)).sqrt()] * len(coef)
