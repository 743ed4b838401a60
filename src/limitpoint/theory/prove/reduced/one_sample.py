"""One sample and two layers: the limit as the root of one increasing function, enclosed.

Notation: `f = Σ_b V₁[:, b]ᵀ A V₂[:, b]`, `A = A(x)`; ν the integral of `y − f`. The layers are
linear in ν, `dV₁/dν = AV₂`, `dV₂/dν = AᵀV₁`, and so
`(V₁, V₂)(ν) = exp(ν [[0, A], [Aᵀ, 0]]) (V₁, V₂)(0)`, with `df/dν = ‖AV₂‖² + ‖AᵀV₁‖² ≥ 0`.
Where that is not zero at the start, it never is: training moves ν towards the root of `f(ν) = y`,
which is the only one.
"""

import math
from collections.abc import Callable

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat

from limitpoint.networks import Diagonal
from limitpoint.problem import Problem
from limitpoint.theory.prove.exact.interval_newton import Equations, enclosed_root
from limitpoint.theory.prove.exact.numbers import as_rationals, entries, rational, scale_ball
from limitpoint.theory.prove.outcome import CannotProve, Found, Hint, MorePrecision
from limitpoint.theory.prove.reduced.bilinear_form import BilinearForm, bilinear_form
from limitpoint.theory.prove.reduced.krylov import has_positive_root, minimal_polynomial, mirrored
from limitpoint.theory.prove.reduced.one_sample_at_zero import prove_one_sample_at_zero
from limitpoint.theory.prove.separable.separable import prove_separable

__all__ = ["prove_one_sample"]

# Steps of the search for the root; each doubles the digits once it is near.
STEPS = 400
NOT_REACHED = (
    "no part of the start grows as the output does towards y, which it therefore never reaches"
)
# Beyond so many times `1/‖A‖` without having passed y it is asked whether y is ever passed: what
# starts at the smallest float has then grown to the largest.
FAR = 2048


def prove_one_sample(problem: Problem, hint: Hint | None) -> Found:
    """Enclose the limit of two layers on one sample."""
    task = problem.regression
    if task.n_samples != 1:
        raise CannotProve("there are several samples")
    form = bilinear_form(problem)
    if not any(entries(form.at(_data(problem)[0]))):
        raise CannotProve("the sample links no two layers")
    if problem.init.log_scale == -np.inf:
        return prove_one_sample_at_zero(form, *_data(problem))
    if isinstance(problem.network, Diagonal):  # whose coefficients are exponentials one by one
        return prove_separable(problem, hint)
    x, y = _data(problem)
    flow = _Flow(form, form.at(x), scale_ball(problem.init))
    target = arb(y)

    def system(point: list[arb]) -> tuple[arb_mat, arb_mat]:
        value, slope = flow.output(point[0])
        return arb_mat(1, 1, [value - target]), arb_mat(1, 1, [slope])

    def check_reached(upwards: bool) -> None:
        """The output has no end that way, or is on its way to zero and y is before that."""
        if (y < 0) if upwards else (y > 0):
            return
        polynomial = minimal_polynomial(form.at(x), form.first, form.second)
        if not has_positive_root(polynomial if upwards else mirrored(polynomial)):
            raise CannotProve(NOT_REACHED)

    if y == 0:  # which no rounded search can tell from an output that tends to zero
        check_reached(not flow.output(arb(0))[0] > 0)
    (nu,) = enclosed_root(Equations(system), [_near(flow, target, hint, check_reached)])
    first, second = flow.at(nu)
    return Found(
        coef=form.coefs(first, second),
        dual=[nu],
        statement=(
            "the layers are linear functions of exponentials of the integral of the residual, "
            "with which the output increases strictly; it is y at exactly one value of that "
            "integral, training ends there, and each coefficient lies in its ball."
        ),
        method=(
            "the interval Newton test on the output as a function of the integral of the residual, "
            "by exponentials of matrices in balls"
        ),
        kind="one sample",
        sizes=sizes_of(form, first, second),
        more={
            f"layer {k + 1}": np.array(entries(one), dtype=object).reshape(start.shape)
            for k, (one, start) in enumerate(
                zip((first, _as_given(problem, second)), problem.init.direction, strict=True)
            )
        },
    )


def sizes_of(form: BilinearForm, first: arb_mat, second: arb_mat) -> list[arb]:
    """`‖V₁‖‖A_i‖‖V₂‖`, by which a coefficient is measured that may be zero."""
    both = _norm(first) * _norm(second)
    return [both * one for one in form.norms()]


def _norm(matrix: arb_mat) -> arb:
    return sum((one * one for one in entries(matrix)), arb(0)).sqrt()


def _data(problem: Problem) -> tuple[list[fmpq], fmpq]:
    task = problem.regression
    return as_rationals(task.X[0].tolist()), rational(float(task.y[0]))


