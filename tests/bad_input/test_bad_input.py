"""Every bad or odd input of DESIGN.md's list has a defined answer.

One file, although long: it is that list, in its order.
"""

import numpy as np
import pandas as pd
import pytest
from tests.refusals import no_theorem

import limitpoint as lp
from limitpoint.errors import (
    DataError,
    InitError,
    LimitpointError,
    NetworkError,
    ScaleNotRepresentable,
)

NETWORK = lp.Diagonal(depth=2)
X = np.array(
    [
        [1.0, 0.5, 0.7, 0.0, -0.3],
        [0.5, 1.0, 0.1, 0.7, 0.2],
        [-0.4, 0.3, 1.1, 0.6, -0.9],
    ]
)
Y = np.array([1.0, -0.5, 0.25])
# Relative accuracy to which a flow ends at the prediction.
FLOW_ACCURACY = 1e-6


def make(X=X, y=Y, scale=1e-3, seed=0, **log_scale):
    task = lp.Regression(X, y)
    scale = None if log_scale else scale
    return lp.Problem(NETWORK, lp.Init.random(NETWORK, task, scale, seed=seed, **log_scale), task)


def assert_flow_agrees(problem, limit):
    end = lp.flow(problem)
    assert end.status is limit.status
    size = np.linalg.norm(limit.coef)
    assert np.linalg.norm(end.coef - limit.coef) <= FLOW_ACCURACY * size


# ---------------------------------------------------------------- data that cannot be used


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_data_are_named_with_their_place(bad):
    matrix = X.copy()
    matrix[1, 3] = bad
    with pytest.raises(DataError, match=rf"X must be finite; 1 .*index \(1, 3\) is {bad}"):
        lp.Regression(matrix, Y)
    with pytest.raises(DataError, match=rf"y must be finite; 1 .*index 2 is {bad}"):
        lp.Regression(X, [0.0, 1.0, bad])


def test_several_non_finite_entries_are_counted():
    with pytest.raises(DataError, match=r"X must be finite; 2 entries are not.*\(0, 0\)"):
        lp.Regression([[np.nan, 1.0, np.inf]], [1.0])


@pytest.mark.parametrize(
    ("matrix", "shape"),
    [([1.0, 2.0], r"\(2,\)"), (np.ones((1, 2, 3)), r"\(1, 2, 3\)"), (3.0, r"\(\)")],
)
def test_matrix_must_have_two_dimensions(matrix, shape):
    with pytest.raises(DataError, match=rf"X must have 2 dimension.*shape {shape}"):
        lp.Regression(matrix, [1.0, 2.0])


@pytest.mark.parametrize("targets", [3.0, np.ones((3, 1, 1))])
def test_y_must_be_a_vector_or_a_matrix(targets):
    with pytest.raises(DataError, match=r"y must have 1 or 2 dimension.*shape"):
        lp.Regression(X, targets)


def test_numbers_of_samples_must_match():
    with pytest.raises(DataError, match=r"same number of samples; X has 3 rows and y has 2"):
        lp.Regression(X, [1.0, 2.0])


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
def test_no_samples_or_no_features(shape):
    with pytest.raises(
        DataError, match=r"X must have at least one sample and one feature; it has shape"
    ):
        lp.Regression(np.zeros(shape), np.zeros(shape[0]))


def test_no_outputs():
    with pytest.raises(DataError, match=r"y must have at least one output; .*\(3, 0\)"):
        lp.Regression(X, np.zeros((3, 0)))


@pytest.mark.parametrize(
    "matrix",
    [
        [[1j, 1.0]],
        [["a", "b"]],
        [[1.0, 2.0], [3.0]],
        [[None, {}]],
        {"a": 1},
    ],
    ids=["complex", "strings", "ragged", "objects", "dict"],
)
def test_what_is_not_an_array_of_real_numbers(matrix):
    with pytest.raises(DataError, match="X must be an array of real numbers"):
        lp.Regression(matrix, [1.0])


@pytest.mark.parametrize("matrix", [[["1", "2"]], np.array([["2020-01-01"]], dtype="M8[D]")])
def test_texts_and_dates_are_not_numbers(matrix):
    with pytest.raises(DataError, match="X must be an array of real numbers"):
        lp.Regression(matrix, [1.0])


