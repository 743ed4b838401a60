"""ReLU networks: outputs, training against a plain loop, the flow and its kinks, the teacher."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.refusals import no_theorem

import limitpoint as lp
from limitpoint.dynamics.training.label_noise import LabelNoise
from limitpoint.examples import relu_teacher
from limitpoint.networks.relu import ROUNDED_OFF, ReLU

EPS = np.finfo(float).eps


def problem_of(widths=(4, 3), outputs=(), m=6, n=3, scale=0.8, seed=2):
    rng = np.random.default_rng(seed)
    task = lp.Regression(
        rng.standard_normal((m, n)), rng.standard_normal((m, *outputs)), loss_factor=0.5
    )
    network = ReLU(widths)
    return lp.Problem(network, lp.Init.random(network, task, scale=scale, seed=seed), task)


def student(task, scale, width=20):
    network = ReLU((width,))
    return lp.Problem(network, lp.Init.random(network, task, scale=scale, seed=1), task)


class TestTheNetwork:
    @pytest.mark.parametrize("outputs", [(), (1,), (2,)], ids=str)
    def test_outputs(self, outputs):
        problem = problem_of(outputs=outputs)
        layers = problem.init.layers
        assert [layer.shape for layer in layers] == [(3, 4), (4, 3), (3, *outputs)]
        found = problem.network.outputs(layers, problem.task.X)
        for x, output in zip(problem.task.X, found, strict=True):
            hidden = x
            for matrix in layers[:-1]:
                hidden = np.array([max(0.0, column @ hidden) for column in matrix.T])
            np.testing.assert_allclose(output, hidden @ layers[-1], rtol=1e-12, atol=1e-14)

    @pytest.mark.parametrize("outputs", [(), (2,)], ids=str)
    def test_leading_axes(self, outputs):
        problem = problem_of(outputs=outputs)
        network, X = problem.network, problem.task.X
        stacked = [np.stack([layer, 2 * layer]) for layer in problem.init.layers]
        both = network.outputs(stacked, X)
        for r in range(2):
            one = network.outputs([layer[r] for layer in stacked], X)
            np.testing.assert_allclose(both[r], one, rtol=1e-12)
        # Homogeneous of the degree of its depth.
        np.testing.assert_allclose(both[1], 2**network.degree * both[0], rtol=1e-12)
        assert network.coef(stacked).shape == (2, 0)
        assert network.invariants(stacked).shape == (7, 2)

    def test_rounding_off(self):
        problem = problem_of((5,))
        network, X, layers = problem.network, problem.task.X, problem.init.layers
        smooth = network.smooth_outputs(layers, X, 0.8)
        # At most ε/2 for every neuron, and ε²/(4|z|) away from its kink.
        most = 0.5 * ROUNDED_OFF * np.abs(X).max() * 0.8 * np.abs(layers[-1]).sum()
        off = np.abs(smooth - network.outputs(layers, X))
        assert 0 < off.max() <= most

    def test_it_has_no_coefficients_and_no_theorem(self):
        problem = problem_of()
        assert not problem.network.is_linear
        assert problem.network.coef(problem.init.layers).shape == (0,)
        with no_theorem():
            lp.predict(problem)
        assert not lp.explain(problem).applicable

    def test_the_mirror_flow_refuses(self):
        with pytest.raises(lp.errors.InitError, match="no mirror map"):
            lp.flow(problem_of(), space=lp.SampleSpace())

    @pytest.mark.parametrize("widths", [(), "wide", None, (0,), (2.5,)])
    def test_bad_widths(self, widths):
        with pytest.raises(lp.errors.NetworkError, match="widths must"):
            ReLU(widths)

    def test_a_number_is_one_hidden_layer(self):
        assert ReLU(7) == ReLU((7,))
        assert (ReLU(7).depth, ReLU((2, 3)).degree) == (2, 3)


def loop(problem, rate, steps, labels=None, batches=None):
    """Gradient descent with back-propagation written out."""
    X, y, factor = problem.task.X, problem.task.y, problem.task.loss_factor
    layers = [layer.copy() for layer in problem.init.layers]
    columns = layers[-1].ndim == 1
    if columns:
        layers[-1], y = layers[-1][:, None], y[:, None]
    for step in range(steps):
        rows = np.arange(len(X)) if batches is None else batches[step]
        noise = 0.0 if labels is None else labels[step].reshape(y.shape)
        hidden, masks = [X[rows]], []
        for matrix in layers[:-1]:
            reached = hidden[-1] @ matrix
            masks.append(reached > 0)
            hidden.append(np.where(masks[-1], reached, 0.0))
        error = factor * len(X) / len(rows) * (hidden[-1] @ layers[-1] - (y + noise)[rows])
        slopes = []
        for k in range(len(layers) - 1, -1, -1):
            slopes.append(hidden[k].T @ error)
            if k:
                error = (error @ layers[k].T) * masks[k - 1]
        layers = [layer - rate * slope for layer, slope in zip(layers, slopes[::-1], strict=True)]
    if columns:
        layers[-1] = layers[-1][:, 0]
    return layers


@pytest.mark.parametrize("outputs", [(), (2,)], ids=str)
class TestTraining:
    STEPS = 500
    # A few roundings of numbers of order 1 in each step. A sample whose activation differed by a
    # rounding would show as an error of the size of a step, 1e-2.
    ATOL = STEPS * EPS * 100

    def rules(self, problem):
        m, outputs = problem.task.n_samples, problem.task.y.shape[1:]
        sgd, noisy = lp.SGD(0.02, 2, seed=3), LabelNoise(0.02, 0.1, seed=3)
        noise = 0.1 * noisy.draws(m, 0, self.STEPS, outputs)
        return {
            lp.GD(0.02): {},
            sgd: {"batches": sgd.draws(m, 0, self.STEPS)},
            noisy: {"labels": noise},
        }

    def test_train(self, outputs):
        problem = problem_of(outputs=outputs)
        for rule, drawn in self.rules(problem).items():
            run = lp.train(problem, rule, self.STEPS, record=5)
            expected = loop(problem, 0.02, self.STEPS, **drawn)
            for layer, wanted in zip(run.layers, expected, strict=True):
                np.testing.assert_allclose(layer[-1], wanted, rtol=0, atol=self.ATOL)
            output = problem.network.outputs(expected, problem.task.X)
            loss = 0.25 * np.sum((output - problem.task.y) ** 2)
            assert run.losses[-1] == pytest.approx(loss, rel=1e-9)
            gap = np.linalg.norm(output - problem.task.y) / np.linalg.norm(problem.task.y)
            assert run.relative_residual == pytest.approx(gap, rel=1e-9)
            assert run.coefs.shape == (len(run.times), 0)

    @pytest.mark.slow
    def test_train_many(self, outputs):
        problem = problem_of(outputs=outputs)
        rules = self.rules(problem)
        sweep = lp.train_many(problem, rules, self.STEPS, scales=[0.4, 0.8], seeds=[3], record=5)
        for i, rule in enumerate(rules):
            run = lp.train(problem, rule, self.STEPS, record=5)
            np.testing.assert_allclose(sweep.losses[i, 1, 0], run.losses, rtol=1e-9)
        assert sweep.coefs.shape == (3, 2, 1, 0)
        assert sweep.probes == ()
        assert not sweep.diverged.any()


def test_a_run_that_fits():
    problem = student(relu_teacher(seed=2), scale=1.0)
    run = lp.train(problem, lp.GD(5e-3), 20_000, record=3)
    assert run.status is lp.Status.CONVERGED
    assert "0 coefficients" in str(run)
    assert run.to_dict()["coefs"][-1] == []
    sweep = lp.train_many(problem, lp.GD(5e-3), 20_000)
    assert sweep.data["status"].values.ravel().tolist() == ["CONVERGED"]
    assert "loss" in str(sweep)


def test_what_is_read_from_coefficients_is_refused():
    problem = problem_of()
    with pytest.raises(lp.errors.NetworkError, match="has no coefficients; drop truth and probes"):
        lp.train_many(problem, lp.GD(0.1), 2, truth=np.ones(3))
    with pytest.raises(lp.errors.NetworkError, match="has no coefficients; drop truth and probes"):
        lp.train_many(problem, lp.GD(0.1), 2, probes=[lp.analysis.Distance(np.ones(3))])


class TestFlow:
    @pytest.mark.slow
    def test_small_steps_of_gradient_descent_converge_to_it(self):
        """At first order, through crossings and slides."""
        problem = student(relu_teacher(), scale=1.0)
        times = np.linspace(0.0, 2.0, 5)
        flow = lp.flow(problem, times=times)
        assert flow.coefs.shape == (5, 0)
        rates, errors = np.array([4e-4, 1e-4, 2.5e-5]), []
        for rate in rates:
            steps = np.round(times / rate).astype(int)
            run = lp.train(problem, lp.GD(rate), int(steps[-1]), record=steps)
            errors.append(
                max(np.abs(a - b).max() for a, b in zip(run.layers, flow.layers, strict=True))
            )
        slope = np.polyfit(np.log(rates), np.log(errors), 1)[0]
        # Kinks that a step straddles leave some scatter about first order.
        assert 0.8 <= slope <= 1.2
        assert errors[-1] < 1e-4

    def test_active_everywhere_it_is_linear(self):
        """Positive data, labels and weights: no kink is met, and the network is a dense one."""
        rng = np.random.default_rng(0)
        X = rng.uniform(0.5, 1.0, (2, 3))
        task = lp.Regression(X, [2.0, 2.5])
        layers = [rng.uniform(0.5, 1.0, (3, 2)), rng.uniform(0.2, 0.4, 2)]
        networks = ReLU((2,)), lp.FullyConnected((2,))
        flows = [
            lp.flow(
                lp.Problem(network, lp.Init.from_layers(layers), task),
                times=[0.1, 0.5, 1.0],
                space=lp.ParameterSpace(),
            )
            for network in networks
        ]
        # Rounding off adds ε²/(4z) to every input z of order 1, ε = 1e-6; the integrator 1e-8.
        for layer, expected in zip(flows[0].layers, flows[1].layers, strict=True):
            np.testing.assert_allclose(layer, expected, rtol=0, atol=1e-8)
        np.testing.assert_allclose(flows[0].losses, flows[1].losses, rtol=1e-6)

    def test_sliding(self):
        """One neuron between a sample that moves it in and one that moves it back out.

        `x₁ = (1, 0)` with y₁ = −5 and `x₂ = (1, 1)` with y₂ = 1. From w₁ < 0 the second sample
        raises w₁ to 0; there the first holds it, and (w₂, a) go on by themselves.
        """
        task = lp.Regression([[1.0, 0.0], [1.0, 1.0]], [-5.0, 1.0])
        network = ReLU((1,))
        start = [[[-0.1], [0.6]], [0.9]]
        problem = lp.Problem(network, lp.Init.from_layers(start), task)
        times = np.linspace(0.0, 1.5, 7)
        flow = lp.flow(problem, times=times)

        def free(_, state):
            w1, w2, a = state
            residual = 1 - a * (w1 + w2)
            return [a * residual, a * residual, (w1 + w2) * residual]

        def touches(_, state):
            return state[0]

        touches.terminal = True
        options = {"rtol": 1e-12, "atol": 1e-12, "method": "DOP853"}
        first = solve_ivp(free, (0, 3), [-0.1, 0.6, 0.9], events=touches, **options)
        contact = first.t[-1]
        assert 0 < contact < 1
        late = times[times > contact]
        held = solve_ivp(
            lambda _, s: [s[1] * (1 - s[0] * s[1]), s[0] * (1 - s[0] * s[1])],
            (contact, 3),
            first.y[1:, -1],
            t_eval=late,
            **options,
        )
        later = times > contact
        found = np.stack([flow.layers[0][:, 1, 0], flow.layers[1][:, 0]])[:, later]
        # The first sample holds with the part λ of its push at which w₁ stands still,
        # λ = r₂/5 = σ'(w₁), so that w₁ = −ε/(2√λ) to leading order where λ is small.
        share = (1 - held.y[0] * held.y[1]) / 5
        width = ROUNDED_OFF * 0.9
        np.testing.assert_array_less(np.abs(flow.layers[0][later, 0, 0]), width / np.sqrt(share))
        # The others see that, at a rate of order 1, and no more.
        np.testing.assert_allclose(found, held.y, rtol=0, atol=width / np.sqrt(share.min()))

    def test_what_it_conserves(self):
        """Each neuron's weights inwards less outwards, up to the rounding off of its kinks."""
        problem = problem_of((6,), outputs=(2,))
        task, t_end = problem.task, 2.0
        flow = lp.flow(problem, t_end=t_end)
        kept = problem.network.invariants(flow.layers)
        assert kept.shape[0] == 6
        # Their velocity is 2·loss_factor·Σ_i (r_i·a)(zσ'(z) − σ(z)), and |zσ' − σ| is at most ε/2.
        size = max(float(np.abs(layer).max()) for layer in problem.init.layers)
        width = ROUNDED_OFF * np.abs(task.X).max() * size
        residuals = np.sqrt(task.n_samples * 2 * flow.losses[0] / task.loss_factor)
        outwards = np.linalg.norm(flow.layers[1], axis=2).max()
        most = t_end * task.loss_factor * width * residuals * outwards
        assert np.abs(kept - kept[:, :1]).max() <= most < 1e-3
        assert np.abs(flow.layers[0][-1] - flow.layers[0][0]).max() > 0.05


