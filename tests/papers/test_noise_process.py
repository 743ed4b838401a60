"""The noise process of varre2023.proposition4.1: exact moments, many paths, what is true of (c)."""

import jax
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm
from scipy.sparse import csr_array, eye_array, kron
from scipy.sparse.linalg import expm_multiply

import limitpoint as lp
from limitpoint.papers.varre2023.noise_process import (
    NoiseProcess,
    alignments,
    commutator_norms,
    commutators,
)

PATHS = 20_000
T_END = 3.0
# Spectral gap of the diffusion of ρ in the measure weighted by det W, by finite differences: so
# fast its mean, from 0, approaches the stationary one; the difference is below e^{−gap·t} of it.
GAP = 2.96


def generators(d, width):
    """Matrices A_k with `dx = Σ_k A_k x dB_k` for x = (W row by row, a)."""
    size = d * width + width
    matrices = np.zeros((d, size, size))
    for k in range(d):
        for i in range(width):
            matrices[k, k * width + i, d * width + i] = 1.0  # dW_ki = a_i dB_k
            matrices[k, d * width + i, k * width + i] = 1.0  # da_i = W_ki dB_k
    return matrices


def some_start(d, width):
    rng = np.random.default_rng(d + 10 * width)
    return rng.standard_normal((d, width)), rng.standard_normal(width)


class TestMomentsAgainstTheGenerator:
    """All moments of a linear equation obey linear equations in tensor powers of the state."""

    @pytest.mark.parametrize(("d", "width"), [(1, 1), (2, 2), (3, 2), (2, 3), (4, 1)])
    @pytest.mark.parametrize("time", [0.0, 0.3, 1.7])
    def test_second(self, d, width, time):
        start = some_start(d, width)
        process = NoiseProcess(d, start)
        x = process.start
        np.testing.assert_array_equal(x, np.concatenate([start[0].ravel(), start[1]]))
        rates = sum(np.kron(matrix, matrix) for matrix in generators(d, width))
        square = (expm(rates * time) @ np.kron(x, x)).reshape(len(x), len(x))
        of_first = square[: d * width, : d * width].reshape(d, width, d, width)
        mixed = square[: d * width, d * width :].reshape(d, width, width)
        gram, outer = process.mean_gram(time)
        size = np.abs(square).max()
        np.testing.assert_allclose(gram, np.einsum("risj,rs->ij", of_first, np.eye(d)), rtol=1e-11)
        np.testing.assert_allclose(outer, square[d * width :, d * width :], rtol=1e-11)
        np.testing.assert_allclose(process.mean_products(time), mixed, rtol=0, atol=1e-12 * size)
        np.testing.assert_allclose(
            process.mean_commutators(time), mixed - mixed.swapaxes(1, 2), rtol=0, atol=1e-12 * size
        )
        assert process.mean_squares(time) == pytest.approx((np.trace(gram), np.trace(outer)))

    @pytest.mark.parametrize(("d", "width"), [(2, 2), (3, 1), (1, 2)])
    def test_fourth(self, d, width):
        time = 0.8
        process = NoiseProcess(d, some_start(d, width))
        x = process.start
        size, cut = len(x), d * width
        rates = csr_array((size**4, size**4))
        for matrix in generators(d, width):
            for i in range(4):
                for j in range(i):
                    factors = [
                        csr_array(matrix) if k in (i, j) else eye_array(size) for k in range(4)
                    ]
                    term = factors[0]
                    for factor in factors[1:]:
                        term = kron(term, factor, format="csr")
                    rates = rates + term
        begin = np.kron(np.kron(x, x), np.kron(x, x))
        tensor = expm_multiply(rates * time, begin).reshape((size,) * 4)
        inner, outer = tensor[:cut, :cut], tensor[cut:, cut:]
        w4 = inner[:, :, :cut, :cut].reshape((d, width) * 4)
        w2a2 = inner[:, :, cut:, cut:].reshape(d, width, d, width, width, width)
        expected = {
            "uu": np.einsum("ririsjsj->", w4),
            "s": np.einsum("rirjsisj->", w4),
            "uv": np.einsum("ririjj->", w2a2),
            "b": np.einsum("rirjij->", w2a2),
            "vv": np.einsum("iijj->", outer[:, :, cut:, cut:]),
        }
        found = process.fourth_moments(time)
        for name, value in expected.items():
            assert found[name] == pytest.approx(value, rel=1e-10), name
        assert process.mean_square_commutators(time) == pytest.approx(
            expected["uv"] - expected["b"], rel=1e-9, abs=1e-12 * expected["uv"]
        )
        first, second = process.mean_squares(time)
        errors = process.standard_errors(time, 400)
        spread = expected["uu"] - first**2, expected["vv"] - second**2
        assert errors == pytest.approx(tuple(np.sqrt(spread) / 20), rel=1e-9)

    def test_growth_rates(self):
        for d in (2, 3, 7):
            process = NoiseProcess(d)
            times = np.array([20.0, 22.0])
            squares = np.log([process.mean_squares(time) for time in times])
            np.testing.assert_allclose(np.diff(squares, axis=0) / 2, np.sqrt(d), rtol=1e-12)
            areas = np.log([process.mean_square_commutators(time) for time in times])
            # The other exponential is e^{−2√(2d−1)·20} of the first.
            np.testing.assert_allclose(np.diff(areas) / 2, np.sqrt(2 * d - 1) - 1, rtol=1e-11)

    def test_the_case_of_the_paper(self):
        for time in (0.0, 0.5, 3.0):
            found = NoiseProcess(2).mean_squares(time)
            root = np.sqrt(2)
            expected = 2 * np.cosh(root * time), root * np.sinh(root * time)
            assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("d", "width"), [(2, 2), (3, 2)])
