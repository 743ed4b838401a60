"""The flow of a classification in normalised time, against an oracle in true time."""

from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.flows import classification_flow as oracle

import limitpoint as lp
from limitpoint.dynamics.coordinates import default_coordinates
from limitpoint.errors import LimitpointError

YUN = ([[1, 2], [0, -3]], [1, -1])
# The local error is 1e-11; over some hundred steps of a flow that forgets nothing, and in
# logarithms of losses around 15 times their margins, this much is left.
ACCURACY = 1e-8


def made(network, task, scale=0.5, seed=0):
    return lp.Problem(network, lp.Init.random(network, task, scale, seed=seed), task)


def drawn(samples, features, loss="exponential", seed=0):
    rng = np.random.default_rng(seed)
    X, truth = rng.standard_normal((samples, features)), rng.standard_normal(features)
    return lp.Classification(X, np.sign(X @ truth), loss)


def reach(problem, margin):
    return lp.flow(problem, margin=margin)


@pytest.mark.slow
class TestAgainstTrueTime:
    @pytest.mark.parametrize("loss", ["exponential", "logistic"])
    @pytest.mark.parametrize(
        ("network", "form", "features"),
        [
            (lp.Diagonal(2), oracle.diagonal, 5),
            (lp.Diagonal(3), oracle.diagonal, 5),
            (lp.Convolutional((3, 3)), oracle.convolution, 3),
            (lp.Convolutional((2, 4)), oracle.convolution, 4),
            (lp.FullyConnected((3,)), oracle.dense, 4),
            (lp.FullyConnected((3, 2)), oracle.dense, 4),
        ],
    )
    def test_coefficients_and_losses_at_true_times(self, network, form, features, loss):
        given = made(network, drawn(4, features, loss, seed=3), scale=0.3)
        times = np.concatenate([[0.0], np.geomspace(0.01, 1e3, 9)])
        run = lp.flow(given, times=times)
        coefs, log_losses = oracle.flow(
            form,
            getattr(oracle, loss),
            given.task.X,
            given.task.y,
            list(given.init.layers),
            times,
        )
        np.testing.assert_array_equal(run.times, times)
        np.testing.assert_allclose(run.coefs, coefs, rtol=0, atol=ACCURACY * np.abs(coefs).max())
        # Losses fall like 1/t: an error of a time is one of the logarithm of the loss.
        np.testing.assert_allclose(run.log_losses, log_losses, rtol=0, atol=ACCURACY)
        np.testing.assert_allclose(run.losses, np.exp(log_losses), rtol=2 * ACCURACY)
        assert run.status is lp.Status.REACHED_END

    def test_own_steps_lie_on_the_same_curve_as_requested_times(self):
        given = made(lp.Diagonal(3), drawn(3, 4))
        own = lp.flow(given, t_end=50.0)
        assert own.times[0] == 0.0
        assert own.times[-1] == 50.0
        again = lp.flow(given, times=own.times[::25])
        np.testing.assert_allclose(again.coefs, own.coefs[::25], rtol=0, atol=ACCURACY)

    def test_the_loss_factor_rescales_time(self):
        task = drawn(3, 4)
        slow = lp.Classification(task.X, task.y, loss_factor=1e-3)
        network = lp.Convolutional((2, 4))
        fast = lp.flow(made(network, task), times=[1.0, 10.0])
        late = lp.flow(made(network, slow), times=[1e3, 1e4])
        np.testing.assert_allclose(late.coefs, fast.coefs, rtol=0, atol=ACCURACY)

    def test_growth_and_polar_coordinates_agree(self):
        """A diagonal network in its own coordinates, and as a tensor without any."""
        task = drawn(4, 3, seed=5)
        tensor = np.zeros((3, 3, 3))
        tensor[range(3), range(3), range(3)] = 1.0
        diagonal = reach(made(lp.Diagonal(2), task), 1e6)
        polar = reach(made(lp.Tensor(tensor), task), 1e6)
        # Directions of the two, at margins that are equal to 1e-14.
        np.testing.assert_allclose(polar.directions[-1], diagonal.directions[-1], atol=ACCURACY)
        assert polar.log_times[-1] == pytest.approx(diagonal.log_times[-1], rel=1e-8)


