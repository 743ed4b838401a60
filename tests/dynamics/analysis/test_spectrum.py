"""Singular values along a trajectory: right at every record, and followed through crossings."""

import numpy as np
import pytest
from scipy.linalg import expm
from tests.oracles.many_digits import two_layer_mp as oracle

import limitpoint as lp
from limitpoint.dynamics.analysis.spectrum import spectrum, track
from limitpoint.dynamics.trajectory import Trajectory
from limitpoint.errors import LimitpointError
from limitpoint.status import Status

# Singular values of matrices of norm about 1, both by backward stable routines.
ROUNDING = 1e-13


def rotation(size, seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]


def family(values, wide=0, seed=0):
    """Matrices `U diag(values) Vᵀ` (times × r × r+wide) with fixed, random U and V."""
    r = values.shape[1]
    U, V = rotation(r, seed), rotation(r + wide, seed + 1)[:r]
    return np.einsum("ij,tj,jk->tik", U, values, V)


def trajectory(layers, coefs, steps=None):
    return Trajectory.build(
        kind="a test",
        status=Status.CONVERGED,
        times=np.linspace(0, 1, len(coefs)),
        coefs=coefs,
        losses=np.zeros(len(coefs)),
        relative_residual=0.0,
        layers=layers,
        steps=steps,
    )


@pytest.mark.parametrize("count", [20, 21, 101], ids=["even", "at the crossing", "fine"])
@pytest.mark.parametrize("wide", [0, 1, 40], ids=["square", "nearly", "wide"])
def test_a_crossing_does_not_exchange_values(count, wide):
    t = np.linspace(0, 1, count)
    values = np.stack([t, 1 - t], axis=1)
    found = track(family(values, wide))
    # By Gram matrix eps·σ₁²/σ where σ is at least 1e-3, by SVD elsewhere.
    np.testing.assert_allclose(found, values, atol=1e-12)
    found = track(family(values, wide).swapaxes(1, 2))
    np.testing.assert_allclose(found, values, atol=1e-12)


def test_many_crossings_and_turning_vectors():
    t = np.linspace(0, 1, 401)[:, None]
    r = 6
    values = 2 + np.sin(3 * t + np.arange(r)) + 0.01 * np.arange(r)
    U, V = rotation(r, 0), rotation(r, 1)
    skew = np.random.default_rng(2).standard_normal((r, r))
    skew = skew - skew.T
    turned = np.stack([expm(0.5 * x * skew) @ U for x in t[:, 0]])
    found = track((turned * values[:, None, :]) @ V.T)
    order = np.argsort(-values[-1])
    assert (np.argsort(-values, axis=1) != order).any()  # they do cross
    np.testing.assert_allclose(found, values[:, order], atol=1e-12)


def test_noise_of_an_integrator_at_the_crossing():
    t = np.linspace(0, 1, 41)
    values = np.stack([t, 1 - t], axis=1)
    noise = 1e-9 * np.random.default_rng(0).standard_normal((41, 2, 2))
    found = track(family(values) + noise)
    np.testing.assert_allclose(found, values, atol=1e-8)


def test_an_avoided_crossing_follows_the_branches():
    """With a coupling that the records resolve, values repel and the larger stays the larger."""
    t = np.linspace(-1, 1, 401)
    matrices = np.zeros((401, 2, 2))
    matrices[:, 0, 0], matrices[:, 1, 1] = 2 + t, 2 - t
    matrices[:, 0, 1] = matrices[:, 1, 0] = 0.2
    found = track(matrices)
    expected = 2 + np.sqrt(t**2 + 0.04)
    np.testing.assert_allclose(found[:, 0], expected, atol=ROUNDING)
    np.testing.assert_allclose(found[:, 1], 4 - expected, atol=ROUNDING)


def test_a_degenerate_start_takes_the_labels_of_where_it_goes():
    """Equal at first; those that end at 3, 2, 1 keep growing in that order or another."""
    t = np.linspace(0, 1, 60)[:, None]
    ends = np.array([3.0, 2.0, 1.0, 0.1, 0.1])
    powers = np.array([6.0, 1.0, 0.2, 1.0, 1.0])  # the largest at the end is the last to grow
    values = 0.1 + (ends - 0.1) * t**powers
    np.testing.assert_allclose(track(family(values, wide=7)), values, atol=1e-12)


@pytest.mark.parametrize("smallest", [1e-1, 1e-6, 1e-12])
def test_wide_matrices_keep_their_small_values(smallest):
    values = np.geomspace(1, smallest, 5)[None]
    found = track(family(values, wide=50))
    np.testing.assert_allclose(found, values, rtol=1e-9, atol=1e-15)


