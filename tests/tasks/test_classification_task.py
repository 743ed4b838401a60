"""Classification: losses that float64 holds at any margin, and proofs of separability."""

import pickle

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import limitpoint as lp
from limitpoint.errors import DataError, NotSeparable
from limitpoint.foundation.linalg import equilibrate

X = np.array([[1.0, 2.0], [0.0, -3.0]])
Y = np.array([1.0, -1.0])
LOSSES = pytest.mark.parametrize("loss", ["exponential", "logistic"])
MARGINS = [[0.3, -0.2], [-50.0, 40.0], [18.5, 20.0], [800.0, 801.0], [1e6, 1e6 + 2], [-900.0, 5.0]]


def exact_log_loss(loss, margins):
    """The logarithm of the sum, in 60 digits."""
    with mpmath.workdps(60):
        each = [mpmath.exp(-mpmath.mpf(float(m))) for m in margins]
        total = sum(each) if loss == "exponential" else sum(mpmath.log1p(e) for e in each)
        return float(mpmath.log(total))


def exact_weights(loss, margins):
    """`−∂ log loss/∂m_i`, in 60 digits more than the largest cancellation."""
    with mpmath.workdps(60):
        each = [mpmath.exp(-mpmath.mpf(float(m))) for m in margins]
        if loss == "exponential":
            return np.array([float(e / sum(each)) for e in each])
        total = sum(mpmath.log1p(e) for e in each)
        return np.array([float(e / (1 + e) / total) for e in each])


@LOSSES
@pytest.mark.parametrize("margins", MARGINS)
def test_log_loss_at_any_margin(loss, margins):
    task = lp.Classification(X, Y, loss=loss)
    found = task.log_loss(np.array(margins))
    assert found == pytest.approx(exact_log_loss(loss, margins), rel=1e-14)


@LOSSES
@pytest.mark.parametrize("margins", MARGINS)
def test_weights_are_its_slopes(loss, margins):
    task = lp.Classification(X, Y, loss=loss)
    exact = exact_weights(loss, margins)
    # The exponential of a difference of margins is off by that many roundings, and no more.
    rounding = 1e-14 + 4e-16 * abs(margins[0] - margins[1])
    np.testing.assert_allclose(task.weights(np.array(margins)), exact, rtol=rounding, atol=1e-300)
    with jax.enable_x64(True):
        traced = -np.asarray(jax.grad(task.log_loss)(jnp.asarray(margins)))
    np.testing.assert_allclose(traced, exact, rtol=rounding, atol=1e-300)


@LOSSES
def test_loss_is_a_sum_over_samples(loss):
    task = lp.Classification(X, Y, loss=loss, loss_factor=3.0)
    coef = np.array([0.3, -0.2])
    margins = Y * (X @ coef)
    np.testing.assert_allclose(task.margins(coef), margins, rtol=1e-15)
    each = np.exp(-margins) if loss == "exponential" else np.log1p(np.exp(-margins))
    assert task.loss(coef) == pytest.approx(3 * each.sum(), rel=1e-14)


def test_margins_along_a_record():
    task = lp.Classification(X, Y)
    coefs = np.array([[1.0, 1.0], [2.0, 0.0]])
    np.testing.assert_array_equal(task.margins(coefs), [[3.0, 3.0], [2.0, 0.0]])


@given(
    arrays(np.float64, (6, 3), elements=st.integers(-4, 4)),
    arrays(np.int64, 6, elements=st.sampled_from([-1, 1])),
)
def test_every_answer_comes_with_its_proof(data, classes):
    """Gordan: a direction with positive products, or weights that add the samples up to zero."""
    signed = classes[:, None] * data
    weights, found = None, None
    try:
        found = lp.Classification(data, classes).separation
    except NotSeparable as error:
        weights = error.weights
    if weights is not None:
        assert (weights >= 0).all()
        assert weights.sum() == pytest.approx(1.0)
        # Integers of size 4: a vertex of the program is exact to a few roundings.
        assert np.abs(weights @ signed).max() < 1e-12
    else:
        assert (signed @ found.direction > 0).all()
        assert np.linalg.norm(found.direction) == pytest.approx(1.0)
        assert found.margin == pytest.approx((signed @ found.direction).min())


