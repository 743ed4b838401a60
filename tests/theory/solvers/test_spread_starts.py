"""Limits from starts whose coefficients differ by orders of magnitude, or exceed the data by them.

Oracles: mpmath for one sample, SciPy's non-negative least squares, NumPy's least squares.
"""

import mpmath
import numpy as np
import pytest
from scipy.optimize import nnls

import limitpoint as lp

# A certified limit is right to 1e-9, relative.
CERTIFIED = 1e-9


def one_sample_limit(x, y, first, second, log_scale):
    """The limit of a depth-2 network on one sample: `Σ x_i ½Δ_i sinh(2x_iν + c_i) = y` for ν."""
    with mpmath.workdps(60):
        squared = mpmath.exp(2 * mpmath.mpf(log_scale))
        x, a, b = ([mpmath.mpf(float(v)) for v in vector] for vector in (x, first, second))
        gaps = [squared * abs(p * p - q * q) for p, q in zip(a, b, strict=True)]
        shifts = [mpmath.asinh(2 * squared * p * q / d) for p, q, d in zip(a, b, gaps, strict=True)]

        def coefs(dual):
            each = zip(x, gaps, shifts, strict=True)
            return [d / 2 * mpmath.sinh(2 * w * dual + c) for w, d, c in each]

        def relative_residual(dual):
            return mpmath.fdot(x, coefs(dual)) - y

        # Increasing in ν, and 2|x_i ν| is at most some thousands before one term exceeds y.
        most = 4000 / min(abs(w) for w in x)
        root = mpmath.findroot(
            relative_residual, (-most, most), solver="bisect", maxsteps=400, verify=False
        )
        return np.array([float(value) for value in coefs(root)])


@pytest.mark.parametrize("orders", [2.0, 4.0, 8.0])
@pytest.mark.parametrize("log10_scale", [-60, -20, -3])
def test_one_sample_against_mpmath(orders, log10_scale):
    rng = np.random.default_rng([7, int(orders)])
    x = rng.standard_normal(6)
    first, second = rng.standard_normal((2, 6)) * 10 ** rng.uniform(-orders, orders, 6)
    log_scale = log10_scale * np.log(10)
    task = lp.Regression(x[None], [2.5e-3])
    init = lp.Init([first, second], log_scale=log_scale)
    limit = lp.predict(lp.Problem(lp.Diagonal(depth=2), init, task))
    expected = one_sample_limit(x, 2.5e-3, first, second, log_scale)
    assert limit.certificate.ok
    # Coefficients may start far above the data, whose fit is then a difference of them.
    size = max(np.abs(expected).max(), 2.5e-3)
    np.testing.assert_allclose(limit.coef, expected, rtol=0, atol=CERTIFIED * size)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("network", "layers"),
    [(lp.Diagonal(depth=2), 2), (lp.Paired(), 4), (lp.SignedPower(depth=2), 2)],
    ids=repr,
)
def test_small_scales_are_certified_from_any_spread(network, layers, seed):
    rng = np.random.default_rng([11, seed])
    n = int(rng.integers(2, 9))
    X = rng.standard_normal((int(rng.integers(1, n + 1)), n))
    direction = rng.standard_normal((layers, n)) * 10 ** rng.uniform(-8, 8, n)
    init = lp.Init(list(direction), scale=10 ** rng.uniform(-90, -10))
    task = lp.Regression(X, X @ rng.standard_normal(n) * 10 ** rng.uniform(-6, 6))
    limit = lp.predict(lp.Problem(network, init, task))
    assert limit.status.ok
    assert limit.certificate.ok


@pytest.mark.parametrize("depth", [3, 4, 5])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0])
def test_boundary_from_large_starts_is_the_non_negative_fit(depth, scale):
    """The coefficients that end at zero started at up to 1e10; their start must leave no trace."""
    rng = np.random.default_rng([5, depth])
    X = rng.standard_normal((6, 5))
    task = lp.Regression(X, 1e-4 * rng.standard_normal(6))
    network = lp.Power(depth=depth)
    init = lp.Init([np.abs(rng.standard_normal(5)) + 0.1], scale=scale)
    limit = lp.predict(lp.Problem(network, init, task))
    expected = nnls(X, task.y)[0]  # unique: the columns are independent
    assert 0 < np.count_nonzero(expected) < 5
    assert limit.theorem.id == "limitpoint.boundary"
    assert limit.status is lp.Status.LEAST_SQUARES
    assert np.abs(limit.coef - expected).max() <= CERTIFIED * np.abs(expected).max()


@pytest.mark.parametrize("network", [lp.Diagonal(2), lp.Diagonal(4), lp.Paired()], ids=repr)
def test_a_column_of_zeros_may_start_anywhere(network):
    """Its coefficient stays where it starts, and the others are fitted as if it were not there."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((2, 4))
    X[:, 1] = 0.0
    y = np.array([1.0, -2.0])
    layers = 4 if isinstance(network, lp.Paired) else network.depth
    direction = rng.standard_normal((layers, 4))
    moderate = lp.predict(lp.Problem(network, lp.Init(list(direction)), lp.Regression(X, y)))
    direction[:, 1] *= 1e4
    init = lp.Init(list(direction))
    limit = lp.predict(lp.Problem(network, init, lp.Regression(X, y)))
    others = [0, 2, 3]
    assert limit.status is lp.Status.CONVERGED
    np.testing.assert_allclose(limit.coef[others], moderate.coef[others], rtol=CERTIFIED)
    np.testing.assert_allclose(X @ limit.coef, y, rtol=CERTIFIED)
    assert limit.coef[1] == pytest.approx(network.coef(direction)[1], rel=1e-12)


@pytest.mark.parametrize(("network", "layers"), [(lp.Diagonal(2), 2), (lp.Paired(), 4)], ids=repr)
@pytest.mark.parametrize("scale", [1e2, 1e4, 1e5])
def test_the_fit_keeps_its_digits_from_a_large_start(network, layers, scale):
    """ξ hold the coefficients to rounding of the start, 1e10 times the data here."""
    rng = np.random.default_rng(9)
    X = rng.standard_normal((6, 4))
    y = X @ rng.standard_normal(4)
    init = lp.Init(list(rng.standard_normal((layers, 4))), scale=scale)
    limit = lp.predict(lp.Problem(network, init, lp.Regression(X, y)))
    expected = np.linalg.lstsq(X, y, rcond=None)[0]
    assert limit.certificate.ok
    np.testing.assert_allclose(limit.coef, expected, rtol=CERTIFIED)
    np.testing.assert_allclose(limit.log_abs_coef, np.log(np.abs(expected)), atol=CERTIFIED)
    assert (limit.signs == np.sign(expected)).all()