def test_masked_entries_are_not_dropped_silently():
    masked = np.ma.masked_array([[1.0, 2.0]], mask=[[False, True]])
    with pytest.raises(DataError, match="X must not have masked entries"):
        lp.Regression(masked, [1.0])


def test_whole_numbers_too_large_for_a_float():
    with pytest.raises(DataError, match="X must be"):
        lp.Regression([[10**400, 1]], [1.0])


def test_several_outputs_do_not_fit_a_diagonal_network():
    task = lp.Regression(X, np.ones((3, 2)))
    with pytest.raises(NetworkError, match=r"one output; y has shape \(3, 2\)\. Pass y as a vec"):
        lp.Problem(NETWORK, lp.Init(np.ones((2, 5))), task)
    with pytest.raises(NetworkError, match="one output"):
        lp.Init.random(NETWORK, task, 0.1, seed=0)


@pytest.mark.parametrize("factor", [0, -1.0, np.nan, np.inf, "two", None, [1.0, 2.0], 1j])
def test_loss_factor(factor):
    with pytest.raises(DataError, match=r"loss_factor must be a positive number; it is"):
        lp.Regression(X, Y, loss_factor=factor)


# ---------------------------------------------------------------- odd data with a defined answer


def test_zero_column_leaves_its_coefficient_where_it_started():
    matrix = X.copy()
    matrix[:, 2] = 0.0
    problem = make(matrix)
    start = NETWORK.coef(problem.init.layers)
    limit = lp.predict(problem)
    assert limit.status is lp.Status.CONVERGED
    assert limit.coef[2] == pytest.approx(start[2], rel=1e-12)
    run = lp.flow(problem)
    np.testing.assert_allclose(run.coefs[:, 2], start[2], rtol=1e-12)
    trained = lp.train(problem, lp.GD(0.05), 200)
    np.testing.assert_array_equal(trained.coefs[:, 2], start[2])


def test_duplicate_columns_share_their_coefficient():
    matrix = np.column_stack([X, X[:, 0]])
    task = lp.Regression(matrix, Y)
    problem = lp.Problem(NETWORK, lp.Init.zero_last(NETWORK, task, 1e-3), task)
    limit = lp.predict(problem)
    assert limit.status is lp.Status.CONVERGED
    assert limit.coef[0] == pytest.approx(limit.coef[5], rel=1e-12)
    assert_flow_agrees(problem, limit)


def test_duplicate_columns_from_different_starts_have_equal_mirror_coordinates():
    limit = lp.predict(make(np.column_stack([X, X[:, 0]])))
    assert limit.status is lp.Status.CONVERGED
    assert limit.mirror[0] == pytest.approx(limit.mirror[5], rel=1e-12)


def test_rank_deficient_rows_that_agree():
    # Twice a row is exact in float64, a sum of rows is not.
    matrix, targets = np.vstack([X, 2 * X[0]]), np.append(Y, 2 * Y[0])
    limit = lp.predict(make(matrix, targets))
    assert limit.status is lp.Status.CONVERGED
    np.testing.assert_allclose(limit.coef, lp.predict(make()).coef, rtol=1e-9, atol=1e-12)
    assert_flow_agrees(make(matrix, targets), limit)


def test_rows_that_are_sums_up_to_rounding_are_told():
    matrix, targets = np.vstack([X, X[0] + X[1]]), np.append(Y, Y[0] + Y[1])
    problem = make(matrix, targets)
    limit = lp.predict(problem, escalate=False)
    assert limit.status is lp.Status.RANK_HIDDEN
    assert "not exactly" in str(limit.status)
    assert "for the data as given" in str(lp.predict(problem).status)
    np.testing.assert_allclose(limit.coef, lp.predict(make()).coef, rtol=1e-9, atol=1e-12)


def test_y_outside_the_range_gives_the_least_squares_limit():
    matrix, targets = np.vstack([X, 2 * X[0]]), np.append(Y, 5.0)
    problem = make(matrix, targets)
    limit = lp.predict(problem)
    assert limit.status is lp.Status.LEAST_SQUARES
    assert "least-squares" in str(limit.status)
    assert limit.status.ok
    assert limit.certificate.ok
    best = np.linalg.lstsq(matrix, targets, rcond=None)[0]
    np.testing.assert_allclose(matrix @ limit.coef, matrix @ best, rtol=1e-9)
    assert_flow_agrees(problem, limit)
    assert lp.verify(problem).passed