def test_columns_of_any_size():
    sizes = np.array([1e40, 1e-40])
    found = lp.Classification(X * sizes, Y).separation
    assert (Y * (X * sizes @ found.direction) > 0).all()


def test_a_zero_sample_is_on_no_side():
    with pytest.raises(NotSeparable, match=r"samples 1 \(1\)") as found:
        lp.Classification([[1.0, 2.0], [0.0, 0.0]], [1, -1])
    np.testing.assert_allclose(found.value.weights, [0.0, 1.0], atol=1e-15)


def test_opposite_classes_of_one_point():
    with pytest.raises(NotSeparable, match="not separable by a hyperplane through the origin"):
        lp.Classification([[1.0, 2.0], [2.0, 4.0]], [1, -1])


@pytest.mark.parametrize("gap", [1e-6, 1e-9, 1e-12, 1e-15])
def test_margins_however_small(gap):
    """Far below the tolerance of the program; to rounding of the margins themselves."""
    signed = np.array([[1.0, 1.0], [-1.0, -1.0 + gap]])
    try:
        found = lp.Classification(signed, [1, 1]).separation
    except NotSeparable:
        assert gap < 1e-13
    else:
        assert (signed @ found.direction > 0).all()


def test_the_proof_survives_pickling():
    with pytest.raises(NotSeparable) as found:
        lp.Classification([[1.0], [1.0]], [1, -1])
    again = pickle.loads(pickle.dumps(found.value))
    assert str(again) == str(found.value)
    np.testing.assert_array_equal(again.weights, found.value.weights)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], [0]), r"y must hold the classes -1 and 1; it holds 0.*2\*y - 1"),
        (([[1.0]], [[1]]), r"y must have 1 dimension"),
        (([[1.0]], [1, 1]), "same number of samples"),
        (([[1.0]], [1], "hinge"), "loss must be 'exponential' or 'logistic'; it is 'hinge'"),
        (([[1.0]], [1], "logistic", 0.0), "loss_factor must be a positive number"),
        (([[np.nan]], [1]), "X must be finite"),
        ((np.zeros((0, 2)), []), "at least one sample"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(DataError, match=message):
        lp.Classification(*arguments)


def test_each_kind_of_task_says_what_it_is_not():
    network = lp.Diagonal(depth=2)
    task = lp.Classification(X, Y)
    problem = lp.Problem(network, lp.Init.zero_last(network, task), task)
    with pytest.raises(DataError, match="this is for a regression"):
        _ = problem.regression
    assert problem.classification is task
    other = lp.Regression(X, Y)
    problem = lp.Problem(network, lp.Init.zero_last(network, other), other)
    with pytest.raises(DataError, match="this is for a classification"):
        _ = problem.classification


def test_units_that_are_too_far_apart_are_refused():
    with pytest.raises(DataError, match=r"the largest of column 1 is 1e-200\. Rescale it"):
        lp.Classification([[1.0, 1e-200], [1.0, 0.0]], [1, 1])
    with pytest.raises(DataError, match=r"the largest of row 0 is 1e-200\. Rescale it"):
        lp.Classification([[1e-200, 1e-200], [1.0, 1.0]], [1, 1])


def test_a_loss_beyond_the_largest_float_is_infinite():
    task = lp.Classification([[1.0]], [1])
    assert task.loss([-1e4]) == np.inf
    assert lp.Regression([[1.0]], [1.0]).loss(np.array([1e200])) == np.inf


def test_rows_of_the_smallest_numbers_are_equilibrated():
    rows, columns = equilibrate(np.array([[5e-324, 0.0], [1.0, 1.0]]))
    assert np.isfinite(rows).all()
    assert np.isfinite(columns).all()
