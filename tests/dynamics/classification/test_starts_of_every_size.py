"""The flow of a classification from starts of every size: plateaus, lazy starts, wrong sides."""

import numpy as np
import pytest
from tests.oracles.flows import classification_flow as oracle

import limitpoint as lp
from limitpoint.dynamics.classification import in_log_coordinates as log_chart
from limitpoint.dynamics.classification import traced_layers as polar_chart
from limitpoint.errors import ScaleNotRepresentable

# The local error of 1e-11 over some hundred steps; what is held on plateaus is off by 1e-10.
ACCURACY = 1e-8
# One coefficient after the other activates, and only all three together separate.
CHAIN = np.array([[1.0, 0.2, -0.3], [-0.3, 0.6, -0.2], [-0.2, -0.5, 0.9]])
SIZES = np.array([1.0, 0.8, 0.6])


def chain(depth, scale, loss="exponential"):
    """Equal layers but the last, which is zero: closed forms of the mirror coordinates."""
    init = lp.Init([SIZES] * (depth - 1) + [np.zeros(3)], scale)
    return lp.Problem(lp.Diagonal(depth), init, lp.Classification(CHAIN, np.ones(3), loss))


def predicted(depth, loss="exponential"):
    inactive = oracle.inactive_time(depth, SIZES)
    return oracle.activation_moments(getattr(oracle, loss), CHAIN, np.ones(3), inactive)


@pytest.mark.slow
class TestPlateaus:
    @pytest.mark.parametrize(
        ("depth", "scale", "loss"),
        [
            (3, 1e-30, "exponential"),
            (4, 1e-60, "logistic"),
            (6, 1e-30, "exponential"),
        ],
    )
    def test_coefficients_activate_when_their_mirror_coordinates_have_run(self, depth, scale, loss):
        """Off by powers of the scale, and of a tenth: at 0.1 they are as good as active.

        What is left of an activation time when a coefficient of depth L has reached a tenth is
        about `(s/0.1^(1/L))^(L−2)` of it, 1e-19 or less here.
        """
        run = lp.flow(
            chain(depth, scale, loss), margin=1e3, space=lp.LogCoordinates(max_steps=10_000)
        )
        assert run.status is lp.Status.SEPARATED
        first = (run.coefs > 0.1).argmax(axis=0)
        found = np.sort(np.exp(run.log_times[first] + (depth - 2) * np.log(scale)))
        times, _ = predicted(depth, loss)
        np.testing.assert_allclose(found, times, rtol=ACCURACY)
        assert (np.diff(run.log_losses) < 1e-12 * (1 + np.abs(run.log_losses[1:]))).all()
        assert lp.analysis.drift(lp.Diagonal(depth), run).relative < 1e-12

    def test_the_values_of_the_plateaus_at_times_that_were_asked_for(self):
        depth, scale = 5, 1e-40
        times, plateaus = predicted(depth)
        middles = (times[1:] + times[:-1]) / 2 * scale ** (2.0 - depth)
        run = lp.flow(chain(depth, scale), times=middles)
        assert run.status is lp.Status.REACHED_END
        np.testing.assert_array_equal(run.times, middles)
        np.testing.assert_allclose(run.coefs, plateaus, rtol=0, atol=ACCURACY)

    def test_against_true_time(self, monkeypatch):
        """With plateaus just long enough for what is in balance to be held."""
        depth, held = 4, []

        def watched(self, state, original=log_chart._LogChart.reparametrised):
            found = original(self, state)
            held.extend([] if found is None else [found])
            return found

        monkeypatch.setattr(log_chart._LogChart, "reparametrised", watched)
        problem = chain(depth, 0.02)
        unit = problem.init.scale ** (2 - depth)
        times = np.concatenate([[0.0], unit * np.array([1.0, 2.1, 4.0, 5.4, 5.9, 6.5])])
        run = lp.flow(problem, times=times)
        coefs, log_losses = oracle.flow(
            oracle.diagonal, oracle.exponential, CHAIN, np.ones(3), list(problem.init.layers), times
        )
        assert len(held) >= 2
        np.testing.assert_allclose(run.coefs, coefs, rtol=0, atol=ACCURACY * coefs.max())
        # Once the last one is active the loss falls like the inverse of the time since, which is
        # off by as much as the time when it activated.
        since = np.abs(times - unit * predicted(depth)[0][-1])
        errors = np.abs(run.log_losses - log_losses)
        assert (errors <= ACCURACY * (1.0 + times / since)).all()