def test_more_samples_than_features():
    problem = make(X.T, np.array([1.0, 2.0, 0.0, -1.0, 0.5]))
    limit = lp.predict(problem)
    assert limit.status is lp.Status.LEAST_SQUARES
    expected = np.linalg.lstsq(problem.task.X, problem.task.y, rcond=None)[0]
    np.testing.assert_allclose(limit.coef, expected, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1.0])
def test_zero_targets(scale):
    problem = make(y=np.zeros(3), scale=scale)
    limit = lp.predict(problem)
    assert limit.status is lp.Status.CONVERGED
    start = np.linalg.norm(NETWORK.coef(problem.init.layers))
    assert np.linalg.norm(X @ limit.coef) <= 1e-9 * start
    run = lp.flow(problem)
    assert run.status is lp.Status.CONVERGED
    np.testing.assert_allclose(run.coef, limit.coef, rtol=0, atol=1e-6 * start)
    assert lp.verify(problem).passed


def test_zero_targets_from_zero_coefficients_stay_there():
    task = lp.Regression(X, np.zeros(3))
    problem = lp.Problem(NETWORK, lp.Init.zero_last(NETWORK, task, 0.1), task)
    assert lp.predict(problem).coef.tolist() == [0.0] * 5
    assert lp.predict(problem).status is lp.Status.CONVERGED
    assert lp.flow(problem).coef.tolist() == [0.0] * 5
    assert lp.flow(problem).status is lp.Status.CONVERGED
    assert lp.train(problem, lp.GD(0.1), 10).status is lp.Status.CONVERGED
    assert lp.verify(problem).passed


def test_all_data_zero():
    zeros = lp.predict(make(np.zeros((2, 3)), np.zeros(2)))
    assert zeros.status is lp.Status.CONVERGED
    out_of_reach = make(np.zeros((2, 3)), np.ones(2))
    limit = lp.predict(out_of_reach)
    assert limit.status is lp.Status.LEAST_SQUARES
    np.testing.assert_allclose(limit.coef, NETWORK.coef(out_of_reach.init.layers), rtol=1e-12)


def test_a_single_sample():
    problem = make(X[:1], Y[:1])
    limit = lp.predict(problem)
    assert limit.status is lp.Status.CONVERGED
    assert float(X[0] @ limit.coef) == pytest.approx(Y[0], rel=1e-12)
    assert_flow_agrees(problem, limit)


@pytest.mark.parametrize("target", [3.0, -3.0])
def test_a_single_feature(target):
    problem = make([[2.0], [4.0]], [target, 2 * target])
    limit = lp.predict(problem)
    assert limit.status is lp.Status.CONVERGED
    assert limit.coef.tolist() == pytest.approx([target / 2], rel=1e-12)
    assert_flow_agrees(problem, limit)
    assert lp.verify(problem).passed


@pytest.mark.parametrize(
    "convert",
    [
        lambda a: a.astype(np.int64),
        lambda a: a.astype(np.float32),
        lambda a: a.astype(bool),
        lambda a: a.astype(int).tolist(),
        np.asfortranarray,
        lambda a: pd.DataFrame(a) if a.ndim == 2 else pd.Series(a, index=[7, 5]),
    ],
    ids=["int64", "float32", "bool", "lists", "fortran order", "pandas"],
)
def test_other_kinds_of_arrays_are_read_as_float64(convert):
    matrix, targets = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), np.array([1.0, 0.0])
    task = lp.Regression(convert(matrix), convert(targets))
    assert task.X.dtype == task.y.dtype == np.float64
    problem = lp.Problem(NETWORK, lp.Init.random(NETWORK, task, 0.1, seed=0), task)
    expected = lp.predict(make(matrix, targets, scale=0.1))
    np.testing.assert_array_equal(lp.predict(problem).coef, expected.coef)


def test_a_frame_of_one_column_is_a_matrix_of_one_output():
    task = lp.Regression(X, pd.DataFrame({"y": Y}))
    assert task.y.shape == (3, 1)
    with pytest.raises(NetworkError, match=r"Pass y as a vector of shape \(m,\)"):
        lp.Init.random(NETWORK, task, 0.1, seed=0)