class TestTeacher:
    def test_the_task(self):
        task, again = relu_teacher(), relu_teacher()
        assert task.X.shape == (10, 5)
        np.testing.assert_array_equal(task.y, again.y)
        assert (relu_teacher(seed=1).y != task.y).any()
        assert relu_teacher(samples=3, features=2, neurons=4).X.shape == (3, 2)

    def test_a_student_like_the_teacher_can_fit(self):
        """The labels are outputs of a ReLU network of as many neurons."""
        task = relu_teacher(samples=50, neurons=1)
        active = task.y > 0
        weights = np.linalg.lstsq(task.X[active], task.y[active], rcond=None)[0]
        np.testing.assert_allclose(np.maximum(task.X @ weights, 0.0), task.y, atol=1e-12)
        assert np.linalg.norm(weights) == pytest.approx(1.0, rel=1e-12)

    @pytest.mark.parametrize("name", ["samples", "features", "neurons"])
    def test_bad_arguments(self, name):
        with pytest.raises(lp.errors.DataError, match=f"{name} must be a whole number"):
            relu_teacher(**{name: 0})


class TestTeacherAndStudent:
    """Varre Figs 2 and 5: two teacher neurons, twenty students, ten samples in five dimensions."""

    def test_small_scale_ends_with_rank_two_and_large_scale_does_not(self):
        task = relu_teacher()
        small = lp.train(student(task, 1e-4), lp.GD(1e-2), 60_000, record=3)
        large = lp.train(student(task, 1.0), lp.GD(2e-3), 20_000, record=3)
        assert small.losses[-1] < 1e-6 * small.losses[0]
        assert large.losses[-1] < 1e-6 * large.losses[0]
        few, many = (np.linalg.svd(run.layers[0][-1], compute_uv=False) for run in (small, large))
        # What is left besides is of the scale of the start.
        assert few[1] > 0.5 * few[0]
        assert few[2] < 20 * 1e-4
        assert many[-1] > 0.2 * many[0]

    def test_staircase(self):
        """From zero by a saddle of rank one to the fit: two falls with a pause between them."""
        run = lp.train(student(relu_teacher(), 1e-4), lp.GD(1e-2), 400, record=range(0, 401))
        speed = -np.diff(run.losses)
        peaks = np.flatnonzero((speed[1:-1] > speed[:-2]) & (speed[1:-1] >= speed[2:])) + 1
        first, second = np.sort(peaks[np.argsort(-speed[peaks])][:2])
        pause = first + int(np.argmin(speed[first:second]))
        assert speed[pause] < 0.2 * min(speed[first], speed[second])
        # It waits at first too.
        assert run.losses[first // 2] > 0.98 * run.losses[0]
        at_pause, at_end = (
            np.linalg.svd(run.layers[0][r], compute_uv=False) for r in (pause, len(run.losses) - 1)
        )
        assert at_pause[1] < 0.1 * at_pause[0]
        assert at_end[1] > 0.5 * at_end[0]

    @pytest.mark.slow
    def test_the_flow_gets_there_too(self):
        flow = lp.flow(student(relu_teacher(), 1e-3), t_end=50.0)
        values = np.linalg.svd(flow.layers[0][-1], compute_uv=False)
        assert flow.losses[-1] < 1e-3 * flow.losses[0]
        assert values[2] < 0.02 * values[1]
