"""Two-layer networks: the least norm in fractions, singular values by counts of sign changes."""

from fractions import Fraction
from itertools import pairwise

from mpmath import iv
from tests.oracles.proof_checker.arithmetic import Rejected, claimed, contain, dot, flat, interval
from tests.oracles.proof_checker.coupled_start import ROUNDING, Split, assumes, scale_of
from tests.oracles.proof_checker.radial_root import characteristic

__all__ = ["two_layer_spectrum"]

# Every root is enclosed so many bits more narrowly than was claimed.
BISECTIONS = 200


def two_layer_spectrum(problem, exported):
    """`X⁺Y`, and the three lists of singular values."""
    split = Split(problem)
    if exported["fits"] != split.fits or not problem["network"].startswith("TwoLayer"):
        raise Rejected("not whether the data are fitted, or another network")
    square = _check_start(problem, exported)
    contain(exported["coef"], flat(split.least))
    contain(exported["mirror"], flat(split.least))
    contain(exported["dual"], flat(split.dual))
    n, outputs, more = len(split.least), len(split.least[0]), exported["more"]
    sides = split.least if n <= outputs else [list(one) for one in zip(*split.least, strict=True)]
    gram = [[dot(a, b) for b in sides] for a in sides]
    values = _roots(characteristic(gram), claimed(more["singular values of the coefficients"]))
    contain(more["singular values of the coefficients"], values)
    gamma = scale_of(problem) ** 2 * interval(square) / 2
    width = len(problem["direction"][1])
    positive = [one for one in values if not isinstance(one, Fraction)]
    reach = [iv.sqrt(one**2 + gamma**2) + gamma for one in positive]
    rest = iv.sqrt(2 * gamma)
    first = [iv.sqrt(one) for one in reach] + [rest] * (n - len(positive))
    second = [s / iv.sqrt(r) for s, r in zip(positive, reach, strict=True)]
    second += [Fraction(0)] * (min(width, outputs) - len(positive))
    contain(more["singular values of the first layer"], first)
    contain(more["singular values of the second layer"], second)


def _check_start(problem, exported):
    """The mean square of the rows of the first layer; the second is zero."""
    first, second = problem["direction"]
    if any(flat(second)):
        raise Rejected("the second layer does not start at zero")
    rows = [[Fraction(one) for one in row] for row in first]
    square = sum(dot(row, row) for row in rows) / len(rows)
    off = max(
        abs(dot(a, b) - (square if i == j else 0))
        for i, a in enumerate(rows)
        for j, b in enumerate(rows)
    )
    if not square > 0 or off > ROUNDING * square:
        raise Rejected("rows that are not orthonormal")
    if exported["witness"]["orthonormal"] != ("assumed" if off else "exact"):
        raise Rejected("the witness calls the start something else")
    theorem = "varre2023.theorem3.1" + ("" if problem.get("scale") != 0 else "_at_zero")
    if exported["theorem"] != theorem:
        raise Rejected("another theorem")
    assumes(exported, ["orthonormal"] if off else [])
    return square


def _roots(coefs, said):
    """The roots of the eigenvalues, where the claimed balls say, as often as they say.

    Of a polynomial with real roots alone the number of them in `(a, b]` is the difference of the
    sign changes of its coefficients around a and b (Budan and Fourier, where it is exact).
    """
    zeros = next(k for k, one in enumerate(reversed(coefs)) if one != 0)
    if len(said) != len(coefs) - 1 or [m for m, _ in said[len(said) - zeros :]] != [0] * zeros:
        raise Rejected("not as many singular values as there are")
    found = []
    for middle, radius in said[: len(said) - zeros]:
        around = radius or middle / 2**BISECTIONS
        low, high = middle - around, middle + around
        alike = sum(one == (middle, radius) for one in said)
        if not low > 0 or _count(coefs, low**2, high**2) != alike:
            raise Rejected("not one singular value in its ball")
        if any(one != (middle, radius) and abs(one[0] - middle) <= one[1] + radius for one in said):
            raise Rejected("two balls overlap")
        if radius == 0:
            if sum(c * middle ** (2 * k) for k, c in enumerate(reversed(coefs))) != 0:
                raise Rejected("an exact singular value is none")
            low = high = middle
        for _ in range(BISECTIONS if radius else 0):
            half = (low + high) / 2
            inside = _count(coefs, low**2, half**2)
            if inside not in (0, alike):
                raise Rejected("two singular values in one ball")
            low, high = (low, half) if inside else (half, high)
        found.append(iv.mpf([interval(low).a, interval(high).b]))
    if [m for m, _ in said] != sorted((m for m, _ in said), reverse=True):
        raise Rejected("not in order")
    return found + [Fraction(0)] * zeros


def _count(coefs, low, high):
    return _changes(coefs, low) - _changes(coefs, high)


def _changes(coefs, at):
    """Sign changes in the coefficients of `p(x + at)`."""
    shifted, rest = [], list(coefs)
    while rest:
        for k in range(1, len(rest)):
            rest[k] += at * rest[k - 1]
        shifted.append(rest.pop())
    signs = [one > 0 for one in shifted if one != 0]
    return sum(a != b for a, b in pairwise(signs))