class TestTimeInLogarithms:
    @pytest.mark.parametrize("network", [lp.Diagonal(2), lp.FullyConnected((2,))])
    def test_log_time_is_the_integral_of_the_inverse_loss(self, network):
        """`dt = dm/(dm/dt)`: the time between two records, from the losses alone.

        `d loss/dt = −‖∇loss‖²`, so that `dt = −d log loss/(loss ‖∇ log loss‖²)`; late, when
        `‖∇ log loss‖² = G` changes slowly, `t = 1/(loss G)` to a part in the margin.
        """
        given = made(network, lp.Classification(*YUN))
        run = reach(given, 1e8)
        task, layers = given.task, [layer[-1] for layer in run.layers]
        neg_grad = task.signed.T @ task.weights(run.margins[-1])
        form = oracle.diagonal if isinstance(network, lp.Diagonal) else oracle.dense
        pushes = form(layers, neg_grad)[1]
        squared = sum(float((push**2).sum()) for push in pushes)
        late = -run.log_losses[-1] - np.log(squared)
        # The next term is of the order of one over the margin, in the logarithm.
        assert run.log_times[-1] == pytest.approx(late, abs=1e-6 + 1e-8 * late)
        assert np.isinf(run.times[-1])
        assert run.losses[-1] == 0.0

    def test_logarithms_and_times_are_one_where_both_are_floats(self):
        run = lp.flow(made(lp.Diagonal(2), drawn(3, 4)), t_end=1e5)
        np.testing.assert_allclose(np.exp(run.log_times[1:]), run.times[1:], rtol=1e-14)
        np.testing.assert_allclose(np.exp(run.log_losses), run.losses, rtol=1e-14)


@pytest.mark.slow
class TestDirections:
    @pytest.mark.parametrize(
        ("network", "limit"),
        [
            (lp.FullyConnected((2,)), (1, 2)),
            (lp.Diagonal(2), (0, 1)),
            (lp.Convolutional((2, 2)), (1, 1)),
        ],
    )
    def test_two_points_and_three_biases(self, network, limit):
        """Yun et al. (2021), Figure 1: towards each network's own direction, ever nearer."""
        run = reach(made(network, lp.Classification(*YUN)), 1e8)
        assert run.status is lp.Status.SEPARATED
        wanted = np.array(limit) / np.linalg.norm(limit)
        errors = np.linalg.norm(run.directions - wanted, axis=1)
        smallest = run.margins.min(axis=1)
        assert smallest[-1] == pytest.approx(1e8, rel=1e-12)
        assert errors[-1] < 1e-4
        late = errors[smallest > 10]
        assert (np.diff(late) < 0).all()

    @pytest.mark.parametrize(
        "network",
        [
            lp.Diagonal(2),
            lp.Diagonal(3),
            pytest.param(lp.Diagonal(4), marks=pytest.mark.slow),
            lp.Convolutional((9, 9)),
            pytest.param(lp.Convolutional((2, 9)), marks=pytest.mark.slow),
            pytest.param(lp.Convolutional((3, 3, 9)), marks=pytest.mark.slow),
            lp.FullyConnected((5,)),
            pytest.param(lp.FullyConnected((4, 3)), marks=pytest.mark.slow),
        ],
    )
    def test_margins_of_1e8_are_reached_with_conserved_quantities_kept(self, network):
        given = made(network, drawn(8, 9, seed=1))
        run = reach(given, 1e8)
        assert run.status is lp.Status.SEPARATED
        assert run.margins[-1].min() == pytest.approx(1e8, rel=1e-12)
        assert run.relative_residual == 0.0
        # Some thousand steps of local error 1e-11, which add up in no order.
        assert lp.analysis.drift(network, run).relative < 1e-9
        np.testing.assert_allclose(np.linalg.norm(run.directions, axis=1), 1.0, rtol=1e-14)

    @pytest.mark.parametrize("network", [lp.Diagonal(2), lp.FullyConnected((2,))])
    def test_the_largest_margin(self, network):
        """Errors fall as the margin to the power −1/2 here, from 1e8 to 1e12 by a hundred."""
        given = made(network, lp.Classification(*YUN))
        wanted = np.array([0, 1] if isinstance(network, lp.Diagonal) else [1, 2])
        wanted = wanted / np.linalg.norm(wanted)
        ends = [reach(given, margin) for margin in (1e8, 1e12)]
        assert ends[1].status is lp.Status.SEPARATED
        errors = [np.linalg.norm(run.directions[-1] - wanted) for run in ends]
        assert errors[1] / errors[0] == pytest.approx(1e-2, rel=0.05)

    def test_the_logistic_loss_has_the_direction_of_the_exponential_one(self):
        """Their paths differ while margins are small; what is left of that falls like the rest.

        On the two points the negative gradient in the first coefficient is half that on the second,
        so that its share of the coefficients falls as the margin to the power −1/2, for both
        losses.
        """
        gaps = []
        for margin in (1e4, 1e8):
            ends = [
                reach(made(lp.Diagonal(2), lp.Classification(*YUN, loss)), margin).directions[-1]
                for loss in ("exponential", "logistic")
            ]
            gaps.append(float(np.linalg.norm(ends[0] - ends[1])))
        assert gaps[1] / gaps[0] == pytest.approx(1e-2, rel=0.05)


