"""Theorem 7 of yun: dense networks end at the minimum-norm solution as the scale vanishes."""

import numpy as np
import pytest

import limitpoint as lp

THEOREM = "yun2021.theorem7"
N = 4
TASK = lp.Regression(
    np.random.default_rng(0).standard_normal((2, N)), np.random.default_rng(1).standard_normal(2)
)
LEAST = np.linalg.pinv(TASK.X) @ TASK.y


def start(depth, seed=0, **where):
    """Each Gram matrix above that of the next, none of them a multiple of the identity."""
    rng = np.random.default_rng([depth, seed])
    layers = [0.3 * rng.standard_normal(N)]
    for _ in range(depth - 1):
        after = layers[0][:, None] if layers[0].ndim == 1 else layers[0]
        more = rng.standard_normal((N, N))
        gram = after @ after.T + 0.1 * more @ more.T + 0.1 * np.eye(N)
        turn = np.linalg.qr(rng.standard_normal((N, N)))[0]
        layers.insert(0, turn @ np.linalg.cholesky(gram).T)
    network = lp.FullyConnected((N,) * (depth - 1))
    return lp.Problem(network, lp.Init(layers, **where), TASK)


def failing(problem):
    rows = {t.id: c for t, c in lp.explain(problem).rows}[THEOREM]
    return [c.name for c in rows if not c.holds]


@pytest.mark.parametrize("depth", [2, 3, 4])
class TestVanishing:
    def test_limit(self, depth):
        limit = lp.predict(start(depth, scale=0.0))
        assert limit.theorem.id == THEOREM
        assert limit.certificate.ok
        np.testing.assert_allclose(limit.coef, LEAST, rtol=0, atol=1e-14)

    def test_zero_asymmetric_start(self, depth):
        """Also with idle neurons beyond the features (Wu et al. 2019)."""
        for widths in ((N,) * (depth - 1), (N + 2,) * (depth - 1)):
            network = lp.FullyConnected(widths)
            init = lp.Init.zero_last(network, TASK, 0.0)
            assert lp.predict(lp.Problem(network, init, TASK)).theorem.id == THEOREM

    @pytest.mark.slow
    @pytest.mark.slow
    def test_error_is_proportional_to_the_scale(self, depth):
        """Slope 1 of log error against log scale.

        What the null space keeps is α P_null W̄₁ times the outer layers, which change with α by a
        relative order α at most: at scales up to 1e-2 the slope may be off by 1e-2.
        """
        scales = np.array([1e-3, 2e-3, 5e-3, 1e-2])
        errors = []
        for scale in scales:
            run = lp.flow(start(depth, scale=scale), space=lp.ParameterSpace())
            assert run.status is lp.Status.CONVERGED
            errors.append(np.linalg.norm(run.coef - LEAST))
        slope = np.polyfit(np.log(scales), np.log(errors), 1)[0]
        assert slope == pytest.approx(1.0, abs=0.01)


class TestConditions:
    def test_each_is_named(self):
        assert failing(start(3, scale=0.0)) == []
        assert failing(start(3, scale=0.5)) == ["scale zero"]
        *others, last = start(3).init.direction
        network = lp.FullyConnected((N, N))

        def problem(*layers):
            return lp.Problem(network, lp.Init(layers, 0.0), TASK)

        assert failing(problem(*others, 100 * last)) == [
            "last matrix larger than the last vector in every direction"
        ]
        assert failing(problem(others[0], 100 * others[1], last)) == [
            "each layer's Gram matrix at least that of the next"
        ]
        narrow = lp.FullyConnected((2, 2))
        init = lp.Init.zero_last(narrow, TASK, 0.0)
        assert failing(lp.Problem(narrow, init, TASK)) == [
            "as many neurons in every hidden layer as features"
        ]

    def test_margin_is_the_smallest_eigenvalue(self):
        problem = start(2, scale=0.0)
        first, last = problem.init.direction
        expected = np.linalg.eigvalsh(first.T @ first - np.outer(last, last))[0]
        rows = {t.id: c for t, c in lp.explain(problem).rows}[THEOREM]
        assert rows[-1].margin == pytest.approx(expected / np.sum(first**2), rel=1e-9)

    def test_a_layer_of_zeros(self):
        network = lp.FullyConnected((N,))
        problem = lp.Problem(network, lp.Init([np.zeros((N, N)), np.zeros(N)], 0.0), TASK)
        assert "as many neurons in every hidden layer as features" in failing(problem)
