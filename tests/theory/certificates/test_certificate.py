"""Certificates accept the limit and nothing a millionth away from it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import null_space
from tests.theory.problems import LOG_SCALES, diagonal_problem, gaussian_data, gaussian_problem

import limitpoint as lp
from limitpoint.theory.certificates.constraint import Constraint
from limitpoint.theory.certificates.mirror_certificate import certify_mirror_limits

# A thousand times the tolerance of a certificate.
NUDGE = 1e-6


@pytest.fixture(params=LOG_SCALES.values(), ids=LOG_SCALES.keys(), scope="module")
def solved(request):
    problem = gaussian_problem(5, 15, log_scale=request.param)
    return problem, lp.predict(problem)


def certify(problem, coef, xi, *, y=None, in_range=True):
    constraint = Constraint.of(problem.task.X, problem.task.y if y is None else np.asarray(y))
    if in_range:
        constraint = replace(constraint, fit=constraint.y, in_range=True)
    mirror = problem.network.mirror_map(problem.init)
    rows = np.asarray(coef)[None], np.asarray(xi)[None]
    return certify_mirror_limits(constraint, mirror, *rows)[0]


def start_of(problem):
    """A part of the start, so that from a large one nudges are above its rounding."""
    a, b = problem.init.direction
    return 1e-5 * np.exp(2 * problem.init.log_scale) * np.abs(a * b).max()


def test_the_limit_is_accepted(solved):
    problem, limit = solved
    certificate = certify(problem, limit.coef, limit.mirror)
    assert certificate.ok
    assert set(certificate.residuals) == {
        "feasibility",
        "missed targets",
        "stationarity",
        "duality gap",
        "error bound",
    }
    assert certificate.residuals == limit.certificate.residuals


def test_coefficients_off_by_a_millionth_are_refused(solved):
    problem, limit = solved
    nudge = NUDGE * (np.abs(limit.coef).max() + start_of(problem))
    wrong = limit.coef + nudge * (np.arange(15) == np.abs(limit.coef).argmax())
    certificate = certify(problem, wrong, limit.mirror)
    assert not certificate.ok
    assert certificate.residuals["feasibility"] > certificate.tolerance
    assert certificate.residuals["stationarity"] > certificate.tolerance


def test_another_interpolator_is_refused_by_stationarity_alone(solved):
    problem, limit = solved
    nudge = NUDGE * (np.abs(limit.coef).max() + start_of(problem))
    aside = null_space(problem.task.X)[:, 0]
    wrong = limit.coef + nudge * aside / np.abs(aside).max()
    certificate = certify(problem, wrong, limit.mirror)
    assert certificate.residuals["feasibility"] <= certificate.tolerance
    assert certificate.residuals["stationarity"] > certificate.tolerance


def test_mirror_coordinates_off_by_a_millionth_are_refused(solved):
    problem, limit = solved
    assert not certify(problem, limit.coef, (1 + NUDGE) * limit.mirror).ok


def test_coefficients_of_mirror_coordinates_outside_the_row_space_are_refused(solved):
    """β = Ψ(ξ) holds, but ξ is not Xᵀν: the potential is not minimal."""
    problem, limit = solved
    mirror = problem.network.mirror_map(problem.init)
    top = np.abs(limit.coef).argmax()
    aside = null_space(problem.task.X) @ null_space(problem.task.X)[top]
    # A coefficient moves by slope · δ, and slopes are at least twice the coefficients.
    xi = limit.mirror + 10 * NUDGE * aside / aside[top]
    certificate = certify(problem, mirror.coefs(xi), xi)
    assert certificate.residuals["stationarity"] > certificate.tolerance


def test_other_targets_are_refused_by_feasibility(solved):
    problem, limit = solved
    size = np.linalg.norm(problem.task.y) + np.linalg.norm(
        np.abs(problem.task.X) @ (np.abs(limit.coef) + start_of(problem))
    )
    other = problem.task.y.copy()
    other[0] += NUDGE * size
    certificate = certify(problem, limit.coef, limit.mirror, y=other)
    assert certificate.residuals["feasibility"] > certificate.tolerance
    assert certificate.residuals["stationarity"] <= certificate.tolerance


def test_the_duality_gap_sees_a_wrong_pair():
    problem = gaussian_problem(5, 15, scale=1.0)
    limit = lp.predict(problem)
    certificate = certify(problem, limit.coef, 1.1 * limit.mirror)
    assert certificate.residuals["duality gap"] > certificate.tolerance


def test_least_squares_is_checked_by_the_normal_equations():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((8, 3)), rng.standard_normal(8)
    problem = diagonal_problem(X, y, rng.standard_normal(3), rng.standard_normal(3))
    limit = lp.predict(problem)
    assert limit.certificate.ok
    assert "normal equations" in limit.certificate.residuals
    wrong = certify(problem, (1 + NUDGE) * limit.coef, limit.mirror, in_range=False)
    assert wrong.residuals["normal equations"] > wrong.tolerance
    # Taken for an interpolator it is refused as well.
    assert not certify(problem, limit.coef, limit.mirror, in_range=True).ok


def test_a_residual_that_is_not_a_number_is_refused():
    certificate = lp.results.Certificate({"feasibility": float("nan"), "stationarity": 0.0})
    assert not certificate.ok
    assert certificate.worst == np.inf


def test_an_overflowing_coefficient_is_refused():
    X, y = gaussian_data(5, 15)
    problem = diagonal_problem(X, y, np.ones(15), np.zeros(15))
    limit = lp.predict(problem)
    xi = limit.mirror.copy()
    xi[0] = 400.0
    assert not certify(problem, limit.coef, xi).ok


def test_to_dict_and_text():
    certificate = lp.results.Certificate({"feasibility": 1e-12, "stationarity": 1e-3})
    assert certificate.to_dict() == {
        "ok": False,
        "tolerance": 1e-9,
        "residuals": {"feasibility": 1e-12, "stationarity": 1e-3},
    }
    assert certificate.worst == 1e-3
    text = str(certificate)
    assert "feasibility" in text
    assert "NO" in text
    assert "<table>" in certificate._repr_html_()


@pytest.mark.parametrize("network", [lp.SignedPower(3), lp.Diagonal(4)])
@pytest.mark.parametrize("scale", [1e-2, 1e-6, 1e-12, 1e-60])
def test_equal_columns_whose_mirror_coordinates_float64_does_not_tell_apart(network, scale):
    """The limit is the same for both, up to powers of the scale; their sum alone shows in the fit.

    Next to their common pole any division between them has the same mirror coordinates, up to
    rounding: what is not the right one must not be certified.
    """
    task = lp.Regression([[1.0, 1.0]], [0.7])
    last = [0.7, 0.9] if isinstance(network, lp.SignedPower) else [0.0, 0.0]
    layers = [np.ones(2)] * (len(network.layer_shapes(task)) - 1) + [np.array(last)]
    found = lp.predict(lp.Problem(network, lp.Init(layers, scale), task))
    np.testing.assert_allclose(found.coef.sum(), 0.7, rtol=1e-9)
    if found.certificate.ok:
        # Starts of the size s^L, in coefficients of order one.
        np.testing.assert_allclose(found.coef, 0.35, rtol=0, atol=1e-9 + scale ** len(layers))
    else:
        assert found.status is lp.Status.NOT_CERTIFIED
        assert scale <= 1e-6