@pytest.mark.slow
class TestTinyStarts:
    def test_a_scale_of_1e_minus_1000(self):
        task, network = lp.Classification(*YUN), lp.Diagonal(2)
        init = lp.Init.random(network, task, 1.0, seed=1).at_scale(log_scale=-2302.6)
        run = reach(lp.Problem(network, init, task), 1e6)
        assert run.status is lp.Status.SEPARATED
        np.testing.assert_allclose(run.directions[-1], [0.0, 1.0], rtol=0, atol=1e-12)
        # a + b and a − b grow by the negative gradient alone: the same sum of squares, in
        # logarithms, of the coefficient that is inactive on.
        assert run.log_abs_coefs[-1, 0] < -2302.6

    @pytest.mark.parametrize("network", [lp.Convolutional((2, 2)), lp.FullyConnected((2, 2))])
    def test_layers_that_move_together_too(self, network):
        task = lp.Classification(*YUN)
        init = lp.Init.random(network, task, 1.0, seed=1).at_scale(log_scale=-2302.6)
        run = reach(lp.Problem(network, init, task), 1e6)
        assert run.status is lp.Status.SEPARATED
        assert np.isfinite(run.log_abs_coefs).all()
        # At the start the direction is that of the initial layers.
        start = network.coef(init.direction)
        np.testing.assert_allclose(run.directions[0], start / np.linalg.norm(start), rtol=1e-12)

    @pytest.mark.slow
    def test_trial_steps_that_overflow_the_mirror_coordinate_say_nothing(self):
        """A warning, which is an error here, came from the Jacobian of a step then rejected."""
        rng = np.random.default_rng(9)
        X = rng.standard_normal((4, 3))
        task = lp.Classification(X, np.sign(X @ rng.standard_normal(3)), "logistic")
        network = lp.FullyConnected((2, 2, 2))
        init = lp.Init.random(network, task, 1.0, seed=9).at_scale(log_scale=-100.0)
        assert reach(lp.Problem(network, init, task), 1e9).status is lp.Status.SEPARATED

    def test_halving_the_scale_shifts_the_activation_by_its_logarithm(self):
        """Two layers: e^t times the scale is what it is."""
        task, network = lp.Classification([[1.0]], [1]), lp.Diagonal(2)
        activates = []
        for scale in (1e-20, 1e-40):
            given = lp.Problem(network, lp.Init([[1.0], [0.0]], scale=scale), task)
            run = reach(given, 10.0)
            activates.append(float(np.interp(1.0, run.margins[:, 0], run.times)))
        # ẇ = e^−m ≈ 1 while inactive: the margin is s² sinh(2t)/2.
        assert activates[1] - activates[0] == pytest.approx(np.log(1e20), rel=1e-3)


