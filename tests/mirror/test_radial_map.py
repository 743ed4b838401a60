"""Maps from the first layer to the coefficients, against mpmath and the formulas of lyu."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limitpoint.mirror import PairRadius, PowerRadius

DIGITS = 40
POWERS = [PowerRadius(np.array([0.3, -0.2, 0.5]), degree) for degree in (1, 2, 3, 5, 11)]
# Pairs that turn above zero, at zero, and that never turn (lowest below zero).
PAIRS = [
    PairRadius(np.array([0.9, -0.8, 0.5]), np.array(offsets), np.array(crosses))
    for offsets, crosses in (
        ([0.1, 0.3], [0.5, 0.2]),
        ([0.0, 0.0], [0.0, 0.0]),
        ([-0.2], [0.0]),
        ([3.0, 2.0, 0.5], [0.4, 0.1, 0.0]),
        ([6.0], [0.0]),
    )
]
MAPS = [*POWERS, *PAIRS]


def name(radial):
    """A short name for the test's id."""
    if isinstance(radial, PowerRadius):
        return f"degree {radial.degree}"
    return f"pairs from {radial.lowest:g}, {len(radial.offsets)}"


def multiplier_mp(radial, square):
    """Ξ by its definition, in many digits."""
    if isinstance(radial, PowerRadius):
        return mp.mpf(square) ** (mp.mpf(radial.degree - 1) / 2)
    product = mp.mpf(1)
    for offset, cross in zip(radial.offsets, radial.crosses, strict=True):
        total = 2 * mp.mpf(square) + mp.mpf(float(offset))
        product *= mp.sqrt(total**2 - mp.mpf(float(cross)) ** 2) / 2
    return product


def above_lowest(radial):
    """Squares from next to the end of the map to far from it."""
    low = max(radial.lowest, 0.0)
    return [low + above for above in (1e-8, 1e-3, 0.7, 40.0, 1e5)]


@pytest.mark.parametrize("radial", MAPS, ids=name)
class TestAgainstManyDigits:
    def test_multiplier(self, radial):
        with mp.workdps(DIGITS):
            for square in above_lowest(radial):
                expected = float(multiplier_mp(radial, square))
                # ρ − lowest is itself rounded, by eps·ρ: next to the end that is amplified.
                lost = 1e-15 * (1 + square / max(square - radial.lowest, 1e-300))
                assert radial.multiplier(square) == pytest.approx(expected, rel=1e-12 + lost)

    def test_log_multiplier_loses_nothing_next_to_the_end(self, radial):
        with mp.workdps(60):
            low = _lowest_mp(radial)
            for above in (1e-25, 1e-12, 1e-3, 1.0):
                value, slope = radial.log_multiplier(above)
                square = low + mp.mpf(above)  # in 60 digits, so that next to nothing is left
                expected = float(mp.log(multiplier_mp(radial, square)))
                assert value == pytest.approx(expected, rel=1e-12, abs=1e-12)
                step = mp.mpf(above) / 10**12
                sides = [mp.log(multiplier_mp(radial, square + s)) for s in (step, -step)]
                derived = float((sides[0] - sides[1]) / (2 * step))
                assert slope == pytest.approx(derived, rel=1e-11, abs=1e-300)

    def test_conjugate_is_half_the_integral(self, radial):
        low, high = max(radial.lowest, 0.0) + 0.01, max(radial.lowest, 0.0) + 2.5
        with mp.workdps(DIGITS):
            expected = float(mp.quad(lambda r: multiplier_mp(radial, r), [low, high]) / 2)
        found = radial.conjugate(high) - radial.conjugate(low)
        # Quadrature to 1e-13, and the difference of two values.
        assert found == pytest.approx(expected, rel=1e-11)

    def test_jacobian(self, radial):
        """`dβ/dz` by central differences in 40 digits: exact to 1e-20 but for our rounding."""
        z = np.sqrt(max(radial.lowest, 0.0) + 0.4) * np.array([0.6, -0.64, 0.48])
        found = radial.jacobian_times(z, np.eye(3))
        step = mp.mpf(10) ** -12
        with mp.workdps(DIGITS):
            point = [mp.mpf(float(x)) for x in z]
            for j in range(3):
                sides = []
                for sign in (1, -1):
                    moved = [x + sign * step * (i == j) for i, x in enumerate(point)]
                    xi = multiplier_mp(radial, mp.fsum(x * x for x in moved))
                    sides.append([xi * x for x in moved])
                column = [
                    float((a - b) / (2 * step)) for a, b in zip(sides[0], sides[1], strict=True)
                ]
                np.testing.assert_allclose(found[:, j], column, rtol=1e-11, atol=1e-12)

    @pytest.mark.parametrize("size", [1e-6, 1e-3, 1.0, 1e6])
    def test_inverse(self, radial, size):
        coef = size * np.array([2.0, -1.0, 2.0]) / 3
        z = radial.inverse(coef)
        # The root is found to 1e-14 in log(ρ − lowest); β changes by degree times that at most,
        # and by ρ/(ρ − lowest) roundings of ρ.
        square = float(z @ z)
        lost = 1e-15 * square / max(square - radial.lowest, 1e-300)
        np.testing.assert_allclose(radial.coef(z), coef, rtol=1e-12 + lost)
        assert z @ coef > 0

    def test_gradient_of_the_potential_is_the_inverse(self, radial):
        """`∇V = z − z(0)`, by central differences: errors h² ~ 1e-10 and eps/h ~ 1e-11."""
        coef, step = np.array([0.7, -0.4, 0.3]), 1e-5
        found = [
            (radial.potential(coef + step * e) - radial.potential(coef - step * e)) / (2 * step)
            for e in np.eye(3)
        ]
        np.testing.assert_allclose(found, radial.inverse(coef) - radial.start, rtol=0, atol=1e-8)

    def test_fenchel_young(self, radial):
        """`Φ*(β) + Φ(z') ≥ βᵀz'` with equality at z' = z: the map is a gradient."""
        coef = np.array([0.7, -0.4, 0.3])
        z = radial.inverse(coef)
        primal = radial.potential(coef) + coef @ radial.start
        scale = abs(primal) + abs(radial.conjugate(float(z @ z)))
        assert abs(primal + radial.conjugate(float(z @ z)) - coef @ z) < 1e-12 * scale
        for shift in np.eye(3):
            other = z + 0.1 * shift
            if other @ other > radial.lowest:
                assert primal + radial.conjugate(float(other @ other)) - coef @ other > 1e-6