def test_the_data_are_copied():
    matrix = X.copy()
    task = lp.Regression(matrix, Y)
    matrix[0, 0] = 99.0
    assert task.X[0, 0] == X[0, 0]


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-100])
def test_badly_scaled_columns(scale):
    problem = make(X * np.logspace(-8, 8, 5), Y, scale=scale)
    limit = lp.predict(problem)
    assert limit.status is lp.Status.CONVERGED
    assert limit.certificate.ok
    run = lp.flow(problem)
    assert run.status is lp.Status.CONVERGED
    # "The data are fitted": relative to the data, however large the start was.
    np.testing.assert_allclose(problem.task.X @ run.coef, Y, rtol=0, atol=1e-7)
    np.testing.assert_allclose(run.coef, limit.coef, rtol=0, atol=1e-6 * abs(limit.coef).max())


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-100])
def test_badly_scaled_columns_pass_their_verdict(scale):
    verdict = lp.verify(make(X * np.logspace(-8, 8, 5), Y, scale=scale))
    assert verdict.passed, verdict


# Fitted means fitted: every row to this part of its target.
FITTED = 1e-6


def test_badly_scaled_rows_are_fitted_or_refused():
    """Three independent rows: they can be fitted, so that no best fit may miss one of them."""
    problem = make(X * np.logspace(-8, 8, 3)[:, None], Y)
    limit = lp.predict(problem, escalate=False)
    if limit.status.ok:
        np.testing.assert_allclose(problem.task.X @ limit.coef, Y, rtol=FITTED)
    assert lp.predict(problem).status.ok


def test_a_flow_on_badly_scaled_rows_fits_them_or_is_refused():
    problem = make(X * np.logspace(-8, 8, 3)[:, None], Y)
    # The rows differ in size, their targets do not: what is added up to them hides some.
    with pytest.raises(ScaleNotRepresentable, match="cannot reach the data"):
        lp.flow(problem)
    scaled = make(problem.task.X, np.logspace(-8, 8, 3) * Y)
    run = lp.flow(scaled)
    assert run.status is lp.Status.CONVERGED
    np.testing.assert_allclose(scaled.task.X @ run.coef, scaled.task.y, rtol=FITTED)


# ---------------------------------------------------------------- networks


@pytest.mark.parametrize("depth", [1, 0, -3, 2.5, 2.0, True, "2", None])
def test_depth(depth):
    with pytest.raises(NetworkError, match="depth must be a whole number, at least 2; it is"):
        lp.Diagonal(depth=depth)


def test_depth_may_be_a_numpy_integer():
    assert lp.Diagonal(depth=np.int64(3)).depth == 3


@pytest.mark.parametrize("network", [lp.Power, lp.SignedPower])
@pytest.mark.parametrize("depth", [1, 0, 2.5, True, "2", None])
def test_powers(network, depth):
    with pytest.raises(NetworkError, match="depth must be a whole number, at least 2; it is"):
        network(depth=depth)


@pytest.mark.parametrize("network", [lp.Power(3), lp.SignedPower(2), lp.Paired()], ids=repr)
def test_several_outputs_do_not_fit_networks_of_one_output(network):
    task = lp.Regression(X, np.ones((3, 2)))
    with pytest.raises(NetworkError, match=r"network has one output; y has shape \(3, 2\)"):
        lp.Init.random(network, task, 0.1, seed=0)


def test_a_problem_without_a_theorem_lists_the_conditions_that_fail():
    task = lp.Regression(X, Y)
    network = lp.Diagonal(depth=3)
    problem = lp.Problem(network, lp.Init.random(network, task, np.inf, seed=0), task)
    with no_theorem("start at zero"):
        lp.predict(problem)


def test_layers_that_tie_and_cannot_fit_end_on_the_boundary():
    """The coefficient stays positive and y asks for −1: it dies away."""
    task = lp.Regression([[1.0]], [-1.0])
    problem = lp.Problem(NETWORK, lp.Init([[1.0], [1.0]], 0.1), task)
    limit = lp.predict(problem)
    assert limit.theorem.id == "limitpoint.boundary"
    assert limit.coef.tolist() == [0.0]
    assert limit.status is lp.Status.LEAST_SQUARES
    # It never arrives in finite time, nor does the flow fail.
    run = lp.flow(problem, t_end=10.0)
    assert run.status is lp.Status.REACHED_END
    assert 0 < run.coef[0] < 0.01