NEVER = lp.Classification([[1.0, 0.2], [0.5, 1.0]], [-1, -1])
NEEDS_BOTH = lp.Classification([[1.0, 2.0], [-1.0, 2.0]], [1, 1])


class TestFlowsThatNeverSeparate:
    @pytest.mark.parametrize(
        ("network", "layers", "task"),
        [
            (lp.Power(2), [[1.0, 1.0]], NEVER),  # on the wrong sign constraint
            (lp.Power(3), [[1.0, 1.0]], NEVER),
            (lp.Diagonal(2), [[1.0, 1.0], [1.0, 1.0]], NEVER),  # tied layers: no change of sign
            (lp.Diagonal(3), [[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]], NEVER),
            (lp.Diagonal(2), [[1.0, 0.0], [0.5, 0.0]], NEEDS_BOTH),  # one coefficient never moves
            (lp.FullyConnected((1,)), [[[0.0], [-1.0]], [1.0]], lp.Classification([[0, 1]], [1])),
            (
                lp.FullyConnected((1, 1)),
                [[[0.0], [-1.0]], [[1.0]], [1.0]],
                lp.Classification([[0, 1]], [1]),
            ),
        ],
    )
    def test_they_end_with_a_sentence(self, network, layers, task):
        given = lp.Problem(network, lp.Init(layers), task)
        run = lp.flow(given, space=replace(default_coordinates(given), max_steps=20_000))
        assert run.status is lp.Status.AT_REST
        assert run.relative_residual > 0
        # At zero, where the flow ends, the loss is the number of samples.
        assert run.log_losses[-1] == pytest.approx(np.log(len(task.y)), abs=1e-9)
        assert (np.diff(run.log_losses) < 1e-12).all()

    def test_an_end_in_time_is_reached_all_the_same(self):
        given = lp.Problem(lp.Power(2), lp.Init([[1.0, 1.0]]), NEVER)
        run = lp.flow(given, t_end=100.0)
        assert run.status is lp.Status.REACHED_END
        assert run.times[-1] == 100.0

    @pytest.mark.parametrize("network", [lp.Diagonal(2), lp.Convolutional((2, 2))])
    def test_zero_layers_are_stationary(self, network):
        given = lp.Problem(network, lp.Init([[0.0, 0.0], [0.0, 0.0]]), NEVER)
        run = lp.flow(given)
        assert run.status is lp.Status.STATIONARY
        assert len(run.times) == 1
        run = lp.flow(given, times=[0.0, 1.0, 2.0])
        assert run.status is lp.Status.STATIONARY
        np.testing.assert_array_equal(run.times, [0.0, 1.0, 2.0])
        np.testing.assert_array_equal(run.directions, np.zeros((3, 2)))

    def test_too_few_steps(self):
        given = made(lp.Diagonal(2), lp.Classification(*YUN))
        run = lp.flow(given, space=lp.LogCoordinates(max_steps=20))
        assert run.status is lp.Status.STEP_LIMIT
        run = lp.flow(given, times=[1e-9, 1e100], space=lp.LogCoordinates(max_steps=20))
        assert run.status is lp.Status.STEP_LIMIT
        np.testing.assert_array_equal(run.times, [1e-9])


