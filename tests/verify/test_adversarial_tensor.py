"""Attacks on the limits of tensor networks: ties, data out of reach, outputs that cancel."""

import numpy as np
import pytest

import limitpoint as lp


def number_at(network, value):
    shape = (1, 1) if isinstance(network, lp.MatrixProduct) else (1,)
    return [np.full(shape, value)] * network.depth


@pytest.mark.parametrize(
    "network",
    [
        lp.Convolutional((1, 1)),
        lp.Convolutional((1, 1, 1)),
        lp.OrthogonalTensor([[1.0]], [[[1.0]]] * 3),
        lp.MatrixProduct(3),
    ],
)
def test_ties_that_keep_the_sign_are_no_false_alarm(network):
    """Equal layers never let the product change sign; in float64 rounding does at last."""
    task = lp.Regression([[1.0]], [-0.8])
    verdict = lp.verify(lp.Problem(network, lp.Init(number_at(network, 1.3), 0.1), task))
    assert verdict.limit.status is lp.Status.LEAST_SQUARES
    assert verdict.limit.coef.tolist() == [0.0]
    assert verdict.passed


TIES = lp.Regression([[1.0, 0.3]], [-1.0])


@pytest.mark.parametrize("depth", [2, 3])
def test_frequencies_that_tie(depth):
    """Equal filters have equal gradients, to the last digit: both frequencies decay together."""
    network, init = lp.Convolutional((2,) * depth), lp.Init([np.array([1.3, 0.4])] * depth, 0.3)
    verdict = lp.verify(lp.Problem(network, init, TIES))
    assert not verdict.limit.coef.any()
    assert verdict.passed


def test_ties_that_rounding_breaks():
    """Turned by matrices of their own, equal factors are not equal to the last digit.

    One escapes while the other still decays, at every scale: the flow within the form agrees with
    the prediction, but no run of the layers can show it.
    """
    rng = np.random.default_rng(1)
    U = [np.linalg.qr(rng.standard_normal((3, 2)))[0] for _ in range(2)]
    init = lp.Init([matrix @ [1.3, 0.4] for matrix in U], 0.3)
    verdict = lp.verify(lp.Problem(lp.OrthogonalTensor(np.eye(2), U), init, TIES))
    assert not verdict.limit.coef.any()
    assert verdict.outcome is lp.results.Outcome.INCONCLUSIVE
    assert "rounding takes them out of the diagonal form" in verdict.missing[0]
    assert all(check.passed for check in verdict.checks)


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("random", [False, True])
def test_data_that_a_transform_of_low_rank_cannot_reach(depth, random):
    """Two equal rows of S: outputs lie on a line, which the flow of the layers does not know."""
    rng = np.random.default_rng(4)
    S = np.repeat(rng.standard_normal((1, 4)), 2, axis=0)
    U = [np.linalg.qr(rng.standard_normal((2 + k, 2)))[0] for k in range(depth)]
    network = lp.OrthogonalTensor(S, U)
    task = lp.Regression(rng.standard_normal((2, 4)), rng.standard_normal(2))
    init = (
        lp.Init.random(network, task, 0.4, seed=1)
        if random
        else lp.Init.zero_last(network, task, 0.4)
    )
    verdict = lp.verify(lp.Problem(network, init, task))
    assert verdict.limit.status is lp.Status.LEAST_SQUARES
    assert verdict.passed


@pytest.mark.parametrize("network", [lp.Convolutional((2, 4)), lp.Convolutional((4, 4))])
def test_flows_stop_at_the_rounding_of_terms_that_cancel(network):
    """The one coefficient that is seen is a small difference of large terms."""
    task = lp.Regression(np.eye(1, 4), [1e-10])
    run = lp.flow(lp.Problem(network, lp.Init.random(network, task, 0.5, seed=7), task))
    assert run.status is lp.Status.CONVERGED


def test_targets_hidden_by_terms_that_cancel_are_refused():
    network, task = lp.Convolutional((2, 4)), lp.Regression(np.eye(1, 4), [1e-20])
    problem = lp.Problem(network, lp.Init.random(network, task, 0.5, seed=7), task)
    with pytest.raises(lp.errors.ScaleNotRepresentable, match="below the rounding"):
        lp.verify(problem)


def test_moduli_bound_the_coefficients():
    rng = np.random.default_rng(0)
    task = lp.Regression(rng.standard_normal((1, 4)), [1.0])
    orthonormal = [np.linalg.qr(rng.standard_normal((4, 3)))[0] for _ in range(2)]
    for network in (
        lp.Tensor(rng.standard_normal((4, 3, 2))),
        lp.OrthogonalTensor(rng.standard_normal((3, 4)), orthonormal),
        lp.Convolutional((2, 4)),
        lp.MatrixProduct(2),
    ):
        layers = lp.Init.random(network, task, seed=0).layers
        axes = [np.abs(layer).ravel() for layer in layers]
        expected = np.einsum("zab,a,b->z", np.abs(network.tensor(task)), *axes)
        assert (network.moduli(layers) >= expected * (1 - 1e-14)).all()
        assert (network.moduli(layers) >= np.abs(network.coef(layers))).all()


@pytest.mark.parametrize("seed", range(6))
def test_ties_of_a_transformed_sample_are_shared_at_scale_zero(seed):
    """`Sx` is one everywhere, up to rounding: scale 0 is the limit of small scales."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((4, 4)))[0]
    network = lp.OrthogonalTensor(Q, [np.eye(4)] * 2)
    task = lp.Regression((Q.T @ np.ones(4))[None], [1.0])
    zero = lp.predict(lp.Problem(network, lp.Init.zero_last(network, task, 0.0), task))
    small = lp.predict(lp.Problem(network, lp.Init.zero_last(network, task, 1e-100), task))
    np.testing.assert_allclose(zero.coef, small.coef, rtol=0, atol=1e-10)