def test_layers_all_zero_never_move():
    task = lp.Regression(X, Y)
    problem = lp.Problem(NETWORK, lp.Init(np.zeros((2, 5)), 1.0), task)
    limit = lp.predict(problem)
    assert limit.coef.tolist() == [0.0] * 5
    assert limit.status is lp.Status.LEAST_SQUARES
    assert lp.flow(problem).coef.tolist() == [0.0] * 5
    assert lp.verify(problem).passed


# ---------------------------------------------------------------- initialisations


def test_empty_direction():
    with pytest.raises(InitError, match="direction must hold one array per layer; it is empty"):
        lp.Init([])


@pytest.mark.parametrize("direction", [None, 3.0])
def test_direction_that_is_not_a_sequence(direction):
    with pytest.raises(InitError, match="direction must hold one array per layer"):
        lp.Init(direction)


@pytest.mark.parametrize(
    "direction",
    [[[1.0, 2.0]] * 2, [[1.0] * 5], [[1.0] * 5] * 3, [[[1.0] * 5]] * 2, [[], []]],
    ids=["too short", "one layer", "three layers", "matrices", "empty layers"],
)
def test_direction_of_another_shape_than_the_network(direction):
    with pytest.raises(
        InitError, match=r"init has layers of shapes .* on 5 features needs \(\(5,\), \(5,\)\)"
    ):
        lp.Problem(NETWORK, lp.Init(direction), lp.Regression(X, Y))


@pytest.mark.parametrize(
    ("direction", "message"),
    [
        ([[1.0], [np.nan]], r"direction\[1\] must be finite; 1 entries"),
        ([[1.0], [1j]], r"direction\[1\] must be an array of real numbers"),
        ([["a"], ["b"]], r"direction\[0\] must be an array of real numbers"),
        ([1.0, 2.0], r"direction\[0\] must have 1 or 2 dimension"),
        ([np.ones((1, 1, 1))], r"direction\[0\] must have 1 or 2 dimension"),
    ],
)
def test_bad_layers_are_named(direction, message):
    with pytest.raises(InitError, match=message):
        lp.Init(direction)


def test_scale_and_log_scale_exclude_each_other():
    with pytest.raises(InitError, match="give scale or log_scale, not both"):
        lp.Init([[1.0], [0.0]], scale=1.0, log_scale=0.0)
    with pytest.raises(InitError, match="give scale or log_scale, not both"):
        lp.Init.zero_last(NETWORK, lp.Regression(X, Y), 1.0, log_scale=0.0)


@pytest.mark.parametrize("scale", [-1.0, np.nan, -np.inf, "small", [1.0], 1j])
def test_scale(scale):
    with pytest.raises(InitError, match=r"scale must be a number in \[0, inf\]; it is"):
        lp.Init([[1.0], [0.0]], scale=scale)


@pytest.mark.parametrize("log_scale", [np.nan, "small", [1.0], 1j])
def test_log_scale(log_scale):
    with pytest.raises(InitError, match="log_scale must be a number; it is"):
        lp.Init([[1.0], [0.0]], log_scale=log_scale)


@pytest.mark.parametrize("seed", [-1, "a", 1.5])
def test_seed(seed):
    with pytest.raises(InitError, match="seed must be a whole number"):
        lp.Init.random(NETWORK, lp.Regression(X, Y), 1.0, seed=seed)


def test_zero_last_direction():
    task = lp.Regression(X, Y)
    with pytest.raises(InitError, match="direction"):
        lp.Init.zero_last(NETWORK, task, direction=[[1.0], [1.0, 2.0]])
    with pytest.raises(InitError, match="needs"):
        lp.Problem(NETWORK, lp.Init.zero_last(NETWORK, task, direction=[1.0, 2.0]), task)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (1.0, r"shape must be in \(-1, 1\); it is 1"),
        (-1, r"shape must be in \(-1, 1\); it is -1"),
        ([0.0, 0.0, 1.5, 0.0, 2.0], r"shape must be in \(-1, 1\); it is 1\.5"),
        ([0.0, 0.5], r"shape must be a number or have one entry per feature, \(5,\); .*\(2,\)"),
        ([[0.0]], r"shape must have 0 or 1 dimension"),
        (np.nan, r"shape must be finite"),
        ("round", r"shape must be an array of real numbers"),
        (None, r"shape must be an array of real numbers|shape must be finite"),
    ],
    ids=str,
)
def test_shape(shape, message):
    with pytest.raises(InitError, match=message):
        lp.Init.shaped(lp.Paired(), lp.Regression(X, Y), 0.1, shape=shape)