def test_what_decays_for_ever_beside_a_balance_ends_with_a_sentence():
    """Its rate falls below the smallest float, next to one that is held."""
    task = lp.Classification([[1.0, -1.0], [-0.5, -1.0]], [1, 1])
    run = lp.flow(lp.Problem(lp.Power(5), lp.Init([[1.0, 1.1]], 1e-3), task))
    assert run.status is lp.Status.AT_REST
    # e^−b = ½e^(b/2)
    assert run.coefs[-1] == pytest.approx([2 / 3 * np.log(2), 0.0], abs=ACCURACY)


class TestLazyStarts:
    @pytest.mark.parametrize(("depth", "scale"), [(2, 1e8), (2, 1e30), (3, 1e8), (5, 1e9)])
    def test_they_are_the_flow_of_the_coefficients_themselves(self, depth, scale):
        """`dβ/dt = s^(2L−2) u`, up to the square of `β/s^L`, which is at most 1e-28."""
        network, task = lp.Diagonal(depth), lp.Classification([[1, 2], [0, -3]], [1, -1])
        times = np.concatenate([[0.0], np.geomspace(0.01, 1e3, 6)])
        problem = lp.Problem(network, lp.Init.zero_last(network, task, scale), task)
        run = lp.flow(problem, times=times / scale ** (2 * depth - 2))
        coefs, log_losses = oracle.flow(
            oracle.linear, oracle.exponential, task.X, task.y, [np.zeros(2)], times
        )
        np.testing.assert_allclose(run.coefs, coefs, rtol=0, atol=ACCURACY * coefs.max())
        np.testing.assert_allclose(run.log_losses, log_losses, rtol=0, atol=ACCURACY)
        assert lp.flow(problem).status is lp.Status.SEPARATED

    def test_layers_that_move_together_too(self):
        """The first layer is orthogonal: again the flow of the coefficients, s² times as fast."""
        network, task = lp.FullyConnected((2,)), lp.Classification([[1, 2], [0, -3]], [1, -1])
        init = lp.Init([np.eye(2), np.zeros(2)], 1e8)
        times = np.concatenate([[0.0], np.geomspace(0.01, 1e3, 6)])
        run = lp.flow(lp.Problem(network, init, task), times=times / 1e16)
        coefs, _ = oracle.flow(
            oracle.linear, oracle.exponential, task.X, task.y, [np.zeros(2)], times
        )
        np.testing.assert_allclose(run.coefs, coefs, rtol=0, atol=ACCURACY * coefs.max())