def test_the_equation(d, width):
    process = NoiseProcess(d, some_start(d, width))
    state = process.start
    with jax.enable_x64(True):
        matrix = np.asarray(process.diffusion(state))
        assert not np.asarray(process.drift(state)).any()
        for k, generator in enumerate(generators(d, width)):
            np.testing.assert_array_equal(matrix[:, k], generator @ state)
            kick = process.kick(state, np.eye(d)[k])
            np.testing.assert_array_equal(np.asarray(kick), generator @ state)


def test_eulers_step_of_the_second_moments():
    """`E‖W‖² + hd E‖a‖²` and `E‖a‖² + h E‖W‖²`: so Euler falls behind by `hdt/2`, relative."""
    d, h = 3, 0.01
    process = NoiseProcess(d, some_start(d, 2))
    state = process.start
    # The mean of a quadratic function of normal numbers is that over ±√(hd) along each axis.
    kicks = np.sqrt(h * d) * np.concatenate([np.eye(d), -np.eye(d)])
    with jax.enable_x64(True):
        after = np.array([state + np.asarray(process.kick(state, kick)) for kick in kicks])
    first, second = process.split(after)
    u, v = (np.sum(part**2) for part in process.initial)
    assert np.mean(np.sum(first**2, axis=(1, 2))) == pytest.approx(u + h * d * v, rel=1e-12)
    assert np.mean(np.sum(second**2, axis=1)) == pytest.approx(v + h * u, rel=1e-12)
    behind = (1 + h * np.sqrt(d)) ** (1 / h) / np.exp(np.sqrt(d))
    assert 1 - behind == pytest.approx(h * d / 2, rel=0.03)  # the next term is 2h√d/3 of it
    assert process.time_step * d / 2 == pytest.approx(2e-3)


