"""All kinds of X and y give the same path."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from limitpoint import Status
from limitpoint.theory.solvers.basis_pursuit import certify, saddle_path

RNG = np.random.default_rng(7)
X = RNG.integers(-4, 5, size=(6, 14))
Y = X @ RNG.integers(-3, 4, size=14)
EXPECTED = saddle_path(X.astype(float), Y.astype(float))


@pytest.mark.parametrize(
    "convert",
    [
        lambda A: A,
        lambda A: A.tolist(),
        lambda A: A.astype(np.float32),
        lambda A: A.astype(np.int8),
        lambda A: np.asfortranarray(A, dtype=float),
        lambda A: A.astype(float)[::-1][::-1],
        sparse.csr_array,
        sparse.csc_matrix,
        lambda A: sparse.coo_array(A.astype(np.float32)),
        lambda A: aslinearoperator(A.astype(float)),
        lambda A: aslinearoperator(sparse.csr_array(A)),
    ],
)
def test_same_path(convert):
    path = saddle_path(convert(X), Y)
    assert path.status is EXPECTED.status
    assert path.coefs.dtype == np.float64
    np.testing.assert_allclose(path.coefs, EXPECTED.coefs, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(path.mirrors, EXPECTED.mirrors, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(path.path_times, EXPECTED.path_times, rtol=1e-12)


def test_inputs_are_not_changed():
    A, b = np.asfortranarray(X, dtype=float), Y.astype(float)
    saved = A.copy(), b.copy()
    saddle_path(A, b)
    np.testing.assert_array_equal(A, saved[0])
    np.testing.assert_array_equal(b, saved[1])


def test_result_is_frozen_and_consistent():
    with pytest.raises(AttributeError, match="cannot assign"):
        EXPECTED.status = Status.STOPPED
    p = EXPECTED.n_saddles
    assert EXPECTED.coefs.shape == EXPECTED.mirrors.shape == (p + 1, 14)
    assert len(EXPECTED.path_times) == len(EXPECTED.losses) == p + 1
    assert len(EXPECTED.entered) == len(EXPECTED.left) == p
    np.testing.assert_array_equal(EXPECTED.coefs[0], 0)
    np.testing.assert_array_equal(EXPECTED.coef, EXPECTED.coefs[-1])
    losses = 0.5 * np.sum((EXPECTED.coefs @ X.T - Y) ** 2, axis=1)
    np.testing.assert_allclose(EXPECTED.losses, losses, rtol=1e-10, atol=1e-10)


def test_sparse_problem_with_a_large_operator():
    A = sparse.random_array((80, 3000), density=0.05, rng=np.random.default_rng(0), format="csr")
    k = np.zeros(3000)
    k[::400] = 1.0
    path, other = saddle_path(A, A @ k), saddle_path(aslinearoperator(A), A @ k)
    assert path.status is other.status is Status.CONVERGED
    assert path.objective <= 8.0
    np.testing.assert_allclose(other.coefs, path.coefs, atol=1e-9)
    np.testing.assert_allclose(other.path_times, path.path_times, rtol=1e-10)


class TestCertificate:
    """The certificate sees each kind of error."""

    A, b = np.array([[1.0, 0.5], [0.0, 1.0]]), np.array([1.0, 0.0])
    k, nu = np.array([1.0, 0.0]), np.array([1.0, 0.0])

    def test_exact(self):
        assert certify(self.A, self.b, self.k, self.nu).worst == 0.0

    def test_infeasible(self):
        certificate = certify(self.A, self.b, 1.5 * self.k, self.nu)
        assert certificate.residuals["feasibility"] == pytest.approx(0.5)
        assert not certificate.ok

    def test_dual_infeasible(self):
        assert (
            certify(self.A, self.b, self.k, np.array([1.0, 2.0])).residuals["dual feasibility"]
            == 1.5
        )

    def test_not_complementary(self):
        certificate = certify(self.A, self.b, self.k, 0.5 * self.nu)
        assert certificate.residuals["complementarity"] == pytest.approx(0.5)

    def test_wrong_side(self):
        certificate = certify(self.A, self.b, self.k, self.nu, np.inf, 1.0)
        assert certificate.residuals["bounds"] == 1.0

    def test_out_of_bounds(self):
        certificate = certify(self.A, self.b, self.k, self.nu, upper=0.75)
        assert certificate.residuals["bounds"] == pytest.approx(0.25)

    def test_nan_is_never_ok(self):
        certificate = certify(self.A, self.b, self.k, np.array([np.nan, 0.0]))
        assert certificate.worst == np.inf
        assert not certificate.ok
