"""Inputs made to break path algorithms: the right answer or an honest status, in finite time."""

import warnings

import numpy as np
import pytest
from scipy.linalg import hilbert
from sklearn.linear_model import lars_path
from tests.oracles.linear_program import minimal_penalty

from limitpoint import Status
from limitpoint.errors import DataError
from limitpoint.theory.solvers.basis_pursuit import certify, saddle_path

SURE = {Status.CONVERGED, Status.DEGENERATE, Status.LEAST_SQUARES}


def check_honest(X, y, t=1.0, highs_tol=None):
    """A status that claims success comes with a certificate that another call confirms."""
    path = saddle_path(X, y, t, t)
    again = certify(X, y, path.coef, path.duals[-1], t, t)
    assert path.certificate == again
    if path.status in SURE:
        assert again.worst <= 1e-9
    else:
        assert path.status is Status.NOT_CERTIFIED
    if highs_tol is not None and path.status in SURE:
        assert path.objective == pytest.approx(minimal_penalty(X, y, t, t), rel=highs_tol)
    return path


def mairal_yu(p):
    """The p × p problem of Mairal & Yu (2012) whose Lasso path has (3^p + 1)/2 segments."""
    X, y = np.array([[1.0]]), np.array([1.0])
    for size in range(1, p):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alphas, _, _ = lars_path(X, y, method="lasso", alpha_min=0, eps=1e-300)
        assert len(alphas) == (3**size + 1) // 2
        last_kink = alphas[alphas > 0].min() * len(y)
        a = 0.5 * last_kink / (2 * y @ y + 1)
        top = np.hstack([X, 2 * a * y[:, None]])
        X = np.vstack([top, np.append(np.zeros(size), a)])
        y = np.append(y, 1.0)
    return X, y


@pytest.mark.parametrize("p", [2, 3, 4, 5, 6])
def test_mairal_yu(p):
    X, y = mairal_yu(p)
    path = saddle_path(X, y)
    assert path.status is Status.CONVERGED
    np.testing.assert_allclose(path.coef, np.linalg.solve(X, y), rtol=1e-8)
    # Here the saddle path is the gentler one: quadratic, where the Lasso's is exponential.
    assert path.n_saddles == p * (p + 1) // 2


def test_mairal_yu_cut_short():
    X, y = mairal_yu(6)
    path = saddle_path(X, y, max_saddles=10)
    assert path.status is Status.SADDLE_LIMIT
    assert path.n_saddles == 10


def test_a_thousand_saddles():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2500))
    y = X[:, :120] @ rng.normal(size=120)
    path = saddle_path(X, y, rng.uniform(0.5, 2, 2500), rng.uniform(0.5, 2, 2500))
    assert path.status is Status.CONVERGED
    assert path.n_saddles > 1000
    assert path.certificate.worst < 1e-12
    assert (np.diff(path.losses) < 0).all()


@pytest.mark.parametrize("n", [3, 5, 8, 10, 12, 15, 20])
@pytest.mark.parametrize("rows", ["square", "wide"])
def test_hilbert(n, rows):
    X = hilbert(n) if rows == "square" else hilbert(n)[: n // 2 + 1]
    path = check_honest(X, X @ np.ones(n))
    if n <= 10:
        assert path.status is Status.CONVERGED


@pytest.mark.parametrize(("m", "n"), [(5, 8), (8, 8), (10, 30), (15, 40)])
@pytest.mark.parametrize("reach", [1.0, 3.0])
def test_vandermonde(m, n, reach):
    nodes = np.linspace(-reach, reach, m)
    X = np.vander(nodes, n)
    check_honest(X, X @ np.ones(n))
    check_honest(X, np.sin(3 * nodes))


@pytest.mark.parametrize("digits", [4, 6, 8, 10, 12, 14, 16])
@pytest.mark.parametrize("seed", range(3))
def test_nearly_duplicate_columns(digits, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 30))
    X[:, 15:] = X[:, :15] + 10.0**-digits * rng.normal(size=(10, 15))
    path = check_honest(X, X @ rng.normal(size=30), highs_tol=1e-8)
    assert path.status in SURE