def test_unbiased_direction():
    task = lp.Regression(X, Y)
    network = lp.SignedPower(depth=3)
    with pytest.raises(InitError, match=r"direction must be finite"):
        lp.Init.unbiased(network, task, direction=[1.0, 1.0, np.nan, 1.0, 1.0])
    with pytest.raises(InitError, match="needs"):
        lp.Problem(network, lp.Init.unbiased(network, task, direction=[1.0, 2.0]), task)
    with pytest.raises(InitError, match="give scale or log_scale, not both"):
        lp.Init.unbiased(network, task, 1.0, log_scale=0.0)


@pytest.mark.parametrize(
    "scales", [[], [[1.0]], [-1.0], [np.nan], "small", None, [1.0, "a"]], ids=str
)
def test_scales_of_a_path(scales):
    with pytest.raises(InitError, match=r"scales must hold numbers in \[0, inf\]"):
        lp.predict_path(make(), scales)


# ---------------------------------------------------------------- scales out of reach


def test_an_infinite_scale_needs_coefficients_that_start_at_zero():
    problem = make(scale=np.inf)
    with no_theorem("coefficients start at zero .*not zero: 0"):
        lp.predict(problem)
    # What holds at every scale tells of training, not of this limit.
    assert [one.id for one in lp.explain(problem).applicable] == ["limitpoint.weight_decay"]


@pytest.mark.parametrize("scale", [0.0, np.inf])
def test_nothing_moves_at_the_two_limits_of_the_scale(scale):
    problem = make(scale=scale)
    with pytest.raises(lp.errors.InitError, match="flow needs a positive, finite scale"):
        lp.flow(problem)
    with pytest.raises(ScaleNotRepresentable, match="cannot be held in float64"):
        lp.train(problem, lp.GD(0.1), 1)
    with pytest.raises(lp.errors.InitError, match="verify needs a positive, finite scale"):
        lp.verify(problem)


@pytest.mark.parametrize("log_scale", [-2302.6, -736])
def test_training_needs_layers_that_float64_holds(log_scale):
    with pytest.raises(
        ScaleNotRepresentable,
        match=rf"log_scale={log_scale}.*use a scale between 1e-300 and 1e70",
    ):
        lp.train(make(log_scale=log_scale), lp.GD(0.1), 10)


@pytest.mark.parametrize("scale", [1e155, 1e200, 1e300])
def test_a_scale_too_large(scale):
    problem = make(scale=scale)
    for call in (lp.predict, lp.flow, lp.verify, lambda p: lp.train(p, lp.GD(0.1), 1)):
        with pytest.raises(ScaleNotRepresentable, match="use a scale"):
            call(problem)


@pytest.mark.parametrize("scale", [1e10, 1e70])
def test_from_a_large_scale_data_are_fitted_or_refused(scale):
    limit = lp.predict(make(scale=scale), escalate=False)
    if limit.status.ok:
        np.testing.assert_allclose(X @ limit.coef, Y, rtol=FITTED)
    assert lp.predict(make(scale=scale)).status.ok


def test_a_scale_whose_loss_overflows_is_refused():
    with pytest.raises(ScaleNotRepresentable, match="use a scale"):
        lp.predict(make(scale=1e140))


@pytest.mark.parametrize("factor", [1e200, 1e-200])
@pytest.mark.parametrize("which", ["X", "y"])
def test_data_far_from_one_are_refused(which, factor):
    with pytest.raises(DataError, match=f"^{which} must have its largest entry between"):
        make(**{which: factor * (X if which == "X" else Y)})


# ---------------------------------------------------------------- runs


@pytest.mark.parametrize("rate", [0, -0.1, np.nan, np.inf, "fast", None, [0.1]])
def test_learning_rate(rate):
    with pytest.raises(LimitpointError, match="learning_rate must be a positive number; it is"):
        lp.GD(learning_rate=rate)


