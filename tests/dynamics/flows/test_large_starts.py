"""Flows from starts far above the data: they end where rounding lets them, or say that it hides."""

from fractions import Fraction

import numpy as np
import pytest

import limitpoint as lp
from limitpoint.errors import ScaleNotRepresentable
from limitpoint.verify.sensitivity import sensitivity_of

TASK = lp.Regression([[1.0, 2.0, -0.5]], [1.0])
SPACES = [lp.SampleSpace(), lp.ParameterSpace()]
EPS = np.finfo(np.float64).eps


def problem_at(network, scale):
    return lp.Problem(network, lp.Init.random(network, TASK, scale=scale, seed=0), TASK)


@pytest.mark.parametrize("space", SPACES, ids=["sample", "parameter"])
@pytest.mark.parametrize("scale", [1e3, 1e4, 1e5])
@pytest.mark.parametrize("network", [lp.Diagonal(2), lp.Paired()], ids=repr)
def test_ends_in_finite_time_at_the_rounding_of_the_coefficients(network, scale, space):
    """The flow in sample space went on to infinite time from 1e4, and left the solution there."""
    problem = problem_at(network, scale)
    run = lp.flow(problem, space=space)
    assert run.status is lp.Status.CONVERGED
    assert np.isfinite(run.times).all()
    # Some tens of roundings of the coefficients that add up to the fit.
    assert run.relative_residual <= max(
        1e-10, 100 * EPS * float(np.abs(TASK.X[0]) @ np.abs(run.coef))
    )
    limit = lp.predict(problem)
    assert np.linalg.norm(run.coef - limit.coef) <= 1e-8 * np.linalg.norm(limit.coef)


@pytest.mark.parametrize("scale", [1e3, 1e4])
def test_verified_as_long_as_the_data_are_visible(scale):
    verdict = lp.verify(problem_at(lp.Diagonal(2), scale))
    assert verdict.passed, verdict


def test_nothing_is_certified_where_coefficients_that_float64_holds_miss_the_data():
    """Coefficients of 1e12 are rounded to 1e-4; what is missed of y = 1 is exact."""
    problem = problem_at(lp.Diagonal(2), 1e6)
    limit = lp.predict(problem, escalate=False)
    total = sum(Fraction(x) * Fraction(b) for x, b in zip(TASK.X[0], limit.coef, strict=True))
    missed = limit.certificate.residuals["missed targets"]
    assert missed == pytest.approx(float(abs(total - 1)), rel=1e-9)
    assert missed > 5e-7
    assert limit.status is lp.Status.DATA_HIDDEN
    assert lp.predict(problem).status is lp.Status.PROVED
    assert lp.verify(problem).outcome is lp.results.Outcome.INCONCLUSIVE


@pytest.mark.slow
@pytest.mark.parametrize("space", SPACES, ids=["sample", "parameter"])
@pytest.mark.parametrize("network", [lp.Diagonal(6), lp.SignedPower(8)], ids=repr)
def test_data_below_the_rounding_are_refused_with_a_reason(network, space):
    problem = problem_at(network, 1e4)  # coefficients of 1e21 and more beside data of 1
    with pytest.raises(ScaleNotRepresentable, match=r"cannot reach the data.*smaller scale"):
        lp.flow(problem, space=space)


@pytest.mark.parametrize("space", SPACES, ids=["sample", "parameter"])
def test_an_end_that_was_asked_for_is_reached_all_the_same(space):
    problem = problem_at(lp.Diagonal(6), 1e4)
    soon = 1e-45  # about one e-fold of the relative residual: rates are scale^(2L-2) = 1e40
    run = lp.flow(problem, t_end=soon, space=space)
    assert run.status is lp.Status.REACHED_END
    assert run.times[-1] == pytest.approx(soon)
    assert np.isfinite(run.coefs).all()


def test_a_verdict_allows_for_the_rounding_of_mirror_coordinates():
    """What one rounding of each ξ does to the fit is within what the verdict tolerates."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((6, 4))
    task = lp.Regression(X, X @ rng.standard_normal(4) * 1e-8)
    network = lp.Diagonal(3)
    direction = rng.standard_normal((3, 4)) * [1.0, 10.0, 0.1, 0.3]
    problem = lp.Problem(network, lp.Init(list(direction)), task)
    limit = lp.predict(problem)
    xi = X.T @ limit.dual
    perturbation = xi + EPS * np.sign(X @ np.ones(4)) @ np.abs(X) * np.abs(limit.dual).max()
    coef = network.mirror_map(problem.init).coefs(perturbation)
    relative_residual = np.linalg.norm(X @ coef - task.y) / np.linalg.norm(task.y)
    assert relative_residual > 1e-10  # the stopping rule of the flow cannot be met
    assert relative_residual <= sensitivity_of(problem, limit).rounding_residual()