class TestTheLimitOfTheMeanModulus:
    def test_against_quadrature_of_the_stationary_density(self):
        def density(r):
            return r * (1 - r * r) ** -2.5 * np.exp(-0.5 / (1 - r * r))

        ratio = quad(lambda r: r * density(r), 0, 1)[0] / quad(density, 0, 1)[0]
        assert NoiseProcess(2).mean_modulus_limit == pytest.approx(2 / np.pi * ratio, rel=1e-8)
        assert round(NoiseProcess(2).mean_modulus_limit, 4) == 0.4819

    def test_against_steps_of_the_reduced_equation(self):
        """(det W, e₁, e₂) by themselves, and weighted by the determinant, which has mean 1."""
        rng = np.random.default_rng(0)
        h, paths = 2e-3, 20_000
        det, e1, e2 = np.ones(paths), np.zeros(paths), np.zeros(paths)
        for _ in range(round(2.5 / h)):
            one, two = np.sqrt(h) * rng.standard_normal((2, paths))
            det, e1, e2 = (
                det + e1 * two - e2 * one,
                (1 - h) * e1 + det * two,
                (1 - h) * e2 - det * one,
            )
        limit = NoiseProcess(2).mean_modulus_limit
        # The difference from the limit's share of the determinant has mean 0 and little spread.
        off = (np.abs(e1) + np.abs(e2)) / 2 - limit * det
        # The start leaves e^{−2.5·GAP}, 6e-4 of the limit, and the step about h of it.
        assert abs(off.mean()) <= 5 * off.std() / np.sqrt(paths) + 3e-3 * limit
        assert 5 * off.std() / np.sqrt(paths) < 0.05 * limit

    def test_scales_with_the_determinant(self):
        start = [[2.0, 1.0], [0.5, -1.0]], [0.0, 0.0]
        expected = 2.5 * NoiseProcess(2).mean_modulus_limit
        assert NoiseProcess(2, start).mean_modulus_limit == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("process", [NoiseProcess(3), NoiseProcess(2, (np.eye(2), [1.0, 0.0]))])
    def test_is_known_for_one_case_only(self, process):
        with pytest.raises(lp.errors.LimitpointError, match=r"known for W of shape \(2, 2\)"):
            _ = process.mean_modulus_limit


@pytest.fixture(scope="module")
def runs():
    """The paper's process, d = 2, W = I, a = 0, on [0, 3]: W (paths, times, 2, 2) and a."""
    process = NoiseProcess(2)
    paths = lp.sde.simulate(process, T_END, paths=PATHS, seed=2, records=12)
    return process, paths.times, *process.split(paths.states)


@pytest.mark.slow
class TestManyPaths:
    def test_second_moments(self, runs):
        """Within five standard errors, the exact ones: the tails are too heavy for those sampled.

        The relative spread of ‖W‖² grows as e^{2t}: 20000 paths give its mean to 1 % at t = ½,
        to 5 % at t = 1, and to nothing at t = 3.
        """
        process, times, first, second = runs
        squares = np.sum(first**2, axis=(2, 3)), np.sum(second**2, axis=2)
        behind = process.time_step * 2 * times / 2  # Euler's, relative
        for r, time in enumerate(times[1:], start=1):
            exact = process.mean_squares(time)
            errors = process.standard_errors(time, PATHS)
            for value, mean, error in zip(squares, exact, errors, strict=True):
                assert abs(value[:, r].mean() - mean) <= 5 * error + 1.1 * behind[r] * mean
        # The test has power: at t = ½ neither 1 (no growth) nor e^{t} nor e^{√2t} would pass.
        at = int(np.searchsorted(times, 0.5))
        error = process.standard_errors(times[at], PATHS)[0] / process.mean_squares(times[at])[0]
        assert 5 * error < 0.05

    def test_mean_modulus_of_the_commutator(self, runs):
        """Proposition 4.1(c) prints 0 for the limit; it is 0.4819."""
        process, times, first, second = runs
        moduli = commutator_norms(first, second).mean(axis=2)
        limit = process.mean_modulus_limit
        for r in np.flatnonzero(times >= 1.5):
            # The mean over both rows of |e_r| has a second moment of at most that of e, halved.
            variance = process.mean_square_commutators(times[r]) / 2 - limit**2
            error = np.sqrt(variance / PATHS)
            mean = moduli[:, r].mean()
            assert abs(mean - limit) <= 5 * error + np.exp(-GAP * times[r]) * limit
            assert abs(mean - 0.0) > 20 * error  # the printed limit
            assert mean > 2 * np.exp(-times[r])  # and the printed rate

    def test_on_almost_every_path_it_vanishes(self, runs):
        """As `e^{−½E[ρ²]t}`, ρ = |e|/det W, which has a stationary law without weights too."""
        _, times, first, second = runs

        def density(r):
            return r * (1 - r * r) ** -1.5 * np.exp(-0.5 / (1 - r * r))

        square = quad(lambda r: r * r * density(r), 0, 1)[0] / quad(density, 0, 1)[0]
        assert square / 2 == pytest.approx(0.23743, abs=1e-5)
        middle, time = len(times) // 2, T_END / 2
        areas = np.linalg.norm(commutator_norms(first, second), axis=2)
        for sizes in (np.abs(np.linalg.det(first)), areas):
            rates = np.log(sizes[:, -1] / sizes[:, middle]) / time
            error = rates.std() / np.sqrt(PATHS)
            assert abs(rates.mean() + square / 2) <= 5 * error
            assert error < 0.01

    def test_singular_values(self, runs):
        """Figure 3a: the larger one grows and the smaller one decays; rows align with a."""
        _, times, first, second = runs
        values = np.log(np.linalg.svd(first, compute_uv=False))
        sines = alignments(first, second).mean(axis=2)
        middle = len(times) // 2
        assert rises(values[:, -1, 0] - values[:, middle, 0])
        assert rises(values[:, middle, 1] - values[:, -1, 1])
        assert rises(sines[:, middle] - sines[:, -1])


