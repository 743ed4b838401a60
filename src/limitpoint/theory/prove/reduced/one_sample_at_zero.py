"""One sample and two layers as the scale vanishes: the exponential that grows fastest is left.

Notation: `J = [[0, A], [Aᵀ, 0]]`, z the direction of the layers, m its minimal polynomial, s the
largest root of m (the smallest if y < 0). The layers end in the direction of the part of z in the
eigenspace of s, `w = q(J)z` with `q = m/(t − s)`; `β` is y times what w gives, over its output.
"""

from collections.abc import Sequence

from flint import acb, arb, arb_mat, fmpq, fmpq_poly

from limitpoint.theory.prove.outcome import CannotProve, Found, MorePrecision
from limitpoint.theory.prove.reduced.bilinear_form import BilinearForm
from limitpoint.theory.prove.reduced.krylov import has_positive_root, minimal_polynomial, mirrored

__all__ = ["prove_one_sample_at_zero"]

STATEMENT = (
    "as the scale vanishes only the part of the start is left that grows fastest as the output "
    "does towards y; what it gives, at the output y, has each coefficient in its ball."
)
METHOD = (
    "the minimal polynomial of the start under the flow, in rationals, and its outermost root "
    "in balls"
)


def prove_one_sample_at_zero(form: BilinearForm, x: Sequence[fmpq], y: fmpq) -> Found:
    """Enclose the limit of vanishing scale; at y = 0 it is zero."""
    if y == 0:
        return _found([fmpq(0)] * len(x), None)
    A = form.at(x)
    polynomial = minimal_polynomial(A, form.first, form.second)
    outward = polynomial if y > 0 else mirrored(polynomial)
    if not has_positive_root(outward):
        raise CannotProve("no part of the start grows as the output does towards y")
    root = _largest_root(outward)
    # By y < 0 the root of m is minus that of m(−t).
    factor = _without(polynomial, root if y > 0 else -root)
    first, second = arb_mat(form.first), arb_mat(form.second)
    ahead, back = arb_mat(A), arb_mat(A.transpose())
    one, other = factor[-1] * first, factor[-1] * second
    for coefficient in reversed(factor[:-1]):
        one, other = ahead * other + coefficient * first, back * one + coefficient * second
    values = form.coefs(one, other)
    output = sum((arb(a) * b for a, b in zip(x, values, strict=True)), arb(0))
    if output.contains(0):
        raise MorePrecision("the part of the start that grows fastest cannot be told from zero")
    both = _square(one).sqrt() * _square(other).sqrt()
    sizes = [both * size * abs(arb(y) / output) for size in form.norms()]
    return _found([arb(y) * value / output for value in values], sizes)


def _found(coef: list[arb] | list[fmpq], sizes: list[arb] | None) -> Found:
    return Found(
        coef=coef, statement=STATEMENT, method=METHOD, kind="one sample at scale zero", sizes=sizes
    )


def _square(matrix: arb_mat) -> arb:
    return sum((one * one for one in matrix.entries()), arb(0))


def _largest_root(polynomial: fmpq_poly) -> arb:
    """Of a polynomial whose roots are all real, each once."""
    found: list[tuple[acb, int]] = list(polynomial.numer().complex_roots())  # type: ignore[arg-type]
    roots = [one.real for one, _ in found]
    largest: arb = max(roots, key=arb.mid)
    if sum(not one < largest for one in roots) > 1:
        raise MorePrecision("the largest two exponents cannot be told apart")
    return largest


def _without(polynomial: fmpq_poly, root: arb) -> list[arb]:
    """The coefficients of `m/(t − root)`, the lowest first (Horner)."""
    found, carried = [], arb(0)
    for coefficient in reversed(polynomial.coeffs()[1:]):
        carried = carried * root + arb(coefficient)
        found.append(carried)
    return found[::-1]