def _lowest_mp(radial):
    if isinstance(radial, PowerRadius):
        return mp.mpf(0)
    pairs = zip(radial.crosses, radial.offsets, strict=True)
    return max((mp.mpf(float(c)) - mp.mpf(float(d))) / 2 for c, d in pairs)


class TestEnds:
    @pytest.mark.parametrize("radial", MAPS, ids=name)
    def test_zero_coefficients_come_from_zero(self, radial):
        np.testing.assert_array_equal(radial.inverse(np.zeros(3)), np.zeros(3))

    def test_nothing_at_and_below_the_lowest_square(self):
        radial = PAIRS[0]
        assert radial.lowest == pytest.approx(0.2)
        assert radial.multiplier(radial.lowest) == 0.0
        z = np.array([0.1, 0.0, 0.0])
        assert not radial.coef(z).any()
        assert not radial.jacobian_times(z, np.eye(3)).any()

    def test_lowest_is_where_the_first_pair_turns(self):
        radial = PairRadius(np.ones(2), np.array([0.1, 0.0]), np.array([0.3, 0.7]))
        assert radial.lowest == pytest.approx(0.35)

    def test_multiplier_overflows_to_infinity_quietly(self):
        assert PowerRadius(np.ones(1), 11).multiplier(1e200) == np.inf


@pytest.mark.parametrize("degree", [2, 3, 7])
def test_potential_is_that_of_lyu(degree):
    """`V = ‖β‖^{1+1/D}/(1+1/D) − βᵀβ₀‖β₀‖^{1/D−1}`, an identity."""
    coef, start = np.array([0.3, 1.1, -0.2]), np.array([-0.4, 0.2, 0.9])
    norm, size = np.linalg.norm(coef), np.linalg.norm(start)
    z = size ** (1 / degree - 1) * start
    power = 1 + 1 / degree
    expected = norm**power / power - coef @ start * size ** (1 / degree - 1)
    assert PowerRadius(z, degree).potential(coef) == pytest.approx(expected, rel=1e-12)


def test_balanced_pairs_are_a_power():
    """`δ = c = 0`: `Ξ = ρ^{L−1}`, the map of degree 2L − 1."""
    pairs = PairRadius(np.ones(3), np.zeros(3), np.zeros(3))
    power = PowerRadius(np.ones(3), 7)
    z = np.array([0.3, -1.2, 0.8])
    np.testing.assert_allclose(pairs.coef(z), power.coef(z), rtol=1e-12)
    np.testing.assert_allclose(pairs.inverse(z), power.inverse(z), rtol=1e-12)
    assert pairs.potential(z) == pytest.approx(power.potential(z), rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(-1, 3), min_size=1, max_size=4),
    st.floats(0, 1),
    st.floats(-12, 6),
    st.integers(0, 99),
)
def test_inverse_of_any_pairs(offsets, cross, log_size, seed):
    """Round trip, along any direction, whatever the pairs: also where none can ever turn."""
    offsets = np.array(offsets)
    crosses = np.full_like(offsets, cross)
    radial = PairRadius(np.zeros(3), offsets, crosses)
    direction = np.random.default_rng(seed).standard_normal(3)
    coef = np.exp(log_size) * direction
    z = radial.inverse(coef)
    square = float(z @ z)
    assert square >= radial.lowest
    # Rounding of ρ, seen from the end of the map, beside the accuracy of the root times the degree.
    lost = 4e-16 * abs(square) / max(square - radial.lowest, 1e-300)
    if lost < 1e-3:
        np.testing.assert_allclose(radial.coef(z), coef, rtol=1e-11 + 10 * lost)