def test_a_flow_of_two_layers_obeys_the_relations_at_every_time():
    rng = np.random.default_rng(4)
    X, Y, gamma = rng.standard_normal((3, 5)), rng.standard_normal((3, 2)), 1e-3
    times = np.linspace(0, 20, 200)
    W1, W2 = oracle.flow(X, Y, *oracle.orthonormal_start(5, 30, 2, gamma, 0), times)
    run = spectrum(trajectory((W1, W2), (W1 @ W2)[:, :, 0]))
    beta = track(W1 @ W2)
    bend = np.hypot(beta, gamma)
    np.testing.assert_allclose(run.layers[0][:, :2], np.sqrt(bend + gamma), atol=1e-9)
    np.testing.assert_allclose(run.layers[0][:, 2:], np.sqrt(2 * gamma), atol=1e-9)
    np.testing.assert_allclose(run.layers[1], np.sqrt(bend - gamma), atol=1e-9)
    np.testing.assert_allclose(
        run.coefs[:, 0], np.linalg.norm((W1 @ W2)[:, :, 0], axis=1), rtol=1e-14
    )


def test_training_a_network():
    task = lp.Regression(np.eye(2), np.diag([2.0, 1.0]))
    network = lp.TwoLayer(width=3)
    problem = lp.Problem(network, lp.Init.orthogonal(network, task, gamma=0.01), task)
    run = lp.train(problem, lp.GD(0.05), steps=1000)
    found = spectrum(run)
    np.testing.assert_array_equal(found.times, run.times)
    np.testing.assert_array_equal(found.steps, run.steps)
    np.testing.assert_allclose(found.coefs[-1], [2.0, 1.0], atol=1e-9)
    assert "step" in str(found)
    assert "step" in found.to_xarray().coords
    assert found.to_dict()["steps"] == run.steps.tolist()
    records = f"12 of {len(run.times)} records shown; all in .layers and .coefs or --json."
    assert records in " ".join(str(found).split())


def test_records_that_are_not_finite_have_nan():
    matrices = family(np.stack([np.linspace(1, 2, 4), np.full(4, 0.5)], axis=1))
    matrices[-1, 0, 0] = np.inf
    found = track(matrices)
    assert np.isnan(found[-1]).all()
    np.testing.assert_allclose(found[:3, 0], [1, 4 / 3, 5 / 3], atol=ROUNDING)
    assert np.isnan(track(np.full((2, 3, 2), np.nan))).all()


def test_zero_matrices_and_single_rows():
    np.testing.assert_array_equal(track(np.zeros((3, 2, 9))), 0.0)
    np.testing.assert_allclose(track(np.full((2, 1, 4), 3.0)), 6.0, rtol=1e-15)


def test_is_an_immutable_value():
    layers = (np.ones((3, 2, 4)), np.ones((3, 4)))
    found = spectrum(trajectory(layers, np.ones((3, 2))))
    assert found.steps is None
    assert [values.shape for values in found.layers] == [(3, 2), (3, 1)]
    np.testing.assert_allclose(found.layers[0], [[np.sqrt(8), 0]] * 3, atol=ROUNDING)
    np.testing.assert_allclose(found.layers[1], 2.0)
    np.testing.assert_allclose(found.coefs, np.sqrt(2))
    with pytest.raises(ValueError, match="read-only"):
        found.layers[0][0] = 1.0
    data = found.to_xarray()
    assert data["layer_0"].dims == ("time", "layer_0_value")
    assert data["coef"].shape == (3, 1)
    assert data.attrs["kind"] == "a test"
    plain = found.to_dict()
    assert plain["coefs"] == found.coefs.tolist()
    assert len(plain["layers"]) == 2
    text = str(found)
    assert "Singular values along a test: 3 records" in text
    assert "σ1(W1)" in text
    assert "σ1(β)" in text
    assert "<table>" in found._repr_html_()


def test_bad_input():
    with pytest.raises(LimitpointError, match="has no layers"):
        spectrum(trajectory(None, np.ones((2, 3))))
    with pytest.raises(LimitpointError, match="no layer that is a matrix"):
        spectrum(trajectory((np.ones((2, 3)), np.ones((2, 3))), np.ones((2, 3))))
    with pytest.raises(LimitpointError, match=r"one has shape \(3, 2, 2\)"):
        spectrum(trajectory((np.ones((2, 3, 2, 2)), np.ones((2, 3, 2))), np.ones((2, 3))))


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 2), (2, 9)])
def test_singular_values_of_layers_that_diverge(shape):
    """Of the last finite records of a run, whose squares overflow."""
    matrices = np.random.default_rng(0).standard_normal((3, *shape))
    np.testing.assert_allclose(track(1e200 * matrices), 1e200 * track(matrices), rtol=1e-9)