class TestEnds:
    def test_a_margin_that_holds_at_the_start(self):
        task = lp.Classification(*YUN)
        given = lp.Problem(lp.Diagonal(2), lp.Init([[10.0, 10.0], [1.0, 2.0]]), task)
        run = lp.flow(given, margin=1.0)
        assert run.status is lp.Status.SEPARATED
        assert len(run.times) == 1

    def test_an_end_in_time_goes_before_the_margin(self):
        given = made(lp.Diagonal(2), lp.Classification(*YUN))
        late = lp.flow(given, t_end=1e6, margin=3.0)
        assert late.times[-1] == 1e6
        assert late.status is lp.Status.SEPARATED
        assert late.margins[-1].min() > 10
        assert lp.flow(given, t_end=0.01, margin=3.0).status is lp.Status.REACHED_END
        assert lp.flow(given, t_end=0.0, margin=3.0).status is lp.Status.REACHED_END

    def test_sample_space_is_refused(self):
        given = made(lp.Diagonal(2), lp.Classification(*YUN))
        with pytest.raises(LimitpointError, match=r"runs in LogCoordinates\(\) or ParameterSpace"):
            lp.flow(given, space=lp.SampleSpace())

    def test_logarithmic_coordinates_that_a_network_does_not_have_are_refused(self):
        given = made(lp.Convolutional((2, 2)), lp.Classification(*YUN))
        with pytest.raises(LimitpointError, match="has no logarithmic coordinates"):
            lp.flow(given, space=lp.LogCoordinates())

    def test_a_regression_refuses_a_margin(self):
        given = made(lp.Diagonal(2), lp.Regression([[1.0, 2.0]], [1.0]))
        with pytest.raises(LimitpointError, match="margin is for a classification"):
            lp.flow(given, margin=10.0)

    def test_margins_that_float64_does_not_hold_are_refused(self):
        with pytest.raises(LimitpointError, match=r"margin must be at most 1e\+12"):
            reach(made(lp.Diagonal(2), lp.Classification(*YUN)), 1e13)

    @pytest.mark.parametrize("margin", [0.0, -1.0, np.inf, "large"])
    def test_margins_are_checked(self, margin):
        with pytest.raises(LimitpointError, match="margin must be a positive number"):
            reach(made(lp.Diagonal(2), lp.Classification(*YUN)), margin)


class TestRecord:
    def test_what_a_trajectory_of_a_classification_has(self):
        given = made(lp.Diagonal(2), lp.Classification(*YUN))
        run = reach(given, 1e4)
        data = run.to_xarray()
        assert data["margin"].dims == ("time", "sample")
        assert data["log_loss"].dims == ("time",)
        assert data["log_time"].dims == ("time",)
        np.testing.assert_allclose(run.margins, given.task.margins(run.coefs), rtol=1e-12)
        np.testing.assert_allclose(
            run.coefs, given.network.coef(run.layers), rtol=1e-12, atol=1e-12
        )
        shown = run.to_dict()
        assert shown["margins"][-1] == run.margins[-1].tolist()
        assert shown["directions"][-1] == run.directions[-1].tolist()
        assert len(shown["log_times"]) == len(shown["log_losses"]) == len(run.times)
        for title in ("log time", "log loss", "margin", "β[1]/‖β‖", "separated by the margin"):
            assert title in str(run)

    def test_of_a_regression_there_are_no_margins(self):
        run = lp.flow(made(lp.Diagonal(2), lp.Regression([[1.0, 2.0]], [1.0])))
        assert run.margins is None
        assert "margins" not in run.to_dict()
        np.testing.assert_allclose(np.exp(run.log_losses), run.losses)
        np.testing.assert_allclose(np.linalg.norm(run.directions, axis=1), 1.0)
        assert run.log_times[0] == -np.inf

    def test_a_network_without_coefficients(self):
        task = lp.Classification(np.eye(3), [1, -1, 1])
        network = lp.ReLU((4,))
        layers = [np.full((3, 4), 0.5), np.array([1.0, -1.0, 0.6, -0.3])]
        run = lp.flow(lp.Problem(network, lp.Init(layers), task), t_end=1.0)
        assert run.directions.shape == (len(run.times), 0)
        assert run.margins.shape == (len(run.times), 3)
