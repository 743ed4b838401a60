"""The curves of the 60-digit oracles against others, from quadrature of the mirror coordinate."""

import pytest
from mpmath import mp, mpf
from tests.oracles.exact import curves
from tests.oracles.exact.deep_curve import DeepCurve
from tests.oracles.many_digits.diagonal_mp import PreciseDiagonal

SCALE = mpf(1) / 128
# The other oracle has 50 digits; sums of quadratures lose some of them.
TOLERANCE = mpf(10) ** -45
STARTS = {
    "depth 3": (0.75, -1.5, 0.25),
    "depth 5": (0.75, -1.5, 0.25, 2.0, -0.875),
    "zero last": (1.0, 1.0, 1.0, 0.0),
    "tied": (-0.5, 0.5, 3.0),
    "tied, depth 4": (0.5, 0.5, -3.0, 1.0),
    "three tied": (0.5, 0.5, -0.5, 1.0),
    "all tied": (0.5, 0.5, 0.5),
}


@pytest.mark.parametrize("layers", STARTS.values(), ids=STARTS)
def test_deep_curves_are_the_inverse_of_the_quadrature(layers):
    with mp.workdps(60):
        start = [SCALE * mpf(a) for a in layers]
        curve, other = DeepCurve(*start), PreciseDiagonal(start)
        for end, sign in ((curve.high, 1), (-curve.low, -1)):
            pole = other.pole(sign)
            assert end == pole or abs(end - pole) <= TOLERANCE * pole
        low = curve.low if curve.low > -mp.inf else -3 * curve.high
        high = curve.high if curve.high < mp.inf else -3 * curve.low
        for part in ("1e-9", "0.3", "0.7"):
            xi = low + mpf(part) * (high - low)
            coef, _ = curve.at(xi)
            assert abs(other.mirror_of_coef(coef) - xi) <= TOLERANCE * (high - low)


@pytest.mark.parametrize(
    "curve",
    [
        lambda: curves.diagonal(mpf(1), mpf("0.5")),
        lambda: curves.paired(mpf(1), mpf(2), mpf("0.5"), mpf(-1)),
        lambda: curves.signed_power(mpf(1), mpf("0.5"), 2),
        lambda: curves.signed_power(mpf(1), mpf("0.5"), 3),
        lambda: curves.power(mpf(-1), 3),
        lambda: curves.Quartic(mpf(1), mpf("0.5")),
        lambda: curves.Hyperbolic(mpf(1), mpf("0.5")),
        lambda: curves.diagonal(mpf(1), mpf("0.5"), mpf("0.25")),
    ],
)
def test_the_slope_is_the_derivative(curve):
    with mp.workdps(60):
        here = curve()
        for xi in (mpf("-0.02"), mpf(0), mpf("0.05")):
            slope = mp.diff(lambda at: here.at(at)[0], xi)
            # Central differences lose a third of the digits.
            assert abs(here.at(xi)[1] - slope) <= mpf(10) ** -18 * slope