@pytest.mark.parametrize("digits", [2, 4, 6, 8, 10, 12, 14, 16])
@pytest.mark.parametrize("seed", range(3))
def test_singular_values_over_many_orders(digits, seed):
    rng = np.random.default_rng(seed)
    left, _, right = np.linalg.svd(rng.normal(size=(10, 30)), full_matrices=False)
    X = (left * np.logspace(0, -digits, 10)) @ right
    path = check_honest(X, X @ rng.normal(size=30), highs_tol=1e-6 if digits <= 4 else None)
    if digits <= 6:
        assert path.status is Status.CONVERGED


@pytest.mark.parametrize("seed", range(10))
def test_columns_scaled_over_sixteen_orders(seed):
    rng = np.random.default_rng(seed)
    scales = 10.0 ** rng.uniform(-8, 8, 40)
    unit = rng.normal(size=(15, 40))
    y = unit @ rng.normal(size=40)
    # With activation times that scale along, this is the unscaled problem in other units.
    scaled, plain = check_honest(unit * scales, y, scales), saddle_path(unit, y)
    np.testing.assert_allclose(scaled.coefs * scales, plain.coefs, rtol=1e-7, atol=1e-9)
    check_honest(unit * scales, y)


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-100, 1e100, 1e200, 1e300])
def test_extreme_units(size):
    rng = np.random.default_rng(0)
    X, k = rng.normal(size=(4, 9)), rng.normal(size=9)
    plain = saddle_path(X, X @ k)
    small_y = saddle_path(X, size * (X @ k))
    np.testing.assert_allclose(small_y.coefs / size, plain.coefs, rtol=1e-9, atol=1e-12)
    assert small_y.status is Status.CONVERGED
    if 1e-200 <= size <= 1e200:
        small_X = saddle_path(size * X, X @ k, size, size)
        np.testing.assert_allclose(small_X.coefs * size, plain.coefs, rtol=1e-9, atol=1e-12)
        assert small_X.status is Status.CONVERGED


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150, 1e300])
def test_extreme_activation_times(size):
    """They are a unit of time, and nothing else."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(4, 9)), rng.normal(size=4)
    plain, scaled = saddle_path(X, y), saddle_path(X, y, size, size)
    np.testing.assert_allclose(scaled.coefs, plain.coefs, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scaled.path_times / size, plain.path_times, rtol=1e-9)
    np.testing.assert_allclose(scaled.mirrors / size, plain.mirrors, rtol=1e-9, atol=1e-12)
    assert scaled.status is Status.CONVERGED
    assert certify(X, y, scaled.coef, scaled.duals[-1], size, size).ok


@pytest.mark.parametrize(
    ("X", "y", "times", "message"),
    [
        ([[1e300]], [1e-300], 1.0, "X and y must be nearer in size"),
        ([[1e-300]], [1e300], 1.0, "X and y must be nearer in size"),
        ([[1e-300]], [1.0], 1e300, "t_plus and t_minus must be nearer in size to the columns"),
        ([[1e-60]], [1e-300], 1.0, "X and y must be nearer to 1 in size"),
    ],
)
def test_units_beyond_float64_are_refused(X, y, times, message):
    """A coefficient of 1e-600 was certified as the zero to which it rounds."""
    with pytest.raises(DataError, match=message):
        saddle_path(X, y, times, times)


@pytest.mark.parametrize("n", [2, 5, 9])
def test_ties_by_symmetry(n):
    circulant = np.stack([np.roll(np.r_[2.0, 1.0, np.zeros(n)], i) for i in range(n + 2)])
    path = check_honest(circulant, np.ones(n + 2))
    assert path.n_saddles == 1
    np.testing.assert_allclose(path.coef, 1 / 3, rtol=1e-12)
    signs = np.array(np.meshgrid(*[[-1, 1]] * min(n, 5))).reshape(min(n, 5), -1)
    check_honest(signs, signs.sum(axis=1), highs_tol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_integer_data_full_of_ties(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(8, 40))
    check_honest(X, X @ rng.integers(-2, 3, size=40), highs_tol=1e-9)
    path = check_honest(X, rng.integers(-5, 6, size=8), highs_tol=1e-9)
    assert path.status in SURE


def test_rounded_exact_multiples_are_ties():
    # Columns equal up to rounding: 3·(x/3) differs from x in the last bit.
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6, 12))
    path = check_honest(np.hstack([X, 3 * (X / 3)]), X @ rng.normal(size=12))
    assert path.status is Status.DEGENERATE