@pytest.mark.parametrize("steps", [0, -1, 2.5, True, "many", None])
def test_steps(steps):
    with pytest.raises(LimitpointError, match="steps must be a whole number, at least 1; it is"):
        lp.train(make(), lp.GD(0.1), steps)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (0, "record must be a whole number, at least 1; it is 0"),
        (-3, "record must be a whole number, at least 1; it is -3"),
        (2.5, "record must be a number of records or a list of step numbers"),
        ([1.5], "record must be a number of records or a list of step numbers"),
        ([[1, 2]], "record must be a number of records or a list of step numbers"),
        ("all", "record must be a number of records or a list of step numbers"),
        ([11], "record must hold step numbers between 0 and 10"),
        ([-1], "record must hold step numbers between 0 and 10"),
    ],
)
def test_record(record, message):
    with pytest.raises(LimitpointError, match=message):
        lp.train(make(), lp.GD(0.1), 10, record=record)


@pytest.mark.parametrize("t_end", [-1.0, np.nan, np.inf, "late", [1.0]])
def test_t_end(t_end):
    with pytest.raises(LimitpointError, match="t_end must be a finite time, 0 or later; it is"):
        lp.flow(make(), t_end=t_end)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([], "times must be increasing, 0 or later, and not empty"),
        ([-1.0, 1.0], "times must be increasing, 0 or later, and not empty"),
        ([1.0, 1.0], "times must be increasing, 0 or later, and not empty"),
        ([2.0, 1.0], "times must be increasing, 0 or later, and not empty"),
        ([0.0, np.nan], r"times must be finite; 1 entries are not, the first at index 1"),
        ([0.0, np.inf], r"times must be finite"),
        ([[1.0]], r"times must have 1 dimension"),
        (5.0, r"times must have 1 dimension"),
        ("late", r"times must be an array of real numbers"),
    ],
)
def test_times(times, message):
    with pytest.raises(LimitpointError, match=message):
        lp.flow(make(), times=times)


def test_t_end_and_times_exclude_each_other():
    with pytest.raises(LimitpointError, match="give t_end or times, not both"):
        lp.flow(make(), t_end=1.0, times=[1.0])


@pytest.mark.parametrize("space", [lp.SampleSpace(), lp.ParameterSpace()], ids=["sample", "param"])
@pytest.mark.parametrize("end", [{"t_end": 0.0}, {"times": [0.0]}], ids=["t_end", "times"])
def test_a_flow_that_ends_at_its_start_has_not_converged(space, end):
    problem = make()
    run = lp.flow(problem, space=space, **end)
    assert run.times.tolist() == [0.0]
    np.testing.assert_allclose(run.coef, NETWORK.coef(problem.init.layers), rtol=1e-12)
    assert run.status is lp.Status.REACHED_END


def test_a_learning_rate_far_too_large_diverges():
    run = lp.train(make(scale=1.0), lp.GD(100.0), 1000)
    assert run.status is lp.Status.DIVERGED
    assert not run.status.ok
    assert "learning rate is too large" in str(run.status)


def test_a_diverged_run_fails_the_verdict():
    verdict = lp.verify(make(scale=1.0), training=lp.GD(100.0), steps=1000)
    assert not verdict.passed
    failed = {check.name for check in verdict.checks if not check.passed}
    assert "training: law of the step" in failed
    assert "FAILED" in str(verdict)


def test_arguments_of_the_wrong_kind_are_named():
    problem = make()
    network, init, task = problem.network, problem.init, problem.task
    with pytest.raises(NetworkError, match="network must be like Diagonal"):
        lp.Problem(task, init, network)
    with pytest.raises(InitError, match="init must be an Init"):
        lp.Problem(network, task, init)
    with pytest.raises(DataError, match="task must be a task"):
        lp.Problem(network, init, None)
    with pytest.raises(LimitpointError, match="optimiser must be an optimiser"):
        lp.train(problem, 0.01, 10)
    with pytest.raises(LimitpointError, match=r"space must be SampleSpace\(\), ParameterSpace"):
        lp.flow(problem, space="sample")


def test_every_error_is_a_value_error():
    for name in set(lp.errors.__all__) - {"Cancelled"}:  # not an error: somebody asked for it
        assert issubclass(getattr(lp.errors, name), ValueError)