class TestWrongSides:
    @pytest.mark.parametrize("start", [-1e3, -1e8, -9e11])
    def test_times_are_those_of_the_closed_form(self, start):
        a = np.sqrt(-2 * start)
        init = lp.Init([[a], [-a / 2]])
        problem = lp.Problem(lp.Diagonal(2), init, lp.Classification([[1.0]], [1]))
        run = lp.flow(problem, margin=100.0)
        assert run.status is lp.Status.SEPARATED
        assert (np.diff(run.log_losses) <= 0).all()
        # Times are right relative to the first unit of all, `loss⁻¹` up to √2: later ones here.
        later = np.flatnonzero(run.log_times > start)
        some = later[np.linspace(0, len(later) - 1, 12).astype(int)]
        exact = oracle.log_time_of_one(a, -a / 2, run.margins[some, 0])
        # The logarithmic time runs, in logarithms, as far as the start is deep. Growths, and so
        # margins, have a local error of 1e-11 of that, or 1e-2, or 100 roundings where these are
        # more; what was before the last few steps is forgotten.
        local = max(min(1e-11 * abs(start), 1e-2), 2.3e-14 * abs(start))
        np.testing.assert_allclose(run.log_times[some], exact, rtol=0, atol=ACCURACY + 10 * local)

    @pytest.mark.parametrize(
        "network", [lp.Diagonal(2), lp.Diagonal(3), lp.Convolutional((2, 2))], ids=str
    )
    def test_conserved_quantities_are_kept_all_the_way(self, network):
        task = lp.Classification([[1, 2], [0, -3]], [1, -1])
        layers = [np.array([1.0, 0.5])] + [np.array([2.0, 1.5])] * (network.degree - 2)
        init = lp.Init([*layers, np.array([-0.3, -0.7])], (1e10) ** (1 / network.degree))
        run = lp.flow(lp.Problem(network, init, task))
        assert run.margins[0].min() < -1e9
        assert run.status is lp.Status.SEPARATED
        assert (np.diff(run.log_losses) <= 0).all()
        assert lp.analysis.drift(network, run).relative < 1e-9

    def test_terms_that_cancel_to_nothing_but_rounding_are_refused(self):
        task = lp.Classification([[1.0, 1.0], [1.0, 2.0]], [1, 1])
        init = lp.Init([[1e7, 1e7], [1e7, -1e7]])
        with pytest.raises(ScaleNotRepresentable, match=r"a sum of terms of 3e\+14; beyond 1e\+12"):
            lp.flow(lp.Problem(lp.Diagonal(2), init, task))

    def test_unless_what_was_asked_for_holds_already(self):
        task = lp.Classification([[1.0, 1.0]], [1])
        init = lp.Init([[1e7, 1e7], [1e7, 1e7]])
        run = lp.flow(lp.Problem(lp.Diagonal(2), init, task))
        assert run.status is lp.Status.SEPARATED
        assert len(run.times) == 1


# A network that JAX differentiates: the others write out their gradients.
PRODUCTS = lp.General(lambda b: b[0] * b[1], block_size=2)


class TestCompiledOnce:
    """Data are arguments of what was compiled: another task of the shape compiles nothing."""

    @pytest.fixture
    def traced(self, monkeypatch):
        """How often a network was traced, from an empty store."""
        counted = []
        original = polar_chart._Polar._shape

        def watched(self, *arguments):
            counted.append(self.network)
            return original(self, *arguments)

        monkeypatch.setattr(polar_chart._Polar, "_shape", watched)
        polar_chart._compiled.cache_clear()
        yield counted
        polar_chart._compiled.cache_clear()

    @staticmethod
    def run(X, y, seed=0, loss_factor=1.0, network=None):
        network = PRODUCTS if network is None else network
        task = lp.Classification(X, y, loss_factor=loss_factor)
        init = lp.Init.random(network, task, 0.5, seed=seed)
        problem = lp.Problem(network, init, task)
        return lp.flow(problem, times=[0.5, 5.0], space=lp.ParameterSpace())

    @pytest.mark.slow
    def test_each_task_gets_its_own_flow(self, traced):
        first, other = np.array([[1.0, 2.0], [0.0, -3.0]]), np.array([[2.0, -1.0], [1.0, 1.0]])
        settings = [
            (first, [1, -1], 0, 1.0),
            (other, [1, -1], 0, 1.0),
            (first, [1, 1], 0, 1.0),
            (first, [1, -1], 1, 1.0),
            (first, [1, -1], 0, 3.0),
        ]
        together = [self.run(*setting) for setting in settings]
        count = len(traced)
        assert count > 0
        again = [self.run(*setting) for setting in settings]
        assert len(traced) == count
        for setting, run, repeated in zip(settings, together, again, strict=True):
            polar_chart._compiled.cache_clear()
            alone = self.run(*setting)
            np.testing.assert_array_equal(run.coefs, alone.coefs)
            np.testing.assert_array_equal(repeated.coefs, alone.coefs)
        ends = [run.coefs[-1] for run in together]
        assert len({tuple(end) for end in ends}) == len(settings)

    def test_networks_are_told_apart(self, traced):
        """By their functions: these are drawn alike, and differ in the coefficients."""
        X, y = [[1.0, 2.0], [0.0, -3.0]], [1, -1]
        one = self.run(X, y)
        two = self.run(X, y, network=lp.General(lambda b: 2.0 * b[0] * b[1], block_size=2))
        assert np.abs(one.coefs - two.coefs).max() > 0.1

    def test_what_is_kept_is_bounded(self, traced):
        assert polar_chart._compiled.cache_info().maxsize == polar_chart.COMPILED
