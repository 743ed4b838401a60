"""What the experiments of Varre et al. rest on beside the library, against plain calculations."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import limitpoint as lp
from limitpoint.papers.varre2023.linear import HiddenBounds, integral
from limitpoint.papers.varre2023.noise_law import log_determinant_rate, noise_paths
from limitpoint.papers.varre2023.students import aligned_direction, few_neurons


def plain_flow(X, Y, first, second, times):
    """W₁ and W₂ by SciPy at these times."""
    shapes = first.shape, second.shape
    cut = first.size

    def slope(_, state):
        W1, W2 = state[:cut].reshape(shapes[0]), state[cut:].reshape(shapes[1])
        R = X.T @ (Y - X @ W1 @ W2)
        return np.concatenate([(R @ W2.T).ravel(), (W1.T @ R).ravel()])

    start = np.concatenate([first.ravel(), second.ravel()])
    found = solve_ivp(slope, (0, times[-1]), start, t_eval=times, rtol=1e-9, atol=1e-12).y.T
    return [(y[:cut].reshape(shapes[0]), y[cut:].reshape(shapes[1])) for y in found]


class TestHiddenBounds:
    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize("outer", [0.0, 0.5])
    def test_hold_at_every_time_from_any_start(self, seed, outer):
        rng = np.random.default_rng(seed)
        X, Y = rng.standard_normal((3, 4)), rng.standard_normal((3, 2))
        first, second = rng.standard_normal((4, 7)), outer * rng.standard_normal((7, 2))
        bounds = HiddenBounds.of(first, second)
        assert (bounds.low > 0) == (outer == 0.0)
        for W1, W2 in plain_flow(X, Y, first, second, [0.01, 0.1, 1.0]):
            low, high = bounds.around(W1 @ W2, 4)
            values = np.linalg.svd(W1, compute_uv=False)
            assert (values >= low - 1e-7).all()
            assert (values <= high + 1e-7).all()

    def test_are_corollary_3_1_from_orthonormal_rows(self):
        gamma, values = 0.3, np.array([2.0, 1.0])
        rows = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 3)))[0].T
        bounds = HiddenBounds.of(np.sqrt(2 * gamma) * rows, np.zeros((6, 2)))
        low, high = bounds.around(np.diag(values), 3)
        expected = [*np.sqrt(np.sqrt(values**2 + gamma**2) + gamma), np.sqrt(2 * gamma)]
        np.testing.assert_allclose(low, expected, rtol=1e-12)
        np.testing.assert_allclose(high, expected, rtol=1e-12)


def test_the_error_of_an_integral_is_not_underestimated():
    times = 3.0 * np.linspace(0.0, 1.0, 201) ** 2
    found, error = integral(np.exp(-times)[:, None] * [1.0, 2.0], times)
    truth = (1 - np.exp(-times[::2]))[:, None] * [1.0, 2.0]
    assert np.abs(found - truth).max() <= error < 1e-5


class TestNoise:
    def test_rate_from_the_stationary_density(self):
        """The generator of ρ has mean 0: of ρ², `2 − 6ρ² + 3ρ⁴`."""

        def density(r):
            return r * (1 - r * r) ** -1.5 * np.exp(-0.5 / (1 - r * r))

        def mean(f):
            return quad(lambda r: f(r) * density(r), 0, 1)[0] / quad(density, 0, 1)[0]

        assert abs(mean(lambda r: 2 - 6 * r**2 + 3 * r**4)) < 1e-8
        assert log_determinant_rate() == pytest.approx(-0.5 * mean(np.square), rel=1e-7)

    def test_rate_from_paths(self):
        paths = 4000
        _, W, a = noise_paths(paths, 4.0, 1000, 2, seed=1)
        determinants = np.linalg.det(np.moveaxis(W, -1, 1))
        logs = np.log(np.abs(determinants))
        slopes = (logs[2] - logs[1]) / 2.0
        # Euler's step is 4e-3; the start is forgotten as e^{−2t}.
        allowed = 5 * slopes.std() / np.sqrt(paths) + 0.02 * abs(log_determinant_rate())
        assert abs(slopes.mean() - log_determinant_rate()) <= allowed
        assert a.shape == (3, 2, paths)

    def test_second_moments(self):
        """Those of Euler's method: `(u, v) ← (u + 2hv, v + hu)` for `u = E‖W‖²`, `v = E‖a‖²`."""
        paths, steps, end = 20_000, 50, 0.25
        times, W, a = noise_paths(paths, end, steps, 1, seed=0)
        np.testing.assert_array_equal(times, [0.0, end])
        h = end / steps
        u, v = np.linalg.matrix_power([[1.0, 2 * h], [h, 1.0]], steps) @ [2.0, 0.0]
        for squares, expected in (((W[-1] ** 2).sum(axis=(0, 1)), u), ((a[-1] ** 2).sum(0), v)):
            assert abs(squares.mean() - expected) <= 5 * squares.std() / np.sqrt(paths)


class TestStudents:
    @pytest.mark.parametrize("seed", range(6))
    @pytest.mark.parametrize("sign", [1.0, -1.0])
    def test_the_direction_of_strongest_gradient(self, seed, sign):
        """Against all directions of a plane; some maxima are on kinks."""
        rng = np.random.default_rng(seed)
        task = lp.Regression(rng.standard_normal((6, 2)), rng.standard_normal(6))
        angles = np.linspace(0, 2 * np.pi, 20_001)
        circle = np.stack([np.cos(angles), np.sin(angles)])
        neg_grads = sign * task.y @ np.maximum(task.X @ circle, 0.0)
        direction, neg_grad = aligned_direction(task, sign)
        assert np.linalg.norm(direction) == pytest.approx(1.0, rel=1e-12)
        assert neg_grad == pytest.approx(sign * task.y @ np.maximum(task.X @ direction, 0.0))
        # The last step is 1/500 of the first, which is of the order of one.
        assert neg_grad == pytest.approx(neg_grads.max(), abs=1e-2 * np.abs(neg_grads).max())

    def test_one_neuron_fits_one_sample(self):
        """`a·wᵀx = 2` with `|a| = ‖w‖` and w along x = (3, 4): ‖w‖² = 2/5."""
        values, loss = few_neurons(lp.Regression([[3.0, 4.0]], [2.0]), 1, 1e-2, 5000)
        # Steps unbalance the neuron by η, relative.
        assert values == pytest.approx([np.sqrt(0.4)], rel=1e-2)
        assert loss < 1e-20