def rises(differences):
    """Whether the mean of independent differences is positive, by five standard errors."""
    return differences.mean() > 5 * differences.std() / np.sqrt(len(differences))


@pytest.mark.slow
def test_signed_mean_of_the_commutator():
    start = np.array([[1.0, 0.2], [-0.3, 0.8]]), np.array([0.5, -1.5])
    process = NoiseProcess(2, start)
    paths = lp.sde.simulate(process, 1.0, paths=4000, seed=3, records=2, time_step=5e-3)
    found = commutators(*process.split(paths.states))[..., 0, 1]
    for r, time in enumerate(paths.times):
        expected = np.exp(-time) * (start[0][:, 0] * start[1][1] - start[0][:, 1] * start[1][0])
        np.testing.assert_allclose(process.mean_commutators(time)[:, 0, 1], expected, rtol=1e-12)
        # The exact spread of both together, and Euler's own e^{−t}: (1 − h)^{t/h}, off by ht/2.
        error = np.sqrt(process.mean_square_commutators(time) / 4000)
        assert (np.abs(found[:, r].mean(axis=0) - expected) <= 5 * error + 5e-3 * time).all()


@pytest.mark.slow
def test_many_dimensions():
    """From d = 4 on the commutator itself grows, on most paths; only its relative size decays."""
    process = NoiseProcess(5)
    paths = lp.sde.simulate(process, 3.0, paths=500, seed=1, records=3, time_step=5e-3)
    first, second = process.split(paths.states)
    areas = np.log(np.linalg.norm(commutator_norms(first, second)[:, 1:], axis=2))
    sines = alignments(first, second)[:, 1:].mean(axis=2)
    for before, after in ((0, 1), (1, 2)):
        assert rises(areas[:, after] - areas[:, before])
        assert rises(sines[:, before] - sines[:, after])


class TestStatistics:
    def test_against_each_other(self):
        rng = np.random.default_rng(0)
        first, second = rng.standard_normal((7, 3, 4)), rng.standard_normal((7, 4))
        each = commutators(first, second)
        assert each.shape == (7, 3, 4, 4)
        np.testing.assert_array_equal(each, -each.swapaxes(-1, -2))
        norms = commutator_norms(first, second)
        expected = np.linalg.norm(each, axis=(-2, -1)) / np.sqrt(2)
        np.testing.assert_allclose(norms, expected, rtol=1e-12)
        sizes = np.linalg.norm(first, axis=-1) * np.linalg.norm(second, axis=-1)[:, None]
        np.testing.assert_allclose(alignments(first, second), norms / sizes, rtol=1e-12)

    def test_of_zero(self):
        assert commutator_norms(np.eye(2), np.zeros(2)).tolist() == [0.0, 0.0]
        assert alignments(np.zeros((2, 2)), np.ones(2)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0,), "dimension must be a whole number, at least 1"),
        ((2, np.eye(3)), r"start must be W\(0\) and a\(0\)"),
        ((2, (np.eye(3), np.zeros(3))), r"W\(0\) with 2 rows"),
        ((2, (np.eye(2), np.zeros(3))), "one number per column"),
        ((2, (np.eye(2), [np.nan, 0.0])), r"start\[1\] must be finite"),
        ((2, (np.zeros((2, 0)), [])), r"W\(0\) with 2 rows"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(lp.errors.LimitpointError, match=words):
        NoiseProcess(*arguments)
