"""Tables of general networks against series of thirty digits: small components that grow again."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from tests.mirror.general.general_sweep import CLAIMED, curve_of, errors, model_of, table_of
from tests.oracles.general_cases import Case, random_case
from tests.oracles.many_digits.general_series import expm1, sin, tanh, variables

from limitpoint.errors import NetworkError
from limitpoint.mirror.general.block_model import BlockModel
from limitpoint.mirror.general.eigen_components import eigen_components
from limitpoint.mirror.general.sign_planes import growth_rates

AXES, TURNED = ((1, 0), (0, 1)), ((3, 1), (-1, 3))


def regrown(matrix, direction, scale, power=1):
    """`p²/2 − q²/2 + p^n q²`: q shrinks until p is about ½, then grows, faster and faster."""
    p, q = variables(2)
    norm = sum(x * x for x in matrix[0])
    f = (0.5 / norm) * p * p - (0.5 / norm) * q * q + p**power * q * q
    return Case("regrown", f, matrix, direction, scale)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("matrix", "direction", "scale", "power"),
    [
        (AXES, (1e-10, 1.0), 1e-16, 1),
        (TURNED, (0.3, 0.7), 1e-16, 2),
        pytest.param(AXES, (1e-2, 1.0), 1e-160, 2, marks=pytest.mark.slow),  # to 1e-322 and back
    ],
)
def test_a_component_that_shrinks_below_rounding_grows_again(matrix, direction, scale, power):
    case = regrown(matrix, direction, scale, power)
    found = curve_of(case, 1, largest=Decimal(10) ** 5, pieces=800)
    assert found[-1][1] > 10**5
    assert errors(table_of(case), found).max() <= CLAIMED


def test_errors_that_grow_end_the_table(monkeypatch):
    """Without its logarithm q is lost in rounding: the table ends before that shows."""
    case = regrown(TURNED, (0.3, 0.7), 1e-16, 2)
    found = curve_of(case, 1, largest=Decimal(10) ** 5, pieces=300)
    monkeypatch.setattr(BlockModel, "invariant_planes", lambda self, free: np.zeros_like(free))
    mirror = table_of(case)
    off = errors(mirror, found)
    known = ~np.isnan(off)
    assert known[:5].all()
    assert not known[-5:].any()
    assert off[known].max() <= CLAIMED
    (end,) = mirror.known[1]
    assert end > 0
    sentence = mirror.unknown[-1]
    assert "coefficient 0 is known up to" in sentence
    assert "float64" in sentence


def saddle(z_start):
    """`x²/4 − 3y²/8 − 3z²/4 + z³/2 + xyz/4`: downwards along z there is a saddle, at z = 1."""
    x, y, z = variables(3)
    f = 0.25 * x * x - 0.375 * y * y - 0.75 * z * z + 0.5 * z**3 + 0.25 * x * y * z
    return Case("saddle", f, ((1, 0, 0), (0, 1, 0), (0, 0, 1)), (1.0, z_start, 1e-11), 1e-24)


def test_a_saddle_of_k_is_no_bound():
    """The curve leaves it along y, which rounding has made there: nothing is known beyond it."""
    mirror = table_of(saddle(-1e-11))
    assert np.isneginf(mirror.lower).all()
    assert mirror.known[0][0] == pytest.approx(-0.25, rel=1e-6)
    found = curve_of(saddle(-1e-11), -1, pieces=80)
    off = errors(mirror, found)
    assert off[~np.isnan(off)].max() <= CLAIMED
    assert float(found[-1][1]) < -0.2501  # past the saddle
    assert np.isnan(off[-1])


def test_a_saddle_of_k_is_a_bound_where_nothing_leads_away_from_it():
    mirror = table_of(replace(saddle(0.0), direction=(0.0, 0.0, 1.0)))
    assert mirror.lower[0] == pytest.approx(-0.25, rel=1e-9)
    assert np.isneginf(mirror.known[0]).all()


# Of every kind: axes, turned, sparse, space, curved, mixed.
@pytest.mark.slow
@pytest.mark.parametrize("number", [6, 8, 12, 13, 14, 16])
@pytest.mark.parametrize("side", [1, -1])
def test_random_formulas(number, side):
    case = random_case(number)
    found = curve_of(case, side, pieces=60)
    off = errors(table_of(case), found)
    assert off.max() <= CLAIMED  # NaN, nothing known, fails too


class TestNearEigenvectors:
    """Components that are differences of large terms."""

    def test_of_a_hessian_that_is_exact(self):
        """`ab` from a ≈ b: a − b is all that decides how it goes on downwards."""
        x, y = variables(2)
        for apart in (1e-6, 1e-12, 2.0**-47):
            case = Case("product", x * y, AXES, (1.0, 1.0 + apart), 1e-8)
            mirror = table_of(case)
            (z,) = mirror.groups[0].starts.linear.components
            exact = (1.0 + apart) - 1.0
            assert abs(z[0]) == pytest.approx(exact / np.sqrt(2), rel=1e-15)
            # The coefficient is −¼(a − b)² e^{−2ξ} in the end.
            xi = np.array([-60.0])
            wanted = -0.25 * (1e-8 * exact) ** 2 * np.exp(120.0)
            assert mirror.coefs(xi)[0] == pytest.approx(wanted, rel=1e-9)

    def test_of_a_hessian_that_is_rounded_are_refused(self):
        """Its entries, 0.8 and 0.6, are not known to the last digit."""
        p, q = variables(2)
        case = Case("quadratic", 0.05 * p * p - 0.05 * q * q, TURNED, (3.0, 1.0 + 1e-10), 1e-16)
        with pytest.raises(NetworkError, match="so near an eigenvector"):
            table_of(case).coefs(np.array([-60.0]))

    def test_of_a_hessian_that_is_rounded_end_the_table(self):
        """Where there is no linear stage, up to where they matter."""
        case = regrown(TURNED, (3.0, 1.0 + 1e-10), 1e-16)
        off = errors(table_of(case), curve_of(case, -1, pieces=60))
        assert off[0] <= CLAIMED
        assert off[~np.isnan(off)].max() <= CLAIMED
        assert np.isnan(off[-1])

    def test_errors_follow_the_hessian(self):
        """Rounded entries by their units, and those are an honest bound of what they do."""
        rng = np.random.default_rng(3)
        for _ in range(20):
            half = rng.standard_normal((3, 3))
            hessian = half + half.T
            blocks = rng.standard_normal((4, 3))
            values, basis = np.linalg.eigh(hessian)
            z, error = eigen_components(hessian, values, basis, blocks)
            bent = hessian * (1 + np.finfo(float).eps * rng.uniform(-0.5, 0.5, (3, 3)))
            other = np.linalg.eigh((bent + bent.T) / 2)[1]
            moved = blocks @ (other * np.sign((other * basis).sum(axis=0)))
            assert (np.abs(moved - z) <= 4 * error).all()

    def test_refined_eigenvectors(self):
        """Whole numbers: the eigenvectors are (1, 2, 2)/3, (2, 1, −2)/3 and (2, −2, 1)/3."""
        rows = np.array([[1.0, 2.0, 2.0], [2.0, 1.0, -2.0], [2.0, -2.0, 1.0]])
        hessian = rows.T @ np.diag([1.0, -2.0, 3.0]) @ rows
        values, basis = np.linalg.eigh(hessian)  # ascending: the second, the first, the third
        small = 2.0**-40
        z, error = eigen_components(hessian, values, basis, (rows[0] + small * rows[1])[None])
        np.testing.assert_allclose(np.abs(z[0]), [3 * small, 3.0, 0.0], rtol=1e-15, atol=1e-40)
        assert (error <= np.finfo(float).eps * np.abs(z)).all()


@pytest.mark.parametrize("small", [1e-300, 1e-12, 1e-3, 0.1])
def test_growth_rates_of_components_that_keep_their_sign(small):
    """`∂_jk/z_j` in closed form; in a turned basis the formula of ∂_jk has lost it below 1e-16."""
    x, y = variables(2)
    f = 0.5 * x * x - 0.25 * y * tanh(y) + sin(x) * y * y + x * expm1(y * y)
    case = Case("even in y", f, TURNED, (1.0, 0.0), 1.0)
    model = model_of(case)
    j = int(np.argmin(np.abs(np.array([-1, 3]) @ model.basis) < 1))
    free = np.ones((1, 2), dtype=bool)
    assert model.invariant_planes(free)[0].tolist() == [i == j for i in range(2)]
    for size in (1e-9, 0.3, 2.0):
        z = np.zeros((2, 1))
        z[j], z[1 - j] = small * size, size
        sign = np.sign(np.array([3, 1]) @ model.basis[:, 1 - j])
        p, q = sign * np.sqrt(10) * size, np.sqrt(10) * small * size
        t = np.tanh(q)
        slope = -0.25 * (t / q + 1 - t * t) if q > 1e-6 else -0.5
        slope += 2 * np.sin(p) + 2 * p * np.exp(q * q)
        gradient = model.scaled_gradient(np.ones(1), z)
        found = growth_rates(model, np.ones(1), z, gradient, np.array([j]))
        assert found[j, 0] == pytest.approx(10 * slope, rel=1e-12)
        assert found[1 - j, 0] == 0.0