def _as_given(problem: Problem, second: arb_mat) -> arb_mat:
    """Columns are what A meets: of matrices they are the rows of the second layer."""
    return second if problem.init.direction[1].ndim == 1 else second.transpose()


class _Flow:
    """The layers as functions of ν.

    With `K = AᵀA` (or the smaller of the two), `S = sinh(½ν√K)/√K` and `C = cosh(½ν√K)`:
    `V₂ = V₂(0) + 2KS²V₂(0) + 2SC AᵀV₁(0)`, `V₁ = V₁(0) + AG`, `G = 2SC V₂(0) + 2S² AᵀV₁(0)`.
    """

    def __init__(self, form: BilinearForm, A: fmpq_mat, scale: arb) -> None:
        self.turned = A.nrows() < A.ncols()
        layers = [arb_mat(form.first) * scale, arb_mat(form.second) * scale]
        if self.turned:
            A, layers = A.transpose(), layers[::-1]
        self.matrix, self.transposed = arb_mat(A), arb_mat(A.transpose())
        self.long, self.short = layers
        self.square = arb_mat(A.transpose() * A)
        self.pushed = self.transposed * self.long
        # About ‖A‖, a power of two: the two blocks of the exponential are then alike.
        largest = max((self.square[a, a] for a in range(A.ncols())), key=arb.mid)
        self.unit = arb(2) ** round(float(largest.log()) / math.log(4))

    def at(self, nu: arb) -> tuple[arb_mat, arb_mat]:
        """V₁ and V₂."""
        grown, sine, turn = self._half(nu)
        pushed = self.pushed
        moved = 2 * sine * (grown * self.short + sine * pushed)
        short = self.short + 2 * sine * (turn * self.short + grown * pushed)
        long = self.long + self.matrix * moved
        return (short, long) if self.turned else (long, short)

    def output(self, nu: arb) -> tuple[arb, arb]:
        """The output and its derivative in ν."""
        first, second = self.at(nu)
        long, short = (second, first) if self.turned else (first, second)
        ahead, back = self.matrix * short, self.transposed * long
        value = sum((a * b for a, b in zip(entries(long), entries(ahead), strict=True)), arb(0))
        slope = sum((one * one for one in entries(ahead) + entries(back)), arb(0))
        if not (value.is_finite() and slope.is_finite()):
            raise MorePrecision("an exponential is too large for this precision")
        return value, slope

    def _half(self, nu: arb) -> tuple[arb_mat, arb_mat, arb_mat]:
        """C, S and KS, from `exp(½ν [[0, u], [K/u, 0]]) = [[C, uS], [KS/u, C]]`."""
        size = self.square.nrows()
        block = arb_mat(2 * size, 2 * size)
        for a in range(size):
            block[a, size + a] = nu * self.unit / 2
            for b in range(size):
                block[size + a, b] = nu * self.square[a, b] / self.unit / 2
        found = block.exp()
        parts = [
            arb_mat(
                size, size, [found[a, b] for a in range(i, i + size) for b in range(j, j + size)]
            )
            for i, j in ((0, 0), (0, size), (size, 0))
        ]
        return parts[0], parts[1] / self.unit, parts[2] * self.unit


def _near(
    flow: _Flow, target: arb, hint: Hint | None, check_reached: Callable[[bool], None]
) -> arb:
    """About the root, from where float64 puts it or from the start."""
    if hint is not None and np.isfinite(hint.dual).all() and len(hint.dual) == 1:
        try:
            return _search(flow, target, arb(float(hint.dual[0])), check_reached)
        except MorePrecision:
            pass  # a hint may be wrong
    return _search(flow, target, arb(0), check_reached)


def _search(flow: _Flow, target: arb, nu: arb, check_reached: Callable[[bool], None]) -> arb:
    """Newton's method between a point below and one above, on midpoints; rounding ends it."""
    low = high = smallest = None
    asked = False
    reach = 1 / flow.unit
    for _ in range(STEPS):
        value, slope = flow.output(nu)
        missed = (value - target).mid()
        if missed <= 0:
            low = nu
        if missed >= 0:
            high = nu
        step = (missed / slope).mid() if slope.mid() > 0 else arb(0)
        new = (nu - step).mid()
        if low is not None and high is not None:
            new = new if low < new < high else ((low + high) / 2).mid()
        elif abs(step) > reach or slope.mid() <= 0:
            # So far, and no further than twice as far as before.
            new = (nu + (reach if high is None else -reach)).mid()
            reach = 2 * reach
            if not asked and reach * flow.unit > FAR:
                asked = True
                check_reached(high is None)
        size = abs(new - nu) / (abs(new) + abs(nu) + arb(2) ** -999999)
        if new == nu or size < arb(2) ** (8 - ctx.prec):
            break
        if smallest is not None and size < arb(2) ** -20 and not size < smallest / 2:
            break
        nu, smallest = new, size.mid()
    return nu
