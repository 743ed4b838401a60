"""The worked examples of zhao: appendix C.1 and section 8.2."""

import numpy as np
import pytest

from limitpoint import Status
from limitpoint.theory.solvers.basis_pursuit import saddle_path

X = np.array([[1, 0.5, 0.7, 0], [0.5, 1, 0.1, 0.7]])
Y = np.array([1.0, 0.0])


def test_appendix_c1_saddles_mirror_coordinates_and_times():
    path = saddle_path(X, Y)
    coefs = [[0, 0, 0, 0], [0.8, 0, 0, 0], [0, 0, 1.4, 0], [0, 0, 10 / 7, -10 / 49]]
    np.testing.assert_allclose(path.coefs, coefs, rtol=1e-13, atol=1e-15)
    xi = [[0, 0, 0, 0], [1, 0.5, 0.7, 0], [1, -0.4, 1, -0.84]]
    np.testing.assert_allclose(path.mirrors[:3], xi, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(path.path_times, [0, 1, 4, 4 + 80 / 49], rtol=1e-13)
    assert path.entered == ((0,), (2,), (3,))
    assert path.left == ((), (0,), ())
    assert path.status is Status.CONVERGED
    assert path.objective == pytest.approx(10 / 7 + 10 / 49, rel=1e-14)
    assert path.certificate.worst < 1e-14


def test_appendix_c1_waiting_times_of_every_step():
    path = saddle_path(X, Y)
    expected = [
        [1, 2, 10 / 7, np.inf],
        [np.inf, 5, 3, 25 / 7],
        [40, 60 / 13, np.inf, 80 / 49],  # the paper prints 20 for the first
    ]
    for number, delta in enumerate(expected):
        np.testing.assert_allclose(path.waiting_times(number), delta, rtol=1e-12)
    np.testing.assert_allclose(
        np.diff(path.path_times), [min(delta) for delta in expected], rtol=1e-12
    )


def test_halved_activation_times_halve_the_mirror_coordinates_only():
    whole, half = saddle_path(X, Y), saddle_path(X, Y, 0.5, 0.5)
    np.testing.assert_allclose(half.coefs, whole.coefs, rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(half.path_times, whole.path_times / 2, rtol=1e-14)


def test_section_82_standard_and_modified_penalties():
    standard = saddle_path(X, Y).coef
    np.testing.assert_allclose(standard, [0, 0, 10 / 7, -10 / 49], rtol=1e-13, atol=1e-15)
    weights = [0.5, 1, 1, 1]
    modified = saddle_path(X, Y, weights, weights)
    np.testing.assert_allclose(modified.coef, [1, 0, 0, -5 / 7], rtol=1e-13, atol=1e-15)
    assert modified.status is Status.CONVERGED
