"""The updated factors stay those of the columns."""

import numpy as np
import pytest

from limitpoint.theory.solvers.basis_pursuit.column_factor import EPS, ColumnFactor


def check(factor, columns, target):
    A = np.stack(columns, axis=1) if columns else np.zeros((len(target), 0))
    Q, R = factor.basis, factor._r[: factor.size, : factor.size]
    np.testing.assert_allclose(Q.T @ Q, np.eye(factor.size), atol=50 * EPS)
    np.testing.assert_allclose(Q @ R, A, atol=200 * EPS * max(1.0, np.abs(A).max(initial=0)))
    residual = target - Q @ (Q.T @ target)
    scale = np.linalg.norm(target)
    np.testing.assert_allclose(factor.residual, residual, atol=200 * EPS * scale)
    assert factor.residual_norm == pytest.approx(np.linalg.norm(factor.residual), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_thousands_of_insertions_and_deletions(seed):
    rng = np.random.default_rng(seed)
    target = rng.normal(size=40)
    factor, columns = ColumnFactor(target), []
    for _ in range(2000):
        if columns and (len(columns) == 40 or rng.random() < 0.45):
            position = int(rng.integers(len(columns)))
            factor.delete(position)
            columns.pop(position)
        else:
            column = rng.normal(size=40) + 3.0
            assert factor.insert(column)
            columns.append(column)
    check(factor, columns, target)
    expected = np.linalg.lstsq(np.stack(columns, axis=1), target)[0]
    np.testing.assert_allclose(factor.solve(), expected, rtol=1e-8, atol=1e-10)


def test_dependent_columns_are_refused():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(10, 4))
    factor = ColumnFactor(rng.normal(size=10))
    assert all(factor.insert(column) for column in A.T)
    assert not factor.insert(A @ np.ones(4))
    assert not factor.insert(np.zeros(10))
    assert factor.size == 4
    assert factor.depends(A[:, :1])
    assert not factor.depends(rng.normal(size=(10, 3)))
    assert factor.depends(rng.normal(size=(10, 7)))
    assert factor.size == 4
    check(factor, list(A.T), factor.target)


def test_lift_and_refactor():
    rng = np.random.default_rng(1)
    A, target = rng.normal(size=(12, 5)), rng.normal(size=12)
    factor = ColumnFactor(target)
    for column in A.T:
        factor.insert(column)
    defect = rng.normal(size=5)
    np.testing.assert_allclose(A.T @ factor.lift(defect), defect, rtol=1e-12)
    before = factor.solve()
    factor.refactor(A)
    np.testing.assert_allclose(factor.solve(), before, rtol=1e-12)
    check(factor, list(A.T), target)


def test_shifted_target():
    rng = np.random.default_rng(2)
    A, target, shift = rng.normal(size=(9, 3)), rng.normal(size=9), rng.normal(size=9)
    factor = ColumnFactor(target)
    for column in A.T:
        factor.insert(column)
    factor.shift_target(shift)
    np.testing.assert_allclose(factor.solve(), np.linalg.lstsq(A, target + shift)[0], rtol=1e-12)
